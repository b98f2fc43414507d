// Package membudget bounds the memory of this process: the heap as a whole (Limit), and within it what outsiders can
// make large, the answers of servers. Who reads an answer takes a Share of the budget before it grows, and waits where
// none is left, so that many large answers at once take more time and not more memory.
package membudget

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// Free is how many bytes of an answer need no share: their number is bounded by that of connections.
	Free = 64 << 10
	// Step is the share in bytes of an answer that is not known to be long.
	Step = 1 << 20

	most = 256 << 20 // bytes of a process's budget for answers, however much memory it has
	part = 4         // of a process's memory: that part is for answers
)

// Budget is memory for answers. It is safe for any number of goroutines.
//
// Shares of at most Step come from a fourth of it, longer ones from the rest. A reader that turns out to need more
// waits for the rest while it holds a short share, and nobody waits for a short one while he holds a long one: so no
// two readers wait for each other.
type Budget struct {
	short, long pool
}

type pool struct {
	total int64
	left  *semaphore.Weighted
	kept  atomic.Int64 // bytes of complete answers, which their owners may keep for long
}

// init makes all of a pool free.
func (p *pool) init(total int64) { p.total, p.left = total, semaphore.NewWeighted(total) }

// New makes a budget of total bytes.
func New(total int64) *Budget {
	total = max(total, 4)
	b := &Budget{}
	b.short.init(total / 4)
	b.long.init(total - total/4)
	return b
}

// The budgets of this process: before Limit, and from then on.
var (
	unlimited = New(most)
	process   atomic.Pointer[Budget]
)

// Process is the budget that all of this process share: 256 MiB until Limit has set another.
func Process() *Budget { return cmp.Or(process.Load(), unlimited) }

// Limit bounds this process to memory bytes: the garbage collector keeps the heap below three fourths of it, and
// answers may hold one fourth of it, at most 256 MiB.
func Limit(memory int64) {
	debug.SetMemoryLimit(memory / 4 * 3)
	process.Store(New(min(memory/part, most)))
}

// Share is the part of a budget that somebody holds. It is safe for any number of goroutines. Release it at the end.
type Share struct {
	budget *Budget

	mu       sync.Mutex
	held     int64
	kept     bool // held is that of a complete answer
	from     *pool
	released int // how often all was given back
}

// Share holds nothing at first.
func (b *Budget) Share() *Share { return &Share{budget: b} }

// Grow makes the share n bytes large, or as large as a share can be; one that is larger, or longer than Step, stays as
// it is. It waits for memory until the end of ctx, whose error it returns, and says whether it had to wait.
// A share that is released meanwhile stays empty. Where complete answers that others keep leave no room, whoever reads
// now, the error is ErrKept after 3 s: those who keep them may wait for memory themselves.
func (s *Share) Grow(ctx context.Context, n int64) (waited bool, err error) {
	from := &s.budget.short
	if n > Step {
		from = &s.budget.long
	}
	n = min(n, from.total)
	s.mu.Lock()
	released, enough := s.released, n <= s.held || s.from == &s.budget.long
	s.mu.Unlock()
	if enough {
		return false, nil
	}
	if !from.left.TryAcquire(n) {
		waited = true
		if err := from.wait(ctx, n); err != nil {
			return waited, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released != released {
		from.left.Release(n)
		return waited, nil
	}
	s.free(0)
	s.held, s.from = n, from
	return waited, nil
}

// ErrKept is the error of an answer for which answers that templates keep leave no memory.
var ErrKept = errors.New("the answers that are kept leave no memory for this one")

// patience is how long a share is waited for before garbage is collected: shares may belong to what nobody uses any
// more, and a process that only waits makes no garbage that would start a collection.
const patience = 100 * time.Millisecond

// lastLook is how many looks at what is kept, each after a longer wait than the one before, find no room in the end.
const lastLook = 5 // 100 ms, 200 ms and so on: 3 s

func (p *pool) wait(ctx context.Context, n int64) error {
	for looks, pause := 1, patience; ; looks++ {
		if err := p.within(ctx, n, pause); err == nil || ctx.Err() != nil {
			return err
		}
		collect()
		if looks >= lastLook && p.kept.Load() > p.total-n {
			return ErrKept
		}
		pause = min(2*pause, time.Second*3)
	}
}

// within waits for a time.
func (p *pool) within(ctx context.Context, n int64, pause time.Duration) error {
	soon, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	err := p.left.Acquire(soon, n)
	return cmp.Or(ctx.Err(), err)
}

var collecting sync.Mutex

// collect collects garbage, once for all who wait at the same time.
func collect() {
	if collecting.TryLock() {
		defer collecting.Unlock()
		runtime.GC()
	}
}

// Shrink gives back all but n bytes, which are those of a complete answer.
func (s *Share) Shrink(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= 0 {
		s.released++
	}
	s.free(max(0, n))
	if s.held > 0 {
		s.kept = true
		s.from.kept.Add(s.held)
	}
}

// Release gives back all. Of several calls, the first counts; a nil share holds nothing.
func (s *Share) Release() {
	if s != nil {
		s.Shrink(0)
	}
}

// free gives back all but keep bytes. The caller holds mu.
func (s *Share) free(keep int64) {
	if s.kept {
		s.from.kept.Add(-s.held)
		s.kept = false
	}
	if s.held > keep {
		s.from.left.Release(s.held - keep)
		s.held = keep
	}
	if s.held == 0 {
		s.from = nil
	}
}

// ReadAll reads src to its end, or to limit bytes. Before more than Free bytes it makes the share as large as reading
// may need: three times what can come, as a buffer that grows is copied. The data before an error are returned, too;
// one of ctx may mean that no memory was free in time.
func (s *Share) ReadAll(ctx context.Context, src io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	for {
		b.Grow(4 << 10)
		free := b.AvailableBuffer()
		free = free[:min(int64(cap(free)), limit-int64(b.Len()))]
		if len(free) == 0 {
			return b.Bytes(), nil
		}
		n, err := src.Read(free)
		b.Write(free[:n])
		switch {
		case err == io.EOF:
			return b.Bytes(), nil
		case err != nil:
			return b.Bytes(), err
		case b.Len() > Free:
			if _, err := s.Grow(ctx, Need(int64(b.Len()), 3*limit)); err != nil {
				return b.Bytes(), err
			}
		}
	}
}

// Reader reads src and makes the share as large as an answer may need that takes whole bytes in the end, as a parser
// that keeps all of it does. The error is one of src, or that of ctx where no memory was free in time.
func (s *Share) Reader(ctx context.Context, src io.Reader, whole int64) io.Reader {
	return &counted{ctx: ctx, share: s, src: src, whole: whole}
}

type counted struct {
	ctx         context.Context //nolint:containedctx // that of the exchange, as a body's is
	share       *Share
	src         io.Reader
	whole, read int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	if c.read += int64(n); c.read > Free {
		if _, full := c.share.Grow(c.ctx, Need(c.read, c.whole)); full != nil {
			return 0, full
		}
	}
	return n, err
}

// Need is the share for an answer of which read bytes have come, and that may need whole bytes in the end.
func Need(read, whole int64) int64 {
	switch {
	case read <= Free:
		return 0
	case read <= Step/4:
		return min(whole, Step)
	}
	return whole
}
