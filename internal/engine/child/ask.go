package child

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// open makes the engine of a job.
func (w *wire) open(ask func(q Question) string) (*engine.Engine, error) {
	if w.Names != nil {
		w.Config.Names = oob.NamesOf(*w.Names)
	}
	if !w.Asks {
		o := options.Options{Engine: w.Config, Excluded: w.Excluded}
		if w.Proxy != "" {
			var err error
			if o.Proxy, err = netguard.ParseProxy(w.Proxy); err != nil {
				return nil, err
			}
		}
		return o.Open(w.Targets, w.Deny, &netguard.Guard{Allow: w.Allow})
	}
	scope, err := netguard.NewScope(w.Covers, netguard.Limits{Deny: w.Deny, OnDenied: func(d netguard.Denied) {
		ask(Question{TellDenied, d.Addr, d.Why})
	}})
	if err != nil {
		return nil, err
	}
	c := w.Config
	c.DialHelper = (&netguard.Guard{Allow: w.Allow}).Helper(c.Resolvers, nil)
	c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if why := ask(Question{Kind: AskDial, Text: addr}); why != "" {
			return nil, errs.New(errs.Forbidden, netguard.CodeOutOfScope, "%.300s is refused: %s.", addr, why)
		}
		return scope.Dial(ctx, network, addr)
	}
	c.Allow = func(u *url.URL) bool { return ask(Question{Kind: AskURL, Text: u.String()}) == "" }
	var known sync.Map // names that are allowed, which they stay: each request gives one
	c.AllowName = func(name string) bool {
		_, allowed := known.Load(name)
		if !allowed && ask(Question{Kind: AskName, Text: name}) == "" {
			known.Store(name, nil)
			allowed = true
		}
		return allowed
	}
	return engine.New(c), nil
}

// maxFault is how much is told of an error, in bytes.
const maxFault = 500

// repeat does the Repeat of a job.
func (w *wire) repeat(ctx context.Context, e *engine.Engine, p *program.Program, result *Result, out sink) error {
	var r Repeat
	if err := json.Unmarshal(w.Repeat, &r); err != nil {
		return err
	}
	r.Event.Target, r.Event.URL, r.Event.Scheme = w.Targets[0], r.URL, r.Scheme
	var again engine.Event
	var err error
	switch {
	case !r.Control:
		again, result.Shown, err = e.Confirm(ctx, w.Targets[0], p, r.Event)
	case engine.HasControl(p, r.Event):
		again, result.Shown, err = e.Control(ctx, w.Targets[0], p, r.Event)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		fault := errs.From(err)
		if result.Fault = fault.Message; fault.Kind == errs.Internal { // such as a refused connection
			result.Fault = errs.Clip(err.Error(), maxFault)
		}
	}
	if result.Shown && !r.Control || again.Request != "" {
		out.event(0, again)
	}
	result.set(0, 0, coverage.End{State: engine.Tested})
	return nil
}

// judge does the Judge of a job.
func (w *wire) judge(ctx context.Context, p *program.Program, result *Result, out sink) error {
	var j Judge
	if err := json.Unmarshal(w.Judge, &j); err != nil {
		return err
	}
	if j.Pending == nil {
		return errors.New("there is no request to judge")
	}
	e := engine.New(engine.Config{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		return nil, errs.New(errs.Forbidden, netguard.CodeOutOfScope, "%.300s is refused: nothing is sent now.", addr)
	}})
	defer e.Close()
	for _, ev := range e.Judge(ctx, p, j.Pending, j.Interaction) {
		out.event(0, ev)
	}
	result.set(-1, 0, coverage.End{State: engine.Tested})
	return nil
}

// questions are those of a child that have no answer yet.
type questions struct {
	mu      sync.Mutex
	last    int
	waiting map[int]chan string
}

// asked is a question on its way, and replied its answer.
type (
	asked struct {
		ID int
		Question
	}
	replied struct {
		ID  int
		Why string
	}
)

// begin asks the parent; the answer comes later.
func (c *conversation) begin(q Question) (id int, got chan string, err error) {
	got = make(chan string, 1)
	c.open.mu.Lock()
	if c.open.waiting == nil {
		c.open.waiting = map[int]chan string{}
	}
	c.open.last++
	id = c.open.last
	c.open.waiting[id] = got
	c.open.mu.Unlock()
	return id, got, c.writeJSON(frameQuestion, asked{id, q})
}

// ask asks the parent, and waits for its answer.
func (c *conversation) ask(q Question) string {
	_, got, err := c.begin(q)
	if err != nil {
		return "it cannot be asked about"
	}
	return <-got
}

// reply hands an answer of the parent to whoever asked.
func (c *conversation) reply(payload []byte) {
	var r replied
	if json.Unmarshal(payload, &r) != nil {
		return
	}
	c.open.mu.Lock()
	got := c.open.waiting[r.ID]
	delete(c.open.waiting, r.ID)
	c.open.mu.Unlock()
	if got != nil {
		got <- r.Why
	}
}
