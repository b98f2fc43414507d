package proto_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto"
)

// A script that runs is waited for; who waits has its result if it is kept, and runs it otherwise.
func TestScriptsRunOnce(t *testing.T) {
	for _, kept := range []bool{true, false} {
		s, args := proto.NewScripts(1), map[string]any{"n": 1}
		begun, finish, second := make(chan struct{}), make(chan struct{}), make(chan any)
		go s.Once(t.Context(), "source", args, func() (any, int, bool) {
			close(begun)
			<-finish
			return "first", 5, kept
		})
		<-begun
		go func() {
			second <- s.Once(t.Context(), "source", args, func() (any, int, bool) { return "second", 6, false })
		}()
		ended, end := context.WithCancel(t.Context())
		end()
		for name, other := range map[string]any{
			"ended":          s.Once(ended, "source", args, func() (any, int, bool) { return "own", 3, false }),
			"other argument": s.Once(t.Context(), "source", map[string]any{"n": 2}, func() (any, int, bool) { return "own", 3, false }),
			"other source":   s.Once(t.Context(), "other", args, func() (any, int, bool) { return "own", 3, false }),
		} {
			if other != "own" {
				t.Errorf("%s: %v", name, other)
			}
		}
		close(finish)
		want := "second"
		if kept {
			want = "first"
		}
		if got := <-second; got != want {
			t.Errorf("kept %v: %v, want %s", kept, got, want)
		}
	}
}

// What is kept is bounded: large results are not, and the oldest go.
func TestKeptScriptsAreBounded(t *testing.T) {
	s := proto.NewScripts(1)
	ran := func(source string, size int) (again bool) {
		s.Once(t.Context(), source, nil, func() (any, int, bool) { again = true; return 1, size, true })
		return again
	}
	if ran("large", 1<<20); !ran("large", 1<<20) {
		t.Error("a large result is kept")
	}
	for n := range 100 {
		if ran(fmt.Sprint(n), 1); ran(fmt.Sprint(n), 1) {
			t.Errorf("%d is not kept", n)
		}
	}
	if !ran("0", 1) {
		t.Error("100 results are kept")
	}
}
