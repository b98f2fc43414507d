package enrol

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
)

// expressions are names with an expression in the marks of template engines, two in one name: an engine leaves those of
// others as they are. {a} and {b} are numbers.
var expressions = []string{"{{{a}*{b}}}${{a}*{b}}", "<%={a}*{b}%>#{{a}*{b}}"}

// templateOfNames is the check for names that an application keeps at a registration and puts into the template of
// another page. A user is registered whose name has an expression of two numbers: a page shows the product, which was
// never sent. It does not show it to a user whose name has the numbers without the marks, and shows that of other
// numbers to another. At level active alone: two users where names are only text, and four where they are not.
func templateOfNames() kit.Check {
	c := kit.Check{ID: "template-of-kept-name", Class: "template-injection", Level: client.Active,
		Title: "A name that is kept is part of a template"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		return beside(ctx, w, func(form *message.Request, control *member, pages []*message.Request) (bool, error) {
			if nameOf(control).Name == "" {
				return false, nil
			}
			for _, expression := range expressions {
				if found, err := evaluated(ctx, w, &c, form, pages, expression); err != nil || found {
					return true, err
				}
			}
			return true, nil
		})
	}
	return c
}

// named is a user whose name has two numbers, and their product.
type named struct {
	*member

	product []byte
}

// evaluated tries one expression.
func evaluated(ctx context.Context, w *kit.World, c *kit.Check, form *message.Request, pages []*message.Request,
	expression string,
) (bool, error) {
	with := func(expression string) (*named, error) {
		a, b := kit.Number(), kit.Number()
		u := registration.NewUser()
		u.Name += strings.NewReplacer("{a}", strconv.Itoa(a), "{b}", strconv.Itoa(b)).Replace(expression)
		m, err := join(ctx, w, form, u, pages, nil)
		if err != nil || m == nil {
			return nil, err
		}
		return &named{m, []byte(strconv.Itoa(a * b))}, nil
	}
	first, err := with(expression)
	if err != nil || first == nil || first.page() < 0 {
		return false, err
	}
	at := first.page()
	twin, err := with(" {a} {b}")
	if err != nil || twin == nil || bytes.Contains(twin.shown[at].Body, twin.product) {
		return false, err
	}
	again, err := with(expression)
	if err != nil || again == nil || !again.shows(at) {
		return false, err
	}
	chain := pages[at].Clone() // the page after the registration, which has the place
	chain.After = first.sent
	w.Found(c, kit.Finding{Request: chain, Place: nameOf(first.member), Payload: first.name,
		Detail: "the name is part of the template of " + pages[at].URL.Path,
		Evidence: []kit.Evidence{
			{Request: pages[at], Response: first.shown[at], Match: kit.Around(first.shown[at].Body, string(first.product)),
				Note: "what " + first.name + " gets has the product " + string(first.product) + ", which was not sent"},
			{Request: pages[at], Response: twin.shown[at], Note: "what " + twin.name + " gets has none"},
			{Request: pages[at], Response: again.shown[at], Match: kit.Around(again.shown[at].Body, string(again.product)),
				Note: "what " + again.name + " gets has that of other numbers"}}})
	return true, nil
}

// page is the first page that shows the product; -1 if none does.
func (n *named) page() int {
	for i := range n.shown {
		if n.shows(i) {
			return i
		}
	}
	return -1
}

func (n *named) shows(i int) bool {
	return n.shown[i].Status != 0 && n.shown[i].Status < http.StatusInternalServerError &&
		bytes.Contains(n.shown[i].Body, n.product)
}
