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

// The ends of a branch that are not errors of the run.
var (
	errSuspended   = errors.New("waits for an answer")
	errInterrupted = errors.New("the run was stopped from outside")
	errTime        = errors.New("the time for this run was used up")
)

// stop is an error that ends a branch with a status.
type stop struct {
	status Status
	code   string
	reason string
}

func (s *stop) Error() string { return s.reason }

type run struct {
	Config

	history         history
	tools           map[string]*tool
	secrets         *redact.Secrets
	boundary        string
	boundaryPattern *regexp.Regexp // matches boundary in any case

	mu      sync.Mutex // guards what follows
	closed  bool       // Run has returned
	waiting []Waiting
}

// Run works on an instruction until it is done, suspended, stopped, aborted or failed. It continues from the journal:
// answered model calls and finished tool calls are not repeated, and an ended stream returns its outcome. An error is
// an invalid Config, or a failure of the journal or of Reservations; then the run can be resumed.
//
// When ctx ends, Run returns Aborted within five seconds, even if a tool does not end; the run can be resumed. To give
// it up, settle the keys of OpenReservations.
func Run(ctx context.Context, c Config) (Outcome, error) {
	r, err := newRun(ctx, c.withDefaults())
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{Status: Aborted}, nil // nothing was begun
		}
		return Outcome{}, err
	}
	defer r.closeEvents()
	b := r.branch("main")
	if stopCause, ok, err := find[Ended](r, BranchEnd, b.key("end")); ok || err != nil {
		return stopCause.Outcome, err
	}
	if err = b.begin(ctx, Started{Caps: r.Caps}); err != nil {
		return Outcome{}, err
	}
	timed, cancel := b.withTimeLimit(ctx)
	defer cancel()
	return b.outcome(ctx, b.main(timed))
}

func newRun(ctx context.Context, c Config) (*run, error) {
	r := &run{Config: c, secrets: redact.New(c.Secrets, c.Hidden...)}
	if c.Model == nil || c.Journal == nil || c.ModelName == "" || strings.TrimSpace(c.Instruction) == "" {
		return nil, errors.New("loop: a run needs a model and its name, a journal and an instruction")
	}
	var err error
	if r.tools, err = r.compileTools(); err != nil {
		return nil, err
	}
	entries, err := c.Journal.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("loop: reading the journal: %w", err)
	}
	r.history = newHistory(entries, c.Stream)
	return r, nil
}

// withTimeLimit returns a context that ends when the run's time is used up. Time of earlier processes counts, pauses do
// not.
func (b *branch) withTimeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.started.Caps.Wall == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, b.started.Caps.Wall-b.history.active, errTime)
}

// stopCause says why ctx ended: a stop, or errInterrupted; nil while it has not.
func stopCause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTime):
		return &stop{Stopped, CodeTime, errTime.Error()}
	case errors.Is(cause, errAborted):
		return &stop{Aborted, CodeAborted, "a person stopped this sub-agent"}
	}
	return errInterrupted
}

// emit sends an event, redacted, unless Run has returned.
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
			b.Logger.Error("an event could not be sent", "type", kind, "error", err)
			return
		}
		e.Data = doc
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.Emit(e)
	}
}

// closeEvents drops later events, such as those of a tool that was left running.
func (r *run) closeEvents() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (b *branch) note(ctx context.Context, key, code, text string) error {
	remark, fresh, err := record(ctx, b, Note, key, Remark{Code: code, Text: text}, 0)
	if fresh && err == nil {
		b.emit(EventNote, key, "", "", remark)
	}
	return err
}

// question suspends the branch, unless the journal has the answer.
func (b *branch) question(ctx context.Context, key string, ask Ask) (Reply, error) {
	reply, ok, err := find[Reply](b.run, Answer, key)
	if err != nil {
		return Reply{}, err
	}
	if !ok && !b.history.has(Question, key) {
		if err := b.mayBegin(ctx); err != nil {
			return Reply{}, err
		}
	}
	ask, fresh, err := record(ctx, b, Question, key, ask, 0)
	if err != nil {
		return Reply{}, err
	}
	if ok {
		reply.Text = b.secrets.Redact(reply.Text) // record redacts only what it writes
		if len(reply.Metadata) > 0 {
			reply.Metadata, err = b.secrets.RedactJSON(reply.Metadata)
		}
		return reply, err
	}
	w := Waiting{Stream: b.Stream, Branch: b.name, Key: key, Ask: ask}
	if fresh {
		b.emit(ask.Kind.event(), key, ask.Tool, ask.Text, w)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, w)
	return Reply{}, errSuspended
}

func (k AskKind) event() EventType {
	if k == AskUser {
		return EventQuestion
	}
	if k == AskPlan {
		return EventPlan
	}
	return EventApproval
}

// pending are the questions of a suspended run, by branch.
func (r *run) pending() (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.waiting, func(a, b Waiting) int {
		return strings.Compare(a.Branch+" "+a.Key, b.Branch+" "+b.Key)
	})
	return json.Marshal(r.waiting)
}

func (b *branch) request() llm.Request {
	r := llm.Request{Model: b.ModelName, System: b.started.System, MaxTokens: b.MaxTokens}
	for _, item := range b.messages {
		r.Messages = append(r.Messages, item.Message)
	}
	for _, t := range b.offered() {
		r.Tools = append(r.Tools, t.Tool.Tool)
	}
	return r
}
