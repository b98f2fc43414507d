package technique

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// order looks for conditions that decide in which order a page lists what it lists: one turns the list around, the
// other leaves it. Pages are compared word by word, as what is compared otherwise has no order.
func (o *probe) order(ctx context.Context, p *Payload) (*shown, error) {
	plain := strings.Join(strings.Fields(kit.Text(o.base.Response)), " ")
	turned, err := o.condition(ctx, p, true)
	if err != nil || turned.Status != o.base.Response.Status || o.words(turned) == plain {
		return nil, err
	}
	left, err := o.condition(ctx, p, false)
	if err != nil || o.words(left) == o.words(turned) {
		return nil, err
	}
	nonsense, err := o.try(ctx, o.nonsense(p))
	if err != nil || o.words(nonsense) == o.words(turned) {
		return nil, err
	}
	for i := range bits + 2 {
		holds := i == 1 || i > 1 && kit.Bit() // at least one of each
		more, err := o.condition(ctx, p, holds)
		if err != nil {
			return nil, err
		}
		if o.words(more) != o.words(map[bool]*answer{true: turned, false: left}[holds]) {
			return nil, nil
		}
	}
	pattern := turnedAround(o.words(turned), string(turned.Body), string(left.Body))
	if pattern == "" {
		return nil, nil
	}
	step := func(id string, holds bool) proof.Step {
		return proof.Step{ID: id, As: o.user(), Send: o.request(o.conditional(p, holds)),
			Expect: []proof.Expect{{What: proof.Matches, Value: pattern, Not: !holds}}}
	}
	program := &proof.Program{About: "A condition decides about the order of a list.", Users: o.users(),
		Steps: []proof.Step{step("true", true), step("false", false), step("true again", true), step("false again", false)}}
	return &shown{payload: turned.text, detail: p.Tells, confidence: kit.Proved, evidence: []kit.Evidence{
		turned.evidence("", "the condition holds: the list is turned around"), left.evidence("", "it does not: it is not"),
		nonsense.evidence("", "the same characters without meaning do not turn it around"),
	}, proof: program}, nil
}

// words are those that an answer shows, without the text that was sent.
func (o *probe) words(a *answer) string {
	body := *a.Response
	body.Body = []byte(strings.NewReplacer(a.text, "", html.EscapeString(a.text), "").Replace(string(a.Body)))
	return strings.Join(strings.Fields(kit.Text(&body)), " ")
}

// minWord is how many letters a word has at least by which the order is told.
const minWord = 4

// maxBetween is how many letters stand between two such words at most.
const maxBetween = 900

// turnedAround is a pattern that one page matches and the other does not: one word before another; "" if there is none.
func turnedAround(words, turned, left string) string {
	var long []string
	for word := range strings.FieldsSeq(words) {
		if len(word) >= minWord && strings.Count(turned, word) == 1 && strings.Count(left, word) == 1 {
			long = append(long, word)
		}
	}
	for i := 1; i < len(long); i++ {
		first, second := long[i-1], long[i]
		between := strings.Index(turned, second) - strings.Index(turned, first) - len(first)
		if between < 0 || between > maxBetween {
			continue
		}
		pattern := fmt.Sprintf(`(?s)%s.{0,%d}%s`, regexp.QuoteMeta(first), between, regexp.QuoteMeta(second))
		if re := regexp.MustCompile(pattern); re.MatchString(turned) && !re.MatchString(message.Shown([]byte(left))) {
			return pattern
		}
	}
	return ""
}
