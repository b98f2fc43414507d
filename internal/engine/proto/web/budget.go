package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const (
	maxScratch = 1 << 20 // capacity of buffers that are kept for the next body

	// How many times its length an answer may take: a head is kept as text, as fields and as templates see it; a body
	// grows in a buffer that is copied, and a coded one is kept as it comes until it is decoded.
	headFactor = 4
	bodyFactor = 2
	codeFactor = 3
	fieldBytes = 64 // of a header line, besides its text
)

// reserve makes the share of an exchange n bytes large. Waiting for memory is not the server's fault: conn, unless it
// is nil, gets the whole time again.
func (x *Exchange) reserve(ctx context.Context, conn *conn, n int64) error {
	if x.share == nil {
		x.share = x.client.memory.Share()
		runtime.AddCleanup(x, (*membudget.Share).Release, x.share)
	}
	wait := x.client.whole(&x.Request)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	waited, err := x.share.Grow(ctx, n)
	if err != nil || !waited || conn == nil {
		return err
	}
	return conn.until(time.Now().Add(wait))
}

// headMemory reserves memory for a head of which some bytes have come. One that may be long gets that of its body at
// the same time, so that it does not wait for more while it holds some.
func (x *Exchange) headMemory(ctx context.Context, conn *conn, came int) error {
	c := x.client
	need := membudget.Need(int64(came), headFactor*int64(c.cfg.MaxHead)+codeFactor*c.bodyLimit(&x.Request))
	if need == 0 {
		return nil
	}
	return x.reserve(ctx, conn, need)
}

// bodyMemory reserves memory while a body is collected.
type bodyMemory struct {
	ctx  context.Context
	conn *conn // nil when all is read
	x    *Exchange
	need int64 // the most that the body can take
}

func (m *bodyMemory) acquire(came int) error {
	need := membudget.Need(int64(came), m.need)
	if need == 0 {
		return nil
	}
	return m.x.reserve(m.ctx, m.conn, need)
}

// settle frees the memory that a complete answer does not need.
func (x *Exchange) settle() {
	if x.share == nil {
		return
	}
	keep := int64(len(x.Body))
	if len(x.raw) > membudget.Free {
		keep += headFactor*int64(len(x.raw)) + fieldBytes*x.fieldCount()
	}
	if keep <= membudget.Free {
		keep = 0
	}
	x.share.Shrink(keep)
}

func (x *Exchange) fieldCount() int64 {
	return int64(min(strings.Count(x.lines, "\n"), maxFields))
}

// collect reads src to its end and returns a slice of the exact size, at most limit bytes. size is the announced
// length or -1; it reserves little memory. With an error, the data is incomplete.
func (c *Client) collect(src io.Reader, size, limit int64, mem *bodyMemory) ([]byte, error) {
	if size >= 0 && size <= min(membudget.Free, limit) {
		data := make([]byte, size)
		n, err := io.ReadFull(src, data)
		return data[:n:n], err
	}
	b, ok := c.scratch.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	b.Reset()
	defer func() {
		if b.Cap() <= maxScratch {
			c.scratch.Put(b)
		}
	}()
	for {
		b.Grow(4 << 10)
		free := b.AvailableBuffer()
		free = free[:min(int64(cap(free)), limit-int64(b.Len())+1)]
		n, err := src.Read(free)
		b.Write(free[:n])
		switch over := int64(b.Len()) > limit; {
		case over:
			return bytes.Clone(b.Bytes()[:limit]), errTooLong
		case errors.Is(err, io.EOF):
			return bytes.Clone(b.Bytes()), nil
		case err != nil:
			return bytes.Clone(b.Bytes()), err
		}
		if err := mem.acquire(b.Len()); err != nil {
			return bytes.Clone(b.Bytes()), err
		}
	}
}
