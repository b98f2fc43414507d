// Package child runs the engine of a server in child processes, so that a template, a page or a target that makes it
// crash, grow without end or compute without end costs its own part of a scan and nothing else.
//
// A Pool keeps children that have started and gives a child one Job at a time. The child compiles the templates,
// holds every dial to the scope by itself, and streams events and progress back; it has no database and no secret but
// those of the job's requests. When it dies or is killed, the board that both see (package board) tells which templates
// it was working for: these run again alone, the others go on without them.
package child

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/dns"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/oast"
)

// Template is a template of a job.
type Template struct {
	Path   string
	Digest string // of Data and Files: equal digests are compiled once
	Data   []byte
	Files  map[string][]byte // that Data names
	Signed bool              // its programs may run (templates.CheckSignature): in this process, isolated
}

// Job is some targets times some templates.
type Job struct {
	Targets   []string
	Templates []Template
	Deny      []netip.Prefix // networks that are not reached although a target names them
	Excluded  []string       // patterns of hosts that are neither reached nor named (hostpattern.Patterns)
	Proxy     string         // URL of a SOCKS5 proxy, as netguard.ParseProxy reads it; empty: targets are dialled directly
	Allow     []netip.Prefix // special networks that the proxy may be in

	Config           engine.Config // without functions: the scope is the targets
	Vars             map[string]string
	Parallel         int // targets at a time; 0: the engine's default
	StopAtFirstMatch bool
	Compute          time.Duration // bounds this job in place of Config.Compute; 0: that
	MaxRequests      int           // 0: no bound

	// Ask decides on each dial and request, for what has a narrower scope than its targets: Covers is then what may be
	// dialled, in place of Targets. It is called by one goroutine at a time. nil: the targets decide.
	Ask    func(q Question) (why string)
	Covers []netguard.Target
	Repeat *Repeat // nil: the targets are tested
	Judge  *Judge  // nil: the same

	// Names makes out-of-band names; nil: what needs them is skipped. OnPending gets each request that was sent with names
	// and whose operators read interactions, with the index of its template, as OnEvent gets events: it is the caller who
	// waits for interactions. May be nil.
	Names     *oast.Names
	OnPending func(template int, p *engine.Pending)

	// OnEvent gets the index of the template with each event, and OnProgress the progress, one call at a time for
	// both; either may be nil. An event may come twice when a child has died.
	OnEvent    func(template int, e engine.Event)
	OnProgress func(p engine.Progress)
	// OnTraffic gets each HTTP request that was sent, from any goroutine, and must not wait; nil: nobody asks. The child
	// drops what it cannot hand over in time: OnDropped gets the number.
	OnTraffic func(traffic.Exchange)
	OnDropped func(n int64)

	slots chan struct{} // of the pool: those of jobs, or of Check
}

// Question is what a child asks before it acts, or tells. The answer is why not; "" allows it.
type Question struct {
	Kind string // of AskDial, AskURL, TellDenied
	Text string // host:port, a URL, or a name
	Why  string // of TellDenied
}

// The kinds of questions.
const (
	AskDial    = "dial"
	AskURL     = "url"
	AskName    = "name"   // that a request may give its server as its own
	TellDenied = "denied" // a dial was refused by Covers or Deny
)

// Repeat repeats the requests of an event of the only template on the only target, as engine.Confirm does and, for a
// control, engine.Control.
type Repeat struct {
	Event       engine.Event
	URL, Scheme string // of Event, whose own JSON leaves them out
	Control     bool
}

// Judge judges an out-of-band interaction with a request of the only template: OnEvent gets what it shows. Nothing is
// sent.
type Judge struct {
	Pending     *engine.Pending
	Interaction oast.Interaction
}

// Result is how a job ended.
type Result struct {
	Requests int
	Shown    bool    // by a Repeat
	Fault    string  // why a Repeat could not be done
	Ended    []Ended // templates that ended a child alone

	ends  []coverage.End       // the different ones
	cells [][]int              // by target and template, indexes in ends
	index map[coverage.End]int // in ends
}

// Ended is a template that ended a child although no other ran in it.
type Ended struct {
	Template int // index in Job.Templates
	Why      string
}

// Cell is how the testing of a target with a template ended, by their indexes in the job.
func (r *Result) Cell(target, template int) (engine.State, string) {
	end := r.ends[r.cells[target][template]]
	return end.State, end.Reason
}

// Counts are the numbers of cells by state.
func (r *Result) Counts() map[engine.State]int {
	counts := map[engine.State]int{}
	for _, row := range r.cells {
		for _, n := range row {
			counts[r.ends[n].State]++
		}
	}
	return counts
}

func newResult(targets, templates int) *Result {
	r := &Result{index: map[coverage.End]int{}}
	r.number(coverage.End{State: engine.Failed, Reason: "the target was not visited"}) // that of all cells at first
	for range targets {
		r.cells = append(r.cells, make([]int, templates))
	}
	return r
}

// number is the index of an end in ends.
func (r *Result) number(end coverage.End) int {
	n, known := r.index[end]
	if !known {
		n = len(r.ends)
		r.ends, r.index[end] = append(r.ends, end), n
	}
	return n
}

// set sets a cell, or for a negative target those of all targets.
func (r *Result) set(target, template int, end coverage.End) {
	n := r.number(end)
	if target >= 0 {
		r.cells[target][template] = n
		return
	}
	for i := range r.cells {
		r.cells[i][template] = n
	}
}

// wire is a job as it is sent: the texts of templates follow where the child asks for them. Functions of Config are
// not sent (encoding/gob).
type wire struct {
	Targets          []string
	Templates        []key
	Deny             []netip.Prefix
	Excluded         []string
	Proxy            string
	Allow            []netip.Prefix
	Config           engine.Config
	Vars             map[string]string
	Parallel         int
	StopAtFirstMatch bool
	MaxRequests      int
	Asks             bool
	Records          bool
	Covers           []netguard.Target
	Repeat, Judge    []byte // as JSON: events have what gob cannot send
	Names            *oast.Names
	Pages            pages
}

// key identifies a template that a child may have compiled.
type key struct {
	Path, Digest string
	Signed       bool
}

// digest is that of what is compiled.
func (k key) digest() string {
	if k.Signed {
		return k.Digest + " signed"
	}
	return k.Digest
}

// wireOf is the job with only some of its templates, by their indexes.
func (j *Job) wireOf(templates []int) wire {
	w := wire{
		Targets: j.Targets, Deny: j.Deny, Excluded: j.Excluded, Proxy: j.Proxy, Allow: j.Allow, Config: j.Config,
		Vars: j.Vars, Parallel: j.Parallel, StopAtFirstMatch: j.StopAtFirstMatch, MaxRequests: j.MaxRequests,
		Asks: j.Ask != nil, Records: j.OnTraffic != nil, Covers: j.Covers, Names: j.Names,
	}
	if j.Repeat != nil {
		w.Repeat = textOf(j.Repeat)
	}
	if j.Judge != nil {
		w.Judge = textOf(j.Judge)
	}
	w.Config.Dial, w.Config.DialHelper, w.Config.Allow, w.Config.AllowName, w.Config.Names = nil, nil, nil, nil, nil
	w.Config.Pages.Open, w.Config.Record, w.Config.Program = nil, nil, nil
	if len(w.Config.Resolvers) == 0 {
		w.Config.Resolvers = dns.SystemResolvers() // a child may not read where they are written
	}
	for _, n := range templates {
		w.Templates = append(w.Templates, key{j.Templates[n].Path, j.Templates[n].Digest, j.Templates[n].Signed})
	}
	return w
}

// textOf is a part of a job as JSON.
func textOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error()) // which the child refuses
	}
	return text
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func decode(data []byte, into any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(into) }

// answer is the end of a job as a child sends it.
type answer struct {
	Requests int
	Ends     []coverage.End
	Cells    [][]int     // as in Result, of the templates that were sent
	Shown    bool        `json:",omitempty"`
	Fault    string      `json:",omitempty"`
	Refused  *errs.Error `json:",omitempty"` // nothing was tested
	Failed   string      `json:",omitempty"` // nothing was tested, for a reason of our own
}

// sink takes what a running job reports.
type sink struct {
	event    func(template int, e engine.Event)
	progress func(p engine.Progress)
	ask      func(q Question) (why string)
	pending  func(template int, p *engine.Pending)
	record   func(traffic.Exchange)
	lend     func(ctx context.Context, proxy string) (*browser.Link, error) // a browser that uses the proxy
	program  func(ctx context.Context, p proto.Program) (*proto.Output, error)

	compiling func(path string) error // of tests: called before a template is compiled
}

// execute runs a job in this process. text returns the i-th template, of which the
// cache may not need the texts.
func execute(
	ctx context.Context, w *wire, text func(i int) Template, cache *templates.Cache, page *board.Board, out sink,
) (*Result, error) {
	result := newResult(len(w.Targets), len(w.Templates))
	var programs []*program.Program
	var indexes []int              // of programs in Templates
	numbers := map[[2]string]int{} // the same by id and path, as events name them
	for i, k := range w.Templates {
		var p *program.Program
		var err error
		page.Compile(i, func() {
			if out.compiling != nil {
				if err = out.compiling(k.Path); err != nil {
					return
				}
			}
			t := text(i)
			p, err = cache.Compile(k.digest(), k.Path, t.Data, t.open, k.Signed)
		})
		if err != nil {
			result.set(-1, i, coverage.End{State: engine.Skipped, Reason: errs.From(err).Message})
			continue
		}
		programs, indexes = append(programs, p), append(indexes, i)
		numbers[[2]string{p.ID, p.Path}] = i
	}
	if len(w.Judge) > 0 && len(programs) > 0 {
		return result, w.judge(ctx, programs[0], result, out)
	}
	if len(programs) == 0 || len(w.Targets) == 0 { // without targets, templates are only compiled
		return result, nil
	}
	if w.Pages.AtOnce > 0 {
		pool := w.Pages.pool(out.lend)
		defer pool.Close()
		w.Config.Pages.Open = pool.Open
	}
	if w.Records {
		w.Config.Record = out.record
	}
	w.Config.Program = out.program
	e, err := w.open(out.ask)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if len(w.Repeat) > 0 {
		return result, w.repeat(ctx, e, programs[0], result, out)
	}
	report, err := e.Run(ctx, engine.Scan{
		Expect: func(p *engine.Pending) {
			out.pending(numbers[[2]string{p.Event.TemplateID, p.Event.TemplatePath}], p)
		},
		Targets: w.Targets, Programs: programs, Vars: w.Vars, Parallel: w.Parallel, StopAtFirstMatch: w.StopAtFirstMatch,
		MaxRequests: w.MaxRequests,
		Board:       page.Numbered(indexes), OnProgress: out.progress,
		OnEvent: func(e engine.Event) { out.event(numbers[[2]string{e.TemplateID, e.TemplatePath}], e) },
	})
	if err != nil {
		return nil, err
	}
	result.Requests = report.Requests
	byTarget := map[string]*engine.TargetReport{}
	for _, t := range report.Targets {
		byTarget[t.Target] = t
	}
	for i, target := range w.Targets {
		t := byTarget[target]
		if t == nil {
			continue
		}
		for n, index := range indexes {
			state, reason := t.Cell(n)
			result.set(i, index, coverage.End{State: state, Reason: reason})
		}
	}
	return result, nil
}

// open gives the text of a file that the template names.
func (t Template) open(name string) ([]byte, error) {
	if text, ok := t.Files[name]; ok {
		return text, nil
	}
	return nil, errs.Field("file", "there is no file %.200s that the template may read", name)
}
