// Package engine runs compiled templates (programs) against targets and reports findings and what could not be
// tested.
//
// An Engine holds connections and limits; any number of scans may run in it at once. For each target a scan finds out
// where it answers, sends the planned requests (equal requests of different templates once) and evaluates each
// response for all templates that need it. Templates whose requests depend on earlier responses run as sessions.
// Requests without a response are retried at the end if their host has recovered. Every target × template ends in a
// state (package coverage).
//
// The engine dials only through Config.Dial, where the caller enforces the scope.
package engine

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/dns"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Header is a header line to send with every request.
type Header = web.Header

// Config configures an engine. Zero fields get defaults.
type Config struct {
	// Dial opens every connection and enforces the scope: an *errs.Error of kind Forbidden makes the cells concerned
	// Denied. Default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialHelper connects to the servers that help a scan and are not its targets: resolvers, registries. Default: Dial.
	DialHelper func(ctx context.Context, network, addr string) (net.Conn, error)
	Resolvers  []string    // host:port, for templates that ask DNS without resolvers of their own; default: the system's
	Files      bool        // templates may read files of this machine, as their targets
	Pages      proto.Pages // for templates that drive a browser
	Program    proto.Start // of templates, where this process may start none; nil: it may, if Files are allowed

	Timeout     time.Duration // for each of dial and TLS handshake; default 10 s; three times that for an exchange
	Retries     int           // further attempts after a request had no response; default 0
	RateLimit   int           // requests in a RateWindow over all scans, redirects included; 0 means no limit
	HostRate    int           // requests in a RateWindow to one host and port; 0 means no limit
	RateWindow  time.Duration // default 1 s
	Concurrency int           // requests in flight over all scans; default 50
	PerHost     int           // requests in flight at one host and port; default 10
	MaxBody     int64         // bytes kept of a response body; default 10 MiB
	UserAgent   string        // default web.DefaultUserAgent
	Headers     []Header      // sent with every request; they replace a template's own

	SNI          string            // server name for TLS, of HTTP requests without their own; "" means their host
	Certificates []tls.Certificate // of the client, for HTTP servers that ask for one

	Compute time.Duration // of the script of a flow, in all; 0: script.DefaultCompute
	// RecheckPauses come before each try of a host that stopped answering; then it is given up. Default 200 ms, 1 s, 3 s.
	RecheckPauses []time.Duration

	// Allow is called before every request and every redirect that is followed; nil allows all. A refused request
	// leaves its cells Denied.
	Allow func(u *url.URL) bool
	// AllowName is called for each other name than that of its URL that a request gives to its server (Host, SNI and
	// the like); nil allows all. A refused request leaves its cells Denied.
	AllowName func(name string) bool

	// Names makes names of an out-of-band server, for {{interactsh-url}}. nil: requests with it are skipped.
	Names  oob.Source
	Record func(traffic.Exchange) // gets each HTTP request that was sent, from any goroutine; may be nil
}

type (
	// Event is what a scan reports.
	Event = event.Event
	// Pending is a request that an out-of-band interaction may turn into an Event.
	Pending = event.Pending
	// Compared is a request that an Event was compared with.
	Compared = event.Compared
	// IssueTracker is an issue that was filed for an Event.
	IssueTracker = event.IssueTracker
)

// Clean is event.Clean.
func Clean(s string) string { return event.Clean(s) }

const defaultConcurrency = 50

// Engine runs scans, any number at once.
type Engine struct {
	cfg     Config
	client  *web.Client
	sender  *sender.Sender
	host    *functions.Host // for functions of expressions that use the network
	scripts *proto.Scripts
}

// New makes an engine. Close it after the last scan.
func New(cfg Config) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.PerHost <= 0 {
		cfg.PerHost = web.DefaultPerHost
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = web.DefaultTimeout
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.DialHelper == nil {
		cfg.DialHelper = cfg.Dial
	}
	if len(cfg.Resolvers) == 0 {
		cfg.Resolvers = dns.SystemResolvers()
	}
	e := &Engine{cfg: cfg, scripts: proto.NewScripts(cfg.Concurrency), host: &functions.Host{Dial: cfg.Dial},
		client: web.New(web.Config{
			Dial: cfg.Dial, Timeout: cfg.Timeout, MaxBody: cfg.MaxBody, PerHost: cfg.PerHost,
			UserAgent: cfg.UserAgent, Headers: cfg.Headers, SNI: cfg.SNI, Certificates: cfg.Certificates, Record: cfg.Record,
		})}
	e.sender = sender.New(e.client, sender.Config{
		Timeout: cfg.Timeout, Retries: cfg.Retries, RateLimit: cfg.RateLimit, HostRate: cfg.HostRate,
		RateWindow: cfg.RateWindow, Concurrency: cfg.Concurrency, PerHost: cfg.PerHost, RecheckPauses: cfg.RecheckPauses,
		Allow: cfg.Allow, AllowName: cfg.AllowName,
	})
	return e
}

// Close closes idle connections. Running scans continue with new ones.
func (e *Engine) Close() { e.client.Close() }
