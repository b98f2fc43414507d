package web

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// The bounds of an answer.
const (
	maxHead   = 256 << 10 // bytes of status line and header fields
	maxFields = 2000      // header fields that are kept
	maxBody   = 1 << 20   // bytes of a body, before and after it is unpacked
	maxInform = 8         // 1xx answers before the real one
)

var (
	errNotHTTP  = errors.New("what answered does not speak HTTP")
	errHead     = errors.New("the header of the answer is too long")
	errInformal = errors.New("only interim answers came")
)

// Field is one header field, the name in lower case.
type Field struct{ Name, Value string }

// Answer is a response. Servers that break the rules are read as far as a browser would.
type Answer struct {
	Proto  string // HTTP/1.1, ICY …; "HTTP/0.9" for a page without a header
	Status int
	Fields []Field // in their order
	Body   []byte  // unpacked, at most a mebibyte
	Length int64   // of the body as announced, or else as read
	Cut    string  // why the body is not whole; "" when it is

	ended bool // it was read to its end, and the server keeps the connection
	share *membudget.Share
}

// Release frees the memory that the answer counts for. Its body stays valid.
func (a *Answer) Release() { a.share.Release() }

// Get is the first field of a lower-case name, or "".
func (a *Answer) Get(name string) string {
	for _, f := range a.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// readAnswer reads one response to a GET. With an error there is nothing worth keeping; a body that breaks off
// is no error.
func readAnswer(ctx context.Context, r io.Reader, share *membudget.Share) (*Answer, error) {
	limited := &io.LimitedReader{R: r, N: maxHead}
	br := bufio.NewReader(limited)
	a, err := readHead(br, limited)
	if err != nil {
		return nil, err
	}
	limited.N = maxBody + 64<<10 // chunks and compression cost more than the body
	a.share = share
	runtime.AddCleanup(a, (*membudget.Share).Release, share)
	if a.Status != 204 && a.Status != 304 {
		a.readBody(ctx, br)
	}
	return a, nil
}

// readHead reads the status line and the fields, past interim answers.
func readHead(br *bufio.Reader, limited *io.LimitedReader) (*Answer, error) {
	for range maxInform {
		a := &Answer{Length: -1}
		start, err := br.Peek(5)
		if err != nil && len(start) == 0 {
			return nil, err
		}
		if page := bytes.ToLower(start); bytes.HasPrefix(page, []byte("<html")) || bytes.HasPrefix(page, []byte("<!doc")) {
			a.Proto, a.Status = "HTTP/0.9", 200
			return a, nil
		}
		line, err := readLine(br, limited)
		if err != nil {
			return nil, err
		}
		if !a.statusLine(line) {
			return nil, errNotHTTP
		}
		if err := a.readFields(br, limited); err != nil {
			return nil, err
		}
		if a.Status/100 != 1 || a.Status == 101 {
			return a, nil
		}
	}
	return nil, errInformal
}

func (a *Answer) statusLine(line string) bool {
	proto, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(proto, "HTTP") && proto != "ICY" || len(proto) > 16 {
		return false
	}
	rest = strings.TrimLeft(rest, " \t")
	digits := rest[:min(3, len(rest))]
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n < 100 {
		return false
	}
	a.Proto, a.Status = proto, int(n)
	return true
}

// readFields reads header fields up to the empty line or the end of the stream. Lines without a colon are skipped;
// a folded line continues the field before it.
func (a *Answer) readFields(br *bufio.Reader, limited *io.LimitedReader) error {
	for {
		line, err := readLine(br, limited)
		if line == "" {
			if errors.Is(err, errHead) {
				return err
			}
			return nil // its end, or the stream's
		}
		name, value, ok := strings.Cut(line, ":")
		switch {
		case (line[0] == ' ' || line[0] == '\t') && len(a.Fields) > 0:
			a.Fields[len(a.Fields)-1].Value += " " + strings.TrimSpace(line)
		case ok && len(a.Fields) < maxFields && strings.TrimSpace(name) != "":
			a.Fields = append(a.Fields, Field{strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)})
		}
		if err != nil {
			return nil //nolint:nilerr // the fields so far count
		}
	}
}

// readLine reads a line without its CR LF or LF. At the end of the stream it gives what there is, with the error;
// past the bound of a header, errHead.
func readLine(br *bufio.Reader, limited *io.LimitedReader) (string, error) {
	line, err := br.ReadString('\n')
	if err != nil && limited.N <= 0 {
		return "", errHead
	}
	return strings.TrimRight(line, "\r\n"), err
}

// readBody reads the body as its fields frame it, and decompresses it.
func (a *Answer) readBody(ctx context.Context, br *bufio.Reader) {
	var body io.Reader = br
	whole := func() bool { return false } // it ends with the connection
	switch length, err := strconv.ParseInt(a.Get("content-length"), 10, 64); {
	case strings.Contains(strings.ToLower(a.Get("transfer-encoding")), "chunked"):
		c := &chunks{br: br}
		body, whole = c, c.whole
	case err == nil && length >= 0:
		a.Length = length
		body, whole = io.LimitReader(br, length), func() bool { return br.Buffered() == 0 }
	}
	raw, err := a.share.ReadAll(ctx, body, maxBody+1)
	switch {
	case len(raw) > maxBody:
		raw, a.Cut = raw[:maxBody], "the body is longer than a mebibyte"
	case err != nil:
		a.Cut = "the body broke off: " + err.Error()
	case a.Length > int64(len(raw)):
		a.Cut = "the body is shorter than announced"
	}
	if a.Length < 0 {
		a.Length = int64(len(raw))
	}
	a.ended = a.Cut == "" && a.keeps() && whole()
	a.Body = a.unpack(ctx, raw)
}

// keeps reports whether the server takes another request on the connection.
func (a *Answer) keeps() bool {
	return a.Proto == "HTTP/1.1" && !strings.Contains(strings.ToLower(a.Get("connection")), "close")
}

// unpack undoes one content encoding, within the bound of a body.
func (a *Answer) unpack(ctx context.Context, raw []byte) []byte {
	var r io.Reader
	var err error
	switch strings.ToLower(a.Get("content-encoding")) {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(raw))
	case "br":
		r = brotli.NewReader(bytes.NewReader(raw))
	case "deflate":
		if r, err = zlib.NewReader(bytes.NewReader(raw)); err != nil {
			r, err = flate.NewReader(bytes.NewReader(raw)), nil // some servers send it without the zlib header
		}
	default:
		return raw
	}
	if err != nil {
		return raw
	}
	plain, err := a.share.ReadAll(ctx, r, maxBody+1)
	switch {
	case len(plain) > maxBody:
		plain, a.Cut = plain[:maxBody], "the body unpacks to more than a mebibyte"
	case err != nil && a.Cut == "":
		a.Cut = "the body cannot be unpacked whole"
	}
	return plain
}

// chunks reads a chunked body; bytes that are no chunks it gives as they are.
type chunks struct {
	br   *bufio.Reader
	left int64
	some bool // a chunk was read
	raw  bool // it is not chunked, whatever the header says
	done bool
}

const maxChunkLine = 1024

func (c *chunks) Read(p []byte) (int, error) {
	if c.raw {
		return c.br.Read(p)
	}
	for c.left == 0 {
		if c.done {
			return 0, io.EOF
		}
		if err := c.head(); err != nil {
			return 0, err
		}
		if c.raw {
			return c.br.Read(p)
		}
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *chunks) head() error {
	if !c.some {
		if b, err := c.br.Peek(1); err == nil && !isHex(b[0]) {
			c.raw = true
			return nil
		}
	}
	for range 2 { // the line end of the chunk before may come first
		line, err := c.br.ReadSlice('\n')
		if err != nil || len(line) > maxChunkLine {
			return io.ErrUnexpectedEOF
		}
		text, _, _ := strings.Cut(strings.TrimSpace(string(line)), ";")
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 16, 64)
		if err != nil || n < 0 {
			return io.ErrUnexpectedEOF
		}
		c.some, c.left, c.done = true, n, n == 0
		return nil
	}
	return io.ErrUnexpectedEOF
}

// whole reports whether all chunks came, with the body's end right after them.
func (c *chunks) whole() bool {
	rest, _ := c.br.Peek(c.br.Buffered())
	return c.done && string(rest) == "\r\n"
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
