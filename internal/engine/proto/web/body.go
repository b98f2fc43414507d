package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// maxDrain is how much of an unwanted body is read to keep its connection.
const maxDrain = 32 << 10

// receive reads the response. again is true when the connection can carry another exchange; an error means that no
// head came.
func (c *Client) receive(ctx context.Context, cn *conn, x *Exchange) (again bool, err error) {
	if err := c.receiveHead(ctx, cn, x); err != nil {
		if cn.ended.Load() { // the server has waited, and then closed the connection
			return false, &Error{Kind: KindTimeout, Err: os.ErrDeadlineExceeded}
		}
		if x.Request.Raw != nil && err.Kind == KindReset {
			return false, x.refuse()
		}
		return false, err
	}
	x.Duration = time.Since(x.At)
	f, method := &x.framing, x.Request.method()
	if x.Request.ReadAll {
		f.length, f.chunked, f.single = -1, false, true
	}
	tunnel := method == "CONNECT" && x.Status/100 == 2 && f.length < 0 && !f.chunked
	if noBody(method, x.Status) || tunnel {
		x.settle()
		return !f.single && !tunnel && x.Status != 101 && cn.start == cn.end, nil
	}
	whole := c.receiveBody(ctx, cn, x)
	return whole && !f.single && (f.chunked || f.length >= 0) && cn.start == cn.end, nil
}

// receiveHead reads heads until one is final.
func (c *Client) receiveHead(ctx context.Context, cn *conn, x *Exchange) *Error {
	for range maxInterim {
		head, err := cn.head(c.cfg.MaxHead, func(came int) error { return x.headMemory(ctx, cn, came) })
		if err != nil {
			return failure(err)
		}
		if x.framing, err = x.parseHead(head); err != nil {
			return failure(err)
		}
		if x.Status/100 != 1 || x.Status == 101 {
			return nil
		}
	}
	return &Error{Kind: KindMalformed, Err: errors.New("interim answers without end")}
}

// refuse makes the response for a reset instead of one (template language 2.4).
func (x *Exchange) refuse() (err error) {
	x.framing, err = x.parseHead([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
	x.Duration = time.Since(x.At)
	return err
}

// receiveBody reads and decodes the body. whole is true if it ended properly.
func (c *Client) receiveBody(ctx context.Context, cn *conn, x *Exchange) (whole bool) {
	f := &x.framing
	limit := c.bodyLimit(&x.Request)
	if f.length >= 0 && f.length <= int64(cn.end-cn.start) && f.length <= min(limit, membudget.Free) {
		x.Body = append(make([]byte, 0, f.length), cn.unread()[:f.length]...)
		cn.start += int(f.length)
		whole = true
	} else {
		mem := &bodyMemory{ctx: ctx, conn: cn, x: x, need: bodyFactor * limit}
		switch {
		case f.encoding != "":
			mem.need = codeFactor * limit
		case f.length >= 0:
			mem.need = bodyFactor * min(f.length, limit)
		}
		src := &bodyReader{conn: cn, left: f.length, chunked: f.chunked}
		if x.Request.ReadAll {
			src.quiet, src.end = c.cfg.Timeout/2, x.At.Add(c.whole(&x.Request))
		}
		var err error
		x.Body, err = c.collect(src, f.length, limit, mem)
		x.Truncated = err != nil
		whole = err == nil || errors.Is(err, errTooLong) && src.drain()
	}
	c.decode(ctx, x, limit)
	x.settle()
	return whole
}

// bodyLimit is how many bytes of a body are kept.
func (c *Client) bodyLimit(r *Request) int64 {
	if r.MaxBody > 0 {
		return min(c.cfg.MaxBody, r.MaxBody)
	}
	return c.cfg.MaxBody
}

// Why a body is incomplete.
var (
	errTooLong  = errors.New("the body is longer than wanted")
	errBadChunk = errors.New("malformed chunk")
)

// bodyReader reads the body of one response. It ends with io.EOF, or another error if the body is incomplete.
type bodyReader struct {
	*conn

	left    int64 // of the body or chunk; -1: until the connection ends
	chunked bool
	began   bool // a chunk did
	over    bool

	// quiet, if set, ends a body that lasts until the connection ends after such a silence; end is the latest end.
	quiet time.Duration
	end   time.Time
}

// Read reads the next bytes of the body.
func (b *bodyReader) Read(p []byte) (int, error) {
	if b.chunked && !b.over && (!b.began || b.left == 0) {
		if err := b.nextChunk(); errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF
		} else if err != nil {
			return 0, err
		}
	}
	if b.over || b.left == 0 {
		return 0, io.EOF
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	silence := time.Now().Add(b.quiet)
	if b.quiet > 0 && silence.Before(b.end) {
		if err := b.until(silence); err != nil {
			return 0, err
		}
	}
	n, err := b.conn.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	switch {
	case n > 0:
		return n, nil
	case b.quiet > 0 && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(b.end):
		return 0, io.EOF
	case b.left < 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return 0, io.EOF // over TLS, many forget to say goodbye
	case errors.Is(err, io.EOF):
		return 0, io.ErrUnexpectedEOF
	case err == nil:
		return 0, io.ErrNoProgress
	}
	return 0, err
}

// nextChunk reads the end of a chunk and the size of the next one; after the last chunk, the trailers.
func (b *bodyReader) nextChunk() error {
	if b.began {
		if line, err := b.line(); err != nil || line != "" {
			return errors.Join(errBadChunk, err)
		}
	}
	b.began = true
	line, err := b.line()
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	if b.left, err = strconv.ParseInt(trimBlanks(size), 16, 64); err != nil || b.left < 0 {
		b.left = 0
		return errBadChunk
	}
	if b.left > 0 {
		return nil
	}
	b.over = true
	for rest := maxTrailers; rest > 0; rest -= len(line) + 1 {
		if line, err = b.line(); err != nil || line == "" {
			return err
		}
	}
	return errBadChunk
}

func (b *bodyReader) line() (string, error) {
	for scanned := 0; ; {
		if i := bytes.IndexByte(b.unread()[scanned:], '\n'); i >= 0 {
			line := string(b.unread()[:scanned+i])
			b.start += scanned + i + 1
			return strings.TrimSuffix(line, "\r"), nil
		}
		if scanned = len(b.unread()); scanned > maxLine {
			return "", errBadChunk
		}
		if err := b.fill(bufferSize); err != nil {
			return "", err
		}
	}
}

// drain reads the rest of a cut body, if it is small, and reports whether the body is over.
func (b *bodyReader) drain() bool {
	var bin [4 << 10]byte
	for total := 0; total <= maxDrain && b.left >= 0 && b.left <= maxDrain; {
		n, err := b.Read(bin[:])
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		total += n
	}
	return false
}
