package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
)

const (
	slowClient = time.Minute // that one chunk may take
	chunk      = 64 << 10
)

// ClientWriter writes to a client that may be slow, and gives up on one that has stopped reading.
func ClientWriter(w http.ResponseWriter) io.Writer {
	return slowWriter{w, http.NewResponseController(w)}
}

type slowWriter struct {
	w       io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (p slowWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		_ = p.control.SetWriteDeadline(time.Now().Add(slowClient)) // a test's recorder has none
		var wrote int
		wrote, err = p.w.Write(b[n:min(n+chunk, len(b))])
		n += wrote
	}
	return n, err
}

// File streams a file of a media type and a name. An error breaks the connection, so that the file does not look
// complete.
func (a *API) File(ctx context.Context, contentType, name string, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humachi.Unwrap(hc)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(http.StatusOK)
		if err := write(ClientWriter(w)); err != nil {
			if ctx.Err() == nil {
				a.Logger.ErrorContext(ctx, "writing a file", "name", name, "error", err)
			}
			panic(http.ErrAbortHandler)
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}}
}
