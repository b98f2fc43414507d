package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// stopsEvery is how often the calls of tools that people stopped are looked up.
const stopsEvery = 500 * time.Millisecond

// RunLoop lets a language model work on the stream. The journal is the run's; events go into the stream, and calls of
// tools that people stop are ended. The events are written under kept, because ctx may have ended by then.
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
			control.Abort(id) // a call that has ended is not there any more
		}
	}
}

// loopEvents writes the events of a language model's run into the task's stream. Pieces of text are joined, so that a
// fast model does not cause a write for each word.
type loopEvents struct {
	ctx context.Context
	run *Run

	mu    sync.Mutex
	text  loop.Event // pieces that are not written yet
	since time.Time  // the first of them came
}

// textEvery is how long a piece of text waits for others; textMost is how long a joined
// one becomes, in bytes.
const (
	textEvery = 250 * time.Millisecond
	textMost  = 4096
)

// Emit adds an event to the stream. Nothing depends on it, so that a failure is only logged.
func (r *Run) Emit(ctx context.Context, kind string, data any) {
	if err := r.Tell(ctx, kind, data); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLate) {
		r.tasks.logger.WarnContext(ctx, "adding an event to a task's stream", "task_id", r.Task.ID, "error", err)
	}
}

// write takes an event. The end of the loop is not written: the stream ends later, with an event of its own.
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

// flush writes what still waits.
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
