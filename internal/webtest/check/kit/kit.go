// Package kit is what the checks of web applications are made of: their types, what they may use, and what is known of
// a request and of each of its places before they begin.
//
// Of a request its normal answer is asked for again (Base), to learn what changes by itself. Of a place two answers are
// known (Reaction): to an unknown word, and to characters that mean something to interpreters. Where both say the same
// as the normal answer, the page does not show what the place does, and checks that would have to see an effect in the
// page send nothing: two requests instead of sixty. All checks share these answers.
package kit

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Target is one request of the map that is to be tested.
type Target struct {
	Request  *message.Request
	Places   []message.Place   // that are to be tested now; nil for checks of whole requests
	Response *message.Response // the normal answer
	User     *client.User
	From     string   // address of the page that led to it; "" where none is known
	Kind     string   // of page, for checks that test a kind once
	Memo     sync.Map // what checks have learned of it, by name

	mu        sync.Mutex
	base      *Base
	reactions map[message.Place]*Reaction
}

// World is what a check may use.
type World struct {
	Client  *client.Client
	Browser *browser.Pool             // nil: there is none, and what needs one is skipped
	OAST    *OOB                      // nil: there is no out-of-band server
	Pages   func() []*message.Request // the map as it is known so far
	Users   []*client.User            // who can log in, in the order of their configuration
	Level   client.Level
	Skip    func(t *Target, class, why string) // notes in the coverage that something was not tested
	Report  func(Finding)

	// Seen is what a user got for a request before anything was tested; nil: not known. About is what a description of the
	// API says of a request; "" for nothing. Both may be nil.
	Seen  func(u *client.User, r *message.Request) *message.Response
	About func(r *message.Request) string

	// Logins are the credentials of a user for checks that log in again; nil: none are known.
	Login func(ctx context.Context, u *client.User) (*client.User, error)
	// LoginLeads logs a user in by a form that was altered. It returns what was sent, without the password, and to which
	// other host that leads; nil: to none.
	LoginLeads func(ctx context.Context, u *client.User, alter func(*message.Request) *message.Request) (
		sent *message.Request, to *url.URL, err error)
	// Password is that of a user who was given with one; "" for another.
	Password func(u *client.User) string
	// Registered are the passwords of users whom the tester has registered, by name. LoginWith says whether one of them
	// may log in with another password: nil, or why not.
	Registered map[string]string
	// Made are users whom the tester has registered beside those that it was given, for what it may do to them alone.
	Made      []*client.User
	LoginWith func(ctx context.Context, u *client.User, password string) error
	// Registrations are the requests by which anybody becomes a user. Enrol registers a user by one, as it is, and logs
	// in; the user is nil where either is refused. Both are nil below level active.
	Registrations func() []*message.Request
	Enrol         func(ctx context.Context, registration *message.Request, u Newcomer) (*client.User, error)
	// Defaults allows checks that try default passwords.
	Defaults bool

	// Took is how long an answer took; nil: what the client has measured.
	Took func(r *message.Response) time.Duration

	Memo sync.Map // what checks have learned of the whole, by name

	mu      sync.Mutex
	once    map[string]bool
	recent  []string // keys of once since Settle
	planted []Planted
}

// Newcomer is a user whom the tester registers.
type Newcomer struct{ Name, Mail, Password string }

// Duration is how long an answer took.
func (w *World) Duration(r *message.Response) time.Duration {
	if w.Took != nil {
		return w.Took(r)
	}
	return r.Took
}

// Severity is how bad a weakness is.
type Severity string

// Severities, from worst on.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// Confidence is how sure a finding is. Only Proved counts as a finding.
type Confidence string

// Confidences.
const (
	Proved   Confidence = "proved"
	Probable Confidence = "probable"
)

// Check is one check. Exactly one of its functions is set.
type Check struct {
	ID, Title, Class string
	CWE              int
	OWASP            []string // such as A03:2021
	API              []string // such as API1:2023
	ASVS             []string // such as v5.0.0-1.2.4
	Severity         Severity
	Level            client.Level // the lowest at which it runs

	// Site looks at the whole of a site.
	Site func(ctx context.Context, w *World, root *url.URL) error
	// Passive looks at answers and sends nothing.
	Passive func(w *World, t *Target)
	// Message tests a message to a WebSocket as a whole, and Request any other request.
	Message func(ctx context.Context, w *World, t *Target) error
	Request func(ctx context.Context, w *World, t *Target) error
	// Place tests one place of a request.
	Place func(ctx context.Context, w *World, t *Target, p message.Place) error
	// After runs when the map is complete and all else was tested: for effects that show elsewhere or later.
	After func(ctx context.Context, w *World) error
}

// Evidence is an exchange that shows something.
type Evidence struct {
	Request  *message.Request
	Response *message.Response
	Match    string // the part of the answer that shows it
	Note     string // what it shows
}

// Finding is a weakness that a check has found at one place.
type Finding struct {
	Check, Title, Class string
	Severity            Severity
	CWE                 int
	OWASP, API, ASVS    []string

	Request    *message.Request // that shows it
	Place      message.Place    // zero: the whole request
	Payload    string
	Variant    string // the name of the payload in its set
	Evidence   []Evidence
	Proof      *proof.Program // nil: what it shows cannot be repeated by a program
	Confidence Confidence

	Impact, Remediation string
	Where               []string // other places of the same cause
	Detail              string   // what is special here: the database, the context
}

// Once reports whether it is asked for a key for the first time.
func (w *World) Once(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.once == nil {
		w.once = map[string]bool{}
	}
	if w.once[key] {
		return false
	}
	w.once[key] = true
	w.recent = append(w.recent, key)
	return true
}

// Done reports whether Once was asked for a key, for what is marked only after it was looked at.
func (w *World) Done(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.once[key]
}

// Settle has what was done once until now count as done, whatever Forget is told later.
func (w *World) Settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recent = nil
}

// Forget has what was done once since Settle be done again: its findings were dropped, as sessions were over meanwhile.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range w.recent {
		delete(w.once, key)
	}
	w.recent = nil
}

// Found completes a finding with what is known of its class and reports it.
func (w *World) Found(c *Check, f Finding) {
	about := About(c.Class)
	f.Check, f.Class = c.ID, c.Class
	if f.Title == "" {
		f.Title = c.Title
	}
	if f.Severity == "" {
		f.Severity = c.Severity
	}
	if f.Severity == "" {
		f.Severity = about.Severity
	}
	f.CWE = c.CWE
	if f.CWE == 0 {
		f.CWE = about.CWE
	}
	f.OWASP, f.API, f.ASVS = about.OWASP, about.API, about.ASVS
	if f.Confidence == "" {
		f.Confidence = Proved
	}
	if f.Impact == "" {
		f.Impact = about.Impact
	}
	if f.Remediation == "" {
		f.Remediation = about.Remediation
	}
	w.Report(f)
}

// Describe fills what a check does not say from its class.
func (c Check) Describe() Check {
	about := About(c.Class)
	if c.CWE == 0 {
		c.CWE = about.CWE
	}
	if c.Severity == "" {
		c.Severity = about.Severity
	}
	if c.Title == "" {
		c.Title = about.Title
	}
	c.OWASP, c.API, c.ASVS = about.OWASP, about.API, about.ASVS
	return c
}
