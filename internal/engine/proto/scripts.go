package proto

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// Bounds of the results that Scripts keeps: how many, and the bytes of a result that is kept.
const (
	maxKeptScripts = 64
	maxKeptBytes   = 128 << 10
)

// Scripts is what the scripts of an engine share: turns, and the results of scripts that compute with their arguments
// alone. Such a script gives the same result at each target, and public templates make payloads of 50 KB that way, in
// as much processor time as all other requests to a target take. A nil *Scripts gives turns at once and keeps nothing.
type Scripts struct {
	turns chan struct{}

	mu   sync.Mutex
	kept []*keptScript // the oldest first
}

type keptScript struct {
	source string
	args   map[string]any
	ended  chan struct{} // closed when the rest is known
	result any
	kept   bool
}

// NewScripts lets n scripts run at once. More than requests may be sent would only wait, each with a machine of some
// hundred KB that the garbage collector looks at.
func NewScripts(n int) *Scripts { return &Scripts{turns: make(chan struct{}, n)} }

// Turn waits until one more script may run; end must be called after it. The error is the cause of the context's end.
func (s *Scripts) Turn(ctx context.Context) (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Once runs a script, or returns what it gave with the same arguments before; while it runs with these, it waits. kept
// says that the arguments alone made the result, of size bytes, which nobody may change.
func (s *Scripts) Once(
	ctx context.Context, source string, args map[string]any, run func() (result any, size int, kept bool),
) any {
	if s == nil {
		result, _, _ := run()
		return result
	}
	s.mu.Lock()
	for _, k := range s.kept {
		if k.source == source && reflect.DeepEqual(k.args, args) {
			s.mu.Unlock()
			select {
			case <-k.ended:
				if k.kept {
					return k.result
				}
			case <-ctx.Done():
			}
			result, _, _ := run()
			return result
		}
	}
	k := &keptScript{source: source, args: maps.Clone(args), ended: make(chan struct{})}
	if len(s.kept) == maxKeptScripts {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, k)
	s.mu.Unlock()
	defer close(k.ended)
	var size int
	k.result, size, k.kept = run()
	if k.kept = k.kept && size <= maxKeptBytes; !k.kept {
		s.mu.Lock()
		s.kept = slices.DeleteFunc(s.kept, func(other *keptScript) bool { return other == k })
		s.mu.Unlock()
	}
	return k.result
}
