package webtest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// look lets the checks that send nothing look at all answers of the map.
func (r *run) look(targets []*target) {
	if r.journal.resumed && len(r.journal.done) > 0 {
		return
	}
	for i, t := range targets {
		if t.Response == nil {
			continue
		}
		for j := range r.Checks {
			if c := &r.Checks[j]; c.Passive != nil {
				r.runs(t, message.Place{}, c, func() error { c.Passive(r.world, t.Target); return nil })
			}
		}
		r.progress("look", i+1, len(targets))
	}
	r.flush()
}

// test runs the checks that send requests: those of whole sites, then each target.
func (r *run) test(ctx context.Context, targets []*target) error {
	r.progress("test", 0, len(targets))
	if err := r.sites(ctx); err != nil {
		return err
	}
	return r.batches(ctx, targets)
}

// batches tests the targets that were not tested before the run was interrupted.
func (r *run) batches(ctx context.Context, targets []*target) error {
	var left []*target
	for _, t := range targets {
		if r.journal.done[t.key] {
			r.report.Coverage.Earlier(t.Target)
		} else {
			left = append(left, t)
		}
	}
	if len(r.sessions) == 0 {
		return r.batch(ctx, left, 0, len(targets))
	}
	for from := 0; from < len(left); from += sessionBatch {
		some := left[from:min(len(left), from+sessionBatch)]
		if err := r.guarded(ctx, some, from, len(left)); err != nil {
			return err
		}
	}
	return nil
}

// flush takes in what is pending, and drop forgets it.
func (r *run) flush() {
	r.mu.Lock()
	all := r.pending
	r.pending, r.batching, r.undo = nil, false, nil
	r.mu.Unlock()
	r.world.Settle()
	r.take(true, all...)
}

func (r *run) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.world.Forget()
	for _, uncount := range r.undo {
		uncount()
	}
	r.pending, r.batching, r.undo = nil, true, nil
	for cause := range r.classes {
		if _, kept := r.merged[cause]; !kept {
			delete(r.classes, cause)
		}
	}
}

// batch tests targets, several at a time.
func (r *run) batch(ctx context.Context, some []*target, done, total int) error {
	var group sync.WaitGroup
	turns := make(chan struct{}, r.Targets)
	for i, t := range some {
		t.whole = false
		if ctx.Err() != nil {
			break
		}
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			if err := kit.Safely(func() error { t.whole = r.target(client.Testing(ctx, t.key), t); return nil }); err != nil {
				r.failed(t, message.Place{}, nil, err)
			}
			if t.whole && ctx.Err() == nil && r.client.Over() == "" {
				_ = r.journal.note(record{Done: t.key, Sent: r.client.Sent()}) // its error comes with the next findings
			}
			r.progress("test", done+i+1, total)
		})
	}
	group.Wait()
	return errors.Join(context.Cause(ctx), r.journal.err)
}

// target runs all checks on a target and reports whether none was cut short.
func (r *run) target(ctx context.Context, t *target) (whole bool) {
	whole = true
	if kit.Static(t.Response) && !slices.ContainsFunc(message.Places(t.Request), kit.NamesFile) {
		return true
	}
	why := r.client.Spent()
	if lost := t.User.Lost(); why == "" && lost != nil && !r.standIn(ctx, t) {
		why = lost.Error()
	}
	if why != "" {
		r.report.Coverage.Left(t.Target, append([]message.Place{{}}, t.Places...), why)
		return false
	}
	if t.later {
		for _, p := range t.Places {
			whole = r.place(ctx, t, p) && whole
		}
		return whole
	}
	if err := r.order(ctx, t); err != nil {
		r.failed(t, message.Place{}, nil, err)
	}
	places := t.Places
	whole = r.requests(ctx, t) && whole
	more, err := r.react(ctx, t)
	if err != nil {
		r.failed(t, message.Place{}, nil, err)
	}
	segment, isValue, err := r.wordSegment(ctx, t)
	if err != nil {
		r.failed(t, message.Place{}, nil, err)
	}
	if isValue {
		more = append(more, segment)
		if inner, ok := segment.Decoded(); ok {
			more = append(more, inner)
		}
	}
	for _, p := range append(slices.Clip(places), more...) {
		if r.Place != "" && p.String() != r.Place {
			continue
		}
		whole = r.place(ctx, t, p) && whole
	}
	return whole
}

// requests runs the checks of whole requests.
func (r *run) requests(ctx context.Context, t *target) (whole bool) {
	whole = true
	for i := range r.Checks {
		c := &r.Checks[i]
		check := c.Request
		if t.Request.IsMessage() {
			check = c.Message
		}
		if check == nil || !r.allowed(t, message.Place{}, c) {
			continue
		}
		whole = r.runs(t, message.Place{}, c, func() error { return check(ctx, r.world, t.Target) }) && whole
	}
	return whole
}

// place runs the checks of one place. Of a class that was found there no more is tested, nor is what reads the value
// once it is known.
func (r *run) place(ctx context.Context, t *target, p message.Place) (whole bool) {
	whole = true
	why, done := r.sampled(ctx, t, p)
	defer done()
	if why != "" {
		r.report.Coverage.Note(t.Request, p, "*", why)
		return true
	}
	for _, c := range ordered(r.Checks, p) {
		if c.Place == nil || p.Step > 0 && !slices.Contains(laterClasses, c.Class) || !r.allowed(t, p, c) {
			continue
		}
		if r.isFound(cause(c.Class, t.Request, p)) {
			r.report.Coverage.Tested(t.Target, p, c)
			continue
		}
		if slices.Contains(readers, c.Class) && slices.ContainsFunc(readers, func(class string) bool {
			return r.isFound(cause(class, t.Request, p))
		}) {
			r.report.Coverage.Cut(t.Target, p, c, readReason)
			continue
		}
		whole = r.runs(t, p, c, func() error { return c.Place(ctx, r.world, t.Target, p) }) && whole
	}
	if p.Step == 0 {
		r.provoked(ctx, t, p)
	}
	return whole
}

// provoked lets the checks of errors look at the answer to odd characters in a place, if that is an error and the
// normal answer is none. The answer is known: nothing more is sent.
func (r *run) provoked(ctx context.Context, t *target, p message.Place) {
	if t.Response == nil || t.Response.Status >= http.StatusInternalServerError {
		return
	}
	reaction, err := r.world.React(ctx, t.Target, p)
	if err != nil || reaction.Odd.Status < http.StatusInternalServerError {
		return
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; c.Passive != nil && c.Class == errorClass {
			c.Passive(r.world, &kit.Target{Request: reaction.Odd.Request, Response: reaction.Odd, User: t.User, Kind: t.Kind})
		}
	}
}

// errorClass is the class of checks that look for what errors tell.
const errorClass = "verbose-error"

// allowed reports whether a check may run. It sends nothing once the budget is used up, but might think for long.
func (r *run) allowed(t *target, p message.Place, c *kit.Check) bool {
	if why := r.client.Spent(); why != "" {
		r.report.Coverage.Cut(t.Target, p, c, why)
		return false
	}
	if c.Level > r.Client.Level {
		r.report.Coverage.Cut(t.Target, p, c, "it needs level "+c.Level.String())
		return false
	}
	return true
}

// runs runs a check, notes how it ended, and reports whether it was not cut short.
func (r *run) runs(t *target, p message.Place, c *kit.Check, check func() error) bool {
	err := kit.Safely(check)
	if err == nil {
		r.report.Coverage.Tested(t.Target, p, c)
		return true
	}
	r.failed(t, p, c, err)
	return !endsRun(err) && !errors.Is(err, client.ErrSignedOut) && !errors.Is(err, context.Canceled)
}

func (r *run) failed(t *target, p message.Place, c *kit.Check, err error) {
	why := "failed: " + err.Error()
	switch {
	case errors.Is(err, client.ErrBudget), errors.Is(err, client.ErrScope), errors.Is(err, client.ErrSignedOut):
		why = err.Error()
	case errors.Is(err, client.ErrDown):
		why = "the target stopped answering"
		if errors.Is(err, client.ErrBlocked) {
			why = "the target has blocked the tester"
		}
		r.mu.Lock()
		r.report.Down = true
		r.mu.Unlock()
	case errors.Is(err, context.Canceled):
		why = "interrupted"
	}
	r.report.Coverage.Cut(t.Target, p, c, why)
}

// skip is World.Skip.
func (r *run) skip(t *kit.Target, class, why string) { r.report.Coverage.Skip(t, class, why) }

// sites runs the checks of whole sites.
func (r *run) sites(ctx context.Context) error {
	if r.journal.done[sitesKey] {
		return nil
	}
	roots := map[string]bool{}
	for _, u := range r.Starts {
		root := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
		if roots[root.String()] {
			continue
		}
		roots[root.String()] = true
		t := &target{Target: &kit.Target{Request: message.From("GET", root), User: r.user()}}
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Site == nil || !r.allowed(t, message.Place{}, c) {
				continue
			}
			if !r.runs(t, message.Place{}, c, func() error { return c.Site(ctx, r.world, root) }) && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	r.flush()
	return r.journal.note(record{Done: sitesKey, Sent: r.client.Sent()})
}

// after runs the checks that need the whole map.
func (r *run) after(ctx context.Context) error {
	r.progress("end", 0, 0)
	if len(r.Starts) == 0 {
		return nil
	}
	t := &target{Target: &kit.Target{Request: message.From("GET", r.Starts[0]), User: r.user()}}
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.After == nil || !r.allowed(t, message.Place{}, c) {
			continue
		}
		r.restore(ctx) // the last check, or what was tested last, may have ended a session
		if !r.runs(t, message.Place{}, c, func() error { return c.After(ctx, r.world) }) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	r.flush()
	return r.journal.err
}
