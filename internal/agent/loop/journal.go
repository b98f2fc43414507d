package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// linger is how long each of what is under way may take to end after ctx did. Three of
// them, a call, its entry and its settlement, are less than the five seconds that Run promises.
const linger = 1500 * time.Millisecond

// past is what the journal held when the run began: it is not added to, and branches read
// it side by side.
type past struct {
	entries map[place]Entry
	last    map[string]int64 // the Seq of a branch's last entry
	active  time.Duration    // that earlier processes worked on the turn
}

type place struct {
	kind EntryKind
	key  string
}

func (p past) has(kind EntryKind, key string) bool {
	_, ok := p.entries[place{kind, key}]
	return ok
}

// newPast indexes the entries of one turn. The first of several at one place counts.
func newPast(entries []Entry, turn int) past {
	p := past{entries: map[place]Entry{}, last: map[string]int64{}}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	var before time.Time
	for _, e := range entries {
		if e.Turn != turn {
			continue
		}
		at := place{e.Kind, e.Key}
		if _, twice := p.entries[at]; !twice {
			p.entries[at] = e
		}
		if e.Kind != Note && e.Kind != Answer {
			p.last[e.Branch] = e.Seq
		}
		if idle := before.IsZero() || e.Kind == Answer || isResumed(e); !idle {
			p.active += max(0, e.At.Sub(before))
		}
		before = e.At
	}
	return p
}

// isResumed says whether nobody worked on the turn just before the entry.
func isResumed(e Entry) bool {
	var remark Remark
	return e.Kind == Note && json.Unmarshal(e.Body, &remark) == nil && remark.Code == CodeResumed
}

// OpenReservations lists the keys of model calls that have no answer: a Ledger still holds
// money for them, which is taken up again when the run is, and is to be settled by whoever
// gives the run up.
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

// recall finds what the journal held at a place.
func recall[T any](r *run, kind EntryKind, key string) (body T, ok bool, err error) {
	e, ok := r.past.entries[place{kind, key}]
	if !ok {
		return body, false, nil
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return body, false, fmt.Errorf("loop: the journal's %s %s: %w", kind, key, err)
	}
	return body, true, nil
}

// record writes an entry, unless the journal has it, and gives back what the journal says:
// redacted, and the same at every replay. fresh says that it was not there before. The
// entry is written even when ctx has ended, as long as that is quick.
func record[T any](ctx context.Context, b *branch, kind EntryKind, key string, body T, cost int64) (kept T, fresh bool, err error) {
	if kept, ok, err := recall[T](b.run, kind, key); ok || err != nil {
		return kept, false, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return kept, false, fmt.Errorf("loop: the body of %s %s: %w", kind, key, err)
	}
	if text, err = b.secrets.RedactJSON(text); err != nil {
		return kept, false, fmt.Errorf("loop: redacting %s %s: %w", kind, key, err)
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return kept, false, fmt.Errorf("loop: the redacted body of %s %s: %w", kind, key, err)
	}
	ctx, cancel := outlive(ctx)
	defer cancel()
	e := Entry{Turn: b.Turn, Branch: b.name, Kind: kind, Key: key, Body: text, Cost: cost, At: b.Now()}
	if _, err := b.Journal.Append(ctx, e); err != nil {
		return kept, false, fmt.Errorf("loop: writing %s %s: %w", kind, key, err)
	}
	return kept, true, nil
}

// outlive gives a context that ends a little after ctx does.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(linger, cancel)
		context.AfterFunc(kept, func() { timer.Stop() })
	})
	return kept, func() { stop(); cancel() }
}
