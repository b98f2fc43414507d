// Package board shows which template each goroutine of a scan works for, in memory that another process may share:
// when this one dies or hangs, the other sees during whose work.
package board

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// Board has a place for each goroutine of a scan that works for a template.
type Board struct {
	places []place
	free   chan *place

	numbers []int // what Read calls the programs of a scan; nil: by their index
}

// place is what one goroutine works for. Each stands on a cache line of its own.
type place struct {
	value atomic.Uint64
	_     [placeSize - 8]byte
}

const placeSize = 64

// Size is the size of the memory that New wants, in bytes.
const Size = 4096 * placeSize

// New makes a board in shared memory of Size bytes, aligned to 8.
func New(memory []byte) *Board {
	b := &Board{places: placesIn(memory)}
	b.free = make(chan *place, len(b.places))
	for i := range b.places {
		b.free <- &b.places[i]
	}
	return b
}

func placesIn(memory []byte) []place {
	if len(memory) < placeSize {
		return nil
	}
	//nolint:gosec // shared memory has no type; a place is valid whatever its bytes are
	return unsafe.Slice((*place)(unsafe.Pointer(&memory[0])), len(memory)/placeSize)
}

// Numbered is the board for a scan whose programs Read calls by these numbers.
func (b *Board) Numbered(numbers []int) *Board {
	if b == nil {
		return nil
	}
	return &Board{places: b.places, free: b.free, numbers: numbers}
}

// number is what Read calls a program, plus one.
func (b *Board) number(program int) uint64 {
	if b.numbers != nil {
		program = b.numbers[program]
	}
	return uint64(program + 1)
}

// Work is a piece of work that a board shows. Two of one place are different when anything else is.
type Work struct {
	Template int    // the index of the program in the scan, or the number that Numbered gave it
	Waiting  bool   // for a response, or for whoever takes events
	Count    uint32 // grows with each change of the place
}

// The parts of a place's value, from the highest bits: the count, whether it waits, the template plus one.
const (
	countShift = 32
	waitingBit = 1 << 31
)

// Read calls each with the number of every place in memory where somebody works, and the work.
func Read(memory []byte, each func(place int, w Work)) {
	places := placesIn(memory)
	for i := range places {
		value := places[i].value.Load()
		if template := uint32(value) &^ waitingBit; template > 0 {
			each(i, Work{int(template - 1), value&waitingBit != 0, uint32(value >> countShift)})
		}
	}
}

// Worker is a goroutine on a board. The methods of a nil Worker do nothing.
type Worker struct {
	board *Board
	place *place
	count uint64
}

// Take takes a free place; nil when there is none.
func (b *Board) Take() *Worker {
	if b == nil {
		return nil
	}
	select {
	case p := <-b.free:
		return &Worker{board: b, place: p, count: p.value.Load() >> countShift}
	default:
		return nil
	}
}

func (w *Worker) set(low uint64) {
	w.count++
	w.place.value.Store(w.count<<countShift | low)
}

// At shows that the goroutine computes for a template.
func (w *Worker) At(template int) {
	if w != nil {
		w.set(w.board.number(template))
	}
}

// Waits shows that it waits for others, in the work for a template.
func (w *Worker) Waits(template int) {
	if w != nil {
		w.set(w.board.number(template) | waitingBit)
	}
}

// Idle shows that it works for no template.
func (w *Worker) Idle() {
	if w != nil {
		w.set(0)
	}
}

// Release gives the place back.
func (w *Worker) Release() {
	if w != nil {
		w.Idle()
		w.board.free <- w.place
	}
}

// Beside is a worker for another goroutine, which computes for the template.
func (w *Worker) Beside(template int) *Worker {
	if w == nil {
		return nil
	}
	other := w.board.Take()
	other.At(template)
	return other
}

// Compile shows on the board that fn, which compiles, works for a template.
func (b *Board) Compile(template int, fn func()) {
	w := b.Take()
	defer w.Release()
	w.At(template)
	fn()
}

// workerKey is the context key of a goroutine's worker.
type workerKey struct{}

// With is ctx for the goroutine of a worker, which may be nil.
func With(ctx context.Context, w *Worker) context.Context {
	if w == Of(ctx) {
		return ctx
	}
	return context.WithValue(ctx, workerKey{}, w)
}

// Of is the worker of the goroutine that ctx was made for; nil without a board.
func Of(ctx context.Context) *Worker {
	w, _ := ctx.Value(workerKey{}).(*Worker)
	return w
}
