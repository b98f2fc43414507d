package technique

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// interpreterError looks for the message of an interpreter that a broken text brings and a healed one does not.
func (o *probe) interpreterError(ctx context.Context, s *Set, p *Payload) (*shown, error) {
	// The odd characters of the Reaction break everything: without a message there, there is none.
	without := []*message.Response{o.base.Response, o.reaction.Unknown}
	if sig, _ := o.messageIn(s, o.reaction.Odd, without...); sig == nil {
		return nil, nil
	}
	var sig *Signature
	var first, healed *answer
	word := ""
	asCode := 0
	for range 2 {
		n := draw()
		broken, err := o.try(ctx, o.fill(p.Text, n))
		if err != nil {
			return nil, err
		}
		found, text := o.messageIn(s, broken.Response, without...)
		if found == nil {
			return nil, nil
		}
		if healed, err = o.try(ctx, o.fill(p.Twin, n)); err != nil {
			return nil, err
		}
		if again, _ := o.messageIn(s, healed.Response, without...); again != nil {
			return nil, nil
		}
		if first == nil {
			first, sig, word = broken, found, text
		}
		if codeWord(string(broken.Body), n.word, broken.text) {
			asCode++
		}
	}
	out := &shown{title: s.Title, payload: first.text, detail: sig.Tells, confidence: kit.Probable,
		evidence: []kit.Evidence{
			first.evidence(word, "the answer has a message of "+sig.Tells),
			healed.evidence("", "the same text with its quotes in order brings no message"),
		},
		proof: &proof.Program{About: "A broken text brings a message of the interpreter, a healed one does not.",
			Users: o.users(), Steps: []proof.Step{
				{ID: "broken", As: o.user(), Send: o.request(first.text),
					Expect: []proof.Expect{{What: proof.Matches, Value: sig.Pattern}}},
				{ID: "healed", As: o.user(), Send: o.request(healed.text),
					Expect: []proof.Expect{{What: proof.Matches, Value: sig.Pattern, Not: true}}},
			}}}
	if o.message == nil {
		o.message = &shown{payload: first.text, detail: "a message of " + sig.Tells, evidence: slices.Clone(out.evidence),
			proof: out.proof}
	}
	if asCode == 2 {
		out.confidence = kit.Proved
		out.evidence = append(out.evidence, kit.Evidence{Note: "the message quotes our random word as code"})
	}
	return o.computedError(ctx, p, sig, out)
}

// computedError looks for a result in the message of an interpreter, which proves that it computed it.
func (o *probe) computedError(ctx context.Context, p *Payload, sig *Signature, out *shown) (*shown, error) {
	for _, more := range p.Proves {
		if more.Tells != "" && more.Tells != sig.Tells {
			continue
		}
		a, match, err := o.computed(ctx, more.Text, "{p}")
		if err != nil {
			return out, err
		}
		if match != "" {
			out.confidence = kit.Proved
			out.evidence = append(out.evidence, a.evidence(kit.Around(a.Body, match), "a result that was computed in the query"))
			return out, nil
		}
	}
	return out, nil
}

// verbose is the check under which messages of interpreters are reported that a page shows to everybody: a fault of its
// own beside the injection, which stays when that is mended.
var verbose = kit.Check{ID: "verbose-error-of-query", Class: "verbose-error", Level: client.Safe}.Describe()

// tellMessage reports the message of an interpreter at a place where an injection was proved, by whatever set. What
// only looks like a message, such as that of a check of inputs, stands at no such place.
func (o *probe) tellMessage(own []*Set) {
	m := o.message
	for _, s := range own {
		if sig, text := o.messageIn(s, o.reaction.Odd, o.base.Response); m == nil && sig != nil {
			odd := answer{Response: o.reaction.Odd}
			m = &shown{payload: o.reaction.OddText, detail: "a message of " + sig.Tells,
				evidence: []kit.Evidence{odd.evidence(text, "the answer has a message of "+sig.Tells)},
				proof: &proof.Program{About: "A text with quotes brings a message of the interpreter, the usual value does not.",
					Users: o.users(), Steps: []proof.Step{
						{ID: "odd", As: o.user(), Send: o.request(o.reaction.OddText),
							Expect: []proof.Expect{{What: proof.Matches, Value: sig.Pattern}}},
						{ID: "normal", As: o.user(), Send: o.Request,
							Expect: []proof.Expect{{What: proof.Matches, Value: sig.Pattern, Not: true}}}}}}
		}
	}
	if m == nil || !o.Once("message of a query "+o.Request.URL.Host+o.Request.URL.Path+m.detail) {
		return
	}
	o.Found(&verbose, kit.Finding{Request: o.request(m.payload), Place: o.place, Payload: m.payload, Detail: m.detail,
		Evidence: m.evidence, Proof: m.proof})
}

// messageIn is the message of an interpreter in an answer, which none of the others has.
func (o *probe) messageIn(s *Set, r *message.Response, without ...*message.Response) (*Signature, string) {
	for i := range s.Signatures {
		sig := &s.Signatures[i]
		found := sig.compiled.Find(r.Body)
		has := func(r *message.Response) bool { return sig.compiled.Match(r.Body) }
		if found == nil || slices.ContainsFunc(without, has) {
			continue
		}
		return sig, strings.ToValidUTF8(string(found), "?")
	}
	return nil, ""
}

// codeWord says whether a message quotes a word without the text that it was sent in: as a token of its own.
func codeWord(body, word, sent string) bool {
	near := regexp.MustCompile(`(?i)(near|token|column|identifier|at or near|Unclosed quotation|symbol|unterminated|literal)` +
		`[^A-Za-z0-9]{1,20}` + word)
	rest := strings.ReplaceAll(body, sent, "")
	return near.MatchString(rest)
}
