package client

import (
	"hash/maphash"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// At level active a client remembers what it wrote: the addresses, for people who want to know, and the values, so that
// they are recognised when they are removed.

const (
	maxWritten = 200_000 // values that are remembered, each with 8 bytes
	maxWrites  = 2000    // addresses
	minWritten = 8       // characters of a value that is recognised: shorter ones may be anybody's
)

// TestWord is what the random words of tests look like (kit.Word), which are in most of what they send.
var TestWord = regexp.MustCompile(`q[a-z]{9}z`)

// Written is an address to which requests were sent that may have written.
type Written struct {
	Method   string `json:"method"`
	URL      string `json:"url"` // its shape, without values
	Requests int    `json:"requests"`
}

// written is what a client has written.
type written struct {
	seed   maphash.Seed
	values map[uint64]bool
	counts map[string]*Written
	order  []*Written
}

// noteWritten remembers a request that was answered.
func (c *Client) noteWritten(r *message.Request, response *message.Response) {
	if c.Level < Active || response == nil || response.Status >= http.StatusBadRequest || r.IsMessage() ||
		r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return
	}
	var values []string
	for _, p := range message.Places(r) {
		if p.Component == message.Body && !p.Key && len(p.Value) >= minWritten && !IsPassword(p.Name) {
			values = append(values, p.Value)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.written
	if w.counts == nil {
		*w = written{maphash.MakeSeed(), map[uint64]bool{}, map[string]*Written{}, nil}
	}
	for _, value := range values {
		if len(w.values) < maxWritten {
			w.values[w.sum(value)] = true
		}
	}
	shape := r.URL.Scheme + "://" + r.URL.Host + message.PathShape(r.URL.EscapedPath())
	if known := w.counts[r.Method+shape]; known != nil {
		known.Requests++
	} else if len(w.order) < maxWrites {
		one := &Written{r.Method, shape, 1}
		w.counts[r.Method+shape] = one
		w.order = append(w.order, one)
	}
}

// sum is of a value as pages show it: without blanks around it.
func (w *written) sum(value string) uint64 { return maphash.String(w.seed, strings.TrimSpace(value)) }

// Wrote reports whether a text is of a test: it has a random word of one, or is a value that the client has sent.
func (c *Client) Wrote(text string) bool {
	if TestWord.MatchString(text) {
		return true
	}
	if len(text) < minWritten {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written.values != nil && c.written.values[c.written.sum(text)]
}

// Written are the addresses to which it has written, the first first.
func (c *Client) Written() (out []Written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.written.order {
		out = append(out, *one)
	}
	return slices.Clip(out)
}
