// Package sitemap finds what a web application can be asked: its pages, forms, the endpoints that its scripts call, and
// the files that list addresses.
//
// A crawl goes in waves: the requests that are nearest to the start are sent together, their answers are read in order,
// and what they lead to is queued. Answers are known by two keys, the shape of their address and the skeleton of their
// body (package message): when a shape has given nothing new for a few members it is one kind of page, and the rest of
// its members are counted and not fetched. The same ends traps (trap.go). Each form becomes a request with values that
// fit its fields (form.go); it is sent to learn its answer unless it may do harm.
package sitemap

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The bounds of a map.
const (
	defaultDepth = 8
	maxEntries   = 20000
	maxQueue     = 100000
	wave         = 32   // requests that are sent together
	maxAddress   = 2048 // bytes of a URL
)

// Config says what is mapped.
type Config struct {
	Client *client.Client
	As     *client.User
	Starts []*url.URL
	Seeds  []*message.Request // known from elsewhere, such as a description of the API
	Depth  int                // of links from a start, default 8
	Share  int64              // requests that the crawl may send, 0: as many as the client
	Until  time.Time          // when the crawl has had its part of the time; zero: no bound of its own
	Only   bool               // nothing but Starts and Seeds is asked: no links are followed
	// Known is the answer to a request by its Identity, if an earlier crawl that was interrupted has got it; Note is told
	// of each that is new. Both may be nil.
	Known func(identity string) *message.Response
	Note  func(identity string, answer *message.Response)
	// Browser, if not nil, also visits pages whose scripts may send or link more than their text shows.
	Browser *browser.Pool
}

// How an entry was found.
const (
	ByStart   = "start"
	ByLink    = "link"
	ByForm    = "form"
	ByScript  = "script"
	ByFile    = "file" // robots.txt, a sitemap, a well-known file
	ByComment = "comment"
	BySpec    = "description"
	ByBrowser = "browser"
)

// Entry is one request of the map.
type Entry struct {
	Request  *message.Request
	Response *message.Response // its normal answer; nil if it was not sent
	Kind     string            // equal for entries that one handler answers in one structure
	How      string
	From     string // the address of the page that leads to it
	Depth    int
	Login    bool   // a form with a user and a password
	Writes   bool   // it may change data
	Why      string // why it was not sent; "" if it was
	Alike    int    // members of its kind that were counted and not kept
	As       string // the user whom it was found as; "" for the first
	Scripted bool   // a script sends it: its fields may be read elsewhere than in the body
}

// Map is what a crawl found. It is safe for one goroutine; Entries may be read when the crawl has ended.
type Map struct {
	Entries []*Entry
	// pages of other users that are like Entries, but of objects that the first user is not led to
	Others  []*Entry
	Scripts map[string][]byte // texts of scripts by address, inline ones by that of their page and their number
	Skipped map[string]int    // requests that were not sent, by reason
	Headers map[string]string // headers that scripts send, with a value
	Cookies map[string]string // cookies that scripts set, with a value
}

// crawler is a crawl that runs.
type crawler struct {
	Config
	Map
	hosts  map[string]bool
	queue  []*item
	queued map[string]bool
	shapes map[string]*shape
	posted map[string]int // forms of one shape that were sent
	mixes  map[string]*mix
	absent map[string]int // pages that are not there, by how they are built
	byKey  map[string][]*Entry
	shown  map[string]*page // forms and documents of pages, by address, for their scripts
	began  int64
	kept   int // bytes of bodies
}

// item is a request that waits to be sent.
type item struct {
	*Entry
	order int
	tries int
}

// Crawl maps an application. The error is that of the context, or of starts none of which answers; the map has what was
// found until then.
func Crawl(ctx context.Context, cfg Config) (*Map, error) {
	if cfg.Depth == 0 {
		cfg.Depth = defaultDepth
	}
	c := &crawler{Config: cfg, hosts: map[string]bool{}, queued: map[string]bool{}, shapes: map[string]*shape{},
		posted: map[string]int{}, mixes: map[string]*mix{}, absent: map[string]int{}, byKey: map[string][]*Entry{},
		shown: map[string]*page{}, began: cfg.Client.Sent()}
	c.Scripts, c.Skipped = map[string][]byte{}, map[string]int{}
	c.Headers, c.Cookies = map[string]string{}, map[string]string{}
	for _, u := range cfg.Starts {
		c.hosts[u.Host] = true
		c.add(&Entry{Request: message.From(http.MethodGet, u), How: ByStart})
	}
	for _, r := range cfg.Seeds {
		c.hosts[r.URL.Host] = true
		c.add(&Entry{Request: r, How: BySpec, Writes: client.Writes(r)})
	}
	c.wellKnown()
	err := c.run(ctx)
	if err == nil && c.Browser != nil && len(c.Entries) > 0 {
		c.browse(ctx)
		err = c.run(ctx) // what the browser has found
	}
	return &c.Map, err
}

func (c *crawler) run(ctx context.Context) error {
	var first error
	for len(c.queue) > 0 {
		next := c.take()
		answers := c.sendAll(ctx, next)
		for i, it := range next {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if answers[i].err != nil {
				c.failed(it, answers[i].err)
				if it.How == ByStart && first == nil {
					first = answers[i].err
				}
				continue
			}
			if c.Note != nil && !answers[i].known {
				c.Note(identity(it.Request), answers[i].response)
			}
			c.read(it, answers[i].response)
		}
		if len(c.Entries) == 0 && first != nil && len(c.queue) == 0 {
			return first
		}
	}
	return nil
}

// take takes the requests of the next wave: those nearest to the start, the first found first.
func (c *crawler) take() []*item {
	slices.SortStableFunc(c.queue, func(a, b *item) int {
		if a.Depth != b.Depth {
			return a.Depth - b.Depth
		}
		return a.order - b.order
	})
	var out, later []*item
	forNew := map[string]bool{}
	defer func() { c.queue = append(later, c.queue...) }()
	for len(c.queue) > 0 && len(out) < wave {
		it := c.queue[0]
		c.queue = c.queue[1:]
		if why := c.unwanted(it); why != "" {
			c.skip(it, why)
			continue
		}
		if key := client.ForNew(it.Request); key != "" && c.Client.Level < client.Active {
			if forNew[key] {
				later = append(later, it)
				continue
			}
			forNew[key] = true
		}
		out = append(out, it)
	}
	return out
}

// unwanted says why a request is not sent any more; "" if it is.
func (c *crawler) unwanted(it *item) string {
	if why := c.Client.Spent(); why != "" {
		return why
	}
	if c.Share > 0 && c.Client.Sent()-c.began >= c.Share || c.late() {
		return shareReason
	}
	s := c.shapes[it.Request.Shape()]
	if s != nil && s.settled() && it.How != ByStart && it.How != BySpec {
		s.more()
		return alikeReason
	}
	if it.How == ByForm && it.Request.Method == http.MethodPost && !it.Login {
		key := it.Request.Shape() + Choice(it.Request, "")
		if c.posted[key]++; c.posted[key] > maxAlikeForms { // each may use something up, such as a voucher, which tests need
			return alikeReason
		}
	}
	if c.isMixed(it.Entry) {
		return mixedReason
	}
	return ""
}

// Why members of a kind are not fetched. They are no gap: their kind was.
const (
	alikeReason = "pages like it were fetched"
	mixedReason = "other combinations of its parameters were fetched"
	// absentReason is why a page that is not there, and a form on it, is no entry.
	absentReason = "it is not there, as pages that are built like it"
)

// skip notes a request that is not sent. One that has inputs of its own is kept as an entry, to be told of.
func (c *crawler) skip(it *item, why string) {
	c.Skipped[why]++
	if why != alikeReason && why != mixedReason && (it.How == ByForm || it.How == BySpec) {
		it.Why = why
		c.keep(it.Entry, nil)
	}
}

type answer struct {
	response *message.Response
	err      error
	known    bool // from an earlier crawl
}

func (c *crawler) sendAll(ctx context.Context, items []*item) []answer {
	out := make([]answer, len(items))
	done := make(chan struct{})
	for i, it := range items {
		if c.Known != nil {
			if known := c.Known(identity(it.Request)); known != nil {
				out[i] = answer{response: c.again(it, known), known: true}
				go func() { done <- struct{}{} }()
				continue
			}
		}
		go func() {
			defer func() { done <- struct{}{} }()
			if it.Writes && c.Client.Level < client.Active {
				out[i].err = c.Client.Permit(it.Request, client.Options{Writes: true})
				return
			}
			out[i].response, out[i].err = c.Client.Send(ctx, it.Request, client.Options{As: c.As})
		}()
	}
	for range items {
		<-done
	}
	return out
}

// again is an answer of an earlier crawl as the answer to a request. Nobody gets its cookies, as they did then; who is
// logged in has those of a new login.
func (c *crawler) again(it *item, known *message.Response) *message.Response {
	if c.As != nil && c.As.Name == "" {
		c.As.SetCookies(it.Request.URL, (&http.Response{Header: known.Header}).Cookies())
	}
	out := *known
	out.Request = it.Request
	return &out
}

func (c *crawler) failed(it *item, err error) {
	refused := errors.Is(err, client.ErrScope) || errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrSignedOut)
	if !refused && !errors.Is(err, client.ErrDown) && it.tries == 0 {
		it.tries++
		c.queue = append(c.queue, it)
		return
	}
	why := err.Error()
	if !refused {
		why = "it does not answer"
	}
	c.skip(it, why)
}

// add queues a request unless it is known, elsewhere, or too far.
func (c *crawler) add(e *Entry) {
	u := e.Request.URL
	if !c.hosts[u.Host] || u.Scheme != "http" && u.Scheme != "https" {
		c.Skipped["it is on another host"]++
		return
	}
	key := identity(e.Request)
	if c.queued[key] {
		return
	}
	switch {
	case c.Only && e.How != ByStart && e.How != BySpec:
		return
	case len(u.String()) > maxAddress, repeats(u.Path):
		c.Skipped["its address looks like a trap"]++
		return
	case e.Depth > c.Depth:
		c.Skipped["it is deeper than "+strconv.Itoa(c.Depth)+" links"]++
		return
	case len(c.queue) >= maxQueue:
		c.Skipped["too much is queued"]++
		return
	}
	c.queued[key] = true
	c.queue = append(c.queue, &item{Entry: e, order: len(c.queued)})
}

const shareReason = "the crawl's part of the budget is used up"

// late reports whether the crawl has had its part of the time.
func (c *crawler) late() bool { return !c.Until.IsZero() && !time.Now().Before(c.Until) }

// identity is equal for requests that ask the same: without identifiers of sessions, and without tokens.
func identity(r *message.Request) string {
	u := *r.URL
	if clean := message.WithoutSession(u.EscapedPath()); clean != u.EscapedPath() {
		u.Path, u.RawPath = clean, ""
	}
	copied := *r
	copied.URL = &u
	if r.Token != nil {
		return copied.Put(r.Token.Place, "").Key()
	}
	return copied.Key()
}

// read takes in an answer: it becomes an entry, and leads to others.
func (c *crawler) read(it *item, response *message.Response) {
	guessed := it.How == ByScript || it.How == ByComment || it.How == ByFile
	guessed = guessed && !saysNoObject(it.Request, response)
	if guessed && (response.Status == http.StatusNotFound || response.Status == http.StatusGone ||
		response.Status == http.StatusMethodNotAllowed && it.Request.Method == http.MethodGet) {
		return // a text that looked like an address
	}
	known := len(c.queued)
	if to := response.Redirect(); to != nil {
		c.redirected(it.Entry, to)
	}
	c.readBody(it.Entry, response)
	s := c.shapes[it.Request.Shape()]
	if s == nil {
		s = &shape{skeletons: map[string]bool{}}
		c.shapes[it.Request.Shape()] = s
	}
	skeleton := message.Skeleton(response)
	s.fetched(strconv.Itoa(response.Status)+skeleton, c.newShapes(known))
	c.mixed(it.Request, response, strconv.Itoa(response.Status)+skeleton, known)
	it.Kind = it.Request.Shape() + " " + skeleton
	if isStatic(response) && len(it.Request.URL.RawQuery) == 0 {
		return // pictures and styles are no inputs, and tell nothing
	}
	if c.isAbsent(it.Entry, response, skeleton) {
		c.Skipped[absentReason]++
		return
	}
	c.keep(it.Entry, response)
}

// saysNoObject reports whether an interface answers that it does not find what the body of a request says, such as a
// code that is nobody's: the address itself is there, as no page is shown for one that is not.
func saysNoObject(r *message.Request, response *message.Response) bool {
	return response.Status == http.StatusNotFound && r.Method == http.MethodPost && len(r.Body) > 2 &&
		strings.Contains(r.Header.Get("Content-Type"), "json") && !response.IsHTML() && len(response.Body) < maxShort
}

// maxShort is how long the answer of an interface is that does not find an object.
const maxShort = 500

// newShapes reports whether something of a new shape was queued since so many were.
func (c *crawler) newShapes(known int) bool {
	for _, it := range c.queue {
		if it.order > known && c.shapes[it.Request.Shape()] == nil && !c.isMixed(it.Entry) {
			return true
		}
	}
	return false
}

// maxAlikeForms are how many forms of one shape are sent.
const maxAlikeForms = 4

// perKey is how many entries of one shape are kept: each is another value of what chooses, or another structure.
const perKey = 3

func (c *crawler) keep(e *Entry, response *message.Response) {
	if len(c.Entries) >= maxEntries {
		c.Skipped["the map is full"]++
		return
	}
	e.Response = c.trimmed(response)
	key := e.Request.Shape() + Choice(e.Request, "")
	for _, other := range c.byKey[key] {
		isNew := response.Status == http.StatusForbidden && other.Response.Status != response.Status // others may be let in
		if other.Kind == e.Kind && !isNew || len(c.byKey[key]) >= perKey {
			other.Alike++
			return
		}
	}
	c.byKey[key] = append(c.byKey[key], e)
	c.Entries = append(c.Entries, e)
}

// maxBodies is how many bytes of bodies a map keeps, maxBody how many of one when there are more.
const maxBodies, maxBody = 256 << 20, 16 << 10

// trimmed is an answer as it is kept.
func (c *crawler) trimmed(r *message.Response) *message.Response {
	if r == nil {
		return nil
	}
	if c.kept += len(r.Body); c.kept > maxBodies && len(r.Body) > maxBody {
		short := *r
		short.Body, short.Truncated = slices.Clone(r.Body[:maxBody]), true
		return &short
	}
	return r
}

// follow queues a link.
func (c *crawler) follow(from *Entry, to *url.URL, how string) {
	if isMedia(to.Path) && to.RawQuery == "" {
		return
	}
	if how == ByStart || how == BySpec || how == ByForm {
		how = ByLink
	}
	c.add(
		&Entry{Request: message.From(http.MethodGet, to), How: how, From: from.Request.URL.String(), Depth: from.Depth + 1},
	)
}

// redirected queues where a request leads. Behind a form that may be its next step.
func (c *crawler) redirected(from *Entry, to *url.URL) {
	if from.How != ByForm || from.Request.Method == http.MethodGet || from.Login {
		c.follow(from, to, from.How)
		return
	}
	next := message.From(http.MethodGet, to)
	next.After = from.Request
	c.add(&Entry{Request: next, How: ByLink, From: from.Request.URL.String(), Depth: from.Depth + 1})
}
