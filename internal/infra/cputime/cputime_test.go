package cputime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/cputime"
)

// compute computes until done says so.
func compute(done func() bool) {
	for x := uint64(1); !done(); {
		for range 1000 {
			x = x*6364136223846793005 + 1
		}
	}
}

// Work counts, waiting does not.
func TestComputed(t *testing.T) {
	m := cputime.Now()
	if m.IsZero() || !(cputime.Moment{}).IsZero() {
		t.Error("a moment is none, or the other way round")
	}
	const limit = 200 * time.Millisecond
	<-time.After(2 * limit) // it is what the test is about
	if m.Over(limit) {
		t.Errorf("a wait of %v counts as %v of work", 2*limit, m.Computed())
	}
	if !m.Earlier(2*limit).Over(limit) || m.Earlier(2*limit).Without(4*limit).Over(limit) {
		t.Error("an earlier moment has no more work behind it, or a wait counts")
	}
	compute(func() bool { return m.Over(limit) }) // a test that never ends has failed
	if got := m.Computed(); got <= limit {
		t.Errorf("%v of work are over %v", got, limit)
	}
}

// A context ends with its cause by work, not by the clock, and with the one above it.
func TestLimit(t *testing.T) {
	tooLong := errors.New("too long")
	const limit = 100 * time.Millisecond
	ctx, cancel := cputime.Limit(t.Context(), limit, tooLong)
	defer cancel()
	<-time.After(3 * limit)
	if ctx.Err() != nil {
		t.Errorf("a wait ended it: %v", context.Cause(ctx))
	}
	begin := cputime.Now()
	compute(func() bool { return ctx.Err() != nil })
	if !errors.Is(context.Cause(ctx), tooLong) || begin.Computed() > limit*50 {
		t.Errorf("%v after %v", context.Cause(ctx), begin.Computed())
	}
	above, end := context.WithCancel(t.Context())
	ctx, cancel = cputime.Limit(above, time.Hour, tooLong)
	defer cancel()
	end()
	if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Error(context.Cause(ctx))
	}
}
