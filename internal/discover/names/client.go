package names

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/time/rate"
)

// maxTCP is how many questions may be asked over TCP at a time: their answers are large.
const maxTCP = 64

// client asks resolvers. Its methods may be called from thousands of goroutines.
type client struct {
	cfg   Config
	pool  pool
	pace  *rate.Limiter // nil: as fast as it goes
	tcp   chan struct{}
	ended sync.WaitGroup // readers of sockets
}

// newClient opens the sockets to the resolvers of a complete Config. It fails when there
// is none that can be reached. Close it.
func newClient(ctx context.Context, cfg Config) (*client, error) {
	c := &client{cfg: cfg, tcp: make(chan struct{}, maxTCP)}
	c.pool.widest = max(cfg.Window/len(cfg.Resolvers), leastWindow)
	if cfg.Rate > 0 {
		c.pace = rate.NewLimiter(rate.Limit(cfg.Rate), max(1, cfg.Rate/50))
	}
	var failed error
	for _, address := range cfg.Resolvers {
		s := &server{address: address, limit: min(firstWindow, c.pool.widest)}
		for range socketsOf() {
			conn, err := cfg.Dial(ctx, "udp", address)
			if err != nil {
				failed = fmt.Errorf("resolver %s: %w", address, err)
				cfg.Log.WarnContext(ctx, "a resolver cannot be used", "resolver", address, "error", err)
				break
			}
			s.sockets = append(s.sockets, &socket{conn: conn, waiting: map[uint16]*call{}})
		}
		if len(s.sockets) == 0 {
			continue
		}
		c.pool.servers = append(c.pool.servers, s)
		for _, one := range s.sockets {
			c.ended.Go(func() { one.listen(&s.garbage) })
		}
	}
	if len(c.pool.servers) == 0 {
		return nil, failed
	}
	return c, nil
}

// close ends all that waits and returns when the readers have gone.
func (c *client) close() {
	for _, s := range c.pool.servers {
		for _, one := range s.sockets {
			one.conn.Close()
		}
	}
	c.ended.Wait()
}

// ask asks about a host until a resolver gives a good answer, or the retries are used up.
// The error is errTimeout or errGarbage when none could be read, or the context's.
func (c *client) ask(ctx context.Context, host string, kind uint16) (answer, error) {
	var (
		best    answer
		failure = errTimeout
		last    *server
		silent  []*server
		edns    = true
	)
	for range 1 + c.cfg.Retries {
		if c.pace != nil {
			if err := c.pace.Wait(ctx); err != nil {
				return best, errors.Join(ctx.Err(), err)
			}
		}
		s, err := c.pool.acquire(ctx, last)
		if err != nil {
			if s != nil {
				c.pool.release(s, true)
			}
			return best, err
		}
		last = s
		a, err := c.exchange(ctx, s, host, kind, edns)
		c.pool.release(s, err == nil && a.rcode != dns.RcodeRefused || ctx.Err() != nil)
		switch {
		case ctx.Err() != nil:
			return best, ctx.Err()
		case errors.Is(err, errTruncated):
			best, failure = a, nil
		case err != nil:
			silent = append(silent, s)
			if failure != nil && errors.Is(err, errGarbage) {
				failure = errGarbage
			}
		case a.rcode == dns.RcodeSuccess || a.rcode == dns.RcodeNameError:
			for _, one := range silent {
				c.pool.healed(one)
			}
			return a, nil
		default:
			s.refused.Add(1)
			edns = edns && a.rcode != dns.RcodeFormatError && a.rcode != dns.RcodeNotImplemented
			best, failure = a, nil
		}
	}
	return best, failure
}

// exchange asks one resolver once. With errTruncated the answer is what there was of it.
func (c *client) exchange(ctx context.Context, s *server, host string, kind uint16, edns bool) (answer, error) {
	query, question := pack(host, kind, edns)
	s.queries.Add(1)
	begun := time.Now()
	msg, err := s.sockets[int(s.turn.Add(1))%len(s.sockets)].ask(ctx, query, question, c.cfg.Timeout)
	if err != nil {
		if ctx.Err() == nil {
			s.timeouts.Add(1)
		}
		return answer{}, err
	}
	s.answers.Add(1)
	if took := int64(time.Since(begun)); s.fastest.Load() == 0 || took < s.fastest.Load() {
		s.fastest.Store(took)
	}
	truncated := msg[2]&2 != 0
	if truncated {
		if whole, err := c.again(ctx, s, query, question); err == nil {
			msg, truncated = whole, false
		}
	}
	a, err := read(msg, host, question-headerSize, kind)
	if err != nil {
		s.garbage.Add(1)
		return a, err
	}
	if truncated {
		return a, errTruncated
	}
	return a, nil
}

// again asks over TCP what did not fit a packet.
func (c *client) again(ctx context.Context, s *server, query []byte, question int) ([]byte, error) {
	select {
	case c.tcp <- struct{}{}:
		defer func() { <-c.tcp }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.cfg.Timeout) // a handshake more
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	deadline, _ := ctx.Deadline()
	return askTCP(conn, query, question, deadline)
}

// report is how the resolvers behaved.
func (c *client) report() (list []Resolver) {
	for _, s := range c.pool.servers {
		list = append(list, Resolver{
			Address: s.address, Queries: s.queries.Load(), Answers: s.answers.Load(), Timeouts: s.timeouts.Load(),
			Refused: s.refused.Load(), Garbage: s.garbage.Load(), Fastest: time.Duration(s.fastest.Load()),
		})
	}
	return list
}
