package logic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// A script that orders takes the article and its price from a list that it has read. The map knows neither, so that the
// order it has is refused. Here the members of the order are filled from such a list.

var (
	articleName = regexp.MustCompile(`(?i)product|article|item|sku|^id$|_?id$|code|slug|name|variant|offer|ticket|plan|artik|produ[ck]|articul|artigo`)
	articleKey  = regexp.MustCompile(`(?i)^(?:_?id|sku|code|slug|key|uuid|number|name|(?:product|article|item)(?:_?(?:id|code|no))?)$`)
)

const (
	maxLists    = 20 // answers that are read for articles
	maxArticles = 3  // that are ordered
)

// article is an entry of a list: its members that may name it, and its price in hundredths.
type article struct {
	keys  []any
	price int
}

// listed is the check for orders in JSON that take the price from who orders, where the article and its price are in a
// list that the application gives. An order as a script would make it is answered with its sum, which is several times
// the price; with a price of ours the sum must be as many times ours, for two prices. At level active alone; for an
// order with an article, a price and a quantity up to twenty requests to read lists, and eleven orders.
func listed() kit.Check {
	c := kit.Check{ID: "price-of-script", Class: "business-logic", Level: client.Active,
		Title: "An order takes the price that a script sends"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method == http.MethodGet || !strings.Contains(t.Request.Header.Get("Content-Type"), "json") {
			return nil
		}
		o := scripted{World: w, Target: t, as: t.User}
		if !o.read() || !w.Once("price of script "+t.Request.Method+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		if !kit.Known(o.as) {
			o.as = client.NewUser("")
		}
		all, err := o.articles(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			for _, key := range one.keys {
				if found, err := o.try(ctx, &c, key, one.price); err != nil || found {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// scripted is an order in JSON.
type scripted struct {
	*kit.World
	*kit.Target

	as    *client.User
	price message.Place // the first member with a price
}

// read reports whether the request has members for an article, a price and a quantity.
func (o *scripted) read() bool {
	hasArticle, hasQuantity := false, false
	for _, p := range message.Places(o.Request) {
		name := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
		switch {
		case p.Component != message.Body || p.Key:
		case quantityName.MatchString(name):
			hasQuantity = true
		case priceName.MatchString(name):
			if o.price.Name == "" {
				o.price = p
			}
		case articleName.MatchString(name):
			hasArticle = true
		}
	}
	return hasArticle && hasQuantity && o.price.Name != ""
}

// articles are some that lists of the application have.
func (o *scripted) articles(ctx context.Context) (all []article, err error) {
	looked := 0
	for _, r := range o.Pages() {
		if r.Method != http.MethodGet || r.IsMessage() || r.URL.Host != o.Request.URL.Host || looked >= maxLists ||
			len(all) >= maxArticles {
			continue
		}
		looked++
		answer, err := o.Ask(ctx, r, o.as)
		if err != nil {
			return nil, err
		}
		var value any
		if strings.Contains(answer.Type(), "json") && json.Unmarshal(answer.Body, &value) == nil {
			all = append(all, articlesIn(value, maxDepth)...)
		}
	}
	return all[:min(len(all), maxArticles)], nil
}

// maxDepth is how deep lists and orders are looked at.
const maxDepth = 5

// articlesIn are the objects with a price and a name in a value of JSON.
func articlesIn(value any, depth int) (all []article) {
	if depth == 0 {
		return nil
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			all = append(all, articlesIn(one, depth-1)...)
		}
	case map[string]any:
		one := article{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch member := v[name].(type) {
			case float64:
				if priceName.MatchString(name) && member > 0 {
					one.price = int(math.Round(member * 100))
				} else if articleKey.MatchString(name) {
					one.keys = append(one.keys, member)
				}
			case string:
				if articleKey.MatchString(name) && member != "" {
					one.keys = append(one.keys, member)
				}
			default:
				all = append(all, articlesIn(member, depth-1)...)
			}
		}
		if one.price > 0 && len(one.keys) > 0 {
			one.keys = one.keys[:min(len(one.keys), 2)]
			all = append(all, one)
		}
	}
	return all
}

// with is the order of several pieces of an article at a price, in hundredths.
func (o *scripted) with(key any, price int) (*message.Request, error) {
	var body any
	if err := json.Unmarshal(o.Request.Body, &body); err != nil {
		return nil, fmt.Errorf("an order: %w", err)
	}
	text, err := json.Marshal(filled(body, key, price, maxDepth))
	if err != nil {
		return nil, fmt.Errorf("an order: %w", err)
	}
	r := o.Request.Clone()
	r.Body = text
	return r, nil
}

// filled is a value of JSON whose members have an article, a price and a quantity of ours.
func filled(value, key any, price, depth int) any {
	if depth == 0 {
		return value
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = filled(v[i], key, price, depth-1)
		}
	case map[string]any:
		for name, member := range v {
			_, isList := member.([]any)
			_, isObject := member.(map[string]any)
			switch {
			case isList || isObject:
				v[name] = filled(member, key, price, depth-1)
			case quantityName.MatchString(name):
				v[name] = several
			case priceName.MatchString(name):
				v[name] = float64(price) / 100
			case articleName.MatchString(name):
				v[name] = key
			}
		}
	}
	return value
}

// sum is how several times a price, in hundredths, stands in an answer.
func sum(price int) *regexp.Regexp {
	n := several * price
	if n%100 == 0 {
		return total(n / 100)
	}
	cents := fmt.Sprintf("%02d", n%100)
	if n%10 == 0 {
		cents = cents[:1] + "0?"
	}
	return regexp.MustCompile(`(?:^|[^\d.,-])` + strconv.Itoa(n/100) + `[.,]` + cents + `(?:$|\D)`)
}

// try orders an article at its price, and then at two of ours.
func (o *scripted) try(ctx context.Context, c *kit.Check, key any, price int) (bool, error) {
	meant, err := o.order(ctx, key, price)
	if err != nil || !sum(price).Match(meant.Body) {
		return false, err
	}
	first := 100 * (1000 + kit.Number()%4000)
	var answers []*message.Response
	for _, ours := range []int{first, first + 100*(1000+kit.Number()%3000)} {
		answer, err := o.order(ctx, key, ours)
		if err != nil || !sum(ours).Match(answer.Body) || sum(price).Match(answer.Body) || sum(ours).Match(meant.Body) {
			return false, err
		}
		answers = append(answers, answer)
	}
	about := "the sum of an order follows the price that is sent, and not that of the list"
	user, users := kit.Names(o.User)
	o.Found(c, kit.Finding{Request: answers[0].Request, Place: o.price, Payload: strconv.Itoa(first / 100), Detail: about,
		Evidence: []kit.Evidence{
			{Request: answers[0].Request, Response: answers[0], Match: sum(first).FindString(string(answers[0].Body)),
				Note: about},
			{Request: answers[1].Request, Response: answers[1], Note: "so it does with another price"},
			{Request: meant.Request, Response: meant, Match: sum(price).FindString(string(meant.Body)),
				Note: "the order as it is meant"}},
		Proof: &proof.Program{About: about, Users: users, Steps: []proof.Step{
			{ID: "meant", As: user, Send: meant.Request, Writes: true,
				Expect: []proof.Expect{{What: proof.Matches, Value: sum(price).String()}}},
			{ID: "ours", As: user, Send: answers[0].Request, Writes: true,
				Expect: []proof.Expect{{What: proof.Matches, Value: sum(first).String()}}}}}})
	return true, nil
}

// order sends an order; one that is refused has an empty answer.
func (o *scripted) order(ctx context.Context, key any, price int) (*message.Response, error) {
	r, err := o.with(key, price)
	if err != nil {
		return nil, err
	}
	answer, err := o.Client.Send(ctx, r, client.Options{As: o.as, Writes: true})
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
		return nil, err
	}
	if answer.Status >= http.StatusBadRequest {
		return &message.Response{Header: http.Header{}, Request: r}, nil
	}
	return answer, nil
}
