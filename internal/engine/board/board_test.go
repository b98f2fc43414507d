package board_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/board"
)

func read(memory []byte) (all []string) {
	board.Read(memory, func(_ int, w board.Work) { all = append(all, fmt.Sprint(w.Template, w.Waiting)) })
	return all
}

func TestABoardShowsWhoWorksForWhat(t *testing.T) {
	memory := make([]byte, board.Size)
	b := board.New(memory)
	w := b.Numbered([]int{7, 9}).Take()
	for want, do := range map[string]func(){
		"[]":        func() { w.Idle() },
		"[9 false]": func() { w.At(1) },
		"[7 true]":  func() { w.Waits(0) },
	} {
		if do(); fmt.Sprint(read(memory)) != want {
			t.Errorf("%v, want %s", read(memory), want)
		}
	}
	w.At(0)
	other := w.Beside(1)
	b.Compile(3, func() {
		if n := len(read(memory)); n != 3 {
			t.Errorf("%d work, want 3", n)
		}
	})
	ctx := board.With(t.Context(), w)
	if board.Of(ctx) != w || board.Of(board.With(ctx, nil)) != nil || board.Of(context.Background()) != nil {
		t.Error("the worker of a context")
	}
	other.Release()
	w.Release()
	if got := read(memory); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// Each change of a place can be told from the one before, by whoever looks now and then.
func TestChangesCount(t *testing.T) {
	memory := make([]byte, board.Size)
	w := board.New(memory).Take()
	seen := map[board.Work]bool{}
	for range 3 {
		w.At(5)
		board.Read(memory, func(_ int, w board.Work) { seen[w] = true })
	}
	if len(seen) != 3 {
		t.Errorf("%d different, want 3", len(seen))
	}
}

// Without a board, and with more goroutines than places, work goes on unseen.
func TestWorkGoesOnWithoutAPlace(t *testing.T) {
	var none *board.Board
	w := none.Numbered(nil).Take()
	w.At(1)
	w.Waits(1)
	w.Idle()
	w.Beside(2).Release()
	w.Release()
	b := board.New(make([]byte, board.Size))
	var all sync.WaitGroup
	for range 5000 {
		all.Go(func() { b.Take().At(1) })
	}
	all.Wait()
	if b.Take() != nil {
		t.Error("there is a place left")
	}
}
