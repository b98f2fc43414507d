package wire

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// WritePage writes a page whose rows are written already: head is an object of what it has
// besides them.
func WritePage[T ~[]byte](w io.Writer, head any, rows []T) (int64, error) {
	rest, err := json.Marshal(head)
	if err != nil {
		return 0, err
	}
	size := int64(0)
	out := bufio.NewWriterSize(w, pageBuffer)
	put := func(part []byte) {
		n, _ := out.Write(part) // an error stays until Flush
		size += int64(n)
	}
	put(rest[:len(rest)-1])
	put([]byte(`,"data":[`))
	for i, r := range rows {
		if i > 0 {
			put([]byte{','})
		}
		put(r)
	}
	put([]byte("]}\n"))
	return size, out.Flush()
}

// pageBuffer is what of a page is put together before it is sent, in bytes: a page as a
// whole, a thousand times a second, is more garbage than all else that a list makes.
const pageBuffer = 32 << 10

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
