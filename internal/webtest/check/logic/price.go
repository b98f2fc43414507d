// Package logic finds orders that take from who orders what is not theirs to say: prices, quantities below zero or so
// large that the sum is, codes that count more than once, and forms that do so when they come together; and numbers
// that a page counts, such as points, and sends.
//
// A number that nobody has sent before must come out of what we have sent, twice, and not of anything else.
package logic

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package. That of races needs codes that nothing has used.
func Checks() []kit.Check {
	return []kit.Check{prices(), listed(), racing(), onceOnly(), usedTwice(), computed()}
}

var (
	priceName = regexp.MustCompile(`(?i)price|cost|amount|fee|unit_?value|preis|betrag|prix|montant|precio|importe|pre[cç]o|prezzo|prijs|\bcena|\bhinta`)
	// quantityName are names of how many are ordered, with words of other languages.
	quantityName = regexp.MustCompile(`(?i)qty|quantit|count|pieces|\bpcs\b|how_?many|number_?of|^n$|` +
		`menge|anzahl|st[uü]e?ck|\bqte\b|cantidad|quantid|\bqtde?\b|aantal|\bantall?\b|m[aä][aä]r[aä]|ilo[sś][cć]|liczba|po[cč]et|mennyis`)
)

// several is how many of something are asked for, so that a total is a number that nobody has sent.
const several = 3

// prices is the check for orders that take their price, or a quantity below zero, from who orders. The answer must have
// the product of the price and the quantity that we have sent, which is in no other answer: with the price of the
// application first. A sum of 32 bits that overflows is below zero by how much we know. Where the answer leads to a
// page, that counts. Eight requests for a request with a quantity, four of them for its price, and up to 24 where
// its answer leads to a page that adds up (kept.go); at level active alone.
func prices() kit.Check {
	c := kit.Check{ID: "price-of-client", Class: "business-logic", Level: client.Active}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		var price, quantity message.Place
		for _, p := range message.Places(t.Request) {
			if p.Component != message.Body && p.Component != message.Query {
				continue
			}
			n, err := strconv.ParseFloat(p.Value, 64)
			switch {
			case err != nil || n <= 0:
			case quantityName.MatchString(p.Name):
				quantity = p
			case priceName.MatchString(p.Name):
				price = p
			}
		}
		if quantity.Name == "" || t.Request.Method == http.MethodGet && price.Name == "" {
			return nil
		}
		o := &order{World: w, Target: t, quantity: quantity, as: t.User}
		if !kit.Known(o.as) {
			o.as = client.NewUser("") // a visitor of their own, whose basket is kept
		}
		if err := o.negative(ctx, &c, price); err != nil {
			return err
		}
		if price.Name != "" {
			if err := o.cheaper(ctx, &c, price); err != nil {
				return err
			}
		}
		if o.page == nil || o.reported {
			return nil
		}
		if !kit.Known(t.User) {
			o.as = client.NewUser("") // the basket of the last one has very many
		}
		return o.kept(ctx, &c, price)
	}
	return c
}

// order is a request with a quantity.
type order struct {
	*kit.World
	*kit.Target

	quantity message.Place
	as       *client.User
	page     *message.Request // to which the answer leads, with the total; nil: the answer has it
	reported bool
}

// total is how a number stands in a page as one, with or without cents.
func total(n int) *regexp.Regexp {
	text := strconv.Itoa(n)
	before := `(?:^|[^\d.,-])`
	if n < 0 {
		text, before = `(?:-|&minus;|−)\s?[$€£]?\s?`+text[1:], ""
	}
	return regexp.MustCompile(before + text + `(?:[.,]00?)?(?:$|[^\d.,]|[.,](?:\D|$))`)
}

func (o *order) with(quantity int) *message.Request {
	return o.Request.Put(o.quantity, strconv.Itoa(quantity))
}

func (o *order) send(ctx context.Context, r *message.Request) (*message.Response, error) {
	answer, err := o.Client.Send(ctx, r, client.Options{As: o.as, Writes: true})
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
		return nil, err
	}
	to := answer.Redirect()
	if to == nil || to.Host != r.URL.Host {
		return answer, nil
	}
	shown, err := o.Ask(ctx, message.From(http.MethodGet, to), o.as)
	if err != nil {
		return nil, err
	}
	o.page = message.From(http.MethodGet, to)
	page := *shown
	page.Request = r // what has led to it
	return &page, nil
}

// cheaper sends a price of ours.
func (o *order) cheaper(ctx context.Context, c *kit.Check, price message.Place) error {
	asked, err := strconv.Atoi(strings.TrimSuffix(price.Value, ".00"))
	if err != nil {
		return nil //nolint:nilerr // it is not whole
	}
	ours := 1000 + kit.Number()%7000
	usual, err := o.send(ctx, o.with(several))
	if err != nil || !total(asked*several).Match(usual.Body) || total(ours*several).Match(usual.Body) {
		return err
	}
	made := o.with(several).Put(price, strconv.Itoa(ours))
	answer, err := o.send(ctx, made)
	if err != nil || !total(ours*several).Match(answer.Body) || total(asked*several).Match(answer.Body) {
		return err
	}
	o.report(c, price, strconv.Itoa(ours), "the price of an order is the one that is sent", usual, answer,
		total(ours*several))
	return nil
}

// negative asks for less than nothing.
func (o *order) negative(ctx context.Context, c *kit.Check, price message.Place) error {
	usual, err := o.send(ctx, o.with(several))
	if err != nil || usual.Status >= 400 {
		return err
	}
	var sum int
	for _, m := range number.FindAllStringSubmatch(string(usual.Body), 200) {
		n, err := strconv.Atoi(m[1])
		if err == nil && n > several && n%several == 0 && (price.Name == "" || price.Value == strconv.Itoa(n/several)) {
			sum = n
			break
		}
	}
	if sum == 0 || total(-sum).Match(usual.Body) {
		return nil
	}
	answer, err := o.send(ctx, o.with(-several))
	if err != nil {
		return err
	}
	if answer.Status >= 400 || !total(-sum).Match(answer.Body) {
		return o.overflow(ctx, c, sum/several, usual)
	}
	double, err := o.send(ctx, o.with(-2*several))
	if err != nil || !total(-2*sum).Match(double.Body) {
		return err
	}
	o.report(c, o.quantity, strconv.Itoa(-several), "a quantity below zero makes a total below zero", usual, answer,
		total(-sum))
	return nil
}

// overflow asks for so many that the sum, of 32 bits, is below zero.
func (o *order) overflow(ctx context.Context, c *kit.Check, price int, usual *message.Response) error {
	const half = 1 << 31
	if price < 2 {
		return nil
	}
	var answer *message.Response
	var many, sum int
	for range 2 {
		many = half/price + 1 + kit.Number()
		sum = int(int32(many * price))
		if sum >= 0 {
			return nil
		}
		var err error
		if answer, err = o.send(ctx, o.with(many)); err != nil || answer.Status >= 400 || !total(sum).Match(answer.Body) {
			return err
		}
	}
	o.report(c, o.quantity, strconv.Itoa(many), "a very large quantity makes a total below zero", usual, answer,
		total(sum))
	return nil
}

var number = regexp.MustCompile(`(?:^|[^\d.,-])(\d{1,7})(?:[.,]00?)?(?:$|[^\d.,]|[.,](?:\D|$))`)

func (o *order) report(c *kit.Check, p message.Place, text, about string, usual, answer *message.Response,
	sum *regexp.Regexp) {
	o.reported = true
	user, users := kit.Names(o.User)
	var steps []proof.Step
	for _, one := range []struct {
		id    string
		send  *message.Request
		isOur bool
	}{{"meant", usual.Request, false}, {"ours", answer.Request, true}} {
		expect := []proof.Expect{{What: proof.Matches, Value: sum.String(), Not: !one.isOur}}
		if o.page == nil {
			steps = append(steps, proof.Step{ID: one.id, As: user, Send: one.send, Writes: true, Expect: expect})
			continue
		}
		steps = append(steps, proof.Step{ID: one.id, As: user, Send: one.send, Writes: true},
			proof.Step{ID: one.id + "-total", As: user, Send: o.page, Expect: expect})
	}
	finding := kit.Finding{Request: answer.Request, Place: p, Payload: text, Detail: about, Evidence: []kit.Evidence{
		{Request: answer.Request, Response: answer, Match: sum.FindString(string(answer.Body)), Note: about},
		{Request: usual.Request, Response: usual, Note: "the order as it is meant"}}}
	if o.page == nil || user != "" { // the basket of a visitor is theirs alone
		finding.Proof = &proof.Program{About: about, Users: users, Steps: steps}
	}
	o.Found(c, finding)
}
