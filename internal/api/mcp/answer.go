package mcp

import (
	"bytes"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// answer holds an answer back until it is whole: what the tool did must be known before a
// byte of it leaves, and a refusal in plain text gets the shape of this API.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher; there is nobody to flush to yet.
func (a *answer) Flush() {}

// refusal is what the protocol's library said in plain text; nil for its messages.
func (a *answer) refusal() error {
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")) // none is no message
	if a.status < http.StatusBadRequest || media == "application/json" || media == "text/event-stream" {
		return nil
	}
	return errs.New(errs.KindOfStatus(a.status), "invalid_message", "%s", strings.TrimSpace(a.body.String())).At("body")
}

func (a *answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("Connection")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have gone
}
