package shelf

import (
	"bytes"
	"fmt"
	"testing"
)

// TestShelf: a text stands for its key at its revision alone, and as long as somebody
// takes it at least once while a board is filled.
func TestShelf(t *testing.T) {
	var s Shelf[string, int, []byte]
	take := func(key string, rev int) string {
		return string(s.Take(1, func(int) (string, int) { return key, rev })[0])
	}
	if got := take("a", 1); got != "" {
		t.Errorf("an empty shelf has %q", got)
	}
	s.Put("a", 1, []byte("first"))
	s.Put("b", 1, []byte("other"))
	if take("a", 1) != "first" || take("a", 2) != "" || take("c", 1) != "" {
		t.Error("a text does not stand for its key and revision alone")
	}
	s.Put("a", 2, []byte("second"))
	if take("a", 1) != "" || take("a", 2) != "second" {
		t.Error("what changed still stands as it was")
	}
	got := s.Take(3, func(i int) (string, int) { return []string{"b", "c", "a"}[i], i%2 + 1 })
	if string(got[0]) != "other" || got[1] != nil || got[2] != nil {
		t.Errorf("several: %q", got)
	}

	big := bytes.Repeat([]byte("x"), BoardBytes/4)
	for i := range 20 { // b is taken all the time, a never again
		s.Put(fmt.Sprint("big", i), 1, big)
		if take("b", 1) != "other" {
			t.Fatalf("what is taken is gone after %d", i)
		}
	}
	if take("a", 2) != "" || take("big0", 1) != "" {
		t.Error("what nobody takes stays")
	}
	kept := 0
	for _, board := range []map[string]book[int, []byte]{s.new, s.old} {
		for _, b := range board {
			kept += len(b.text)
		}
	}
	if kept > 2*BoardBytes {
		t.Errorf("%d bytes are kept", kept)
	}
}
