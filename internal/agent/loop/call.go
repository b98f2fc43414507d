package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/redact"
)

const toolTimeout = 5 * time.Minute

// Bounds of the stored text and evidence of a tool.
const maxText, maxEvidence = 1 << 20, 1000

// resultBytes bounds what the model reads of a result: an eighth of a small window.
func (b *branch) resultBytes() int { return max(512, min(16<<10, b.Window/2)) }

// call makes a tool call, or returns its result from the journal. A faulty call is reported to the model; an error ends
// the branch.
func (b *branch) call(ctx context.Context, key string, call llm.ToolCall) (Returned, error) {
	known, ok, err := find[Returned](b.run, ToolResult, key)
	if err != nil {
		return known, err
	}
	refused := ok && known.Status == CallRefused
	t, args, fault := b.resolve(call)
	if fault != "" && (refused || !ok) {
		return b.refuse(ctx, key, call, fault)
	}
	if err := b.guard.beforeCall(call.Name, call.Args); err != nil {
		return Returned{}, err
	}
	switch {
	case refused:
		return b.refuse(ctx, key, call, known.Error)
	case t != nil && t.own != nil:
		return t.own(b, ctx, key, call, args)
	case ok: // t is nil when there is no such tool any more
		return b.addUp(key, known)
	}
	if t.Secrets {
		if _, err := b.secrets.Substitute(args); err != nil {
			return b.refuse(ctx, key, call, err.Error())
		}
	}
	if t.Approval != nil {
		if approval := t.Approval(args); approval != nil {
			reply, err := b.question(ctx, key+"/approval",
				Ask{Kind: AskApproval, Text: approval.Action, Approval: approval, Tool: call.Name, Args: args})
			if err != nil {
				return Returned{}, err
			}
			if !reply.Approve {
				return b.conclude(ctx, key, returned(call, CallDeclined, reply.Text))
			}
		}
	}
	return b.execute(ctx, key, t, call, args)
}

func returned(call llm.ToolCall, status CallStatus, fault string) Returned {
	return Returned{Tool: shorten(call.Name, 100), CallID: call.ID, Status: status, Error: fault}
}

func (b *branch) refuse(ctx context.Context, key string, call llm.ToolCall, fault string) (Returned, error) {
	ret, err := b.finish(ctx, key, returned(call, CallRefused, fault))
	if err != nil {
		return ret, err
	}
	return ret, b.guard.refused()
}

func (b *branch) finish(ctx context.Context, key string, ret Returned) (Returned, error) {
	ret, fresh, err := record(ctx, b, ToolResult, key, ret, 0)
	if err == nil && fresh {
		b.emit(EventOutput, key, ret.Tool, "", ret)
	}
	return ret, err
}

// execute calls the tool. A call that a crash interrupted is repeated if it is repeatable; otherwise a person decides,
// and if no person can be asked its result is unknown.
func (b *branch) execute(
	ctx context.Context, first string, t *tool, call llm.ToolCall, args json.RawMessage,
) (Returned, error) {
	for attempt := 1; ; attempt++ {
		key := first
		if attempt > 1 {
			key = fmt.Sprintf("%s/%d", first, attempt)
		}
		if known, ok, err := find[Returned](b.run, ToolResult, key); err != nil {
			return known, err
		} else if ok {
			return b.addUp(key, known)
		}
		_, begun, err := find[Called](b.run, ToolCall, key)
		if err != nil {
			return Returned{}, err
		}
		if !begun || t.Repeatable {
			return b.perform(ctx, key, t, call, args)
		}
		ret := returned(call, CallUnknown, "")
		if !b.AskQuestion {
			return b.conclude(ctx, key, ret)
		}
		reply, err := b.question(ctx, key+"/unknown", Ask{
			Kind: AskUnknown, Tool: call.Name, Args: args,
			Text: fmt.Sprintf("The process died while %s was under way. Whether it did its work is not known. Call it again?",
				call.Name),
		})
		if err != nil {
			return Returned{}, err
		}
		if !reply.Approve {
			ret.Error = reply.Text
			return b.conclude(ctx, key, ret)
		}
	}
}

// conclude records the end of a call and adds up what it used.
func (b *branch) conclude(ctx context.Context, key string, ret Returned) (Returned, error) {
	ret, err := b.finish(ctx, key, ret)
	if err != nil {
		return ret, err
	}
	return b.addUp(key, ret)
}

// addUp adds up what a call used and found; of an unknown result, the worst case.
func (b *branch) addUp(key string, ret Returned) (Returned, error) {
	requests := ret.Result.Requests
	if ret.Status == CallUnknown {
		called, _, err := find[Called](b.run, ToolCall, key)
		if err != nil {
			return ret, err
		}
		requests = called.Requests
	}
	b.budget.settle(amounts{}, amounts{requests: int64(requests)})
	b.sum.Requests += requests
	if ret.Status != CallDeclined {
		b.sum.Calls++
	}
	b.addEvidence(ret.Result.Evidence)
	if len(ret.Result.Candidate) > 0 {
		b.addCandidate(Candidate{
			Key: key, Branch: b.name, Candidate: ret.Result.Candidate, Verification: Verification{Result: Unverified},
		})
	}
	return ret, nil
}

// perform records the intent, calls the tool and records the result.
func (b *branch) perform(
	ctx context.Context, key string, t *tool, call llm.ToolCall, args json.RawMessage,
) (Returned, error) {
	called, begun, err := find[Called](b.run, ToolCall, key)
	if err != nil {
		return Returned{}, err
	}
	if !begun {
		if err := b.mayBegin(ctx); err != nil {
			return Returned{}, err
		}
		called = Called{Tool: call.Name, Args: args, CallID: call.ID}
		if t.Requests != nil {
			want := int64(max(0, t.Requests(args)))
			called.Requests = int(b.budget.allowance(want))
			if called.Requests == 0 && want > 0 {
				return Returned{}, &stop{Stopped, CodeRequests, "no request to a target is left of the budget"}
			}
		}
		if called, _, err = record(ctx, b, ToolCall, key, called, 0); err != nil {
			return Returned{}, err
		}
		b.emit(EventInput, key, call.Name, "", called)
	}
	reserved := amounts{requests: int64(called.Requests)}
	b.budget.reserved = b.budget.reserved.plus(reserved)
	ret, running, err := b.attempt(ctx, key, t, call, called)
	if err != nil {
		return ret, err
	}
	if ret, err = b.finish(ctx, key, ret); err != nil {
		return ret, err
	}
	b.budget.settle(reserved, amounts{})
	if running {
		if err := b.note(ctx, key+"/abandoned", CodeAbandoned,
			call.Name+" did not end when it was cancelled, and was left behind."); err != nil {
			return ret, err
		}
	}
	if b.budget.caps.Requests > 0 && ret.Result.Requests > called.Requests {
		text := fmt.Sprintf("%s sent %d requests; %d were reserved.", call.Name, ret.Result.Requests, called.Requests)
		if err := b.note(ctx, key+"/overrun", CodeOverrun, text); err != nil {
			return ret, err
		}
	}
	return b.addUp(key, ret)
}

// attempt runs the tool within its time. running reports that it still runs. The only error is errInterrupted: the call
// then stays begun in the journal.
func (b *branch) attempt(
	ctx context.Context, key string, t *tool, call llm.ToolCall, called Called,
) (ret Returned, running bool, err error) {
	args := called.Args
	if t.Secrets {
		if args, err = b.secrets.Substitute(args); err != nil {
			return ret, false, err
		}
	}
	limited, release := b.Control.watch(ctx, key)
	defer release()
	limited, cancel := context.WithTimeoutCause(limited, cmp.Or(t.Timeout, toolTimeout), errDeadline)
	defer cancel()
	var over atomic.Bool
	progress := func(progress string) {
		if !over.Load() {
			b.emit(EventProgress, key, call.Name, b.secrets.Redact(shorten(progress, 4<<10)), nil)
		}
	}
	begun := b.Now()
	result, failure, running := await(limited, func() (Result, error) {
		return t.Call(b.allowance(limited, called.Requests), args, progress)
	})
	over.Store(true)
	ret = returned(call, CallCompleted, "")
	ret.Result, ret.Took = result, b.Now().Sub(begun)
	if failure == nil {
		return ret.bounded(), false, nil
	}
	ret.Status, ret.Error = CallFailed, failure.Error()
	switch cause := context.Cause(limited); {
	case cause == nil:
	case errors.Is(cause, errDeadline) || errors.Is(cause, errTime):
		ret.Status = CallTimeout
	case errors.Is(cause, errAborted):
		ret.Status = CallAborted
	case running || t.Repeatable:
		return ret, running, errInterrupted
	default:
		ret.Status = CallAborted
	}
	if errors.Is(failure, errCrashed) {
		b.Logger.Error("a tool crashed", "tool", call.Name, "key", key, "error", failure)
		ret.Error = errCrashed.Error()
	}
	return ret.bounded(), running, nil
}

// allowance puts the bound of requests into a call's context.
func (b *branch) allowance(ctx context.Context, requests int) context.Context {
	if b.budget.caps.Requests == 0 {
		return ctx
	}
	return context.WithValue(ctx, allowanceKey{}, requests)
}

// bounded limits the sizes of a result and removes references to secrets that it wrote itself.
func (ret Returned) bounded() Returned {
	res := &ret.Result
	ret.Error = redact.Escape(shorten(ret.Error, 8<<10))
	res.Text = redact.Escape(shorten(strings.ToValidUTF8(res.Text, "\ufffd"), maxText))
	res.Requests = max(0, res.Requests)
	res.Evidence = slices.Clone(res.Evidence[:min(len(res.Evidence), maxEvidence)])
	for i := range res.Evidence {
		res.Evidence[i] = redact.Escape(shorten(res.Evidence[i], 1024))
	}
	if len(res.Candidate) > 0 {
		finding, err := redact.EscapeJSON(res.Candidate)
		if err != nil || len(finding) > maxText {
			finding, ret.Error = nil, "its finding cannot be kept: it is no JSON, or too long"
			ret.Status = CallFailed
		}
		res.Candidate = finding
	}
	return ret
}
