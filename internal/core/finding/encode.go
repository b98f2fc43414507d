package finding

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const (
	pieceRows  = 1000    // findings of one statement at most
	pieceBytes = 1 << 20 // after which what was read goes on its way
	inAtOnce   = 100     // findings of the first statement, before it is known how large they are; numbers in any that lists them
)

// piece is what a reader has encoded.
type piece struct {
	bytes []byte
	rows  int
	err   error
}

// Encode reads the findings and hands to emit, in order, what encode appended for them,
// with how many they are. Several goroutines read and encode at once; emit is called by
// one, and no connection is held while it runs. What encode is given is good until it
// returns, what emit is given until that returns. Memory is bounded, however many and
// large the findings are. An error of either ends it.
func (s *Selection) Encode(ctx context.Context, encode func(dst []byte, d *Document) ([]byte, error), emit func(part []byte, rows int) error) error {
	work, ctx := errgroup.WithContext(ctx)
	turns := make(chan chan piece, runtime.GOMAXPROCS(0))
	used := make(chan []byte, 2*cap(turns)+2)
	var atOnce atomic.Int32
	atOnce.Store(inAtOnce)
	work.Go(func() error {
		defer close(turns)
		for part := range s.parts(&atOnce) {
			out := make(chan piece, 1) // most parts are one piece, and their readers need not wait for their turn
			select {
			case turns <- out:
			case <-ctx.Done():
				return ctx.Err()
			}
			work.Go(func() error {
				defer close(out)
				r := reader{Selection: s, encode: encode, out: out, used: used, atOnce: &atOnce}
				return r.read(ctx, part)
			})
		}
		return nil
	})
	work.Go(func() error {
		for out := range turns {
			for p := range out {
				if p.err != nil {
					return p.err
				}
				if err := emit(p.bytes, p.rows); err != nil {
					return err
				}
				select {
				case used <- p.bytes[:0]:
				default:
				}
			}
		}
		return nil
	})
	return work.Wait()
}

// parts are the numbers, the greatest first, as many at a time as one piece is thought to
// hold.
func (s *Selection) parts(atOnce *atomic.Int32) iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		for numbers := s.picked; len(numbers) > 0; {
			n := min(int(atOnce.Load()), len(numbers))
			if !yield(numbers[:n]) {
				return
			}
			numbers = numbers[n:]
		}
	}
}

// reader reads one part of a selection.
type reader struct {
	*Selection
	encode func([]byte, *Document) ([]byte, error)
	out    chan<- piece
	used   chan []byte
	atOnce *atomic.Int32 // how many findings a piece holds, as the last one tells
}

func (r reader) read(ctx context.Context, numbers []uint32) error {
	scratch := r.buffer()
	defer func() { r.giveBack(scratch) }()
	atOnce := len(numbers) // findings of the next statement, of which one piece is made
	for len(numbers) > 0 {
		query, args, asked := r.query(numbers[:min(atOnce, len(numbers))])
		var ends []int
		var err error
		if scratch, ends, err = r.fill(ctx, scratch[:0], numbers[:asked], query, args); err != nil {
			return r.send(ctx, piece{err: err})
		}
		if len(scratch) >= pieceBytes && asked > 1 {
			atOnce = asked / 2
			continue
		}
		if err := r.send(ctx, piece{bytes: turned(r.buffer(), scratch, ends), rows: len(ends)}); err != nil {
			return err
		}
		numbers = numbers[asked:]
		atOnce = max(1, min(pieceRows, asked*(pieceBytes*3/4)/max(len(scratch), 1)))
		r.atOnce.Store(int32(atOnce))
	}
	return nil
}

func (r reader) send(ctx context.Context, p piece) error {
	select {
	case r.out <- p:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// buffer is one that nobody uses any more, or a new one.
func (r reader) buffer() []byte {
	select {
	case b := <-r.used:
		return b
	default:
		return nil
	}
}

func (r reader) giveBack(b []byte) {
	select {
	case r.used <- b[:0]:
	default:
	}
}

// fill encodes the findings of these numbers, the oldest first, for a system reads a file
// ahead that is read forwards. It stops where there is more than a piece holds. ends are
// where the findings end.
func (r reader) fill(ctx context.Context, dst []byte, numbers []uint32, query string, args []any) (filled []byte, ends []int, err error) {
	var d Document
	i := len(numbers) - 1
	for row, err := range r.fs.db.Rows(ctx, query, args...) {
		if err == nil {
			err = d.read(row)
		}
		if err != nil {
			return dst, nil, err
		}
		for i >= 0 && numbers[i] < d.no { // deleted meanwhile
			i--
		}
		if i < 0 || numbers[i] != d.no { // not picked
			continue
		}
		if dst, err = r.encode(dst, &d); err != nil {
			return dst, nil, err
		}
		if ends = append(ends, len(dst)); len(dst) >= pieceBytes {
			break
		}
	}
	return dst, ends, nil
}

// turned appends what ends at these places, the last first.
func turned(dst, from []byte, ends []int) []byte {
	for i, end := range slices.Backward(ends) {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		dst = append(dst, from[start:end]...)
	}
	return dst
}

// query asks for the first of the numbers: for all between two where that is hardly more,
// else for each by its number. Both tables are told the two and how many rows there can be:
// PostgreSQL then walks them side by side, and does not look each document up, or begin
// other processes for what it takes for more than it is.
func (r reader) query(numbers []uint32) (query string, args []any, asked int) {
	exchange := `, d.exchange`
	if r.brief {
		exchange = `, NULL`
	}
	query = `SELECT ` + documentColumns + exchange + tables + ` WHERE f.team_id = ? AND f.no `
	if span := int(numbers[0]-numbers[len(numbers)-1]) + 1; span <= 2*len(numbers) {
		from, to := numbers[len(numbers)-1], numbers[0]
		return query + `BETWEEN ? AND ? AND d.no BETWEEN ? AND ? ORDER BY f.no LIMIT ` + strconv.Itoa(2*pieceRows), []any{r.teamID, from, to, from, to}, len(numbers)
	}
	numbers = numbers[:min(inAtOnce, len(numbers))]
	return query + `IN (?` + strings.Repeat(", ?", len(numbers)-1) + `) ORDER BY f.no`, append([]any{r.teamID}, anys(numbers)...), len(numbers)
}
