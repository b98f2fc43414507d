package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Config bounds the children of a pool. Zero fields get defaults.
type Config struct {
	// InProcess runs jobs in this process, without bounds: for tests of what is around jobs.
	InProcess bool

	Memory  int64         // bytes that a child may hold; default 1 GiB
	AtOnce  int           // children that work on jobs at once, others wait; default 1000
	Checks  int           // children that work for Check at once, others wait; default half of the processors
	Compute time.Duration // of the processor, while a template computes without a break; default 30 s
	Silence time.Duration // without a sign of life, after which a child hangs; default 1 min
	Idle    int           // children that are kept when there is nothing to do; default 2
	Jobs    int           // that a child does before it is replaced; default 100
	Logger  *slog.Logger  // nil: none

	Browsers Browsers // for templates that drive one
	Programs int      // of signed templates that run at once, others wait; default half of the processors

	Args []string // of the command line, in tests
	Env  []string // in tests
}

// Pool runs jobs in children, any number at once.
type Pool struct {
	config Config
	cache  templates.Cache // of InProcess
	slots  chan struct{}   // bounds the children that work on jobs
	checks chan struct{}   // the same for Check: templates that people wait for do not queue behind scans

	programs chan struct{}     // bounds those that run
	browsers chan struct{}     // bounds those that are lent
	launcher *browser.Launcher // nil for none

	mu     sync.Mutex
	idle   []*process
	all    map[*process]bool
	closed bool
}

// ErrClosed is the error of a job after Close.
var ErrClosed = errors.New("the engine is closed")

// process is a child that has greeted.
type process struct {
	*sandbox.Process
	jobs int
}

// New makes a pool without children. Close it at the end.
func New(c Config) *Pool {
	c.Memory = cmp.Or(c.Memory, 1<<30)
	c.Compute = cmp.Or(c.Compute, 30*time.Second)
	c.Silence = cmp.Or(c.Silence, time.Minute)
	c.Idle = cmp.Or(c.Idle, 2)
	c.Jobs = cmp.Or(c.Jobs, 100)
	c.AtOnce = cmp.Or(c.AtOnce, 1000)
	c.Checks = cmp.Or(c.Checks, max(1, runtime.NumCPU()/2))
	c.Programs = cmp.Or(c.Programs, max(1, runtime.NumCPU()/2))
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Args == nil {
		c.Args = []string{Command, strconv.FormatInt(c.Memory, 10)}
	}
	p := &Pool{config: c, all: map[*process]bool{}, slots: make(chan struct{}, c.AtOnce),
		checks: make(chan struct{}, c.Checks), programs: make(chan struct{}, c.Programs),
		browsers: make(chan struct{}, c.Browsers.AtOnce)}
	if b := c.Browsers; b.AtOnce > 0 {
		p.launcher = browser.NewLauncher(browser.Config{Path: b.Path, Memory: b.Memory, Temp: b.Temp, Nobody: true})
	}
	return p
}

// Warm starts a child in advance, so that the first job need not wait for one.
func (p *Pool) Warm() error {
	if p.config.InProcess {
		return nil
	}
	c, err := p.start()
	if err == nil {
		p.put(c)
	}
	return err
}

// Close ends all children; the jobs that they do fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	var running []*process
	for c := range p.all {
		if !slices.Contains(p.idle, c) {
			running = append(running, c)
		}
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.end(c, sandbox.Stopped)
	}
	for _, c := range running { // their jobs forget them
		c.Kill(sandbox.Stopped)
		c.Wait()
	}
}

// helloTimeout is how long a child may take to start, on a machine that is very busy.
const helloTimeout = 30 * time.Second

// starts is how many children are started for one job when something outside ends them before they greet: the system,
// when memory is short, or a person.
const starts = 3

// start starts a child.
func (p *Pool) start() (c *process, err error) {
	for range starts {
		c, err = p.startOnce()
		if _, ended := errors.AsType[*unborn](err); !ended {
			break
		}
		p.config.Logger.Warn("an engine has ended before it began", "error", err)
	}
	return c, err
}

// unborn is a child that ended before it greeted.
type unborn struct{ error }

func (p *Pool) startOnce() (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if strings.HasSuffix(os.Args[0], ".test") && p.config.Args[0] == Command {
		p.mu.Unlock()
		return nil, errors.New("a test binary is no engine: it would run its tests") // and these would start engines
	}
	p.mu.Unlock()
	s, err := sandbox.Start(sandbox.Config{
		Args: p.config.Args, Env: p.config.Env, Board: board.Size, Files: p.config.Browsers.AtOnce > 0,
	})
	if err != nil {
		return nil, fmt.Errorf("starting an engine: %w", err)
	}
	c := &process{Process: s}
	p.mu.Lock()
	p.all[c] = true
	closed := p.closed
	p.mu.Unlock()
	if closed {
		c.Kill(sandbox.Stopped)
	}
	late := time.AfterFunc(helloTimeout, func() { c.Kill(sandbox.OverTime) })
	defer late.Stop()
	kind, payload, err := sandbox.ReadFrame(c)
	if err == nil && kind == frameHello && string(payload) == protocol {
		return c, nil
	}
	reason, stderr := p.end(c, "")
	if err == nil {
		err = fmt.Errorf("it greets with %.40q", payload)
	}
	err = fmt.Errorf("the engine does not start: %w (%s, %q)", err, reason, stderr)
	if reason == sandbox.Crashed {
		err = &unborn{err}
	}
	return nil, err
}

// end kills a child and forgets it.
func (p *Pool) end(c *process, why string) (reason, stderr string) {
	c.Kill(why)
	reason, stderr = c.Wait()
	p.mu.Lock()
	delete(p.all, c)
	p.mu.Unlock()
	_ = c.Close()
	return reason, stderr
}

// take is an idle child, or a new one.
func (p *Pool) take() (*process, error) {
	for {
		p.mu.Lock()
		if len(p.idle) == 0 {
			p.mu.Unlock()
			return p.start()
		}
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		p.mu.Unlock()
		if c.Alive() {
			return c, nil
		}
		p.end(c, sandbox.Crashed)
	}
}

// put keeps a child for another job, unless it has done enough or has grown.
func (p *Pool) put(c *process) {
	used, err := c.Usage()
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < p.config.Idle && c.jobs < p.config.Jobs &&
		(err != nil || used.Resident < p.config.Memory/2)
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		p.end(c, sandbox.Stopped)
	}
}

// Died is the last of some children that ended in the middle of a job although no template can be blamed for it.
type Died struct{ Why string }

func (d *Died) Error() string { return "the engine ended: " + d.Why }

const (
	maxDeaths = 16 // bounds the children that one job may cost
	// unexplained bounds those that end although no template was at work: by something outside, which is not charged to
	// the job, or by the engine itself.
	unexplained = 3
)

// Run does a job. The error is ctx's, an *errs.Error for a job that cannot be done, or a *Died. Templates that ended
// a child are Failed in the result, with the reason.
func (p *Pool) Run(ctx context.Context, job Job) (*Result, error) {
	if job.OnEvent == nil {
		job.OnEvent = func(int, engine.Event) {}
	}
	if job.OnProgress == nil {
		job.OnProgress = func(engine.Progress) {}
	}
	if job.OnPending == nil {
		job.OnPending = func(int, *engine.Pending) {}
	}
	if job.OnDropped == nil {
		job.OnDropped = func(int64) {}
	}
	if job.slots == nil {
		job.slots = p.slots
	}
	all := make([]int, len(job.Templates))
	for i := range all {
		all[i] = i
	}
	if p.config.InProcess {
		w := job.wireOf(all)
		got, err := execute(ctx, &w, func(i int) Template { return job.Templates[i] }, &p.cache, nil,
			sink{event: job.OnEvent, progress: job.OnProgress, ask: serially(job.Ask), pending: job.OnPending,
				record: job.OnTraffic, program: p.programsOf(&job).run})
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return got, err
	}
	result := newResult(len(job.Targets), len(job.Templates))
	deaths, strange := 0, 0
	blame := map[int]int{} // ends of children by the template they were working for
	for parts := [][]int{all}; len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		got, died, err := p.try(ctx, &job, part)
		if err != nil {
			return nil, err
		}
		job.OnProgress = func(engine.Progress) {} // the first try has the figures of all
		if died == nil {
			result.add(part, got)
			continue
		}
		deaths++
		p.config.Logger.WarnContext(ctx, "an engine has ended in the middle of a job", "why", died.why,
			"templates", len(part), "suspects", len(died.suspects), "stderr", died.stderr)
		if len(part) == 1 && !died.early && died.why != sandbox.Crashed {
			died.suspects = part
		}
		for _, n := range died.suspects {
			blame[n]++
		}
		switch {
		case len(part) == 1 && blame[part[0]] > 1:
			result.blame(part[0], died.why)
			result.Ended = append(result.Ended, Ended{part[0], died.why})
		case died.early && deaths < maxDeaths:
			parts = append(parts, part)
		case len(died.suspects) == 0 && died.why != sandbox.OverMemory:
			if strange++; strange >= unexplained {
				return nil, &Died{died.why}
			}
			parts = append(parts, part)
		case deaths >= maxDeaths:
			result.leave(append(parts, part), died.why)
			return result, nil
		default:
			parts = append(parts, split(part, died.suspects)...)
		}
	}
	return result, nil
}

// leave gives up templates of a job that has cost too many children.
func (r *Result) leave(parts [][]int, why string) {
	for _, part := range parts {
		for _, n := range part {
			r.set(-1, n, coverage.End{State: engine.Failed,
				Reason: "the engine ended too often in the work for other templates: " + why})
		}
	}
}

// serially calls ask by one goroutine at a time, as a conversation does.
func serially(ask func(q Question) string) func(q Question) string {
	var mu sync.Mutex
	return func(q Question) string {
		mu.Lock()
		defer mu.Unlock()
		return ask(q)
	}
}

// alone is how many suspects run one by one at once; of more, halves are tried first.
const alone = 4

// split parts templates after a death: those that nobody suspects, and the suspects each alone, or in halves.
func split(part, suspects []int) (parts [][]int) {
	suspect := map[int]bool{}
	for _, n := range suspects {
		suspect[n] = true
	}
	var others, named []int
	for _, n := range part {
		if suspect[n] {
			named = append(named, n)
		} else {
			others = append(others, n)
		}
	}
	if len(named) == 0 { // nobody is suspected: everybody is
		others, named = nil, part
	}
	if len(others) > 0 {
		parts = append(parts, others)
	}
	if len(named) <= alone {
		for _, n := range named {
			parts = append(parts, []int{n})
		}
		return parts
	}
	return append(parts, named[:len(named)/2], named[len(named)/2:])
}

// add takes over the result of some templates.
func (r *Result) add(part []int, got *Result) {
	r.Requests += got.Requests
	r.Shown, r.Fault = r.Shown || got.Shown, got.Fault
	for i := range got.cells {
		for n, template := range part {
			r.set(i, template, got.ends[got.cells[i][n]])
		}
	}
}

// Blamed begins the reason of a cell whose template ended the engine.
const Blamed = "the engine ended: "

func (r *Result) blame(template int, why string) {
	r.set(-1, template, coverage.End{State: engine.Failed, Reason: Blamed + why})
}
