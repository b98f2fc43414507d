package webtool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

type diffArgs struct {
	A request `json:"a"`
	B request `json:"b"`
	// Ignore are texts that were sent and are expected to come back.
	Ignore []string `json:"ignore"`
}

const (
	diffRequests = 6 // with two for tokens against forged requests
	maxOnly      = 20
	oneSchema    = `{"type": "object", "required": ["url"], "properties": {` + requestSchema + `}}`
	diffSchema   = `{"type": "object", "required": ["a", "b"], "properties": {"a": ` + oneSchema + `, "b": ` + oneSchema + `,
		"ignore": {"type": "array", "maxItems": 20, "items": {"type": "string"}, "description": "texts that the requests send and that may come back"}}}`
)

// diff sends two requests, each twice, and says how their answers differ by more than what changes by itself.
func (t *Tools) diff(ctx context.Context, a diffArgs, _ func(string)) (r loop.Result, err error) {
	var answers [2][2]*message.Response
	for i, one := range []request{a.A, a.B} {
		if r.Requests, err = t.twice(ctx, one, &answers[i], r.Requests); err != nil {
			return r, fmt.Errorf("%s: %w", []string{"a", "b"}[i], err)
		}
	}
	page := func(i, n int) *diff.Page { return diff.New(answers[i][n], a.Ignore...) }
	noise := diff.Learn(page(0, 0), page(0, 1))
	x, y := page(0, 0), page(1, 0)
	said := "They say the same."
	if !diff.Same(x, y, noise) {
		said = fmt.Sprintf("They differ; %.0f %% of their lines are the same.", 100*diff.Likeness(x, y, noise))
	}
	if !diff.Same(page(1, 0), page(1, 1), diff.Learn(page(1, 0), page(1, 1))) || !diff.Same(x, page(0, 1), noise) {
		said += " One of them is not answered twice alike, so that this says little."
	}
	lines := []string{said}
	for i, name := range []string{"a", "b"} {
		first := answers[i][0]
		lines = append(lines, fmt.Sprintf("%s: status %d, %s, %d bytes, %d and %d ms%s", name, first.Status, first.Type(),
			len(first.Body), first.Took.Milliseconds(), answers[i][1].Took.Milliseconds(), location(first)))
	}
	for i, name := range []string{"a", "b"} {
		only := onlyIn(answers[i][0], answers[1-i][0])
		if len(only) > 0 {
			lines = append(lines, "Only in "+name+":")
			lines = append(lines, only...)
		}
	}
	r.Text = strings.Join(lines, "\n")
	r.Evidence = []string{"diff " + a.A.Method + a.A.URL + a.A.As + " " + a.B.Method + a.B.URL + a.B.As + a.B.Body}
	return r, nil
}

func location(r *message.Response) string {
	if to := r.Header.Get("Location"); to != "" {
		return ", leads to " + errs.Clip(to, maxWhy)
	}
	return ""
}

// twice sends a request two times, one after the other.
func (t *Tools) twice(ctx context.Context, one request, into *[2]*message.Response, sent int) (int, error) {
	made, err := one.message()
	if err != nil {
		return sent, err
	}
	who, err := t.user(one.As)
	if err != nil {
		return sent, err
	}
	sender := t.client(ctx, made.URL, diffRequests/2)
	defer sender.Close()
	options := client.Options{}
	if who != nil {
		options.As = who.User
	}
	for n := range into {
		if into[n], err = sender.Send(ctx, made, options); err != nil {
			return sent + int(sender.Sent()), errors.New(errs.Clip(err.Error(), maxWhy))
		}
	}
	return sent + int(sender.Sent()), nil
}

// onlyIn are the first lines that one answer has and another has not.
func onlyIn(one, other *message.Response) (lines []string) {
	has := map[string]bool{}
	for l := range strings.SplitSeq(string(other.Body), "\n") {
		has[strings.TrimSpace(l)] = true
	}
	for l := range strings.SplitSeq(string(one.Body), "\n") {
		if l = strings.TrimSpace(l); l != "" && !has[l] && len(lines) < maxOnly {
			has[l] = true
			lines = append(lines, "  "+errs.Clip(l, maxWhy))
		}
	}
	return lines
}
