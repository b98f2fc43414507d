package child

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/code"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// askProgram is the kind of a question that has a program of a signed template run, as proto.Program in JSON. The
// answer is a proto.Output in JSON.
const askProgram = "program"

// maxPrograms is how many programs a child may wait for.
const maxPrograms = 256

// programs runs those of the signed templates of a job. What is run is read from the templates, not from the child: it
// says which program, and with which values.
type programs struct {
	job   *Job
	slots chan struct{}

	ctx   context.Context //nolint:containedctx // of the attempt
	stop  context.CancelFunc
	group sync.WaitGroup
	open  chan struct{} // bounds the questions that have no answer

	once  sync.Once
	known map[string]*code.Probe
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	fault string // why none can be run
}

func (p *Pool) programsOf(job *Job) *programs {
	r := &programs{job: job, slots: p.programs, open: make(chan struct{}, maxPrograms)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// read reads the programs of the signed templates, and what they may reach.
func (r *programs) read() {
	r.known = map[string]*code.Probe{}
	for _, t := range r.job.Templates {
		if !t.Signed {
			continue
		}
		all, err := templates.Programs(t.Path, t.Data, t.open)
		if err != nil {
			continue // the child has reported it
		}
		maps.Copy(r.known, all)
	}
	if r.job.Ask != nil {
		r.fault = "programs of templates run in scans alone"
		return
	}
	o := options.Options{Excluded: r.job.Excluded}
	var err error
	if r.job.Proxy != "" {
		o.Proxy, err = netguard.ParseProxy(r.job.Proxy)
	}
	var scope *netguard.Scope
	if err == nil {
		scope, err = o.Scope(r.job.Targets, r.job.Deny, &netguard.Guard{Allow: r.job.Allow})
	}
	if err != nil {
		r.fault = errs.From(err).Message
		return
	}
	r.dial = scope.Dial
}

// run runs a program. The error is that of the context.
func (r *programs) run(ctx context.Context, in proto.Program) (*proto.Output, error) {
	r.once.Do(r.read)
	one := r.known[in.Key]
	switch {
	case r.fault != "":
		return &proto.Output{Unusable: r.fault}, nil
	case one == nil:
		return &proto.Output{Unusable: "the program is none of a signed template"}, nil
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return one.Isolated(ctx, in, r.dial), nil
}

// question answers one in the background.
func (r *programs) question(q asked, write func(kind byte, v any) error) {
	answer := func(out *proto.Output) {
		_ = write(frameReply, replied{q.ID, string(textOf(out))}) // a child that has ended needs none
	}
	select {
	case r.open <- struct{}{}:
	default:
		answer(&proto.Output{Failed: "too many programs wait"})
		return
	}
	r.group.Go(func() {
		defer func() { <-r.open }()
		var in proto.Program
		if err := json.Unmarshal([]byte(q.Text), &in); err != nil {
			answer(&proto.Output{Failed: "the program cannot be read"})
			return
		}
		out, err := r.run(r.ctx, in)
		if err != nil {
			out = &proto.Output{Failed: err.Error()}
		}
		answer(out)
	})
}

// close ends what runs, at the end of the attempt.
func (r *programs) close() {
	r.stop()
	r.group.Wait()
}

// program has the parent run a program.
func (c *conversation) program(ctx context.Context, p proto.Program) (*proto.Output, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	_, got, err := c.begin(Question{Kind: askProgram, Text: string(text)})
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	select {
	case text := <-got:
		var out proto.Output
		return &out, json.Unmarshal([]byte(text), &out)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
