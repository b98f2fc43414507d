package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The times of a dialogue with a WebSocket: how long the first message of an answer may take, how long nothing comes
// behind the last one, how long an answer may go on, as that of a server which sends the time, and how long the first
// dialogue waits for a greeting. When as many messages have come as the first answer had, little more is waited for.
const (
	answerTime   = 1500 * time.Millisecond
	stillTime    = 120 * time.Millisecond
	usualTime    = 10 * time.Millisecond
	answerLength = 2 * time.Second
	greetingTime = 300 * time.Millisecond
	maxMessages  = 100 // of one answer
)

// habit is how many messages a WebSocket sent when it was first sent a message of some shape: before it, and as its
// answer.
type habit struct{ greeting, answer int }

// talk makes a connection, sends a message, and those that belong before it, and returns what comes back.
func (c *Client) talk(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	ctx, cancel := context.WithCancel(ctx) // closes the connection, and ends its reader
	defer cancel()
	begun := time.Now()
	handshake := r.With("Content-Type", "")
	handshake.Method, handshake.Body = http.MethodGet, nil
	if handshake.Header.Get("Origin") == "" {
		handshake.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	}
	wire, err := c.wire(ctx, handshake, o)
	if err != nil {
		return nil, err
	}
	protocols := wire.Header.Values("Sec-Websocket-Protocol")
	wire.Header.Del("Sec-Websocket-Protocol")
	//nolint:bodyclose // this library has read it
	conn, answer, err := websocket.Dial(ctx, wire.URL.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: c.fresh, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		HTTPHeader: wire.Header, Host: wire.Host, Subprotocols: protocols,
	})
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return nil, refused(denied.Why)
	}
	if err != nil && answer != nil { // it refuses to talk, which is an answer
		text, _ := io.ReadAll(io.LimitReader(answer.Body, c.Body))
		out := &message.Response{Status: answer.StatusCode, Header: answer.Header, Body: text, Request: r,
			Took: time.Since(begun)}
		c.record(begun, wire, r.Body, out, nil)
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	defer conn.CloseNow() //nolint:errcheck // it is over
	conn.SetReadLimit(-1) // a longer message is cut
	d := dialogue{conn: conn, most: c.Body, left: c.Body, heard: make(chan []byte)}
	go d.listen(ctx)
	said, err := c.say(ctx, &d, r, o)
	if err != nil {
		c.record(begun, wire, r.Body, nil, err)
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	out := message.NewAnswer(r, answer.StatusCode, answer.Header, said.Body)
	out.Took, out.Truncated = said.Took, said.Truncated
	c.record(begun, wire, r.Body, out, nil)
	return out, nil
}

// say sends a message, behind those that belong before it, and takes its answer.
func (c *Client) say(ctx context.Context, d *dialogue, r *message.Request, o Options) (*message.Response, error) {
	known, isKnown := c.habit(r)
	var first habit
	var greeting, out *message.Response
	if !isKnown || known.greeting > 0 {
		wait := greetingTime
		if isKnown {
			wait = answerTime
		}
		greeting, first.greeting = d.answer(ctx, wait, known.greeting)
	}
	if len(r.Body) == 0 {
		if greeting == nil {
			greeting = &message.Response{}
		}
		return greeting, ctx.Err()
	}
	var before []*message.Request
	for s := r.After; s.IsMessage() && len(before) < maxSteps; s = s.After {
		before = append(before, s)
	}
	for _, s := range slices.Backward(before) {
		if err := d.send(ctx, s); err != nil {
			return nil, err
		}
		usual, _ := c.habit(s)
		d.answer(ctx, answerTime, usual.answer)
	}
	wait := answerTime
	if known.answer > 0 && (o.Alone || o.Slow || o.Accept > 0) {
		wait = max(c.Timeout, o.Accept)
	}
	if err := d.send(ctx, r); err != nil {
		return nil, err
	}
	out, first.answer = d.answer(ctx, wait, known.answer)
	if !isKnown {
		c.mu.Lock()
		c.talks[r.Shape()] = first
		c.mu.Unlock()
	}
	return out, ctx.Err()
}

// habit is what is known of a WebSocket from the first message of the shape.
func (c *Client) habit(r *message.Request) (known habit, isKnown bool) {
	shape := r.Shape()
	c.mu.Lock()
	defer c.mu.Unlock()
	known, isKnown = c.talks[shape]
	return known, isKnown
}

// dialogue is a connection and what is heard on it.
type dialogue struct {
	conn  *websocket.Conn
	heard chan []byte // each message; closed when there will be none
	most  int64       // bytes of a message that are read
	left  int64       // bytes of answers that are still kept
}

// listen reads until the connection or the context ends.
func (d *dialogue) listen(ctx context.Context) {
	defer close(d.heard)
	for {
		_, in, err := d.conn.Reader(ctx)
		if err != nil {
			return
		}
		text, err := io.ReadAll(io.LimitReader(in, d.most+1))
		if err != nil {
			return
		}
		select {
		case d.heard <- text:
		case <-ctx.Done():
			return
		}
	}
}

func (d *dialogue) send(ctx context.Context, r *message.Request) error {
	return d.conn.Write(ctx, websocket.MessageText, r.Body)
}

// answer is what comes from now on, and how many messages that are: until the first one at most for as long as wait,
// then until it is still, for less where as many have come as is usual; 0: that is not known. Took is the time to the
// first message, or the whole wait.
func (d *dialogue) answer(ctx context.Context, wait time.Duration, usual int) (out *message.Response, messages int) {
	out = &message.Response{}
	begun := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var all [][]byte
	for over := false; !over; {
		select {
		case text, more := <-d.heard:
			if len(all) == 0 {
				out.Took = time.Since(begun)
			}
			if more {
				out.Truncated = int64(len(text)) > d.left
				text = text[:min(int64(len(text)), d.left)]
				d.left -= int64(len(text))
				all = append(all, text)
			}
			over = !more || out.Truncated || len(all) >= maxMessages || time.Since(begun) > out.Took+answerLength
			still := stillTime
			if usual > 0 && len(all) >= usual {
				still = usualTime
			}
			timer.Reset(still)
		case <-timer.C:
			over = true
			if len(all) == 0 {
				out.Took = wait
			}
		case <-ctx.Done():
			over = true
		}
	}
	out.Body = bytes.Join(all, []byte("\n"))
	return out, len(all)
}
