package llm

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Script replaces a model, for tests and trials. The first reply that matches a request is its answer; there is no
// memory, so that a repeated run gets the same answers.
type Script struct {
	Replies []Reply `json:"replies"`
}

// Reply is an answer and the conditions for it; zero values are no conditions.
type Reply struct {
	Turn   int    `json:"turn,omitempty"`   // number of the answer in the conversation, from 1
	Last   string `json:"last,omitempty"`   // part of the last message
	System string `json:"system,omitempty"` // part of the system prompt
	Tool   string `json:"tool,omitempty"`   // offered to the model

	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // without ids if empty
	Stop  Stop       `json:"stop,omitempty"`  // default: calls or end
	Usage Usage      `json:"usage,omitzero"`  // zero: estimated
	// Error is a Code constant to fail with.
	Error string `json:"error,omitempty"`
}

const maxScript = 16 << 20

// ReadScript reads a script from a file of JSON.
func ReadScript(path string) (Script, error) {
	var s Script
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, maxScript))
	dec.DisallowUnknownFields()
	return s, dec.Decode(&s)
}

// Complete implements Model. A request without a reply fails with CodeRequest.
func (s Script) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	for _, reply := range s.Replies {
		if reply.matches(r) {
			return reply.answer(ctx, r, onText)
		}
	}
	return Response{}, errs.New(errs.FailedDependency, CodeRequest,
		"The script has no reply to turn %d of this conversation.", turnOf(r))
}

func turnOf(r Request) int {
	turn := 1
	for _, m := range r.Messages {
		if m.Role == Assistant {
			turn++
		}
	}
	return turn
}

func (y Reply) matches(r Request) bool {
	last := ""
	if n := len(r.Messages); n > 0 {
		last = r.Messages[n-1].Text
	}
	offered := y.Tool == "" || slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == y.Tool })
	return offered && (y.Turn == 0 || y.Turn == turnOf(r)) && strings.Contains(last, y.Last) &&
		strings.Contains(r.System, y.System)
}

func (y Reply) answer(ctx context.Context, r Request, onText func(string)) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, unavailable(err, "The call of the model was ended.")
	}
	if y.Error != "" {
		return Response{}, errs.New(errs.FailedDependency, y.Error, "The script says so.")
	}
	out := Response{Model: r.Model, Text: y.Text, Stop: y.Stop, Usage: y.Usage}
	out.Calls = slices.Clone(y.Calls)
	out.finish(r)
	if out.Usage == (Usage{}) {
		estimate := Estimate(r)
		out.Usage = Usage{Input: estimate.Input / 5, Output: min(estimate.Output, outputBound(r, out).Output/4)}
	}
	for piece := range strings.SplitAfterSeq(out.Text, " ") {
		if onText != nil && piece != "" {
			onText(piece)
		}
	}
	return out, nil
}
