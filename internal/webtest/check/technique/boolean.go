package technique

import (
	"context"
	"fmt"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// bits is how many random conditions must come out right in the end: a page that shows one of three texts by chance has
// each right once in three times, and some fifty payloads try.
const bits = 8

// boolean looks for conditions that decide about the page.
func (o *probe) boolean(ctx context.Context, p *Payload) (*shown, error) {
	yes, err := o.condition(ctx, p, true)
	if err != nil {
		return nil, err
	}
	plain := o.plain()
	if o.same(plain, yes.like) != (p.Kind == "and") || yes.Status >= 500 {
		return nil, nil
	}
	no, err := o.condition(ctx, p, false)
	if err != nil || o.same(yes.page, no.page) || p.Kind != "and" && no.Status >= 500 {
		return nil, err
	}
	nonsense, err := o.try(ctx, o.nonsense(p))
	if err != nil || o.same(yes.page, nonsense.page) {
		return nil, err
	}
	for i := range bits + 2 {
		want := i == 1 || i > 1 && kit.Bit() // at least one of each
		more, err := o.condition(ctx, p, want)
		if err != nil {
			return nil, err
		}
		if o.same(more.page, yes.page) != want || o.same(more.page, no.page) == want {
			return nil, nil
		}
	}
	last, err := o.Send(ctx, o.Target, o.Request)
	if err != nil {
		return nil, err
	}
	// The page must be what it was, or something else has changed; and it must not have kept the payload from an earlier
	// test, or cutting it as an echo makes the difference.
	if p.Kind == "and" && !o.same(plain, diff.New(last, o.value)) || !o.same(diff.New(last), diff.New(last, yes.text)) {
		return nil, nil
	}
	return &shown{payload: yes.text, detail: p.Tells, confidence: kit.Proved, evidence: []kit.Evidence{
		yes.evidence("", "the condition holds"), no.evidence("", "the condition does not hold: another answer"),
		nonsense.evidence("", "the same characters without meaning do not bring the first answer"),
	}, proof: o.booleanProof(p)}, nil
}

func (o *probe) condition(ctx context.Context, p *Payload, holds bool) (*answer, error) {
	return o.try(ctx, o.conditional(p, holds))
}

// conditional is a payload with a condition.
func (o *probe) conditional(p *Payload, holds bool) string {
	switch {
	case p.Yes != "" && holds:
		return o.fill(p.Yes, draw())
	case p.Yes != "":
		return o.fill(p.No, draw())
	}
	return o.fill(p.Text, draw(), "{c}", condition(holds))
}

// nonsense is a payload with what is no condition in any language.
func (o *probe) nonsense(p *Payload) string {
	if p.Yes != "" {
		return o.fill(p.Non, draw())
	}
	n := strconv.Itoa(kit.Number())
	return o.fill(p.Text, draw(), "{c}", "="+n+" "+n+"=")
}

// condition is a random comparison that holds or does not; all are equally long. It has no < and no >, with which a
// shell writes files, and no +, which is read as a space, or encoded for those that do not decode it.
func condition(holds bool) string {
	n := kit.Number()
	d := 1 + kit.Number()%8
	sum := n + d
	if !holds {
		sum++
	}
	return fmt.Sprintf("%d-%d=%d", sum, d, n)
}

func (o *probe) booleanProof(p *Payload) *proof.Program {
	step := func(id, text string, expects ...proof.Expect) proof.Step {
		return proof.Step{ID: id, As: o.user(), Send: o.request(text), Cut: []string{text}, Expect: expects}
	}
	return &proof.Program{
		About: "Conditions that hold bring one answer, those that do not bring another.", Users: o.users(),
		Steps: []proof.Step{
			step("true", o.conditional(p, true)),
			step("false", o.conditional(p, false), proof.Expect{What: proof.Same, Of: "true", Not: true}),
			step("true again", o.conditional(p, true), proof.Expect{What: proof.Same, Of: "true"}),
			step("false again", o.conditional(p, false), proof.Expect{What: proof.Same, Of: "false"}),
			step("nonsense", o.nonsense(p), proof.Expect{What: proof.Same, Of: "true", Not: true}),
		},
	}
}
