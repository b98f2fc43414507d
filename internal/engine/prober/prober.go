// Package prober runs a block of a protocol other than HTTP on a target: it lets the probe send, evaluates each reply
// with the operators of the block, and collects what they find. Replies of one unit, such as the lines of a file, have
// their findings joined.
package prober

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// Run is one run of a block, for one tuple of payloads.
type Run struct {
	Bound   *program.Bound
	Block   int
	Input   program.Input // of its requests; the target as it was given
	History *program.History
	Env     proto.Env // but Vars and Extract
	Dials   *Dials    // those that failed on this target
	Names   dsl.Lookup

	OnReply func(waited time.Duration) // for each reply, or unit of them
	Working func(working bool)         // the template's own work begins, or waiting for the network

	result Result
	names  *oob.Names
	sent   atomic.Pointer[time.Time] // the last request; pages send several at once
	unit   *unit                     // of the last replies; nil for none
	last   *proto.Reply              // nil before the first
}

// Result is what came of a run. All but Err is set after an error, too.
type Result struct {
	Replied     bool
	FlowMatched bool // as a flow sees it
	Matched     bool
	Over        bool // the rest of the block is not wanted
	Findings    []Finding
	Outcomes    []match.Outcome // of replies with findings
	Payload     program.Payload
	Expect      *Expect // an interaction may come for its names; nil for none
	Limited     error   // an evaluation reached a limit; nil for none
	Err         error   // of the probe, or of rendering its payload
}

// Expect is what out-of-band interactions are judged with.
type Expect struct {
	IDs   []string
	Saved oob.Saved
	Reply *proto.Reply // the last
}

// Finding is a finding in a reply.
type Finding struct {
	match.Finding
	Reply *proto.Reply
	Lines []int // of its unit, ascending; none without units
}

// Do runs the block.
func (r *Run) Do(ctx context.Context) Result {
	vars, payload, names, err := r.Bound.ProbeVars(r.Block, r.Input)
	if err != nil {
		return Result{Err: err}
	}
	r.result.Payload, r.names = payload, names
	r.sends()
	env := r.env(vars)
	r.Working(false)
	err = r.block().Probe.Run(ctx, env, func(reply *proto.Reply) bool { return r.found(ctx, reply) })
	r.Working(true)
	r.endUnit()
	r.result.Err = err
	if ids := r.names.Take(); len(ids) > 0 && r.block().Operators.UsesOAST() {
		if r.last == nil { // the service may still have followed a name
			r.last = &proto.Reply{Env: vars(r.Input.Target)}
			r.last.At(r.Input.Target.HostPort())
		}
		r.result.Expect = &Expect{ids, oob.Save(r.block().Operators, r.view(ctx, r.last), r.variables(r.last)), r.last}
	}
	return r.result
}

// Payloads has a probe replace payloads of its block, and returns the program with them: Bound where it does not.
func (r *Run) Payloads(ctx context.Context) (*program.Bound, error) {
	from, ok := r.block().Probe.(proto.Payloader)
	if !ok || !r.block().HasPayloads() {
		return r.Bound, nil
	}
	vars, _, names, err := r.Bound.ProbeVars(r.Block, r.Input)
	if err != nil {
		return nil, err
	}
	r.names = names
	r.Working(false)
	defer r.Working(true)
	values, err := from.Payloads(ctx, r.env(vars))
	if err != nil || len(values) == 0 {
		return r.Bound, err
	}
	with, err := r.Bound.WithPayloads(r.Block, values)
	if err != nil {
		return nil, proto.Unusable("the payloads of the template's init: %v", err)
	}
	return with, nil
}

// env is what the probe may do.
func (r *Run) env(vars func(at rawurl.URL) *dsl.Env) *proto.Env {
	env := r.Env
	env.Vars, env.Extract = vars, r.extract
	env.Begin = func(ctx context.Context, hostPort string) (end func(), err error) {
		end, err = r.Env.Begin(ctx, hostPort)
		r.sends()
		return end, err
	}
	env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return r.Dials.dial(ctx, r.Env.Dial, network, addr)
	}
	return &env
}

func (r *Run) sends() {
	now := time.Now()
	r.sent.Store(&now)
}

func (r *Run) block() *program.Block { return &r.Bound.Blocks[r.Block] }

// extract is proto.Env.Extract.
func (r *Run) extract(read *proto.Reply) {
	r.Working(true)
	defer r.Working(false)
	r.History.Extract(r.block().Operators.Eval(r.view(r.Input.Ctx, read), r.variables(read)).Internal)
}

// view is a reply as operators see it. In a template of several blocks, values that were extracted or set come first.
func (r *Run) view(ctx context.Context, reply *proto.Reply) *match.Response {
	named := dsl.Map(reply.Fields)
	if r.Bound.Flow != nil || len(r.Bound.Blocks) > 1 {
		named = dsl.First(r.History.Value, named)
	}
	return &match.Response{Named: named, Ctx: ctx, Host: r.Input.Host}
}

func (r *Run) variables(reply *proto.Reply) dsl.Lookup {
	return dsl.First(r.Names, r.names.Sent, reply.Env.Vars)
}

// found evaluates a reply; false when no more are wanted.
func (r *Run) found(ctx context.Context, reply *proto.Reply) bool {
	r.Working(true)
	defer r.Working(false)
	b, got := r.block(), &r.result
	if reply.Unit == "" || reply.Line <= 1 {
		r.OnReply(time.Since(*r.sent.Load()))
	}
	got.Replied, r.last = true, reply
	r.History.AddResponse(b.ID, 1, dsl.First(dsl.Map(reply.Fields), r.names.Sent, reply.Env.Vars))
	out := b.Operators.Eval(r.view(ctx, reply), r.variables(reply))
	if out.Limited != nil {
		got.Limited = out.Limited
	}
	got.FlowMatched, got.Matched = got.FlowMatched || out.FlowMatched, got.Matched || out.Matched
	r.History.Extract(out.Internal)
	if !out.Silent && !reply.Silent && len(out.Findings) > 0 {
		got.Outcomes = append(got.Outcomes, out)
		r.add(reply, out.Findings)
	}
	got.Over = out.Matched && b.StopAtFirstMatch && reply.Unit == ""
	return !got.Over && ctx.Err() == nil
}

// add adds the findings of a reply, or of one of its unit's.
func (r *Run) add(reply *proto.Reply, findings []match.Finding) {
	if r.unit != nil && r.unit.name != reply.Unit {
		r.endUnit()
	}
	if reply.Unit == "" {
		for _, f := range findings {
			r.result.Findings = append(r.result.Findings, Finding{Finding: f, Reply: reply})
		}
		return
	}
	if r.unit == nil {
		r.unit = &unit{name: reply.Unit}
	}
	r.unit.add(reply, findings)
}

func (r *Run) endUnit() {
	if r.unit != nil {
		r.result.Findings = append(r.result.Findings, r.unit.findings()...)
		r.unit = nil
	}
}

// maxUnit bounds the values and lines of a finding, and the findings of a unit.
const maxUnit = 10_000

// unit is what was found in the replies of one unit: a finding for each name.
type unit struct {
	name string
	all  []Finding
	seen []map[int]bool // lines, by finding
}

func (u *unit) add(reply *proto.Reply, findings []match.Finding) {
	for _, f := range findings {
		i := slices.IndexFunc(u.all, func(known Finding) bool {
			return known.Matcher == f.Matcher && known.Extractor == f.Extractor
		})
		if i < 0 {
			i = len(u.all)
			u.all = append(u.all, Finding{match.Finding{Matcher: f.Matcher, Extractor: f.Extractor}, reply, nil})
			u.seen = append(u.seen, map[int]bool{})
		}
		known := &u.all[i]
		for _, v := range f.Extracted {
			if len(known.Extracted) < maxUnit && !slices.Contains(known.Extracted, v) {
				known.Extracted = append(known.Extracted, v)
			}
		}
		if reply.Line > 0 && len(u.seen[i]) < maxUnit {
			u.seen[i][reply.Line] = true
		}
	}
}

// findings are those of the unit as a whole, as nuclei has them: where matchers with names match, one for each name,
// with the values of all; else one for each extractor with a name; else one.
func (u *unit) findings() []Finding {
	var values []string
	isMatched, isExtracted := false, false
	for i := range u.all {
		f := &u.all[i]
		f.Lines = slices.Sorted(maps.Keys(u.seen[i]))
		isMatched, isExtracted = isMatched || f.Matcher != "", isExtracted || f.Extractor != ""
		for _, v := range f.Extracted {
			if len(values) < maxUnit && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	var out []Finding
	for _, f := range u.all {
		switch {
		case isMatched && f.Matcher != "":
			f.Extracted = values
			out = append(out, f)
		case !isMatched && (f.Extractor != "" || !isExtracted):
			out = append(out, f)
		}
	}
	return out
}
