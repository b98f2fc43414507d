// Package turn keeps a processor free for short work while others compute for long.
//
// A goroutine that computes without a break keeps its processor for 10 ms, and while all processors are taken, nobody
// looks at the network: an answer of PostgreSQL waits as long, and a request that asks five times takes 50 ms. So
// whoever reads a large text of a client takes a turn for it, and there is one turn fewer than processors. A turn is
// for computing alone: who waits for something else, or for another turn, must not hold one.
package turn

import "runtime"

// long is the size in bytes from which a text needs a turn; shorter ones are read in some 0.1 ms.
const long = 8 << 10

var turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// Take waits for a turn to read a text of size bytes, and returns what ends the turn.
func Take(size int) (done func()) {
	if size < long {
		return func() {}
	}
	turns <- struct{}{}
	return func() { <-turns }
}
