package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	freeBody   = 64 << 10 // bytes of a body that do not count
	maxScratch = 1 << 20  // capacity of buffers that are kept for the next body
)

type budget struct {
	total int64
	left  *semaphore.Weighted
}

func newBudget(total int64) *budget {
	return &budget{total: total, left: semaphore.NewWeighted(total)}
}

// release frees what was granted, once.
func (b *budget) release(granted *atomic.Int64) {
	if n := granted.Swap(0); n > 0 {
		b.left.Release(n)
	}
}

type bodyMemory struct {
	client *Client
	ctx    context.Context
	conn   *conn // gets more time after a wait; nil when all is read
	x      *Exchange
	need   int64 // the most that the body can take
}

// acquire reserves memory for the whole body at once, so that no body waits while it holds some.
func (m *bodyMemory) acquire() error {
	if m.x.granted != nil {
		return nil
	}
	b := m.client.budget
	n := min(m.need, b.total)
	if !b.left.TryAcquire(n) {
		wait := m.client.whole(&m.x.Request)
		ctx, cancel := context.WithTimeout(m.ctx, wait)
		defer cancel()
		if err := b.left.Acquire(ctx, n); err != nil {
			return err
		}
		if m.conn != nil {
			if err := m.conn.until(time.Now().Add(wait)); err != nil { // waiting was not the server's fault
				b.left.Release(n)
				return err
			}
		}
	}
	granted := new(atomic.Int64)
	granted.Store(n)
	m.x.granted = granted
	runtime.AddCleanup(m.x, b.release, granted)
	return nil
}

// settle frees the memory that a complete body does not need.
func (x *Exchange) settle() {
	if x.granted == nil {
		return
	}
	keep := min(int64(len(x.Body)), x.granted.Load())
	if keep <= freeBody {
		keep = 0
	}
	x.client.budget.left.Release(x.granted.Swap(keep) - keep)
}

// collect reads src to its end and returns a slice of the exact size, at most limit bytes. size is the announced
// length or -1; it reserves little memory. With an error, the data is incomplete.
func (c *Client) collect(src io.Reader, size, limit int64, mem *bodyMemory) ([]byte, error) {
	if size >= 0 && size <= min(freeBody, limit) {
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
		case b.Len() > freeBody:
			if err := mem.acquire(); err != nil {
				return bytes.Clone(b.Bytes()), err
			}
		}
	}
}
