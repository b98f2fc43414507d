package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// teller writes the events of a language model's run into the task's stream. Pieces of
// text are joined, so that a fast model does not write all the time.
type teller struct {
	worker worker
	ctx    context.Context
	run    *task.Run

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

func (w worker) newTeller(ctx context.Context, run *task.Run) *teller {
	return &teller{worker: w, ctx: ctx, run: run}
}

// tell takes an event. The end of the loop's run is not that of the stream, which its
// worker tells of.
func (t *teller) tell(e loop.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == loop.EventText {
		if t.text.Branch != e.Branch || t.text.ID != e.ID {
			t.write()
		}
		if t.text.Text == "" {
			t.since = time.Now()
		}
		e.Text = t.text.Text + e.Text
		if t.text = e; time.Since(t.since) < textEvery && len(e.Text) < textMost {
			return
		}
		t.write()
		return
	}
	t.write()
	if e.Type != loop.EventFinish {
		t.worker.emit(t.ctx, t.run, string(e.Type), e)
	}
}

// flush writes what still waits.
func (t *teller) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write()
}

func (t *teller) write() {
	if t.text.Text != "" {
		t.worker.emit(t.ctx, t.run, string(t.text.Type), t.text)
	}
	t.text = loop.Event{}
}
