package web

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
)

// body is what net/http wants to send.
type body = io.ReadCloser

func newBody(s string) body { return io.NopCloser(strings.NewReader(s)) }

// fill takes over what the header says.
func (r *Response) fill(in *http.Response) {
	r.Status, r.Header, r.TLS = in.StatusCode, in.Header, in.TLS
	r.Line = in.Proto + " " + in.Status
	r.length, r.close = in.ContentLength, in.Close
	r.chunked = len(in.TransferEncoding) > 0 && in.TransferEncoding[0] == "chunked"
}

// read reads a body, at most limit bytes of it, and decodes it, to at most limit bytes.
// A body that breaks off is kept as far as it came; one that says it is compressed and
// is not is kept as it is. truncated is true when there was, or should be, more.
func (c *Client) read(in *http.Response, limit int64) (data []byte, truncated bool) {
	data, truncated = c.readAll(in.Body, limit)
	if len(data) == 0 {
		return data, truncated
	}
	var r io.Reader
	var err error
	switch strings.ToLower(strings.TrimSpace(in.Header.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(data))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(data))
	default:
		return data, truncated
	}
	if err != nil {
		return data, truncated
	}
	decoded, more := c.readAll(r, limit)
	return decoded, truncated || more
}

// maxSpare is the largest buffer that is kept for the next body.
const maxSpare = 1 << 20

// readAll reads at most limit bytes; more is true when the source went on or broke off.
// It reads into a spare buffer and keeps a copy of the exact size: a server's word
// about a length sets no memory aside.
func (c *Client) readAll(from io.Reader, limit int64) (data []byte, more bool) {
	b, ok := c.spare.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	b.Reset()
	n, err := b.ReadFrom(io.LimitReader(from, limit+1))
	data = bytes.Clone(b.Bytes()[:min(n, limit)])
	if b.Cap() <= maxSpare {
		c.spare.Put(b)
	}
	return data, err != nil || n > limit
}
