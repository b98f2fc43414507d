package fuzz

import (
	"context"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// rounds is how often conditions sends a true and a false condition.
const rounds = 2

// compareConditions confirms a payload that adds a condition to a statement: with a true one ([INFERENCE]) the
// response is that of the base request, with a false one (a number equal to 0) it differs. Each round has its own
// numbers, and the base request is sent at both ends: a page that changes by itself confirms nothing.
func (a *Analyzer) compareConditions(ctx context.Context, m *Mutation, first Answer,
	send func(context.Context, *web.Request) (Answer, error),
) (confirmed bool, details string, err error) {
	ask := func(fill func(string) string) (string, error) {
		var r web.Request
		sent := ""
		if fill == nil {
			r = m.component.apply(nil)
		} else {
			r, sent = m.with(fill), fill(m.settings[0].payload)
		}
		answer, err := send(ctx, &r)
		return normalizeAnswer(answer, sent), err
	}
	base, err := ask(nil)
	if err != nil || normalizeAnswer(first, m.sent) != base {
		return false, "", err
	}
	for range rounds {
		for _, step := range []struct {
			fill  func(string) string
			alike bool
		}{{a.falseCondition(), false}, {a.tokens(0), true}} {
			got, err := ask(step.fill)
			if err != nil || (got == base) != step.alike {
				return false, "", err
			}
		}
	}
	if again, err := ask(nil); err != nil || again != base {
		return false, "", err
	}
	return true, "[true_false] " + strconv.Itoa(rounds) + " conditions that hold were answered like the plain request, " +
		strconv.Itoa(rounds) + " that do not hold otherwise", nil
}

// falseCondition is tokens with a false [INFERENCE].
func (a *Analyzer) falseCondition() func(payload string) string {
	fill := a.tokens(0)
	return func(payload string) string {
		return fill(strings.ReplaceAll(payload, "[INFERENCE]", "[RANDNUM]=0"))
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// normalizeAnswer is equal for responses that mean the same: the status, and the body without numbers and without
// what was sent.
func normalizeAnswer(a Answer, sent string) string {
	body := string(a.Body)
	if sent != "" {
		for _, text := range []string{html.EscapeString(sent), url.QueryEscape(sent), url.PathEscape(sent), sent} {
			body = strings.ReplaceAll(body, text, "")
		}
	}
	return strconv.Itoa(a.Status) + " " + numbers.ReplaceAllString(body, "0")
}
