// Package proto is what the engine and its protocols other than HTTP know of each other. A protocol compiles each of
// a template's blocks into a Probe; the engine runs it on a target, within its limits and its scope, and evaluates each
// Reply with the operators of the block.
package proto

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Probe is a compiled block. It is immutable and safe for any number of goroutines.
type Probe interface {
	// Requests is how many replies to expect from a target for each tuple of payloads.
	Requests() int
	// Names are the names that are open in its texts.
	Names() []string
	// Run asks a target and gives each reply to found, until found says no. The error is that of the context, of
	// Env.Begin or Env.Dial, of rendering a text (package dsl), an *End, or says why there
	// was no reply.
	Run(ctx context.Context, env *Env, found func(*Reply) (more bool)) error
}

// Payloader is a Probe that may replace payloads of its block when the target is known.
type Payloader interface {
	// Payloads are the values by the names of their sets; nil for none. The errors are those of Probe.Run.
	Payloads(ctx context.Context, env *Env) (map[string][]string, error)
}

// Pages is what templates that drive a browser may use.
type Pages struct {
	// Open opens a page; nil: there is no browser. A function, as a pool cannot be sent to children.
	Open      func(ctx context.Context, o browser.Options) (*browser.Page, error)
	Without   string        // why there is none
	Timeout   time.Duration // of a page; 0: browser.DefaultTimeout
	AnyFolder bool          // if files may be used, then anywhere on this machine
}

// Env is a target, and what a probe may do.
type Env struct {
	Input   string        // the target as it was given
	Target  rawurl.URL    // without scheme or port unless it names them
	Timeout time.Duration // for a connection, and for an answer
	Files   bool          // files of this machine may be read
	DNS     []string      // resolvers, as host:port

	// For pages in a browser.
	Pages   Pages
	Headers []web.Header          // of every request
	Jar     http.CookieJar        // of the template's requests to the target
	Allow   func(u *url.URL) bool // whether a URL may be asked for; nil allows all

	// Program runs the program of a template's block for this process, which may start none; nil: it is run here, if
	// Files are.
	Program Start

	Log func(text string) // shows what a script logs; nil: nobody does

	Scripts *Scripts // what the scripts of the engine share

	Vars func(at rawurl.URL) *dsl.Env // what names mean in a request to an address

	// Extract runs the internal extractors on what was read in between; Vars has their values from then on.
	Extract func(read *Reply)
	// Begin waits until one more request may be sent to a host:port; end must be called after it.
	Begin func(ctx context.Context, hostPort string) (end func(), err error)
	// Dial connects within the scope.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// DialHelper connects to servers that are not the target's, such as the operator's resolvers.
	DialHelper func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Start runs a program of a template.
type Start func(ctx context.Context, p Program) (*Output, error)

// Program is a program of a template to run elsewhere.
type Program struct {
	Key   string            // of its block: whoever runs it has the block, and runs no other text
	Env   map[string]string // the values of the names that its source mentions
	Stdin string
	Time  time.Duration // at most
}

// Output is what a program wrote.
type Output struct {
	Stdout, Stderr []byte
	Code           int    // the exit code; -1: a signal ended it
	Unusable       string // why it cannot be run here, when it was not run
	Failed         string // why it was ended
}

// Reply is what a target answered to one request.
type Reply struct {
	Env    *dsl.Env       // of the request
	Fields map[string]any // by the names that operators and later requests use

	// What events show; see the fields of the same names there.
	MatchedAt, Host, Port, Scheme, Path, IP, Request, Response string

	// Silent replies have no findings: a match in them is for flows and later requests alone.
	Silent bool

	// Unit joins the findings of replies that follow each other, such as the lines of a file; "" for none.
	Unit string
	Line int // in the unit, from 1; 0 for none
}

// Kind says how a probe ended without a reply.
type Kind int

// The kinds.
const (
	KindInapplicable Kind = iota // the target is none for it
	KindUnusable                 // its texts make no request
	KindRefused                  // the target said no to what it offers: the answer is known
)

// End is the error of a probe that ended without a reply for another reason than a failure.
type End struct {
	Kind Kind
	Why  string // "" for a refusal
}

// Error implements error.
func (e *End) Error() string { return e.Why }

// Inapplicable is the error of a probe that does not concern such a target.
func Inapplicable(format string, args ...any) error {
	return &End{KindInapplicable, fmt.Sprintf(format, args...)}
}

// Unusable is the error of a probe whose texts make no request.
func Unusable(format string, args ...any) error {
	return &End{KindUnusable, fmt.Sprintf(format, args...)}
}

// Refused is the error of a probe that offered something, such as a version of TLS, and was told no.
func Refused() error { return &End{Kind: KindRefused} }

// Names are the different names that are open in texts.
func Names(texts ...dsl.Text) (names []string) {
	for _, t := range texts {
		for _, name := range t.Names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// At sets the address of a reply: host and port without brackets.
func (r *Reply) At(address string) {
	r.MatchedAt = address
	if host, port, err := net.SplitHostPort(address); err == nil {
		r.Host, r.Port = host, port
	}
}

// IP is the address at the other end of a connection.
func IP(conn net.Conn) string {
	if conn == nil || conn.RemoteAddr() == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return host
}
