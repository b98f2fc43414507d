package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// pieces gathers an answer's text and hands it on as it comes.
type pieces struct {
	text strings.Builder
	tell func(string)
}

func (p *pieces) add(s string) {
	if s == "" {
		return
	}
	p.text.WriteString(s)
	if p.tell != nil {
		p.tell(s)
	}
}

// growingCall is a call whose arguments come in pieces.
type growingCall struct {
	ToolCall
	index int64
	args  strings.Builder
}

// grown are the calls of an answer. One without arguments has an empty object of them.
func grown(r Request, calls []*growingCall) (out []ToolCall) {
	for _, c := range calls {
		c.Args = c.args.String()
		if c.Args == "" {
			c.Args = "{}"
		}
		out = append(out, c.ToolCall)
	}
	return nameCalls(r, out)
}

// Digest names a request by its content: equal requests have equal digests, however
// their JSON is spaced.
func Digest(r Request) string {
	text, err := json.Marshal(r)
	if err != nil { // a tool's schema is no JSON: the words of the error have it
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// nameCalls gives calls without an id, or with one that stands there twice, an id of
// their own: the same for the same request and place, another in another turn.
func nameCalls(r Request, calls []ToolCall) []ToolCall {
	seen := map[string]bool{}
	for i := range calls {
		if id := calls[i].ID; id == "" || seen[id] {
			calls[i].ID = "call_" + Digest(r)[:16] + "_" + strconv.Itoa(i)
		}
		seen[calls[i].ID] = true
	}
	return calls
}

// assumed is the usage of an answer whose provider does not say it: an upper bound, for
// what is not counted must not be free.
func assumed(r Request, answer Response) Usage {
	u := Estimate(r)
	said := len(answer.Text)
	for _, c := range answer.Calls {
		said += len(c.Name) + len(c.Args) + perItem
	}
	u.Output = min(u.Output, said+perItem)
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
	out := r.MaxTokens
	if out <= 0 {
		out = defaultMaxTokens
	}
	return Usage{Input: n + (n+3)/4, Output: out}
}
