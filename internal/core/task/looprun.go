package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

const stopsEvery = 500 * time.Millisecond // how often stopped calls are looked up

// RunLoop lets a language model work on the stream. It writes the journal and the events, and ends calls that
// people stop. The events are written with kept, because ctx may have ended by then.
func (r *Run) RunLoop(ctx, kept context.Context, c loop.Config) (loop.Outcome, error) {
	events := &loopEvents{ctx: kept, run: r}
	c.Journal, c.Emit, c.Control = r, events.write, &loop.Control{}
	watched, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.watchStops(watched, c.Control) })
	outcome, err := loop.Run(ctx, c)
	stop()
	watch.Wait()
	events.flush()
	return outcome, err
}

func (r *Run) watchStops(ctx context.Context, control *loop.Control) {
	tick := time.NewTicker(stopsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids, err := r.Stops(ctx)
		if err != nil && ctx.Err() == nil {
			r.tasks.logger.WarnContext(ctx, "reading which calls are to be stopped", "task_id", r.Task.ID, "error", err)
		}
		for _, id := range ids {
			control.Abort(id) // does nothing for a call that has ended
		}
	}
}

// loopEvents writes the events of a language model's run into the task's stream. It joins pieces of text, so
// that a fast model does not cause a write for each word.
type loopEvents struct {
	ctx context.Context
	run *Run

	mu    sync.Mutex
	text  loop.Event // pieces that are not written yet
	since time.Time  // the first of them came
}

const (
	textEvery = 250 * time.Millisecond // how long a piece of text waits for others
	textMost  = 4096                   // bytes of a joined one
)

// Emit adds an event to the stream. A failure is only logged.
func (r *Run) Emit(ctx context.Context, kind string, data any) {
	if err := r.addEvent(ctx, kind, data); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLate) {
		r.tasks.logger.WarnContext(ctx, "adding an event to a task's stream", "task_id", r.Task.ID, "error", err)
	}
}

// write writes an event, except the last one of the loop: the stream ends later, with its own.
func (t *loopEvents) write(e loop.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == loop.EventText {
		if t.text.Branch != e.Branch || t.text.ID != e.ID {
			t.writeText()
		}
		if t.text.Text == "" {
			t.since = time.Now()
		}
		e.Text = t.text.Text + e.Text
		if t.text = e; time.Since(t.since) < textEvery && len(e.Text) < textMost {
			return
		}
		t.writeText()
		return
	}
	t.writeText()
	if e.Type != loop.EventFinish {
		t.run.Emit(t.ctx, string(e.Type), e)
	}
}

func (t *loopEvents) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeText()
}

func (t *loopEvents) writeText() {
	if t.text.Text != "" {
		t.run.Emit(t.ctx, string(t.text.Type), t.text)
	}
	t.text = loop.Event{}
}
