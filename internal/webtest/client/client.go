// Package client is the only way by which the tester of web applications sends anything. It holds each connection to
// the scope, each request to the budget, the harm level and the health of its target, and it keeps the cookies and the
// headers of each user.
//
// Each host has a lane (lane.go): so many requests in flight as its health allows. Four at first; half as many when
// its answers take twice as long as they did, or when it fails; one more after every calm stretch; and as long a
// pause as it asks for. A request that measures time has its lane for itself. What would end a session or do lasting
// harm is refused by what it looks like (harm.go).
package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Errors of Send besides those of the network.
var (
	ErrBudget = errors.New("the budget is used up") // of requests, or of time
	ErrScope  = errors.New("it is out of scope")    // also: it would end the session, or change more than the level allows
	ErrDown   = errors.New("the target has gone")   // it failed too often in a row
)

// Level is how much a test may change at its target.
type Level int

// Levels of harm, each with what the one before may do.
const (
	Passive   Level = iota // looks at what it is answered, sends no tests
	Safe                   // sends tests that change nothing; the default
	Active                 // writes data with a marker, and removes it again
	Intrusive              // may disturb: asks before
)

// levels are the names of the levels.
var levels = []string{"passive", "safe", "active", "intrusive"}

// String is the name of the level.
func (l Level) String() string { return levels[min(max(l, 0), Intrusive)] }

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, bool) {
	for i, known := range levels {
		if known == name {
			return Level(i), true
		}
	}
	return Safe, false
}

// Config configures a client. Dial must be set; other zero fields get defaults.
type Config struct {
	// Dial makes each connection, to host:port; its error refuses one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Allow decides about each request before it is dialled; its error refuses it. nil allows what Dial allows.
	Allow func(method string, u *url.URL) error
	// Take counts a request that is about to be sent; its error says that there is no budget left. nil: only Requests
	// counts.
	Take func() error
	// Record gets each request that was sent, from any goroutine, and must not wait. nil: nobody asks.
	Record func(traffic.Exchange)

	Level     Level
	May       May           // what is else refused
	Header    http.Header   // of every request that is not Bare
	UserAgent string        // default: a browser's
	Requests  int64         // at most; 0: no bound
	Sent      int64         // that count for the bound already
	Until     time.Time     // no request begins after it; zero: no bound
	Timeout   time.Duration // of one exchange, default 20 s
	Body      int64         // bytes of a body that are read, default 2 MiB
	InFlight  int           // requests at a time to one host at most, default 16
	Rate      float64       // requests a second at most; 0: no bound
	Now       func() time.Time
}

// Client sends requests. It is safe for any number of goroutines.
type Client struct {
	Config
	shared, fresh *http.Transport
	sent, changes atomic.Int64

	mu      sync.Mutex
	lanes   map[string]*lane
	tokens  map[string]*token
	chains  map[string]*sync.Mutex // by the address that a chain of requests begins with
	talks   map[string]habit       // of WebSockets, by the shape of the message
	often   map[string]int         // answers in a row that an address is asked too often, by method, host and path
	ends    map[string]bool        // host and address of what ends the session
	made    map[string]made        // by host and path
	written written
	next    time.Time // when the rate allows the next request

	judged    map[string]bool // names whose certificate was looked at
	untrusted []string        // why, of those that are not trusted
}

// Options are of one request.
type Options struct {
	As     *User
	From   Origin        // what a browser sends it from: cookies of As that it keeps back then are not sent
	Fresh  bool          // on a connection of its own
	Alone  bool          // with nothing else in flight at that host: for measurements of time
	Slow   bool          // it may be asked to wait: few at a time, beside others, and no sign of the host's health
	Writes bool          // it may change data; refused below Active
	Bare   bool          // without Config.Header: its host is another than the application's
	Forced bool          // it is what the caller was asked for, such as a login: not judged by what it looks like
	AsIs   bool          // its answer counts also where it shows that As is not logged in any more (guard.go)
	Accept time.Duration // how long its answer may take, if that is longer than Config.Timeout
}

// New makes a client. Close it.
func New(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = 20 * time.Second
	}
	if c.Body == 0 {
		c.Body = 2 << 20
	}
	if c.InFlight == 0 {
		c.InFlight = 16
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.UserAgent == "" {
		c.UserAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	}
	client := &Client{Config: c, lanes: map[string]*lane{}, tokens: map[string]*token{},
		chains: map[string]*sync.Mutex{}, talks: map[string]habit{}, made: map[string]made{}}
	client.sent.Store(c.Sent)
	client.shared, client.fresh = client.transport(false), client.transport(true)
	return client
}

// Close closes the connections that are kept.
func (c *Client) Close() {
	c.shared.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// Sent is how many requests were sent, with Config.Sent.
func (c *Client) Sent() int64 { return c.sent.Load() }

// Over says which bound of the budget is reached: "requests", "time", or "" while none is.
func (c *Client) Over() string {
	switch {
	case c.Requests > 0 && c.sent.Load() >= c.Requests:
		return "requests"
	case !c.Until.IsZero() && !c.Now().Before(c.Until):
		return "time"
	}
	return ""
}

// Permit reports whether a request may be sent, before it is: nil, or an error that says why not and is ErrScope or
// ErrBudget.
func (c *Client) Permit(r *message.Request, o Options) error {
	if c.Allow != nil {
		method := r.Method
		if r.IsMessage() { // which may write
			method = http.MethodPost
		}
		if err := c.Allow(method, r.URL); err != nil {
			return refused(err.Error())
		}
	}
	if o.Writes && c.Level < Active {
		return refused("it may change data, which level " + c.Level.String() + " does not allow")
	}
	if !o.Forced {
		if why := c.harm(r); why != "" {
			return refused(why)
		}
		if c.isTooOften(r) {
			return refused("the application answers that it is asked too often")
		}
	}
	if bound := c.Over(); bound != "" {
		return overBudget(bound)
	}
	return nil
}

// Send sends a request and returns its answer. It waits for its turn. The error is ErrScope, ErrBudget, ErrDown, that
// of the context, or one of the network.
func (c *Client) Send(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	if err := c.Permit(r, o); err != nil {
		return nil, err
	}
	if g := o.As.guarded(); g != nil && !o.AsIs {
		return c.keep(ctx, g, r, o)
	}
	_, answer, err := c.once(ctx, r, o, &progress{})
	return answer, err
}

// once sends a request, behind those that belong before it from the one on that is next. It returns the last that was
// sent: a guarded user's step before it, where its answer looks as if nobody was logged in.
func (c *Client) once(ctx context.Context, r *message.Request, o Options, p *progress) (
	last *message.Request, answer *message.Response, err error,
) {
	if r.After != nil && (!r.IsMessage() || !r.After.IsMessage()) {
		return c.inOrder(ctx, r, o, p)
	}
	defer o.As.hold()()
	sent := r
	if o.As == nil {
		sent, o.As = c.visit(ctx, r)
	}
	sent, release := c.renew(ctx, sent, o.As)
	defer release()
	answer, err = c.send(ctx, sent, o)
	return r, answer, err
}

// send is Send of a request that is permitted and has its token.
func (c *Client) send(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	whole := ctx
	ctx, stop := c.bounded(whole)
	defer stop()
	l := c.lane(r.URL)
	if err := l.enter(ctx, o); err != nil {
		return nil, inTime(whole, ctx, err)
	}
	response, err := c.exchange(ctx, r, o)
	c.countOften(r, response)
	c.noteMade(r, response)
	c.noteWritten(r, response)
	l.leave(o, response, err, ctx.Err() != nil)
	c.watch(ctx, l, r, o, response)
	if err != nil && l.gone() { // or it only drops the requests of tests
		root := message.From(http.MethodGet, &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host})
		if _, alive := c.roundTrip(ctx, root, Options{Fresh: true}); alive == nil {
			l.revive()
		}
	}
	return response, inTime(whole, ctx, err)
}

// bounded is a context that ends with the time of the budget, so that nothing waits beyond it.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Until.IsZero() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.Until.Sub(c.Now()), overBudget("time"))
}

// inTime is an error, or that the time of the budget is over where that ended the context within the whole one.
func inTime(whole, ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && whole.Err() == nil {
		return overBudget("time")
	}
	return err
}

// Spent says that the budget is used up, in words of a coverage; "" while it is not.
func (c *Client) Spent() string {
	if bound := c.Over(); bound != "" {
		return overBudget(bound).Error()
	}
	return ""
}

// Bound sets the budget anew, while nothing is sent.
func (c *Client) Bound(requests int64, until time.Time) { c.Requests, c.Until = requests, until }

// isRefusal reports whether an error is our own decision, which says nothing about the target.
func isRefusal(err error) bool { return errors.As(err, new(*refusal)) }

// exchange sends a request whose turn it is.
func (c *Client) exchange(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	if err := c.pace(ctx); err != nil {
		return nil, err
	}
	if !c.count() {
		return nil, overBudget(c.Over())
	}
	session := o.As.session()
	response, err := c.roundTrip(ctx, r, o)
	c.noteChange(r, o, response)
	if err != nil {
		return nil, err
	}
	o.As.store(r, o.From, response, session)
	return response, nil
}

// count takes a request from the budget.
func (c *Client) count() bool {
	if !c.Until.IsZero() && !c.Now().Before(c.Until) {
		return false
	}
	for {
		sent := c.sent.Load()
		if c.Requests > 0 && sent >= c.Requests {
			return false
		}
		if c.sent.CompareAndSwap(sent, sent+1) {
			return c.Take == nil || c.Take() == nil
		}
	}
}

// refusal is an ErrScope, and overBudget makes an ErrBudget, with words for people.
type refusal struct {
	why  string
	kind error
}

func (r *refusal) Error() string { return r.why }
func (r *refusal) Unwrap() error { return r.kind }

func refused(why string) error { return &refusal{why, ErrScope} }

func overBudget(bound string) error {
	if bound == "" {
		bound = "requests"
	}
	return &refusal{"the budget of " + bound + " is used up", ErrBudget}
}
