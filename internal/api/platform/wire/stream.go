package wire

import (
	"io"
	"net/http"
	"time"
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
