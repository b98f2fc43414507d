package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Limits of reading.
const (
	bufferSize   = 8 << 10  // of a reading buffer at first
	bigWrite     = 64 << 10 // a socket may not accept more at once, so responses must be read meanwhile
	maxInterim   = 32       // interim responses (1xx) before the real one
	maxDuplicate = 8        // further status lines directly after the first
	maxLine      = 4 << 10  // of a chunk size or of a trailer
	maxTrailers  = 64 << 10
)

// conn is one connection to a server, used by one exchange at a time.
type conn struct {
	net.Conn // TLS or plain

	origin origin
	socket net.Conn // what was dialled
	tls    *tls.ConnectionState
	ip     string
	client *Client
	served int       // exchanges that it carried before
	since  time.Time // idle since

	prev, next *conn // in the ring of the pool, while idle

	box        *[]byte // from Client.buffers, while in use
	buf        []byte  // *box, or a longer one for a long head
	start, end int     // of what is read and not consumed

	sending chan struct{} // closed when a large request is written; nil for others
	sendErr error         // of writing, once that is over

	ended atomic.Bool // endRequest was called

	done    <-chan struct{} // of the context that is watched
	unwatch func() bool

	mu     sync.Mutex // guards the deadline against the watch
	ctxErr error      // why the watched context ended; no more deadlines are set
}

// watch interrupts reading and writing when ctx ends. It stays while the context is the same, to save time.
func (c *conn) watch(ctx context.Context) {
	done := ctx.Done()
	if c.done == done {
		return
	}
	c.forget()
	c.mu.Lock()
	c.ctxErr, c.done = nil, done
	c.mu.Unlock()
	if done == nil {
		return
	}
	c.unwatch = context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.done == done {
			c.ctxErr = ctx.Err()
			_ = c.SetDeadline(time.Unix(1, 0))
		}
	})
}

func (c *conn) forget() {
	if c.unwatch == nil {
		return
	}
	c.unwatch()
	c.mu.Lock()
	c.done, c.unwatch = nil, nil
	c.mu.Unlock()
}

// ready prepares for an exchange that ends at a time or with ctx.
func (c *conn) ready(ctx context.Context, end time.Time) error {
	c.watch(ctx)
	c.borrow()
	return c.until(end)
}

// until sets the deadline unless the context has ended.
func (c *conn) until(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctxErr != nil {
		return c.ctxErr
	}
	return c.SetDeadline(t)
}

func (c *conn) close() {
	c.forget()
	_ = c.Close()
	c.client.stats.open.Add(-1)
	c.release()
}

// borrow gets a reading buffer; release puts it back.
func (c *conn) borrow() {
	if c.box == nil {
		var ok bool
		if c.box, ok = c.client.buffers.Get().(*[]byte); !ok {
			b := make([]byte, bufferSize)
			c.box = &b
		}
		c.buf, c.start, c.end = *c.box, 0, 0
	}
}

func (c *conn) release() {
	if c.box != nil {
		c.client.buffers.Put(c.box)
		c.box, c.buf = nil, nil
	}
}

// stale reports, without waiting, whether an idle connection was closed by the server or has unrequested data. It is
// false when that is unknown.
func (c *conn) stale() bool {
	sc, ok := c.socket.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) { // unlike Read, it ignores the last deadline
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return gone || err != nil
}

// send writes a request. A large one is written while the response is read: a server may answer before it has read
// everything, and would block.
func (c *conn) send(out []byte) {
	if len(out) <= bigWrite {
		_, c.sendErr = c.Write(out)
		return
	}
	c.sending = make(chan struct{})
	go func(over chan struct{}) {
		defer close(over)
		_, c.sendErr = c.Write(out)
	}(c.sending)
}

// sent reports whether the request was written completely. Reading reports errors of writing, too, where the server
// may have explained them.
func (c *conn) sent() bool {
	if c.sending != nil {
		select {
		case <-c.sending:
			c.sending = nil
		default:
			return false
		}
	}
	return c.sendErr == nil
}

// endRequest tells a server that waits for the rest of a request that there is none, so that it need not be waited for:
// it answers or closes the connection.
func (c *conn) endRequest() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		c.ended.Store(true)
		_ = half.CloseWrite() // a connection that is gone is noticed by who reads
	}
}

func (c *conn) finish() {
	c.close()
	if c.sending != nil {
		<-c.sending
	}
}

// unread is what was read but not consumed.
func (c *conn) unread() []byte { return c.buf[c.start:c.end] }

// fill reads more data after the unread, into a buffer of at most limit bytes.
func (c *conn) fill(limit int) error {
	if c.end == len(c.buf) && c.start > 0 {
		c.end = copy(c.buf, c.buf[c.start:c.end])
		c.start = 0
	}
	if c.end == len(c.buf) {
		if len(c.buf) >= limit {
			return errHeadTooLong
		}
		c.buf = append(make([]byte, 0, 2*len(c.buf)), c.buf...)
		c.buf = c.buf[:cap(c.buf)]
	}
	n, err := c.Conn.Read(c.buf[c.end:])
	c.end += n
	c.client.stats.in.Add(int64(n))
	if n > 0 {
		return nil // an error comes again with the next read
	}
	if err == nil {
		return os.ErrDeadlineExceeded // never poll a reader that returns nothing
	}
	return err
}

// Read reads data, from the buffer first.
func (c *conn) Read(p []byte) (int, error) {
	if c.start < c.end {
		n := copy(p, c.buf[c.start:c.end])
		c.start += n
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.client.stats.in.Add(int64(n))
	return n, err
}

// errHeadTooLong is the error for a head above Config.MaxHead.
var errHeadTooLong = errors.New("the header does not end")

// head reads a head, through the empty line. The bytes are valid until the next read. It fails as soon as the data
// cannot be HTTP. room is called with the number of bytes before more are read.
func (c *conn) head(limit int, room func(came int) error) ([]byte, error) {
	begun := false        // a line that is not empty came
	line, scanned := 0, 0 // offsets in unread: the line, and the search for its end
	for skipped := 0; ; {
		i := bytes.IndexByte(c.unread()[scanned:], '\n')
		if i < 0 {
			scanned = len(c.unread())
			if err := room(scanned); err != nil {
				return nil, err
			}
			if err := c.more(limit); err != nil {
				return nil, err
			}
			continue
		}
		end := scanned + i
		empty := end == line || end == line+1 && c.unread()[line] == '\r'
		line, scanned = end+1, end+1
		switch {
		case empty && begun:
			head := c.unread()[:line]
			c.start += line
			return head, nil
		case empty: // left over from the response before
			if skipped += line; skipped > maxLine {
				return nil, errHeadTooLong
			}
			c.start += line
			line, scanned = 0, 0
		default:
			begun = true
		}
	}
}

// more reads more of a head, if the data can be one.
func (c *conn) more(limit int) error {
	if err := notHTTP(c.unread()); err != nil {
		return err
	}
	if err := c.fill(limit); err != nil {
		e := failure(err)
		e.silent = c.start == c.end
		return e
	}
	return nil
}

// notHTTP is the error for bytes that cannot begin a response.
func notHTTP(b []byte) error {
	if len(b) > 0 && b[0] == 0 && len(b) < frameHeader {
		return nil // it takes more to tell HTTP/2 from nonsense
	}
	const word = "HTTP/"
	for i, c := range b[:min(len(b), len(word))] {
		if i == 0 && (c == '\r' || c == '\n') {
			break // blank lines may come first
		}
		if c&^0x20 != word[i]&^0x20 {
			err := fmt.Errorf("the answer is no HTTP: %q", errs.Clip(string(b), maxQuoted))
			return &Error{Kind: KindMalformed, http2: isFrame(b), Err: err}
		}
	}
	return nil
}
