package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// death is the end of a child in the middle of a job.
type death struct {
	why      string
	early    bool  // it had not answered to this job: an earlier one, or something outside, has ended it
	suspects []int // indexes in the job of the templates it was working for
	stderr   string
}

// try has a child do a job with some of its templates.
func (p *Pool) try(ctx context.Context, job *Job, part []int) (*Result, *death, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	select {
	case job.slots <- struct{}{}:
		defer func() { <-job.slots }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	c, err := p.take()
	if err != nil {
		return nil, nil, err
	}
	c.jobs++
	t := &attempt{pool: p, child: c, job: job, part: part}
	t.browsers, t.programs = t.lender(), p.programsOf(job)
	stop := context.AfterFunc(ctx, func() { c.Kill(sandbox.Stopped) })
	watched := t.watch()
	got, err := t.talk()
	watched()
	t.browsers.close()
	t.programs.close()
	stop()
	if err == nil && ctx.Err() == nil {
		p.put(c)
		return got, nil, nil
	}
	if _, is := errors.AsType[*protocolError](err); is { // the child is there and talks nonsense: nothing of it counts
		p.end(c, sandbox.Crashed)
		return nil, nil, fmt.Errorf("the engine: %w", err)
	}
	if refused, is := errors.AsType[*refusal](err); is && ctx.Err() == nil {
		p.put(c)
		return nil, nil, refused.cause
	}
	d := &death{early: !t.answered}
	c.Kill("") // it has gone by itself, or was killed for a reason
	reason, _ := c.Wait()
	d.suspects = t.suspects(reason)
	d.why, d.stderr = p.end(c, "")
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if d.why == sandbox.Stopped {
		return nil, nil, ErrClosed
	}
	return nil, d, nil
}

// attempt is one try.
type attempt struct {
	pool  *Pool
	child *process
	job   *Job
	part  []int

	browsers *lender
	programs *programs
	writing  sync.Mutex // one frame at a time

	answered bool         // the child has said something about the job
	reading  atomic.Int64 // since when we wait for the child, in ns of the Unix time; 0 while we work ourselves
}

// protocolError is an answer that a child in order does not give.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return e.what }

// refusal is a job that cannot be done.
type refusal struct{ cause error }

func (e *refusal) Error() string { return e.cause.Error() }

// read reads the next frame.
func (t *attempt) read() (kind byte, payload []byte, err error) {
	t.reading.Store(time.Now().UnixNano())
	defer t.reading.Store(0)
	return sandbox.ReadFrame(t.child)
}

// talk sends the job and takes what the child reports, until its answer.
func (t *attempt) talk() (*Result, error) {
	w := t.job.wireOf(t.part)
	t.pool.offer(&w)
	payload, err := encode(w)
	if err != nil {
		return nil, &refusal{err}
	}
	if err := t.write(frameJob, payload); err != nil {
		return nil, err
	}
	for {
		kind, payload, err := t.read()
		if err != nil {
			return nil, err
		}
		t.answered = true
		switch kind {
		case frameNeed:
			if err := t.sendTemplates(payload); err != nil {
				return nil, err
			}
		case frameEvent:
			var e event
			if json.Unmarshal(payload, &e) != nil || e.Template < 0 || e.Template >= len(t.part) {
				return nil, &protocolError{"an event cannot be read"}
			}
			e.Event.Target, e.Event.URL, e.Event.Scheme = e.Target, e.URL, e.Scheme
			t.job.OnEvent(t.part[e.Template], e.Event)
		case frameProgress:
			var progress engine.Progress
			if json.Unmarshal(payload, &progress) != nil {
				return nil, &protocolError{"the progress cannot be read"}
			}
			t.job.OnProgress(progress)
		case framePending:
			var p pending
			if json.Unmarshal(payload, &p) != nil || p.Pending == nil || p.Template < 0 || p.Template >= len(t.part) {
				return nil, &protocolError{"a request that waits cannot be read"}
			}
			t.job.OnPending(t.part[p.Template], p.Pending)
		case frameTraffic:
			if err := t.take(payload); err != nil {
				return nil, err
			}
		case frameQuestion:
			if err := t.reply(payload); err != nil {
				return nil, err
			}
		case frameAnswer:
			return t.answer(payload)
		default:
			return nil, &protocolError{fmt.Sprintf("a message of kind %q", kind)}
		}
	}
}

// take takes over what the child has sent to targets.
func (t *attempt) take(payload []byte) error {
	var s sent
	if t.job.OnTraffic == nil || decode(payload, &s) != nil || s.Dropped < 0 {
		return &protocolError{"what was sent cannot be read"}
	}
	for _, x := range s.Exchanges {
		x.Request = x.Request[:min(len(x.Request), traffic.MaxRequest)]
		x.Response = x.Response[:min(len(x.Response), traffic.MaxResponse)]
		t.job.OnTraffic(x)
	}
	if s.Dropped > 0 {
		t.job.OnDropped(s.Dropped)
	}
	return nil
}

// batch is how many bytes of templates go into one frame, or one template that is longer.
const batch = 1 << 20

func (t *attempt) sendTemplates(payload []byte) error {
	var need []int
	if json.Unmarshal(payload, &need) != nil || slices.ContainsFunc(need,
		func(n int) bool { return n < 0 || n >= len(t.part) }) || len(need) > len(t.part) {
		return &protocolError{"the list of templates cannot be read"}
	}
	var some []Template
	size := 0
	flush := func() error {
		payload, err := encode(some)
		if err != nil {
			return &refusal{err}
		}
		some, size = nil, 0
		return t.write(frameTemplates, payload)
	}
	for i, n := range need {
		one := t.job.Templates[t.part[n]]
		some = append(some, one)
		size += len(one.Data)
		for _, text := range one.Files {
			size += len(text)
		}
		if size >= batch || i == len(need)-1 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *attempt) answer(payload []byte) (*Result, error) {
	var a answer
	if json.Unmarshal(payload, &a) != nil {
		return nil, &protocolError{"the answer cannot be read"}
	}
	switch {
	case a.Refused != nil:
		return nil, &refusal{a.Refused}
	case a.Failed != "":
		return nil, &refusal{errors.New(a.Failed)}
	case len(a.Cells) != len(t.job.Targets):
		return nil, &protocolError{"the answer is not complete"}
	}
	for _, row := range a.Cells {
		if len(row) != len(t.part) || slices.ContainsFunc(row, func(n int) bool { return n < 0 || n >= len(a.Ends) }) {
			return nil, &protocolError{"the answer is not complete"}
		}
	}
	return &Result{Requests: a.Requests, Shown: a.Shown, Fault: a.Fault, ends: a.Ends, cells: a.Cells}, nil
}

// reply answers a question of the child.
func (t *attempt) reply(payload []byte) error {
	var q asked
	if json.Unmarshal(payload, &q) != nil {
		return &protocolError{"a question cannot be read"}
	}
	if q.Kind == askBrowser || q.Kind == tellBrowserOver {
		if t.pool.config.Browsers.AtOnce == 0 {
			return &protocolError{"a browser that was not offered"}
		}
		t.browsers.question(q)
		return nil
	}
	if q.Kind == askProgram {
		t.programs.question(q, t.writeJSON)
		return nil
	}
	if t.job.Ask == nil {
		return &protocolError{"a question that nobody answers"}
	}
	return t.writeJSON(frameReply, replied{q.ID, t.job.Ask(q.Question)})
}

func (t *attempt) write(kind byte, payload []byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	return sandbox.WriteFrame(t.child, kind, payload)
}

func (t *attempt) writeJSON(kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return &refusal{err}
	}
	return t.write(kind, payload)
}

const watchEvery = 50 * time.Millisecond

// watch kills the child when it holds too much memory, computes too long for one template, or is silent.
func (t *attempt) watch() (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		since := map[int]started{}
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if why := t.check(now, since); why != "" {
					t.child.Kill(why)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-over
	}
}

// started is when a piece of work was first seen.
type started struct {
	work board.Work
	cpu  time.Duration // of the child, at that time
}

// check is why the child must end now; empty: it may go on.
func (t *attempt) check(now time.Time, since map[int]started) string {
	c := t.pool.config
	used, err := t.child.Usage()
	if err == nil && used.Resident > c.Memory {
		return sandbox.OverMemory
	}
	if at := t.reading.Load(); at != 0 && now.Sub(time.Unix(0, at)) > c.Silence {
		return sandbox.OverTime
	}
	seen := map[int]bool{}
	why := ""
	board.Read(t.child.Board, func(place int, w board.Work) {
		if w.Waiting {
			return
		}
		seen[place] = true
		known, ok := since[place]
		if !ok || known.work != w {
			since[place] = started{w, used.CPU}
			return
		}
		// By the processor's clock, not the wall's: an expression may also wait, and the machine may be busy.
		if used.CPU-known.cpu > cmp.Or(t.job.Compute, c.Compute) {
			why = sandbox.OverTime
		}
	})
	for place := range since {
		if !seen[place] {
			delete(since, place)
		}
	}
	return why
}

// suspects are the templates that the child, which has ended, was working for: those it was computing for, or if there
// are none, those that were waiting. Memory is also held by those that wait.
func (t *attempt) suspects(why string) []int {
	var computing, waiting []int
	board.Read(t.child.Board, func(_ int, w board.Work) {
		if w.Template < 0 || w.Template >= len(t.part) {
			return
		}
		n := t.part[w.Template]
		if w.Waiting {
			waiting = append(waiting, n)
		} else {
			computing = append(computing, n)
		}
	})
	if len(computing) == 0 || why == sandbox.OverMemory {
		computing = append(computing, waiting...)
	}
	slices.Sort(computing)
	return slices.Compact(computing)
}
