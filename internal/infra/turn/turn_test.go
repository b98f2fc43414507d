package turn

import (
	"testing"
	"testing/synctest"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A channel of the bubble: the package's own is not of it.
		old := turns
		turns = make(chan struct{}, 2)
		defer func() { turns = old }()

		one, two := Take(long), Take(1<<20)
		third := make(chan func())
		go func() { third <- Take(long) }()
		Take(long - 1)() // is not kept waiting
		synctest.Wait()
		select {
		case <-third:
			t.Fatal("three at once")
		default:
		}
		one()
		(<-third)()
		two()
		if len(turns) != 0 {
			t.Errorf("%d turns are not given back", len(turns))
		}
	})
}
