package loop

import (
	"context"
	"math"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// amounts are what a branch can use up.
type amounts struct{ micros, tokens, requests int64 }

func (a amounts) plus(b amounts) amounts {
	return amounts{a.micros + b.micros, a.tokens + b.tokens, a.requests + b.requests}
}

func (a amounts) minus(b amounts) amounts {
	return amounts{a.micros - b.micros, a.tokens - b.tokens, a.requests - b.requests}
}

// budget is that of one branch: the worst case of a call is reserved before it and settled after it, and so is the
// share of a sub-agent. Only the branch uses it, so that a replay gives the same results.
type budget struct {
	caps            Caps
	spent, reserved amounts
}

// reserve returns the code of the cap that forbids it.
func (a *budget) reserve(want amounts) (code string) {
	used := a.spent.plus(a.reserved).plus(want)
	switch {
	case over(used.micros, a.caps.Micros):
		return CodeMoney
	case over(used.tokens, a.caps.Tokens):
		return CodeTokens
	case over(used.requests, a.caps.Requests):
		return CodeRequests
	}
	a.reserved = a.reserved.plus(want)
	return ""
}

func over(used, limit int64) bool { return limit > 0 && used > limit }

// settle turns reserved amounts into spent ones.
func (a *budget) settle(reserved, spent amounts) {
	a.reserved = a.reserved.minus(reserved)
	a.spent = a.spent.plus(spent)
}

// allowance is how many of the wanted requests are left.
func (a *budget) allowance(want int64) int64 {
	if a.caps.Requests == 0 {
		return want
	}
	return max(0, min(want, a.caps.Requests-a.spent.requests-a.reserved.requests))
}

// share is what each of n sub-agents may use; as much is left for their parent.
func (a *budget) share(n int) Caps {
	used := a.spent.plus(a.reserved)
	part := func(limit, used int64) int64 {
		if limit == 0 {
			return 0
		}
		return max(1, (limit-used)/int64(n+1)) // 0 would be no bound
	}
	return Caps{
		Micros:   part(a.caps.Micros, used.micros),
		Tokens:   part(a.caps.Tokens, used.tokens),
		Requests: part(a.caps.Requests, used.requests),
	}
}

// worstPrice is the cost if each token of the prompt had the highest input price.
func worstPrice(p llm.Price, prompt, answer int64) int64 {
	p.Input = max(p.Input, p.CacheRead, p.CacheWrite)
	return p.Micros(llm.Usage{Input: int(prompt), Output: int(answer)})
}

// meter counts the tokens of a conversation. llm.Estimate is an upper bound, four times too high for most texts; the
// provider's count replaces it for the part that was sent before.
type meter struct {
	tokens   int64 // counted by the provider; 0: unknown
	estimate int64 // of the same request
	bytes    int64
}

// worst is the most tokens that the prompt can have.
func (m meter) worst(r llm.Request) int64 {
	return m.tokens + max(0, int64(llm.Estimate(r).Input)-m.estimate)
}

// estimated is the probable number of tokens: three bytes each where they were not counted.
func (m meter) estimated(r llm.Request) int64 {
	return m.tokens + max(0, size(r)-m.bytes)/3 + int64(len(r.Messages))
}

// learn stores the provider's count, unless it is impossible for so many bytes: some servers report none.
func (m *meter) learn(r llm.Request, used llm.Usage) {
	counted, bytes := used.Tokens()-int64(used.Output), size(r)
	*m = meter{}
	if counted >= bytes/8 {
		*m = meter{tokens: counted, estimate: int64(llm.Estimate(r).Input), bytes: bytes}
	}
}

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

// Allowance is how many requests a tool call, or Verify, may send to targets under ctx; math.MaxInt: no bound.
func Allowance(ctx context.Context) int {
	if n, ok := ctx.Value(allowanceKey{}).(int); ok {
		return n
	}
	return math.MaxInt
}
