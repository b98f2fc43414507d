package names

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// maxTCP is how many questions may be asked over TCP at a time: their answers are large.
const maxTCP = 64

const dialTimeout = 5 * time.Second

// client asks resolvers. Its methods may be called by thousands of goroutines.
type client struct {
	cfg   Config
	pool  pool
	tcp   chan struct{}
	ended sync.WaitGroup // the readers of sockets and the clock
	stop  context.CancelFunc

	sent atomic.Int64
}

// tick is the precision of timeouts.
const tick = 20 * time.Millisecond

// newClient opens sockets to the resolvers of a complete Config. It fails when none can be reached. Close it; when
// the context ends it answers no more.
func newClient(ctx context.Context, cfg Config) (*client, error) {
	c := &client{cfg: cfg, tcp: make(chan struct{}, maxTCP)}
	c.pool.maxWindow = max(maxInFlight/len(cfg.Resolvers), minWindow)
	var failed error
	dialer := &net.Dialer{Timeout: dialTimeout}
	for _, address := range cfg.Resolvers {
		s := &server{address: address, limit: min(initialWindow, c.pool.maxWindow), since: time.Now()}
		for range socketsOf() {
			conn, err := dialer.DialContext(ctx, "udp", address)
			if err != nil {
				failed = fmt.Errorf("resolver %s: %w", address, err)
				break
			}
			s.sockets = append(s.sockets, &socket{conn: conn, pending: map[uint16]*pendingAttempt{}})
		}
		if len(s.sockets) == 0 {
			continue
		}
		c.pool.servers = append(c.pool.servers, s)
		for _, one := range s.sockets {
			c.ended.Go(func() { one.listen() })
		}
	}
	if len(c.pool.servers) == 0 {
		return nil, failed
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.ended.Go(func() { c.clock(ctx) })
	return c, nil
}

// clock ends questions whose time is up: one ticker for all is cheaper than a timer for each.
func (c *client) clock(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			c.sockets(func(s *socket) { s.expire(now) })
		case <-ctx.Done():
			c.sockets(func(s *socket) { s.fail(true) })
			return
		}
	}
}

func (c *client) sockets(do func(*socket)) {
	for _, s := range c.pool.servers {
		for _, one := range s.sockets {
			do(one)
		}
	}
}

// close ends all questions and waits for the readers.
func (c *client) close() {
	c.stop()
	c.sockets(func(s *socket) { s.conn.Close() })
	c.ended.Wait()
}

// query asks about a host until a resolver gives a good answer or the retries are used up. A late answer, after the
// question was asked again, counts. The error is errTimeout or errMalformed when nothing could be read, or the
// context's, which is that of newClient or one that lives longer.
func (c *client) query(ctx context.Context, host string, kind uint16) (answer, error) {
	q := &question{client: c, host: host, kind: kind, failure: errTimeout, edns: true,
		replies: make(chan delivery, 2*(1+c.cfg.Retries))}
	defer q.forget()
	for q.next = range 1 + c.cfg.Retries {
		if err := c.cfg.Pace.Wait(ctx); err != nil {
			return answer{}, err
		}
		done := q.try(ctx)
		if err := ctx.Err(); err != nil {
			return answer{}, err
		}
		if done {
			return q.best, nil
		}
	}
	return q.best, q.failure
}

type question struct {
	*client

	host     string
	kind     uint16
	edns     bool
	replies  chan delivery
	next     int // number of the attempt
	attempts []attempt
	best     answer // when failure is nil
	failure  error
}

// attempt is one sending of a question.
type attempt struct {
	server   *server
	socket   *socket
	call     *pendingAttempt
	id       uint16
	begun    time.Time
	query    []byte
	end      int
	answered bool
}

// forget removes the question from all sockets.
func (q *question) forget() {
	for _, t := range q.attempts {
		if t.socket != nil {
			t.socket.unregister(t.id, t.call)
		}
	}
}

// try asks one resolver and waits. It reports whether there is a good answer.
func (q *question) try(ctx context.Context) (done bool) {
	var tried []*server
	for _, t := range q.attempts {
		tried = append(tried, t.server)
	}
	s := q.pool.acquire(tried)
	if ctx.Err() != nil {
		q.pool.release(s, true)
		return false
	}
	wait := q.cfg.Timeout
	if q.next < q.cfg.Retries {
		wait = min(wait, s.retryAfter())
	}
	t := attempt{server: s, begun: time.Now()}
	t.query, t.end = pack(q.host, q.kind, q.edns)
	t.call = &pendingAttempt{
		question: t.query[headerSize:t.end], attempt: q.next, until: t.begun.Add(wait), reply: q.replies,
	}
	socket := s.sockets[int(s.nextSocket.Add(1))%len(s.sockets)]
	q.sent.Add(1)
	var err error
	if t.id, err = socket.send(t.query, t.call); err == nil {
		t.socket = socket
	} else {
		q.replies <- delivery{attempt: q.next}
	}
	q.attempts = append(q.attempts, t)
	done, good := q.wait(ctx)
	q.pool.release(s, good || ctx.Err() != nil)
	return done
}

// wait waits for an answer to any of the attempts. done says that it is a good one; good, that the resolver that
// was asked last works.
func (q *question) wait(ctx context.Context) (done, good bool) {
	for d := range q.replies {
		if d.msg != nil {
			done = q.handle(ctx, &q.attempts[d.attempt], d.msg)
			good = done || q.failure == nil && q.best.rcode != dns.RcodeRefused
		} else {
			good = false
		}
		if done || d.attempt == q.next {
			break
		}
	}
	return done, good
}

// handle reads an answer and reports whether it is a good one.
func (q *question) handle(ctx context.Context, t *attempt, msg []byte) (done bool) {
	t.answered = true
	t.server.measure(time.Since(t.begun))
	truncated := msg[2]&2 != 0
	if truncated {
		if whole, err := q.overTCP(ctx, t.server, t.query, t.end); err == nil {
			msg, truncated = whole, false
		}
	}
	a, err := read(msg, q.host, t.end-headerSize, q.kind)
	switch {
	case err != nil:
		if q.failure != nil {
			q.failure = err
		}
	case truncated:
		q.best, q.failure = a, nil
	case a.rcode == dns.RcodeSuccess || a.rcode == dns.RcodeNameError:
		for i := range q.attempts {
			if earlier := &q.attempts[i]; !earlier.answered && earlier.begun.Before(t.begun) {
				q.pool.countLost(earlier.server)
			}
		}
		q.best, q.failure = a, nil
		return true
	default:
		q.edns = q.edns && a.rcode != dns.RcodeFormatError && a.rcode != dns.RcodeNotImplemented
		q.best, q.failure = a, nil
	}
	return false
}

// overTCP asks what did not fit a packet.
func (c *client) overTCP(ctx context.Context, s *server, query []byte, end int) ([]byte, error) {
	select {
	case c.tcp <- struct{}{}:
		defer func() { <-c.tcp }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.cfg.Timeout) // for the handshake
	defer cancel()
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	deadline, _ := ctx.Deadline()
	return askTCP(conn, query, end, deadline)
}
