package llm

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// answer grows from the events of a stream.
type answer struct {
	request Request
	onText  func(string)
	text    strings.Builder
	model   string
	calls   []*partialCall
	usage   *Usage // nil: the provider did not report it
}

func (a *answer) addText(s string) {
	a.text.WriteString(s)
	if s != "" && a.onText != nil {
		a.onText(s)
	}
}

// partialCall is a call whose arguments come in pieces.
type partialCall struct {
	ToolCall
	index int64
	args  strings.Builder
}

// response is the whole answer. stop is empty when the answer came to its own end. A call without arguments gets an
// empty object.
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

// finish fills in why an answer stopped and gives each call an id. A call without one, or with one that was used
// before, gets an id that is the same for the same request and position.
func (out *Response) finish(r Request) {
	if out.Stop == "" {
		if out.Stop = StopEnd; len(out.Calls) > 0 {
			out.Stop = StopCalls
		}
	}
	seen := map[string]bool{}
	for i := range out.Calls {
		if id := out.Calls[i].ID; id == "" || seen[id] {
			text, _ := json.Marshal(r) // a tool's schema that is not JSON gives every request the same ids
			out.Calls[i].ID = fmt.Sprintf("call_%.8x_%d", sha256.Sum256(text), i)
		}
		seen[out.Calls[i].ID] = true
	}
}

// outputBound is an upper bound of the usage of an answer whose provider does not report it.
func outputBound(r Request, answer Response) Usage {
	u := Estimate(r)
	n := len(answer.Text)
	for _, c := range answer.Calls {
		n += len(c.Name) + len(c.Args) + perItem
	}
	u.Output = min(u.Output, n+perItem)
	return u
}

// The words around what is counted. A tokenizer makes no more tokens than there are
// bytes; a chat template adds a few around each message and each tool, and providers add
// a prompt of their own (of some 350 tokens at the time of writing) once there are tools.
const (
	perItem = 64
	perCall = 1024
	// A schema may be written anew for the model, indented and with its quotes escaped.
	schemaFactor = 4
)

// Estimate is an upper bound of what a call uses, for a budget to reserve: more tokens
// than its bytes can make, and a quarter more than that, because what is written to a
// provider's cache costs a quarter more than other input. It is in Input and Output,
// whatever the provider will call them.
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
