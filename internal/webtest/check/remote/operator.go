package remote

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// operators is the check for operators of document databases in place of values. What holds for all documents ($ne) is
// only sent in requests that read. Two requests for a clean place: one that holds for all, one for none; as many again
// where the request has one or two other values, which hold for all then.
func operators() kit.Check {
	c := kit.Check{ID: "nosql-operator", Class: "nosql-injection", Level: client.Safe}.Describe()
	c.Title = "NoSQL injection (operators)"
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if !operable(p) || !kit.OnlyReads(t.Request) || kit.Static(t.Response) {
			return nil
		}
		found, err := operator(ctx, &c, w, t, p)
		if r, ok := beside(t.Request, p); err == nil && ok && !found {
			whole := &kit.Target{Request: r, User: t.User, From: t.From, Kind: t.Kind}
			if whole.Response, err = w.Send(ctx, t, r); err == nil {
				_, err = operator(ctx, &c, w, whole, p)
			}
		}
		return err
	}
	return c
}

// maxBeside are how many other values a request may have for all to be operators: a login has one.
const maxBeside = 2

// beside is a request whose other values all have operators that hold, as a name and a password must fit both. The
// values of a form keep the names of their own.
func beside(r *message.Request, p message.Place) (*message.Request, bool) {
	others := 0
	for _, other := range message.Places(r) {
		switch {
		case other == p || !operable(other):
		case other.Component != p.Component || other.Format != p.Format:
			return nil, false
		default:
			others++
			r = with(r, other, "$ne", kit.Word())
		}
	}
	return r, others > 0 && others <= maxBeside
}

// operable says whether a place can have an operator: a parameter whose name can be a key, or a value of JSON.
func operable(p message.Place) bool {
	switch {
	case p.Key || p.File:
		return false
	case p.Format == message.JSON:
		return true
	}
	return p.Format == message.Form && p.Name != "" && !strings.Contains(p.Name, "[")
}

// with is a request with an operator in a place.
func with(r *message.Request, p message.Place, name, value string) *message.Request {
	if p.Format == message.JSON {
		return r.PutRaw(p, `{"`+name+`":"`+value+`"}`)
	}
	return r.Rename(p, p.Name+"["+name+"]", value)
}

// confirming is an operator with a value with which it holds for all texts, and one with which it holds for none, {w}
// being a word. It is one operator, as a filter may refuse some of them.
type confirming struct{ name, all, none string }

// others confirm $ne and $eq, one of them: an application may know, or let through, some operators alone.
var others = []confirming{{"$regex", ".*", "^{w}"}, {"$gt", "", "\uffee{w}"}}

func operator(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place) (bool, error) {
	base, err := w.Base(ctx, t)
	if err != nil {
		return false, err
	}
	send := func(name, value string) (*message.Response, *diff.Page, error) {
		r, err := w.Send(ctx, t, with(t.Request, p, name, value))
		if err != nil {
			return nil, nil, err
		}
		return r, diff.New(r, value, name), nil
	}
	all, allPage, err := send("$ne", kit.Word())
	if err != nil || all.Status >= 500 {
		return false, err
	}
	none, nonePage, err := send("$eq", kit.Word())
	if err != nil || diff.Same(allPage, nonePage, base.Noise) {
		return false, err
	}
	unknown, unknownPage, err := send("$q"+kit.Word(), kit.Word())
	if err != nil || diff.Same(allPage, unknownPage, base.Noise) {
		return false, err
	}
	like := func(name, value string, page *diff.Page) (bool, error) {
		_, got, err := send(name, value)
		return err == nil && diff.Same(got, page, base.Noise), err
	}
	confirms, ok := confirming{}, false
	for _, confirms = range others {
		if ok, err = like(confirms.name, confirms.all, allPage); err != nil || ok {
			break
		}
	}
	if err != nil || !ok {
		return false, err
	}
	for _, again := range []struct {
		name, value string
		page        *diff.Page
	}{{confirms.name, strings.ReplaceAll(confirms.none, "{w}", kit.Word()), nonePage},
		{"$ne", kit.Word(), allPage}, {"$eq", kit.Word(), nonePage}} {
		if ok, err := like(again.name, again.value, again.page); err != nil || !ok {
			return false, err
		}
	}
	user, users := kit.Names(t.User)
	step := func(id, name, value string, expects ...proof.Expect) proof.Step {
		return proof.Step{ID: id, As: user, Send: with(t.Request, p, name, value), Cut: []string{value, name},
			Expect: expects}
	}
	w.Found(c, kit.Finding{Request: all.Request, Place: p, Payload: "$ne",
		Evidence: []kit.Evidence{
			{Request: all.Request, Response: all, Note: "an operator that holds for all documents"},
			{Request: none.Request, Response: none, Note: "one that holds for none: another answer"},
			{Request: unknown.Request, Response: unknown, Note: "one that does not exist does not bring the first answer"},
		},
		Proof: &proof.Program{About: "Operators that hold for all documents bring one answer, those for none another.",
			Users: users, Steps: []proof.Step{
				step("all", "$ne", kit.Word()),
				step("none", "$eq", kit.Word(), proof.Expect{What: proof.Same, Of: "all", Not: true}),
				step("other", confirms.name, confirms.all, proof.Expect{What: proof.Same, Of: "all"}),
			}}})
	return true, nil
}
