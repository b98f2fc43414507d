package llm

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

type answer struct {
	request Request
	onText  func(string)
	text    strings.Builder
	model   string
	calls   []*partialCall
	usage   *Usage // nil: not reported
}

func (a *answer) addText(s string) {
	a.text.WriteString(s)
	if s != "" && a.onText != nil {
		a.onText(s)
	}
}

// partialCall is a call whose arguments arrive in pieces.
type partialCall struct {
	ToolCall
	index int64
	args  strings.Builder
}

// response is the whole answer. stop is empty when it ended by itself. A call without arguments gets an empty object.
func (a *answer) response(stop Stop) Response {
	out := Response{Model: cmp.Or(a.model, a.request.Model), Text: a.text.String(), Stop: stop}
	for _, c := range a.calls {
		c.Args = cmp.Or(c.args.String(), "{}")
		out.Calls = append(out.Calls, c.ToolCall)
	}
	out.finish(a.request)
	if out.Usage = outputBound(a.request, out); a.usage != nil {
		out.Usage = *a.usage
	}
	return out
}

// finish sets Stop and the ids of calls. A missing or repeated id is replaced by one that is the same for the same
// request and position.
func (out *Response) finish(r Request) {
	if out.Stop == "" {
		if out.Stop = StopEnd; len(out.Calls) > 0 {
			out.Stop = StopCalls
		}
	}
	seen := map[string]bool{}
	for i := range out.Calls {
		if id := out.Calls[i].ID; id == "" || seen[id] {
			text, _ := json.Marshal(r) //nolint:errchkjson // may fail because of a tool's schema
			out.Calls[i].ID = fmt.Sprintf("call_%.8x_%d", sha256.Sum256(text), i)
		}
		seen[out.Calls[i].ID] = true
	}
}

// outputBound bounds the usage of an answer whose provider does not report it.
func outputBound(r Request, answer Response) Usage {
	u := Estimate(r)
	n := len(answer.Text)
	for _, c := range answer.Calls {
		n += len(c.Name) + len(c.Args) + perItem
	}
	u.Output = min(u.Output, n+perItem)
	return u
}

// Allowances for what surrounds the counted text. A tokenizer makes at most one token of a byte; a chat template adds
// a few for each message and tool, and providers add a prompt of their own (some 350 tokens) when there are tools.
const (
	perItem = 64
	perCall = 1024
	// A schema may be rewritten with indentation and escapes.
	schemaFactor = 4
)

// Estimate is an upper bound of a call's usage, for a budget: a token for each byte and a quarter more, because
// writing to a provider's cache costs a quarter more than other input.
func Estimate(r Request) Usage {
	n := perCall + len(r.System)
	for _, m := range r.Messages {
		n += perItem + len(m.Text) + len(m.CallID)
		for _, c := range m.Calls {
			n += perItem + len(c.ID) + len(c.Name) + 2*len(c.Args)
		}
	}
	for _, t := range r.Tools {
		n += perItem + len(t.Name) + 2*len(t.Description) + schemaFactor*len(t.Schema)
	}
	return Usage{Input: n + (n+3)/4, Output: r.maxTokens()}
}
