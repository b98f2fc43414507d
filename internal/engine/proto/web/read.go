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
func read(in *http.Response, limit int64) (data []byte, truncated bool) {
	data, truncated = readAll(in.Body, in.ContentLength, limit)
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
	decoded, more := readAll(r, -1, limit)
	return decoded, truncated || more
}

// readAll reads at most limit bytes; more is true when the source went on or broke off.
// size is a hint, -1 when unknown: no more than a page is set aside on a server's word.
func readAll(from io.Reader, size, limit int64) (data []byte, more bool) {
	const page = 64 << 10
	var b bytes.Buffer
	if size > 0 {
		b.Grow(int(min(size, limit, page)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(from, limit+1))
	if n > limit {
		return b.Bytes()[:limit], true
	}
	return b.Bytes(), err != nil
}
