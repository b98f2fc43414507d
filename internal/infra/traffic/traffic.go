// Package traffic has what is captured of HTTP requests to targets: an Exchange, and a Queue that takes exchanges from
// who sends requests and hands them, in batches, to who stores them. A full queue drops what comes, and counts it:
// nobody who sends waits for it.
package traffic

import (
	"sync"
	"time"
)

// The most that is kept of a message, in bytes, head and body.
const (
	MaxRequest  = 64 << 10
	MaxResponse = 128 << 10
)

// Exchange is a request that was sent, and what was answered.
type Exchange struct {
	At          time.Time
	Took        time.Duration // until the head of the answer was read
	Tool        string        // what sent it, such as templates or http_request
	Method      string
	URL         string
	IP          string // that answered, if it is known
	Status      int    // 0: there was no answer
	Request     []byte // as it was sent: head, empty line, body
	Response    []byte // the same; its body is decoded
	RequestCut  bool   // there was more of Request
	ResponseCut bool
	Error       string // why there was no answer
}

// Message joins a head and a body to at most most bytes of its own. cut says that there was more.
func Message(head, body []byte, most int) (message []byte, cut bool) {
	message = make([]byte, 0, min(len(head)+len(body), most))
	message = append(message, head[:min(len(head), most)]...)
	message = append(message, body[:min(len(body), most-len(message))]...)
	return message, len(message) < len(head)+len(body)
}

// Size is about how much memory it takes.
func (x *Exchange) Size() int {
	return len(x.Request) + len(x.Response) + len(x.URL) + len(x.Error) + overhead
}

const (
	overhead = 256 // bytes of an exchange besides its texts

	queueMost  = 4096     // exchanges that wait
	queueBytes = 16 << 20 // of them
	batchMost  = 256      // exchanges that are handed over at once
	batchBytes = 2 << 20
)

// Queue takes exchanges from any goroutine and hands them to one function. Make it with NewQueue.
type Queue struct {
	store func(batch []Exchange, dropped int64)
	done  chan struct{}
	wake  chan struct{}

	mu      sync.Mutex
	waiting []Exchange
	bytes   int
	dropped int64 // that nobody was told of
	closed  bool
}

// NewQueue makes a queue. store gets batches in the order in which they came, one call at a time, and how many
// exchanges were dropped since the last call.
func NewQueue(store func(batch []Exchange, dropped int64)) *Queue {
	q := &Queue{store: store, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go q.run()
	return q
}

// Add takes an exchange, or drops it where too many wait. It never waits itself.
func (q *Queue) Add(x Exchange) {
	q.mu.Lock()
	size := x.Size()
	if q.closed || len(q.waiting) >= queueMost || q.bytes+size > queueBytes {
		q.dropped++
	} else {
		q.waiting = append(q.waiting, x)
		q.bytes += size
	}
	q.mu.Unlock()
	q.signal()
}

// Drop counts exchanges that were dropped before they reached the queue.
func (q *Queue) Drop(n int64) {
	q.mu.Lock()
	q.dropped += n
	q.mu.Unlock()
	q.signal()
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
}

// Close waits until everything that waits is handed over. What comes later is dropped.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	<-q.done
}

func (q *Queue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			batch, dropped, closed := q.take()
			if len(batch) > 0 || dropped > 0 {
				q.store(batch, dropped)
				continue
			}
			if closed {
				return
			}
			break
		}
	}
}

// take is the next batch.
func (q *Queue) take() (batch []Exchange, dropped int64, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.waiting) && n < batchMost && (n == 0 || bytes+q.waiting[n].Size() <= batchBytes) {
		bytes += q.waiting[n].Size()
		n++
	}
	batch = append(batch, q.waiting[:n]...)
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil // so that its memory is not held
	}
	q.bytes -= bytes
	dropped, q.dropped = q.dropped, 0
	return batch, dropped, q.closed
}
