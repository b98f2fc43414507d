package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// visit is the testing of one target in one scan.
type visit struct {
	run    *run
	target Target
	wrong  error // the target could not be read
	plan   *plan
	report *TargetReport

	address web.Address // known once located

	mu     sync.Mutex // guards what follows, and report
	queued []bool     // by probe
	ready  chan int   // probes to send; closed when none is left and none is under way
	open   int        // probes queued and not finished
	blocks map[[2]int]*progressOfBlock
	left   []int // unanswered steps, by program
}

// progressOfBlock is how far a block that stops at its first match has come.
type progressOfBlock struct {
	next   int            // the step to judge next; all before it did not match
	over   bool           // matched: what comes later counts no more
	answer map[int]answer // of steps that were answered before their turn
}

// answer is what came of one step.
type answer struct {
	matched bool
	events  []Event
	state   uint8
	reason  string
}

// do visits the target; afterwards every cell of it has its state.
func (v *visit) do(ctx context.Context) {
	r := v.run
	if v.wrong == nil && ctx.Err() == nil {
		v.wrong = v.locate(ctx)
	}
	switch {
	case ctx.Err() != nil:
		v.settleAll(skipped, Interrupted)
		return
	case v.wrong != nil:
		state, reason := outcome(v.wrong)
		v.report.Reason = reason
		v.settleAll(state, reason)
		if v.plan != nil {
			r.count(func(p *Progress) { p.Done += len(v.plan.probes); p.Errors++ })
		}
		return
	}
	v.prepare()
	var workers sync.WaitGroup
	for range min(v.run.engine.cfg.PerHost, len(v.plan.probes)) {
		workers.Go(func() {
			for i := range v.ready {
				v.probe(ctx, i)
			}
		})
	}
	workers.Wait()
	unsent := 0
	for _, queued := range v.queued {
		if !queued {
			unsent++
		}
	}
	r.count(func(p *Progress) { p.Done += unsent })
	for i, left := range v.left {
		if left > 0 { // only an interruption leaves steps unanswered
			v.report.settle(i, skipped, Interrupted)
		}
	}
}

func (v *visit) settleAll(state uint8, reason string) {
	for i := range v.run.programs {
		v.report.settle(i, state, reason)
	}
}

// locate finds out where the target answers, and remembers what it says to paths that
// are surely missing.
func (v *visit) locate(ctx context.Context) error {
	address, canary, err := v.run.engine.locate(ctx, v.target, v.run.specific, v.run.send)
	if err != nil {
		return err
	}
	v.address = address
	v.report.Alive, v.report.URL, v.report.Canary = true, address.String(), canary
	return nil
}

// prepare queues the probes that wait for nothing. Steps of blocks that need TLS are
// over at once on plain http.
func (v *visit) prepare() {
	v.queued = make([]bool, len(v.plan.probes))
	v.ready = make(chan int, len(v.plan.probes)+1)
	v.blocks = map[[2]int]*progressOfBlock{}
	v.left = make([]int, len(v.run.programs))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = 1 // held until all are queued
	for i, p := range v.run.programs {
		for j, b := range p.Blocks {
			if b.NeedsTLS && v.address.Scheme != "https" {
				continue
			}
			v.left[i] += len(b.Steps)
			if b.StopAtFirstMatch && len(b.Steps) > 1 {
				v.blocks[[2]int{i, j}] = &progressOfBlock{answer: map[int]answer{}}
				v.queue(v.plan.probeOf[ask{i, j, 0}])
				continue
			}
			for k := range b.Steps {
				v.queue(v.plan.probeOf[ask{i, j, k}])
			}
		}
	}
	v.close()
}

// queue wants a probe sent, once. The caller holds mu.
func (v *visit) queue(i int) {
	if !v.queued[i] {
		v.queued[i] = true
		v.open++
		v.ready <- i
	}
}

// close takes back one from open. The caller holds mu.
func (v *visit) close() {
	if v.open--; v.open == 0 {
		close(v.ready)
	}
}

// probe sends one request and gives everyone who asked for it the answer.
func (v *visit) probe(ctx context.Context, i int) {
	asks := v.plan.probes[i].asks
	req, err := v.step(asks[0]).Request(v.address)
	var answers []answer
	switch {
	case ctx.Err() != nil:
	case err != nil:
		answers = repeat(len(asks), answer{state: skipped, reason: err.Error()})
	default:
		answers = v.ask(ctx, req, asks)
	}
	v.mu.Lock()
	var events []Event
	for k, a := range answers {
		events = append(events, v.take(asks[k], a)...)
	}
	v.close()
	v.mu.Unlock()
	v.run.emit(events)
	if answers != nil {
		v.run.count(func(p *Progress) { p.Done++ })
	}
}

// ask sends a request and judges the answer for each of asks; nil when interrupted.
func (v *visit) ask(ctx context.Context, req web.Request, asks []ask) []answer {
	chain, err := v.run.send(ctx, req)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		state, reason := outcome(err)
		return repeat(len(asks), answer{state: state, reason: reason})
	}
	answers := make([]answer, len(asks))
	judged := judge(chain)
	for k, a := range asks {
		answers[k] = answer{state: tested}
		if !v.wanted(a) {
			continue
		}
		answers[k].matched, answers[k].events = judged(origin{v.run.programs[a.program], a.block, a.step}, v.address)
	}
	return answers
}

// judge gives a function that judges a chain of answers for one step after the other:
// the last answer first, then the redirects before it, backwards. What matchers work
// out about an answer is kept from step to step.
func judge(chain []*web.Exchange) func(o origin, target web.Address) (bool, []Event) {
	views := make([]*match.Response, len(chain))
	for i, r := range chain {
		if i < len(chain)-1 {
			views[i] = view(r, nil) // a redirect is judged by its header alone
		} else {
			views[i] = view(r, r.Body)
		}
	}
	return func(o origin, target web.Address) (matched bool, events []Event) {
		block := o.bound.Blocks[o.block]
		vars := o.bound.Vars(target)
		for i, view := range slices.Backward(views) {
			out := block.Operators.Eval(view, vars)
			for _, f := range out.Findings {
				req, _ := block.Steps[o.step].Request(target)
				events = append(events, newEvent(o, target, req.Address.String(), i == 0, chain[i], f))
			}
			if matched = matched || out.Matched; out.Matched && block.StopAtFirstMatch {
				break
			}
		}
		return matched, events
	}
}

// view is an answer as matchers see it.
func view(r *web.Exchange, body []byte) *match.Response {
	return &match.Response{Status: r.Status, Body: body, Head: r.Head, Raw: r.Sent, Named: r.Named}
}

// wanted is false for steps that come after the match of a block that stops there, and
// for blocks that do not apply.
func (v *visit) wanted(a ask) bool {
	if v.block(a).NeedsTLS && v.address.Scheme != "https" {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	b := v.blocks[[2]int{a.program, a.block}]
	return b == nil || !b.over
}

// take puts an answer in its place and gives the events that are certain now. The
// caller holds mu.
func (v *visit) take(a ask, got answer) []Event {
	if v.block(a).NeedsTLS && v.address.Scheme != "https" {
		return nil
	}
	b := v.blocks[[2]int{a.program, a.block}]
	if b == nil {
		v.settle(a.program, got)
		return got.events
	}
	if b.over || a.step < b.next {
		return nil
	}
	b.answer[a.step] = got
	var events []Event
	steps := len(v.block(a).Steps)
	for !b.over && b.next < steps {
		one, ok := b.answer[b.next]
		if !ok {
			// Nobody else may have asked for this one yet.
			v.queue(v.plan.probeOf[ask{a.program, a.block, b.next}])
			break
		}
		delete(b.answer, b.next)
		v.settle(a.program, one)
		events = append(events, one.events...)
		b.next++
		if one.matched {
			b.over = true
			v.left[a.program] -= steps - b.next
		}
	}
	return events
}

func (v *visit) settle(program int, got answer) {
	v.left[program]--
	v.report.settle(program, got.state, got.reason)
}

func (v *visit) block(a ask) program.Block { return v.run.programs[a.program].Blocks[a.block] }
func (v *visit) step(a ask) program.Step   { return v.block(a).Steps[a.step] }

func repeat(n int, a answer) []answer {
	all := make([]answer, n)
	for i := range all {
		all[i] = a
	}
	return all
}
