package technique

import (
	"bytes"
	"context"
	"html"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// compute looks for the result of an expression.
func (o *probe) compute(ctx context.Context, s *Set, p *Payload) (*shown, error) {
	first, match, err := o.computed(ctx, p.Text, p.Expect)
	if err != nil || match == "" {
		return nil, err
	}
	twin, unwanted, err := o.computed(ctx, p.Twin, p.Expect)
	if err != nil || unwanted != "" {
		return nil, err
	}
	text, expect := p.Text, p.Expect
	if p.Also != "" {
		text, expect = p.Also, p.AlsoIs
	}
	second, again, err := o.computed(ctx, text, expect)
	if err != nil {
		return nil, err
	}
	confidence := kit.Proved
	if again == "" {
		if second, again, err = o.computed(ctx, p.Text, p.Expect); err != nil || again == "" || p.Also != "" {
			return nil, err
		}
		confidence = kit.Probable
	}
	return &shown{title: s.Title, payload: first.text, detail: p.Tells, confidence: confidence,
		evidence: []kit.Evidence{
			first.evidence(kit.Around(first.Body, match), "the answer has the result "+match+", which was not sent"),
			twin.evidence("", "the same numbers without the syntax are not computed"),
			second.evidence(kit.Around(second.Body, again), "other numbers are computed, too"),
		}, proof: o.computeProof(p)}, nil
}

// poly sends many expressions in one text, and says whether something became of one of them.
func (o *probe) poly(ctx context.Context, s *Set) (bool, error) {
	a, match, err := o.computed(ctx, s.Poly, "")
	if err != nil || match != "" {
		return match != "", err
	}
	if a.Status >= 500 && o.base.Response.Status < 500 {
		return true, nil
	}
	if o.reaction.WordPage != nil && !diff.Same(o.reaction.WordPage, diff.New(a.Response, a.text, o.value), o.base.Noise) {
		return true, nil // it comes back, but in another page: engines refuse a text with the syntax of others
	}
	body := string(a.Body)
	return !strings.Contains(body, a.text) && !strings.Contains(html.UnescapeString(body), a.text), nil
}

// computed sends an expression and returns the result if the answer has it; "" otherwise.
func (o *probe) computed(ctx context.Context, text, expect string) (*answer, string, error) {
	if expect == "" {
		expect = "{p}"
	}
	n := draw()
	text = o.fill(text, n) + kit.Ending(o.place)
	a, err := o.try(ctx, text)
	if err != nil {
		return nil, "", err
	}
	want := o.fill(expect, n)
	if strings.Contains(text, want) || !bytes.Contains(a.Body, []byte(want)) {
		// What leads elsewhere shows its result there.
		if to := a.Header.Get("Location"); to == "" || !strings.Contains(to, want) || strings.Contains(text, want) {
			return a, "", nil
		}
	}
	return a, want, nil
}

// computeProof is a program that sends the payload and its twin with numbers of its own.
func (o *probe) computeProof(p *Payload) *proof.Program {
	expect := p.Expect
	if expect == "" {
		expect = "{p}"
	}
	replace := func(text string) string {
		text = strings.NewReplacer("{a}", proof.Marker("a"), "{b}", proof.Marker("b"), "{p}", proof.Marker("p"),
			"{w}", proof.Marker("w"), "{s}", proof.Marker("s")).Replace(text)
		return o.fill(text, numbers{})
	}
	return &proof.Program{
		About: "An expression of random numbers comes back computed, and without its syntax it does not.",
		Users: o.users(),
		Vars: []proof.Var{{Name: "a", Kind: proof.Number}, {Name: "b", Kind: proof.Number},
			{Name: "p", Kind: proof.Product, Of: []string{"a", "b"}},
			{Name: "s", Kind: proof.Sum, Of: []string{"p", "a"}}, {Name: "w", Kind: proof.Word}},
		Steps: []proof.Step{
			{ID: "computes", As: o.user(), Send: o.request(replace(p.Text) + kit.Ending(o.place)),
				Expect: []proof.Expect{{What: proof.Contains, Value: replace(expect)}}},
			{ID: "twin", As: o.user(), Send: o.request(replace(p.Twin) + kit.Ending(o.place)),
				Expect: []proof.Expect{{What: proof.Contains, Value: replace(expect), Not: true}}},
		},
	}
}

func (o *probe) user() string {
	if o.User == nil {
		return ""
	}
	return o.User.Name
}

func (o *probe) users() []string {
	if u := o.user(); u != "" {
		return []string{u}
	}
	return nil
}
