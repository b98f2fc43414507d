package webtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Second-order weaknesses: one request brings a value, and another one uses it. Both become one target, the second
// behind the first, whose places are those of the first: each test sends both, and what shows the effect is the answer
// of the second. The checks are those of other targets.
//
// The second request is the next step of a form, a page that the answer of the first links to, or a page that changes
// with what the first brought. To find the latter, all requests that bring something are sent and all pages are read:
// twice with the usual values, to learn what changes by itself, and with odd ones.
const (
	maxLaterPages  = 200 // those without inputs of their own first
	maxLaterStores = 200
	maxLaterPlaces = 6 // of one request
	maxLaterPairs  = 200
	maxLinked      = 3 // pages that one answer links to
	maxAlike       = 3 // pages of one script that are built alike
	maxNear        = 4 // requests that may have changed a page which does not show what they brought
)

// laterClasses are the classes that are looked for in values which a later request uses.
var laterClasses = append([]string{"xss", "ssrf", "file-inclusion"}, readers...)

// steps are targets for the places of the steps before those of targets that were found behind another request. They
// are made before order, which takes steps away that the request itself does not need.
func (r *run) steps(targets []*target) (out []*target) {
	answers := map[string]*message.Response{}
	for _, t := range targets {
		answers[t.key] = t.Response
	}
	for _, t := range targets {
		var places []message.Place
		for step := 1; t.Request.Before(step) != nil && step <= maxLinked; step++ {
			places = append(places, stepPlaces(t.Request.Before(step), step)...)
		}
		if len(places) > 0 && len(out) < maxLaterPairs {
			chain := t.Request
			if leads(answers[keyOf(chain.After)], chain) {
				chain = chain.Clone()
				chain.Led = true
			}
			out = append(out, r.laterTarget(t, chain, t.Response, places))
		}
	}
	return out
}

// stepPlaces are the places of a request that stands so many steps before another.
func stepPlaces(before *message.Request, step int) (out []message.Place) {
	for _, p := range message.Places(before) {
		if (p.Component == message.Query || p.Component == message.Body) && !p.File &&
			(before.Token == nil || !p.Same(before.Token.Place)) && !client.IsPassword(p.Name) {
			p.Step = step
			out = append(out, p)
		}
	}
	return out[:min(len(out), maxLaterPlaces)]
}

func (r *run) laterTarget(
	t *target, chain *message.Request, response *message.Response, places []message.Place,
) *target {
	return &target{Target: &kit.Target{Request: chain, Response: response, User: t.User, Kind: t.Kind, Places: places},
		entry: t.entry, key: keyOf(chain) + " after " + keyOf(chain.After), later: true}
}

// later finds the targets of values that another request uses.
func (r *run) later(ctx context.Context, targets, steps []*target) ([]*target, error) {
	if r.Client.Level == client.Passive || r.Only && len(targets) < 2 || r.Place != "" {
		return steps, nil
	}
	s := &sweep{run: r, found: map[string]bool{}, out: steps}
	for _, t := range steps {
		s.found[pairKey(t.Request.After, t.Request, message.Place{})] = true
	}
	alike, left := map[string]int{}, 0
	for _, t := range targets {
		switch {
		case t.Response == nil || kit.Static(t.Response):
		case t.Request.Method == http.MethodGet && t.Request.After == nil && t.Response.Status < http.StatusMultipleChoices:
			kind := sampleKey(t.Request, message.Place{}) + t.layout()
			if alike[kind]++; alike[kind] <= maxAlike {
				s.pages = append(s.pages, t)
			} else {
				left++
			}
		case t.Request.Method != http.MethodGet && !t.entry.Login && len(stepPlaces(t.Request, 1)) > 0:
			s.stores = append(s.stores, t)
		}
	}
	slices.SortStableFunc(s.pages, func(a, b *target) int { return len(a.Places) - len(b.Places) })
	s.pages = s.cut("pages were read", s.pages, maxLaterPages)
	s.stores = s.cut("requests were sent", s.stores, maxLaterStores)
	if len(s.stores) == 0 || len(s.pages) == 0 {
		return s.out, nil
	}
	if left > 0 {
		s.note(fmt.Sprintf("To find values that a later request uses, %d pages that are built like others were not read.", left))
	}
	s.linked()
	err := s.changed(ctx)
	if endsRun(err) { // the coverage says so of each target
		err = nil
	}
	return s.out, err
}

// endsRun reports whether an error ends the sending of requests, not of one alone.
func endsRun(err error) bool {
	return errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrDown)
}

// sweep looks for pages that use what other requests bring.
type sweep struct {
	*run
	stores, pages []*target
	found         map[string]bool
	out           []*target
}

// cut bounds targets, and says so.
func (s *sweep) cut(what string, all []*target, most int) []*target {
	if len(all) > most {
		s.note(fmt.Sprintf("To find values that a later request uses, %d of %d %s.", most, len(all), what))
		all = all[:most]
	}
	return all
}

func pairKey(store, page *message.Request, p message.Place) string {
	p.Value, p.Step = "", 0
	return store.Method + store.URL.Host + store.URL.Path + "\n" + page.URL.Host + message.PathShape(page.URL.EscapedPath()) + "\n" + p.Name
}

// pair makes a target of a page behind a request, for some of its places.
func (s *sweep) pair(store, page *target, places []message.Place) {
	whole := pairKey(store.Request, page.Request, message.Place{})
	places = slices.DeleteFunc(slices.Clone(places), func(p message.Place) bool {
		key := pairKey(store.Request, page.Request, p)
		known := s.found[key] || s.found[whole]
		s.found[key] = true
		return known
	})
	if len(places) == 0 || len(s.out) >= maxLaterPairs {
		return
	}
	chain := page.Request.Clone()
	chain.After = store.Request
	chain.Led = leads(store.Response, page.Request)
	s.out = append(s.out, s.laterTarget(page, chain, nil, places))
}

// leads reports whether an answer leads to a page that its request has made, such as /saved/7, and of which a request
// asks for one: each such request makes a page of its own.
func leads(answer *message.Response, to *message.Request) bool {
	if answer == nil {
		return false
	}
	at := answer.Redirect()
	if at == nil {
		return false
	}
	shape := message.PathShape(at.EscapedPath())
	return shape != at.EscapedPath() && shape == message.PathShape(to.URL.EscapedPath())
}

// linked takes the pages that the answer of a request links to, and the first page does not, and the page that a
// request makes and leads to, such as /saved/7.
func (s *sweep) linked() {
	for _, store := range s.stores {
		n, isLed := 0, false
		for _, page := range s.pages {
			if !isLed && leads(store.Response, page.Request) {
				isLed = true
				s.pair(store, page, stepPlaces(store.Request, 1))
				continue
			}
			link := `"` + page.Request.URL.RequestURI() + `"`
			if n < maxLinked && strings.Contains(string(store.Response.Body), link) &&
				!strings.Contains(string(s.pages[0].Response.Body), link) {
				n++
				s.pair(store, page, stepPlaces(store.Request, 1))
			}
		}
	}
}

// changed takes the pages that change with what requests bring, one of the places of each request after another.
func (s *sweep) changed(ctx context.Context) error {
	first, _, err := s.round(ctx, -1)
	if err != nil {
		return err
	}
	second, _, err := s.round(ctx, -1)
	if err != nil {
		return err
	}
	most := 0
	for _, store := range s.stores {
		most = max(most, len(stepPlaces(store.Request, 1)))
	}
	for place := range most {
		odd, words, err := s.round(ctx, place)
		if err != nil {
			return err
		}
		for i, page := range s.pages {
			if odd[i] == nil || first[i] == nil || second[i] == nil {
				continue
			}
			isShown := false
			for j, word := range words {
				if word != "" && strings.Contains(string(odd[i].Body), word) {
					isShown = true
					s.pair(s.stores[j], page, stepPlaces(s.stores[j].Request, 1)[place:place+1])
				}
			}
			a, b := diff.New(first[i]), diff.New(second[i])
			if !isShown && !diff.Same(b, diff.New(odd[i]), diff.Learn(a, b)) {
				if err := s.near(ctx, page, place); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// round sends all requests that bring something, with odd characters in one of their places, and reads all pages.
func (s *sweep) round(ctx context.Context, place int) (answers []*message.Response, words []string, err error) {
	words = make([]string, len(s.stores))
	err = s.each(ctx, len(s.stores), func(i int) error {
		request := s.stores[i].Request
		if places := stepPlaces(request, 1); place >= 0 && place < len(places) {
			var text string
			text, words[i] = oddValue(places[place])
			request = request.Put(unstepped(places[place]), text)
		}
		_, err := s.client.Send(ctx, request, client.Options{As: s.stores[i].User})
		return err
	})
	answers = make([]*message.Response, len(s.pages))
	if err == nil {
		err = s.each(ctx, len(s.pages), func(i int) (err error) {
			answers[i], err = s.client.Send(ctx, s.pages[i].Request, client.Options{As: s.pages[i].User})
			return err
		})
	}
	return answers, words, err
}

func unstepped(p message.Place) message.Place {
	p.Step = 0
	return p
}

// oddValue is the value of a place with a word and characters that mean something to interpreters.
func oddValue(p message.Place) (text, word string) {
	word = kit.Word()
	return kit.Value(p) + word + `'"\)]}<z9`, word
}

// each does something for each of n, several at a time. The error is one that ends the run.
func (s *sweep) each(ctx context.Context, n int, do func(i int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var ended error
	turns := make(chan struct{}, s.Targets)
	for i := range n {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			err := kit.Safely(func() error { return do(i) })
			if endsRun(err) || ctx.Err() != nil {
				mu.Lock()
				ended = err
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return ended
}

// near looks which of the requests with the most similar addresses has changed a page.
func (s *sweep) near(ctx context.Context, page *target, place int) error {
	stores := slices.Clone(s.stores)
	slices.SortStableFunc(stores, func(a, b *target) int {
		return cmp.Compare(shared(b.Request, page.Request), shared(a.Request, page.Request))
	})
	for _, store := range stores[:min(len(stores), maxNear)] {
		places := stepPlaces(store.Request, 1)
		if place >= len(places) {
			continue
		}
		chain := page.Request.Clone()
		chain.After = store.Request
		var answers []*diff.Page
		text, _ := oddValue(places[place])
		for _, request := range []*message.Request{chain, chain, chain.Put(places[place], text)} {
			answer, err := s.client.Send(ctx, request, client.Options{As: page.User})
			if endsRun(err) {
				return err
			}
			if err != nil {
				break
			}
			answers = append(answers, diff.New(answer))
		}
		if len(answers) == 3 && !diff.Same(answers[1], answers[2], diff.Learn(answers[0], answers[1])) {
			s.pair(store, page, places[place:place+1])
		}
	}
	return nil
}

// shared is how many segments the paths of two requests have in common at their beginning.
func shared(a, b *message.Request) (n int) {
	x, y := strings.Split(a.URL.Path, "/"), strings.Split(b.URL.Path, "/")
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}
