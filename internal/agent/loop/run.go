package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/redact"
)

// The ends of a branch that are no errors of the run.
var (
	errSuspended = errors.New("waits for an answer")
	errGone      = errors.New("the run was stopped from outside")
	errTime      = errors.New("the time for this run was used up")
)

// stop ends a branch for a reason that its journal tells.
type stop struct {
	status Status
	code   string
	reason string
}

func (s *stop) Error() string { return s.reason }

// run is what the branches of one Run share.
type run struct {
	Config

	past    past
	tools   map[string]*tool
	secrets *redact.Secrets
	fence   string
	inText  *regexp.Regexp // finds fence, whatever its case

	mu      sync.Mutex // of what follows
	silent  bool       // Run has returned
	waiting []Waiting
}

// Run works on an instruction until it is done, suspended, stopped, aborted or failed. What
// the journal holds of this turn is taken from there: no answered model call is made again,
// no finished tool call either, and a turn that has ended returns its outcome. The error is
// only ever about the run itself: a Config that lacks something, a journal or a Ledger that
// cannot be written; the run can be taken up again then.
//
// When ctx ends, every tool's ctx ends, and Run returns Aborted within five seconds even if
// a tool does not: nothing of that is in the journal, so that the run can be taken up again.
// Who gives it up instead settles the keys that OpenReservations names.
func Run(ctx context.Context, c Config) (Outcome, error) {
	r, err := newRun(ctx, c.withDefaults())
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{Status: Aborted}, nil // nothing was begun
		}
		return Outcome{}, err
	}
	defer r.hush()
	b := r.branch("main")
	if ended, ok, err := recall[Ended](r, BranchEnd, b.key("end")); ok || err != nil {
		return ended.Outcome, err
	}
	if err = b.begin(ctx, Started{Caps: r.Caps}); err != nil {
		return Outcome{}, err
	}
	timed, cancel := b.timed(ctx)
	defer cancel()
	out, err := b.outcome(ctx, b.main(timed))
	if err == nil {
		b.emit(EventFinish, b.key("end"), "", "", out)
	}
	return out, err
}

func newRun(ctx context.Context, c Config) (*run, error) {
	r := &run{Config: c, secrets: redact.New(c.Secrets, c.Hidden...)}
	if c.Model == nil || c.Journal == nil || c.ModelName == "" || strings.TrimSpace(c.Instruction) == "" {
		return nil, errors.New("loop: a run needs a model and its name, a journal and an instruction")
	}
	var err error
	if r.tools, err = r.toolbox(); err != nil {
		return nil, err
	}
	entries, err := c.Journal.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("loop: reading the journal: %w", err)
	}
	r.past = newPast(entries, c.Turn)
	return r, nil
}

// timed gives the context that ends when the run's time is used up. What earlier processes
// used of it counts; the time in which nobody worked does not.
func (b *branch) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.started.Caps.Wall == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, b.started.Caps.Wall-b.past.active, errTime)
}

// ended says why ctx ended, nil while it has not: a stop, or errGone.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTime):
		return &stop{Stopped, CodeTime, errTime.Error()}
	case errors.Is(cause, errAborted):
		return &stop{Aborted, CodeAborted, "a person stopped this sub-agent"}
	}
	return errGone
}

// emit tells an event, redacted, unless Run has returned.
func (b *branch) emit(kind EventType, id, toolName, text string, data any) {
	if b.Emit == nil {
		return
	}
	e := Event{Type: kind, Branch: b.name, Subagent: b.subagent, ID: id, Tool: toolName, Text: text}
	if data != nil {
		doc, err := json.Marshal(data)
		if err == nil {
			doc, err = b.secrets.RedactJSON(doc)
		}
		if err != nil {
			b.Logger.Error("an event could not be told", "type", kind, "error", err)
			return
		}
		e.Data = doc
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.silent {
		b.Emit(e)
	}
}

// hush ends the events: what a tool that was left behind says is not heard.
func (r *run) hush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = true
}

// note writes a remark and tells it.
func (b *branch) note(ctx context.Context, key, code, text string) error {
	remark, fresh, err := record(ctx, b, Note, key, Remark{Code: code, Text: text}, 0)
	if fresh && err == nil {
		b.emit(EventNote, key, "", "", remark)
	}
	return err
}

// question suspends the branch with a question, unless the journal has its answer.
func (b *branch) question(ctx context.Context, key string, ask Ask) (Reply, error) {
	reply, ok, err := recall[Reply](b.run, Answer, key)
	if err != nil {
		return Reply{}, err
	}
	if !ok && !b.past.has(Question, key) {
		if err := b.mayBegin(ctx); err != nil {
			return Reply{}, err
		}
	}
	ask, fresh, err := record(ctx, b, Question, key, ask, 0)
	if err != nil {
		return Reply{}, err
	}
	if ok {
		reply.Text = b.secrets.Redact(reply.Text) // an answer did not go through record
		if len(reply.Metadata) > 0 {
			reply.Metadata, err = b.secrets.RedactJSON(reply.Metadata)
		}
		return reply, err
	}
	w := Waiting{Turn: b.Turn, Branch: b.name, Key: key, Ask: ask}
	if fresh {
		b.emit(ask.Kind.event(), key, ask.Tool, ask.Text, w)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, w)
	return Reply{}, errSuspended
}

// event is the type of the event for a question.
func (k AskKind) event() EventType {
	if k == AskUser {
		return EventQuestion
	}
	if k == AskPlan {
		return EventPlan
	}
	return EventApproval
}

// pending are the questions of a suspended run, in the order of their branches.
func (r *run) pending() (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.waiting, func(a, b Waiting) int {
		return strings.Compare(a.Branch+" "+a.Key, b.Branch+" "+b.Key)
	})
	return json.Marshal(r.waiting)
}

// request is what the model is asked next.
func (b *branch) request() llm.Request {
	r := llm.Request{Model: b.ModelName, System: b.started.System, MaxTokens: b.MaxTokens}
	for _, item := range b.talk {
		r.Messages = append(r.Messages, item.Message)
	}
	for _, t := range b.offered() {
		r.Tools = append(r.Tools, t.Tool.Tool)
	}
	return r
}
