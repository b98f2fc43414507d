package engine

import (
	"context"
	"sync"
)

// task is a piece of work on one target.
type task = func(ctx context.Context)

// taskQueue holds the tasks of one target. Tasks may be added while others run; next ends when none is queued or
// running. The zero value is ready.
type taskQueue struct {
	mu     sync.Mutex
	cond   sync.Cond
	urgent []task // run first: they hold responses
	queued []task
	open   int // added and not done
}

func (q *taskQueue) add(t task)       { q.put(&q.queued, t) }
func (q *taskQueue) addUrgent(t task) { q.put(&q.urgent, t) }

func (q *taskQueue) put(list *[]task, t task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open++
	*list = append(*list, t)
	q.changed().Signal()
}

func (q *taskQueue) changed() *sync.Cond {
	if q.cond.L == nil {
		q.cond.L = &q.mu
	}
	return &q.cond
}

// next waits for the next task; done must follow.
func (q *taskQueue) next() (t task, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for _, list := range []*[]task{&q.urgent, &q.queued} {
			if len(*list) > 0 {
				t, *list = (*list)[0], (*list)[1:]
				return t, true
			}
		}
		if q.open == 0 {
			return nil, false
		}
		q.changed().Wait()
	}
}

func (q *taskQueue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open--; q.open == 0 {
		q.changed().Broadcast()
	}
}
