package shelf

import (
	"testing"
	"time"
)

func TestKeptForgetsTheIdle(t *testing.T) {
	var k Kept[*int]
	made := 0
	begin := func() *int { made++; return new(made) }
	now := time.Now()
	a := k.Of("a", now, begin)
	if k.Of("a", now.Add(IdleAfter), begin) != a || made != 1 {
		t.Error("a value that is asked for is made anew")
	}
	b := k.Of("b", now.Add(2*IdleAfter), begin)
	if b == a || !k.Has("a") || !k.Has("b") {
		t.Error("teams share a value, or one was forgotten too early")
	}
	k.Of("b", now.Add(2*IdleAfter+1), begin)
	if k.Has("a") || !k.Has("b") || k.Has("c") {
		t.Error("the idle one is not forgotten, or another is")
	}
}
