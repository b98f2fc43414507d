package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// grace is how long a call, its entry and its settlement may each take after ctx has ended: less than the five seconds
// that Run promises.
const grace = 1500 * time.Millisecond

// history is what the journal held at the start. It does not change, and branches share it.
type history struct {
	entries map[entryID]Entry
	last    map[string]int64 // the last Seq of each branch
	active  time.Duration    // time that earlier processes worked
}

type entryID struct {
	kind EntryKind
	key  string
}

func (p history) has(kind EntryKind, key string) bool {
	_, ok := p.entries[entryID{kind, key}]
	return ok
}

// newHistory indexes the entries of one stream. The first of several with one id counts.
func newHistory(entries []Entry, stream int) history {
	p := history{entries: map[entryID]Entry{}, last: map[string]int64{}}
	var beforeCall time.Time
	for _, e := range entries {
		if e.Stream != stream {
			continue
		}
		at := entryID{e.Kind, e.Key}
		if _, twice := p.entries[at]; !twice {
			p.entries[at] = e
		}
		if e.Kind != Note && e.Kind != Answer {
			p.last[e.Branch] = e.Seq
		}
		if idle := beforeCall.IsZero() || e.Kind == Answer || isPause(e); !idle {
			p.active += max(0, e.At.Sub(beforeCall))
		}
		beforeCall = e.At
	}
	return p
}

// isPause reports whether no worker ran the stream just before the entry.
func isPause(e Entry) bool {
	var remark Remark
	return e.Kind == Note && json.Unmarshal(e.Body, &remark) == nil && remark.Code == CodeResumed
}

// OpenReservations lists the keys of unanswered model calls, whose reservations must be settled if the run is not
// resumed.
func OpenReservations(entries []Entry) []string {
	answered := map[string]bool{}
	for _, e := range entries {
		if e.Kind == ModelAnswer {
			answered[e.Key] = true
		}
	}
	var open []string
	for _, e := range entries {
		if e.Kind == ModelCall && !answered[e.Key] {
			open = append(open, e.Key)
			answered[e.Key] = true
		}
	}
	return open
}

// find decodes an entry that the journal held.
func find[T any](r *run, kind EntryKind, key string) (body T, ok bool, err error) {
	e, ok := r.history.entries[entryID{kind, key}]
	if !ok {
		return body, false, nil
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return body, false, fmt.Errorf("loop: the journal's %s %s: %w", kind, key, err)
	}
	return body, true, nil
}

// record writes an entry unless the journal has it, even shortly after ctx has ended. stored is the journal's body,
// redacted; fresh reports that it is new.
func record[T any](
	ctx context.Context, b *branch, kind EntryKind, key string, body T, cost int64,
) (stored T, fresh bool, err error) {
	if stored, ok, err := find[T](b.run, kind, key); ok || err != nil {
		return stored, false, err
	}
	text, err := json.Marshal(body)
	if err == nil {
		text, err = b.secrets.RedactJSON(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		return stored, false, fmt.Errorf("loop: the body of %s %s: %w", kind, key, err)
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	e := Entry{Stream: b.Stream, Branch: b.name, Kind: kind, Key: key, Body: text, Cost: cost, At: b.Now()}
	if _, err := b.Journal.Append(ctx, e); err != nil {
		return stored, false, fmt.Errorf("loop: writing %s %s: %w", kind, key, err)
	}
	return stored, true, nil
}

// withGrace gives a context that ends a little after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	stored, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(stored, func() { timer.Stop() })
	})
	return stored, func() { stop(); cancel() }
}
