package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	// Bytes of an answer: a fixed part, and for each allowed token a piece of a stream, of some 300 bytes.
	answerBytes, bytesPerToken = 256 << 10, 1 << 10

	firstDelay, longestDelay = 500 * time.Millisecond, 30 * time.Second
)

var (
	errSilent  = errors.New("the provider was silent for too long")
	errTooLong = errors.New("the answer has more bytes than its tokens can need")
)

// transport makes one try: it bounds the answer and the silence, and turns an error status into a *status.
type transport struct {
	next  http.RoundTripper
	idle  *time.Timer
	limit time.Duration
	left  int64  // bytes
	key   string // of Request.Key
	began bool   // a success has begun, and will be billed
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.key != "" {
		body, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Idempotency-Key", digestOf(t.key, body))
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.idle.Reset(t.limit)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalBytes)) // the status is enough
		return nil, newStatus(resp.StatusCode, resp.Header, body)
	}
	t.began = true
	resp.Body = &body{resp.Body, t}
	return resp, nil
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.GetBody == nil {
		return nil, nil
	}
	copied, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	defer copied.Close()
	return io.ReadAll(copied)
}

// digestOf names a request. A call repeated with other parameters is another request to the provider.
func digestOf(key string, body []byte) string {
	sum := sha256.Sum256(append([]byte(key+"\x00"), body...))
	return hex.EncodeToString(sum[:16])
}

type body struct {
	io.ReadCloser
	t *transport
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.t.idle.Reset(b.t.limit)
	if b.t.left -= int64(n); b.t.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

type tryFunc func(ctx context.Context, client *http.Client) (Response, error)

// call tries until there is an answer, a final error, or no time left. Once a success has begun there is no other try:
// its tokens are billed.
func (c Config) call(ctx context.Context, r Request, try tryFunc) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	for n := 0; ; n++ {
		response, began, err := c.try(ctx, r, try)
		if err == nil {
			return response, nil
		}
		delay, again, failure := c.classify(err, began)
		if delay == 0 {
			delay = min(longestDelay, firstDelay<<min(n, 10))
			delay += rand.N(delay / 2) // spreads the retries of many
		}
		end, _ := ctx.Deadline()
		if !again || n >= c.Retries || time.Until(end) < delay || c.Wait(ctx, delay) != nil {
			return response, failure
		}
	}
}

func (c Config) try(ctx context.Context, r Request, try tryFunc) (Response, bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.Idle, func() { cancel(errSilent) })
	defer idle.Stop()
	t := &transport{
		next: c.HTTP.Transport, idle: idle, limit: c.Idle, key: r.Key, left: answerBytes + bytesPerToken*int64(r.maxTokens()),
	}
	if t.next == nil {
		t.next = http.DefaultTransport
	}
	client := *c.HTTP
	client.Transport = t
	response, err := try(ctx, &client)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return response, t.began, err
}

// classify makes the error to show, and says whether to try again and how long the provider wants us to wait.
func (c Config) classify(err error, began bool) (delay time.Duration, again bool, failure error) {
	var s *status
	var refused *errs.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &s):
		again, failure = s.failure(c.Key)
		return s.after, again && !began, failure
	case errors.Is(err, errTooLong):
		return 0, false, errs.New(errs.FailedDependency, CodeAnswer,
			"The model's answer was broken off: it went on without an end.").Because(err)
	case errors.Is(err, errSilent):
		return 0, false, unavailable(err, "The model's provider was silent for more than %s.", c.Idle)
	case errors.Is(err, context.Canceled):
		return 0, false, unavailable(err, "The call of the model was ended.")
	case errors.Is(err, context.DeadlineExceeded):
		return 0, false, unavailable(err, "The model's provider did not answer in time.")
	case errors.As(err, &refused): // by netguard, or malformed
		if slices.Contains([]string{CodeAnswer, CodeUnavailable, CodeLimited}, refused.Code) {
			return 0, false, refused
		}
		return 0, false, errs.New(errs.FailedDependency, CodeRequest, "The model's provider may not be reached: %s",
			refused.Message).Because(err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return 0, true, unavailable(withoutKey(err, c.Key), "The model's provider cannot be reached.")
	}
	return 0, !began, unavailable(withoutKey(err, c.Key), "The connection to the model's provider broke.")
}

func unavailable(cause error, format string, args ...any) error {
	return errs.New(errs.Unavailable, CodeUnavailable, format, args...).Because(cause)
}
