package rest

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The bounds of a streamed body.
const (
	maxStream    = 4 << 30
	streamPause  = 30 * time.Second // the longest pause of a sender
	streamRefill = 1 << 20          // bytes after which the pause starts again
)

// Stream is the body of an operation with Op.Stream, read as it arrives. A handler's input embeds it.
type Stream struct {
	body    io.Reader
	control *http.ResponseController
	pause   time.Duration
	read    int64
	until   time.Time // the deadline of the next read
	left    time.Time // end of the last read
}

// Resolve implements huma.Resolver.
func (s *Stream) Resolve(ctx huma.Context) []error {
	r, w := humachi.Unwrap(ctx)
	*s = newStream(http.MaxBytesReader(w, r.Body, maxStream), http.NewResponseController(w), streamPause)
	return nil
}

func newStream(body io.Reader, control *http.ResponseController, pause time.Duration) Stream {
	now := time.Now()
	return Stream{body: body, control: control, pause: pause, until: now.Add(pause), left: now}
}

// Read implements io.Reader. Its errors except io.EOF are safe to show.
func (s *Stream) Read(p []byte) (int, error) {
	s.until = s.until.Add(time.Since(s.left)) // time between reads is ours, not the sender's
	_ = s.control.SetReadDeadline(s.until)    // a test's recorder has none
	n, err := s.body.Read(p)
	s.left = time.Now()
	if before := s.read / streamRefill; (s.read+int64(n))/streamRefill > before {
		s.until = s.left.Add(s.pause)
	}
	s.read += int64(n)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return n, errs.New(errs.TooLarge, "body_too_large", "The request body is larger than %d bytes.", int64(maxStream))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, errs.New(errs.Invalid, "unreadable_body", "The request body could not be read.").At("body").Because(err)
	}
	return n, err
}

// checkStream replaces readBody for an operation that reads its body itself.
func (a *API) checkStream(ctx huma.Context, next func(huma.Context)) {
	r, _ := humachi.Unwrap(ctx)
	if err := checkURL(r.URL); err != nil {
		a.refuse(ctx, err)
		return
	}
	next(ctx)
}
