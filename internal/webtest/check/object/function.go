package object

import (
	"bytes"
	"context"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// functionMark is what node-serialize of Node.js writes before a function (CVE-2017-5941); a call behind the function
// is made while the object is read.
const functionMark = "_$$ND_FUNC$$_"

// product is a function that is called, and returns the product of two numbers.
func product(a, b string) string { return "function(){return " + a + "*" + b + "}()" }

// functions tells whether a member of an object of JSON, which stands in one value, is read as a function: the answer
// has the product that the function returns, twice, and not where the mark before it is wrong. One request for a
// clean place, two more for one that is not.
func functions(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place) error {
	var evidence []kit.Evidence
	payload := ""
	for _, one := range []struct {
		mark, note string
		runs       bool
	}{{functionMark, "the answer has the product that the function returns", true},
		{"_$$ND_FUNQ$$_", "with another mark it is a text", false},
		{functionMark, "other numbers are computed, too", true}} {
		a, b := 10_000+kit.Number(), 10_000+kit.Number()
		text, result := one.mark+product(strconv.Itoa(a), strconv.Itoa(b)), strconv.Itoa(a*b)
		answer, err := w.Try(ctx, t, p, text)
		if err != nil || bytes.Contains(answer.Body, []byte(result)) != one.runs {
			return err
		}
		match := ""
		if one.runs {
			match, payload = result, text
		}
		evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer, Match: match, Note: one.note})
	}
	user, users := kit.Names(t.User)
	text := product(proof.Marker("a"), proof.Marker("b"))
	w.Found(c, kit.Finding{Request: t.Request.Put(p, payload), Place: p, Payload: payload, Severity: kit.Critical,
		Detail: "functions of node-serialize, which are called", Evidence: evidence, Proof: &proof.Program{
			About: "A function in an object of JSON is called when the object is read.", Users: users,
			Vars: []proof.Var{{Name: "a", Kind: proof.Number}, {Name: "b", Kind: proof.Number},
				{Name: "p", Kind: proof.Product, Of: []string{"a", "b"}}},
			Steps: []proof.Step{
				{ID: "function", As: user, Send: t.Request.Put(p, functionMark+text),
					Expect: []proof.Expect{{What: proof.Contains, Value: proof.Marker("p")}}},
				{ID: "text", As: user, Send: t.Request.Put(p, text),
					Expect: []proof.Expect{{What: proof.Contains, Value: proof.Marker("p"), Not: true}}}}}})
	return nil
}
