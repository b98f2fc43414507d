package web

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Result is the result of one of several requests.
type Result struct {
	Exchange *Exchange // nil when there was no response
	Err      error     // as Do gives it
}

// Pipeline sends requests to one server on one connection without waiting for responses, and reads these in order.
// When the connection ends early, the rest is sent on a new one, if at least one response came; otherwise the rest
// has the error. All requests go to the address of the first. Jar and Digest are ignored.
func (c *Client) Pipeline(ctx context.Context, reqs []Request) []Result {
	results := make([]Result, len(reqs))
	for i := range reqs {
		if err := reqs[i].check(); err != nil {
			return repeatError(results, err)
		}
	}
	for from := 0; from < len(reqs); {
		answered, err := c.pipeline(ctx, reqs[from:], results[from:])
		if from += answered; answered == 0 {
			repeatError(results[from:], err)
			break
		}
	}
	return results
}

func repeatError(results []Result, err error) []Result {
	for i := range results {
		results[i].Err = err
	}
	return results
}

// pipeline uses one new connection. The error is why not all were answered.
func (c *Client) pipeline(ctx context.Context, reqs []Request, results []Result) (answered int, err error) {
	cn, err := c.connect(ctx, &reqs[0], false)
	if err != nil {
		return 0, orContext(ctx, err)
	}
	defer cn.finish()
	var out []byte
	for i := range reqs {
		out = c.appendRequest(out, &reqs[i], extra{})
	}
	for i := range reqs {
		x := c.begin(cn, &reqs[i], extra{})
		if err := cn.ready(ctx, x.At.Add(c.whole(&reqs[i]))); err != nil {
			return i, orContext(ctx, err)
		}
		if i == 0 {
			cn.send(out)
			c.stats.requests.Add(int64(len(reqs)))
		}
		again, err := c.receivePiped(ctx, cn, x)
		c.record(x, err)
		if err != nil {
			x.Release()
			return i, orContext(ctx, err)
		}
		if results[i].Exchange = x; !again {
			return i + 1, &Error{Kind: KindClosed, Err: errors.New("the connection ended between answers")}
		}
	}
	return len(reqs), nil
}

// receivePiped reads one of several responses: bytes after it belong to the next.
func (c *Client) receivePiped(ctx context.Context, cn *conn, x *Exchange) (again bool, err error) {
	if _, err := c.receive(ctx, cn, x); err != nil {
		return false, err
	}
	f := x.framing
	framed := f.chunked || f.length >= 0 || noBody(x.Request.method(), x.Status)
	return framed && !f.single && !x.Truncated && x.Status != 101, nil
}

// Race sends requests at the same moment, each on its own connection: first everything but the last byte of each,
// then all last bytes together. A request that fails before delays no other. Jar and Digest are ignored.
func (c *Client) Race(ctx context.Context, reqs []Request) []Result {
	results := make([]Result, len(reqs))
	var ready, over sync.WaitGroup
	start := make(chan struct{})
	ready.Add(len(reqs))
	for i := range reqs {
		over.Go(func() {
			results[i].Exchange, results[i].Err = c.race(ctx, &reqs[i], func() {
				ready.Done()
				<-start
			})
		})
	}
	ready.Wait()
	close(start)
	over.Wait()
	return results
}

// race makes one exchange on a new connection and calls line once before the last byte of the request, or before it
// fails.
func (c *Client) race(ctx context.Context, req *Request, line func()) (*Exchange, error) {
	cn, out, err := c.approach(ctx, req)
	line()
	if err != nil {
		return nil, orContext(ctx, err)
	}
	defer cn.finish()
	x := c.begin(cn, req, extra{})
	if err := cn.ready(ctx, x.At.Add(c.whole(req))); err != nil {
		return nil, orContext(ctx, err)
	}
	cn.send(out[len(out)-1:])
	c.stats.requests.Add(1)
	_, err = c.receive(ctx, cn, x)
	c.record(x, err)
	if err != nil {
		x.Release()
		return nil, orContext(ctx, err)
	}
	return x, nil
}

// approach sends a request without its last byte.
func (c *Client) approach(ctx context.Context, req *Request) (*conn, []byte, error) {
	if err := req.check(); err != nil {
		return nil, nil, err
	}
	cn, err := c.connect(ctx, req, false)
	if err != nil {
		return nil, nil, err
	}
	out := c.appendRequest(nil, req, extra{})
	if err = cn.ready(ctx, time.Now().Add(c.whole(req))); err == nil && len(out) > 0 {
		if _, err = cn.Write(out[:len(out)-1]); err == nil {
			return cn, out, nil
		}
	}
	cn.close()
	return nil, nil, failure(err)
}

// orContext is the error of an ended context, else err as an *Error.
func orContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failure(err)
}
