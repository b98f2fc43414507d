package webtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// The same parameter of the same script stands on many pages: a wiki has the number of rows of a list in each of them.
// All checks are run where it is met first. Elsewhere it is tested where the page is built otherwise and the place
// answers otherwise: to an unknown word and to odd characters, which is two requests in place of sixty. What is left
// out for that is in the coverage, place by place.
const (
	perInert    = 1 // pages of other layouts on which a place is tested that the answer does not depend on
	perReaction = 2 // and one that answers in one way
	perLayout   = 2 // pages of one layout on which a place is tested, in whatever way it answers
	perWord     = 6 // the same, whatever words choose what the script does
	perOther    = 3 // pages of a script on which a header, a cookie or a name of a parameter is tested
)

// sample is what is known of one parameter of one script.
type sample struct {
	layouts   map[string]int // pages on which it is tested, by how they are built
	reactions map[string]int // by how it answers
	both      map[string]int
}

// sampleOf is what is known under a key; r is locked.
func (r *run) sampleOf(key string) *sample {
	s := r.samples[key]
	if s == nil {
		s = &sample{layouts: map[string]int{}, reactions: map[string]int{}, both: map[string]int{}}
		r.samples[key] = s
	}
	return s
}

// sampleKey is equal for places that one script reads in one way. What chooses what the script does is in it, but for
// the place itself. What a page does with the names of parameters does not depend on which it is.
func sampleKey(r *message.Request, p message.Place) string {
	key := wideKey(r, p)
	return key + sitemap.Choice(r, p.Name)
}

// wideKey is sampleKey without the words that choose.
func wideKey(r *message.Request, p message.Place) string {
	at := r.Method + " " + r.URL.Scheme + "://" + r.URL.Host
	shown := r
	if p.Component == message.Path {
		shown = r.Put(message.Place{Component: p.Component, Name: p.Name}, "*")
	}
	p.Value, p.Index, p.Outer = "", 0, ""
	if p.Key {
		p.Name = ""
	}
	return at + message.PathShape(shown.URL.EscapedPath()) + fmt.Sprintf("\n%#v", p) // also Base64
}

// sampled decides whether a place is tested: why says why not. done notes how that ended.
func (r *run) sampled(ctx context.Context, t *target, p message.Place) (why string, done func()) {
	done = func() {}
	if t.later || p.Step > 0 || r.Place != "" || r.Client.Level == client.Passive || t.Response == nil {
		return "", done
	}
	key, layout := sampleKey(t.Request, p), t.layout()
	if r.isSettled(key, layout) {
		return coverage.Layout, done
	}
	reaction, err := r.world.React(ctx, t.Target, p)
	if err != nil { // the checks say so
		return "", done
	}
	reacts, isInert := reaction.Sum(t.Response)
	most := perReaction
	if isInert {
		most = perInert
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, wide := r.sampleOf(key), r.sampleOf("any word "+wideKey(t.Request, p))
	switch {
	case s.layouts[layout] >= perLayout, s.both[layout+reacts] > 0, wide.both[layout+reacts] >= perWord:
		return coverage.Layout, done
	case s.reactions[reacts] >= most:
		return coverage.Reaction, done
	}
	count := func(n int) { // those that are tested now count, too
		s.layouts[layout] += n
		s.reactions[reacts] += n
		s.both[layout+reacts] += n
		wide.both[layout+reacts] += n
	}
	count(1)
	counts := true
	uncount := func() { // r is locked
		if counts {
			counts = false
			count(-1)
		}
	}
	if r.batching {
		r.undo = append(r.undo, uncount)
	}
	return "", func() {
		if t.User.Lost() != nil || r.hasFound(t.Request, p) { // it was cut short, or the script is worth more
			r.mu.Lock()
			defer r.mu.Unlock()
			uncount()
		}
	}
}

// isSampled reports whether a place that seldom matters, such as a header, was tested on enough pages of the script of
// a target.
func (r *run) isSampled(t *target, p message.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, n := r.samples[sampleKey(t.Request, p)], 0
	if s != nil {
		for _, tested := range s.layouts {
			n += tested
		}
	}
	return n >= perOther
}

// isFirstOfLayout reports whether a target is the first of its script whose page is built like this.
func (r *run) isFirstOfLayout(t *target) bool {
	return r.world.Once("others " + sampleKey(t.Request, message.Place{}) + t.layout())
}

// isSettled reports whether a parameter was tested often enough on pages of a layout.
func (r *run) isSettled(key, layout string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.samples[key]
	return s != nil && s.layouts[layout] >= perLayout
}

// hasFound reports whether something was found in a place.
func (r *run) hasFound(request *message.Request, p message.Place) bool {
	return slices.ContainsFunc(r.Checks, func(c kit.Check) bool {
		return c.Place != nil && r.isFound(cause(c.Class, request, p))
	})
}

// layout is how the page of a target is built.
func (t *target) layout() string {
	t.once.Do(func() { t.built = fmt.Sprint(t.Response.Status, message.Skeleton(t.Response)) })
	return t.built
}
