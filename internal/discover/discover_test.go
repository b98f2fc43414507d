package discover_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

func TestAnEmptyListAsksForEveryStep(t *testing.T) {
	for _, step := range discover.Steps {
		if !discover.Has(nil, step) {
			t.Errorf("no steps named: %s is not asked for", step)
		}
	}
	if only := []discover.Step{discover.PortScan}; discover.Has(only, discover.HTTPProbe) ||
		!discover.Has(only, discover.PortScan) {
		t.Error("a list of steps asks for what is on it, and for nothing else")
	}
}

// TestPaceIsShared: of many who share a pace each takes a turn of its own, those that were
// missed are made up for within bounds, and nobody is held by none.
func TestPaceIsShared(t *testing.T) {
	p, now := discover.NewPace(100), time.Unix(1e9, 0)
	var waits []time.Duration
	for range 5 {
		waits = append(waits, p.Reserve(now)/time.Millisecond)
	}
	if want := []time.Duration{0, 0, 0, 10, 20}; !slices.Equal(waits, want) {
		t.Errorf("waits of %v ms, want %v", waits, want)
	}
	if early := p.UntilNext(now); early != 30*time.Millisecond {
		t.Errorf("the next turn is in %s", early)
	}
	now = now.Add(time.Hour)
	for range 3 {
		p.Reserve(now)
	}
	if early := p.UntilNext(now); early != 10*time.Millisecond {
		t.Errorf("after an hour, the fourth turn is in %s", early)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Wait(ended); err == nil {
		t.Error("it waited past the end")
	}
	none := discover.NewPace(0)
	if none.Reserve(now) != 0 || none.UntilNext(now) != 0 || none.Wait(t.Context()) != nil {
		t.Error("none holds somebody")
	}
}
