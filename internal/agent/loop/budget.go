package loop

import (
	"context"
	"math"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// amounts are of the three things a branch can use up.
type amounts struct{ micros, tokens, requests int64 }

func (a amounts) plus(b amounts) amounts {
	return amounts{a.micros + b.micros, a.tokens + b.tokens, a.requests + b.requests}
}

func (a amounts) minus(b amounts) amounts {
	return amounts{a.micros - b.micros, a.tokens - b.tokens, a.requests - b.requests}
}

// account is one branch's budget. What a call may cost at worst is held before it, and
// becomes what it did cost after; a sub-agent's share is held as a whole. Only the branch
// itself touches its account, so that nothing in it depends on how branches interleave.
type account struct {
	caps        Caps
	spent, held amounts
}

// hold sets aside, or says which cap forbids it.
func (a *account) hold(want amounts) (code string) {
	used := a.spent.plus(a.held).plus(want)
	switch {
	case over(used.micros, a.caps.Micros):
		return CodeMoney
	case over(used.tokens, a.caps.Tokens):
		return CodeTokens
	case over(used.requests, a.caps.Requests):
		return CodeRequests
	}
	a.held = a.held.plus(want)
	return ""
}

func over(used, limit int64) bool { return limit > 0 && used > limit }

// settle turns what was held into what was spent.
func (a *account) settle(held, spent amounts) {
	a.held = a.held.minus(held)
	a.spent = a.spent.plus(spent)
}

// allowance is how many of the wanted requests the account has left.
func (a *account) allowance(want int64) int64 {
	if a.caps.Requests == 0 {
		return want
	}
	return max(0, min(want, a.caps.Requests-a.spent.requests-a.held.requests))
}

// share is what each of n sub-agents may use, so that as much is left for their parent.
func (a *account) share(n int) Caps {
	used := a.spent.plus(a.held)
	part := func(limit, used int64) int64 {
		if limit == 0 {
			return 0
		}
		return max(1, (limit-used)/int64(n+1)) // not 0, which is no bound
	}
	return Caps{
		Micros:   part(a.caps.Micros, used.micros),
		Tokens:   part(a.caps.Tokens, used.tokens),
		Requests: part(a.caps.Requests, used.requests),
	}
}

// worstPrice is what a call costs when every token of the prompt has the dearest price.
func worstPrice(p llm.Price, prompt, answer int64) int64 {
	p.Input = max(p.Input, p.CacheRead, p.CacheWrite)
	return p.Micros(llm.Usage{Input: int(prompt), Output: int(answer)})
}

// meter knows how long a conversation is, in tokens. llm.Estimate is an upper bound, and
// four times too high for most texts; what the provider counted for the beginning of the
// same conversation takes the place of that beginning's estimate.
type meter struct {
	tokens   int64 // that the provider counted for a request; 0 while unknown
	estimate int64 // of that request
	bytes    int64
}

// worst is the most tokens that the prompt can have.
func (m meter) worst(r llm.Request) int64 {
	return m.tokens + max(0, int64(llm.Estimate(r).Input)-m.estimate)
}

// likely is about how many tokens the prompt has: three bytes a token where nobody counted.
func (m meter) likely(r llm.Request) int64 {
	return m.tokens + max(0, size(r)-m.bytes)/3 + int64(len(r.Messages))
}

// learn keeps what the provider counted. A count that is not possible for so many bytes, as
// of servers that report none, is not believed.
func (m *meter) learn(r llm.Request, used llm.Usage) {
	counted, bytes := used.Tokens()-int64(used.Output), size(r)
	*m = meter{}
	if counted >= bytes/8 {
		*m = meter{tokens: counted, estimate: int64(llm.Estimate(r).Input), bytes: bytes}
	}
}

// size counts the bytes of a request that become tokens.
func size(r llm.Request) int64 {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Text) + len(m.CallID)
		for _, call := range m.Calls {
			n += len(call.ID) + len(call.Name) + len(call.Args)
		}
	}
	for _, tool := range r.Tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return int64(n)
}

type allowanceKey struct{}

// Allowance is how many requests the call of a tool, or of Verify, that has this ctx may
// send to targets; math.MaxInt is no bound.
func Allowance(ctx context.Context) int {
	if n, ok := ctx.Value(allowanceKey{}).(int); ok {
		return n
	}
	return math.MaxInt
}
