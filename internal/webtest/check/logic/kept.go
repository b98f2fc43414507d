package logic

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// labelled is a number behind its name, as in "Total: 56.50" and {"total":-3}.
var labelled = regexp.MustCompile(`(\pL[\pL _]{0,30})["']?\s*[:=]?\s*(?:<[^<>]*>\s*)*(?:[$€£]\s?)?` +
	`([-−]?\s?\d{1,7}(?:[.,]\d{1,2})?)(?:$|[^\d.,]|[.,](?:\D|$))`)

// numbersByName are the numbers of a page by their names, in hundredths; those whose name comes twice are left out.
func numbersByName(page *message.Response) map[string]int {
	all, twice := map[string]int{}, map[string]bool{}
	for _, m := range labelled.FindAllStringSubmatch(string(page.Body), 500) {
		name := strings.ToLower(strings.TrimSpace(m[1]))
		text := strings.NewReplacer("−", "-", " ", "", ",", ".").Replace(m[2])
		n, err := strconv.ParseFloat(text, 64)
		if _, known := all[name]; known || err != nil {
			twice[name] = true
			continue
		}
		all[name] = int(math.Round(n * 100))
	}
	for name := range twice {
		delete(all, name)
	}
	return all
}

// maxKept are the attempts with one basket, as other tests may add to it at the same time.
const maxKept = 3

// kept judges an order that adds to a basket, whose page shows the sum of all that was ordered. A number with a name
// grows with the quantity; a quantity far below zero must bring it below zero, by as much as the growth says, and a
// second one further. Of a price of ours the number must grow by as much more as the price is more, twice. Up to eight
// requests for each of three attempts.
func (o *order) kept(ctx context.Context, c *kit.Check, price message.Place) error {
	for range maxKept {
		if err := o.addsUp(ctx, c); err != nil || o.reported {
			return err
		}
		if price.Name == "" {
			continue
		}
		if err := o.priceAddsUp(ctx, c, price); err != nil || o.reported {
			return err
		}
	}
	return nil
}

// shown is a page after an order, with its numbers.
type shown struct {
	page    *message.Response
	numbers map[string]int
}

// add sends an order; ok is false where it was refused.
func (o *order) add(ctx context.Context, r *message.Request) (s shown, ok bool, err error) {
	page, err := o.send(ctx, r)
	if err != nil || page.Status == 0 || page.Status >= 400 {
		return s, false, err
	}
	return shown{page, numbersByName(page)}, true, nil
}

// addAll sends orders one after the other.
func (o *order) addAll(ctx context.Context, all ...*message.Request) (out []shown, ok bool, err error) {
	for _, r := range all {
		s, ok, err := o.add(ctx, r)
		if err != nil || !ok {
			return nil, false, err
		}
		out = append(out, s)
	}
	return out, true, nil
}

// addsUp orders less than nothing.
func (o *order) addsUp(ctx context.Context, c *kit.Check) error {
	s, ok, err := o.addAll(ctx, o.with(1), o.with(1), o.with(several))
	if err != nil || !ok {
		return err
	}
	for name, sum := range s[2].numbers {
		first, second := s[1].numbers[name]-s[0].numbers[name], sum-s[1].numbers[name]
		each := (second - first) / (several - 1)
		if each <= 0 || first <= 0 || each*(several-1) != second-first || sum <= 0 {
			continue
		}
		less := sum/each + several
		below, ok, err := o.addAll(ctx, o.with(-less), o.with(-several))
		if err != nil || !ok {
			return err
		}
		if n, isShown := below[0].numbers[name]; !isShown || n >= 0 || n != sum+first-(less+1)*each {
			return nil
		}
		if below[1].numbers[name] != below[0].numbers[name]+first-(several+1)*each {
			return nil
		}
		about := "a quantity below zero makes the number after \"" + name + "\" less than zero"
		o.tell(c, o.quantity, strconv.Itoa(-less), about, s[2].page, below...)
		_, _, err = o.add(ctx, o.with(less)) // as much as was taken away, where so much may be ordered
		return err
	}
	return nil
}

// priceAddsUp orders for prices of ours.
func (o *order) priceAddsUp(ctx context.Context, c *kit.Check, price message.Place) error {
	ours := []int{1000 + kit.Number()%7000, 1000 + kit.Number()%7000, 1000 + kit.Number()%7000}
	all := []*message.Request{o.with(1)}
	for _, n := range ours {
		all = append(all, o.with(1).Put(price, strconv.Itoa(n)))
	}
	s, ok, err := o.addAll(ctx, all...)
	if err != nil || !ok || ours[0] == ours[1] || ours[1] == ours[2] {
		return err
	}
	for name := range s[0].numbers {
		grown := make([]int, len(ours))
		for i := range ours {
			n, isShown := s[i+1].numbers[name]
			if !isShown {
				return nil
			}
			grown[i] = n - s[i].numbers[name]
		}
		if grown[1]-grown[0] == 100*(ours[1]-ours[0]) && grown[2]-grown[1] == 100*(ours[2]-ours[1]) {
			o.tell(c, price, strconv.Itoa(ours[0]), "the number after \""+name+"\" grows by the price that is sent", s[0].page,
				s[1:]...)
			return nil
		}
	}
	return nil
}

// tell reports what orders of ours did to a sum.
func (o *order) tell(c *kit.Check, p message.Place, text, about string, usual *message.Response, ours ...shown) {
	o.reported = true
	var evidence []kit.Evidence
	for _, s := range ours {
		evidence = append(evidence, kit.Evidence{Request: s.page.Request, Response: s.page, Note: about})
	}
	evidence = append(evidence, kit.Evidence{Request: usual.Request, Response: usual,
		Note: "after an order as it is meant"})
	o.Found(c, kit.Finding{Request: ours[0].page.Request, Place: p, Payload: text, Detail: about, Evidence: evidence})
}
