package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const answerTimeout = 20 * time.Minute

var errDeadline = errors.New("it took too long")

// ask makes one model call, or returns its answer from the journal. A failed call, or one that the budget forbids, is a
// *stop.
func (b *branch) ask(ctx context.Context, key string, request llm.Request) (llm.Response, error) {
	asked, begun, err := find[Asked](b.run, ModelCall, key)
	if err != nil {
		return llm.Response{}, err
	}
	answered, known, err := find[Answered](b.run, ModelAnswer, key)
	if err != nil {
		return llm.Response{}, err
	}
	if !begun {
		if asked, err = b.reserveModelCall(ctx, key, request); err != nil {
			return llm.Response{}, err
		}
	}
	reserved := amounts{micros: asked.Micros, tokens: asked.Tokens}
	b.budget.reserved = b.budget.reserved.plus(reserved)
	if !known {
		if answered, err = b.complete(ctx, key, request); err != nil {
			return llm.Response{}, err
		}
		cost := b.Price.Micros(answered.Response.Usage)
		if answered, _, err = record(ctx, b, ModelAnswer, key, answered, cost); err != nil {
			return llm.Response{}, err
		}
	}
	usage := answered.Response.Usage
	spent := amounts{micros: b.costOf(key, usage), tokens: usage.Tokens()}
	b.budget.settle(reserved, spent)
	b.sum.Usage = b.sum.Usage.Plus(usage)
	b.sum.Steps++
	// Only the settlement of a branch's last entry can have been lost in a crash: nothing follows an answer before its
	// settlement.
	if b.Reservations != nil && (!known || b.history.entries[entryID{ModelAnswer, key}].Seq == b.history.last[b.name]) {
		if err := b.settleReservation(ctx, key, spent.micros); err != nil {
			return llm.Response{}, err
		}
	}
	if spent.micros > reserved.micros || spent.tokens > reserved.tokens {
		if err := b.note(ctx, key+"/overrun", CodeOverrun,
			"The provider counted more than the most that was expected of this call."); err != nil {
			return llm.Response{}, err
		}
	}
	if fault := answered.Fault; fault != nil {
		return llm.Response{}, &stop{statusOf(fault.Code, Failed), fault.Code, fault.Message}
	}
	return answered.Response, nil
}

// costOf is the recorded cost of an answer: prices may have changed.
func (b *branch) costOf(key string, usage llm.Usage) int64 {
	if e, ok := b.history.entries[entryID{ModelAnswer, key}]; ok {
		return e.Cost
	}
	return b.Price.Micros(usage)
}

func statusOf(code string, otherwise Status) Status {
	switch code {
	case CodeAborted:
		return Aborted
	case CodeTime:
		return Stopped
	}
	return otherwise
}

// reserveModelCall reserves the worst case of a call and records its intent.
func (b *branch) reserveModelCall(ctx context.Context, key string, request llm.Request) (Asked, error) {
	if err := b.mayBegin(ctx); err != nil {
		return Asked{}, err
	}
	prompt, answer := b.meter.worst(request), int64(request.MaxTokens)
	asked := Asked{Model: request.Model, Messages: len(request.Messages), Tokens: prompt + answer,
		Micros: worstPrice(b.Price, prompt, answer)}
	want := amounts{micros: asked.Micros, tokens: asked.Tokens}
	if code := b.budget.reserve(want); code != "" {
		return Asked{}, &stop{Stopped, code, "the next answer of the model could cost more than is left of the budget"}
	}
	b.budget.settle(want, amounts{}) // ask reserves what the journal says
	if b.Reservations != nil {
		if err := b.Reservations.Reserve(ctx, key, asked.Micros); err != nil {
			return Asked{}, refusalOf(ctx, err)
		}
	}
	asked, fresh, err := record(ctx, b, ModelCall, key, asked, 0)
	if err == nil && !fresh {
		err = fmt.Errorf("loop: %s was begun twice", key)
	}
	return asked, err
}

// refusalOf tells a refused reservation from a failure.
func refusalOf(ctx context.Context, err error) error {
	var refusal *errs.Error
	switch {
	case stopCause(ctx) != nil:
		return stopCause(ctx)
	case errors.As(err, &refusal) && refusal.Kind != errs.Internal:
		return &stop{Stopped, refusal.Code, refusal.Message}
	}
	return fmt.Errorf("loop: reserving money: %w", err)
}

// mayBegin fails when ctx has ended or the branch was stopped in an earlier process.
func (b *branch) mayBegin(ctx context.Context) error {
	if !b.halted {
		remark, ok, err := find[Remark](b.run, Note, b.key("stop"))
		if err != nil {
			return err
		}
		if ok {
			return &stop{statusOf(remark.Code, Stopped), remark.Code, remark.Text}
		}
	}
	return stopCause(ctx)
}

func (b *branch) settleReservation(ctx context.Context, key string, micros int64) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if err := b.Reservations.Settle(ctx, key, micros); err != nil {
		return fmt.Errorf("loop: settling %s: %w", key, err)
	}
	return nil
}

// complete calls the model. The error is errInterrupted; other failures are in the answer.
func (b *branch) complete(ctx context.Context, key string, request llm.Request) (Answered, error) {
	if err := stopCause(ctx); errors.Is(err, errInterrupted) {
		return Answered{}, err
	}
	request.Key = b.boundary + "/" + key // the boundary is unique to the run and in its journal
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errDeadline)
	defer cancel()
	begun := b.Now()
	live := &answerText{branch: b, key: key, stream: redact.Stream{Secrets: b.secrets}}
	response, err, running := await(limited, func() (llm.Response, error) {
		return b.Model.Complete(limited, request, live.add)
	})
	text := live.stop()
	answered := Answered{Response: response, Took: b.Now().Sub(begun)}
	why := stopCause(ctx)
	if err == nil {
		return answered, nil
	}
	if errors.Is(why, errInterrupted) {
		return Answered{}, why
	}
	if running {
		b.Logger.Error("a model's call did not end and was left behind", "key", key)
	}
	var stopped *stop
	var known *errs.Error
	cut := true
	switch {
	case errors.As(why, &stopped):
		answered.Fault = &Fault{stopped.code, stopped.reason}
	case limited.Err() != nil:
		answered.Fault = &Fault{llm.CodeUnavailable, "the model's answer did not come to an end"}
	case errors.As(err, &known):
		cut, answered.Fault = false, &Fault{known.Code, known.Message}
	default:
		b.Logger.Error("a model could not be asked", "key", key, "error", err)
		cut, answered.Fault = false, &Fault{llm.CodeUnavailable, "the model could not be asked"}
	}
	if cut && answered.Response.Usage == (llm.Usage{}) { // it will be billed, and was not counted
		answered.Response.Usage = llm.Usage{Input: int(b.meter.estimated(request)),
			Output: min(len(text)/3, request.MaxTokens)}
	}
	return answered, nil
}

// answerText sends the pieces of an answer, redacted, until it is over.
type answerText struct {
	*branch
	key string

	mu     sync.Mutex
	stream redact.Stream
	text   strings.Builder
	over   bool
}

func (l *answerText) add(piece string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.text.WriteString(piece)
	l.send(l.stream.Add(piece))
}

// stop returns the whole text.
func (l *answerText) stop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.send(l.stream.End())
	return l.text.String()
}

func (l *answerText) send(text string) {
	if text != "" {
		l.emit(EventText, l.key, "", text, nil)
	}
}

// await runs f until a little after ctx ends. running reports that f still is. A panic becomes an error.
//
//nolint:revive // whether it still runs is no error
func await[T any](ctx context.Context, f func() (T, error)) (value T, err error, running bool) {
	type end struct {
		value T
		err   error
	}
	ends := make(chan end, 1)
	go func() {
		e := end{err: errCrashed}
		defer func() {
			if cause := recover(); cause != nil {
				e.err = fmt.Errorf("%w: %v\n%s", errCrashed, cause, debug.Stack())
			}
			ends <- e
		}()
		e.value, e.err = f()
	}()
	select {
	case e := <-ends:
		return e.value, e.err, false
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case e := <-ends:
		return e.value, e.err, false
	case <-timer.C:
		return value, context.Cause(ctx), true
	}
}

var errCrashed = errors.New("it crashed")
