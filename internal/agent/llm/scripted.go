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

// Script says what a model answers that is none: for tests, and for trying things out
// without a provider. The first reply that matches a request is its answer; nothing is
// remembered from one request to the next, so that a run that starts again hears the same.
type Script struct {
	Replies []Reply `json:"replies"`
}

// Reply is an answer and what it is an answer to. All that is said of the request must
// hold; zero values say nothing.
type Reply struct {
	Turn   int    `json:"turn,omitempty"`   // which answer of the conversation this is, from 1
	Last   string `json:"last,omitempty"`   // is in the text of the last message
	System string `json:"system,omitempty"` // is in the instructions
	Tool   string `json:"tool,omitempty"`   // a tool of this name is offered

	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // ids that are empty are made up
	Stop  Stop       `json:"stop,omitempty"`  // calls when there are some, else end
	Usage Usage      `json:"usage,omitzero"`  // zero: what a rough count of the words gives
	// Error is one of the Code constants: the call fails with it.
	Error string `json:"error,omitempty"`
	// Hold delays the answer until it is closed, or ctx ends.
	Hold <-chan struct{} `json:"-"`
}

// maxScript bounds a script's file in bytes.
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

// Scripted makes a model that follows a script. A request that no reply matches fails
// with CodeRequest.
func Scripted(s Script) Model { return scripted{s} }

type scripted struct{ Script }

// Complete implements Model.
func (s scripted) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	for _, reply := range s.Replies {
		if reply.matches(r) {
			return reply.answer(ctx, r, onText)
		}
	}
	return Response{}, errs.New(errs.FailedDependency, CodeRequest, "The script has no reply to turn %d of this conversation.", turnOf(r))
}

// turnOf is which answer a request asks for, from 1.
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
	return offered && (y.Turn == 0 || y.Turn == turnOf(r)) && strings.Contains(last, y.Last) && strings.Contains(r.System, y.System)
}

func (y Reply) answer(ctx context.Context, r Request, onText func(string)) (Response, error) {
	if y.Hold != nil {
		select {
		case <-y.Hold:
		case <-ctx.Done():
		}
	}
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
		most := Estimate(r)
		out.Usage = Usage{Input: most.Input / 5, Output: min(most.Output, outputBound(r, out).Output/4)}
	}
	for piece := range strings.SplitAfterSeq(out.Text, " ") {
		if onText != nil && piece != "" {
			onText(piece)
		}
	}
	return out, nil
}
