// Package tasks has the queue of what is to be done on one target of a scan.
package tasks

import (
	"context"
	"sync"
)

// Task is a piece of work on one target.
type Task = func(ctx context.Context)

// Queue holds the tasks of one target. Tasks may be added while others run; Next ends when none is queued or
// running. The zero value is ready.
type Queue struct {
	mu     sync.Mutex
	cond   sync.Cond
	urgent []Task // run first: they hold responses
	queued []Task
	open   int // added and not done
}

// Add adds a task.
func (q *Queue) Add(t Task) { q.put(&q.queued, t) }

// AddUrgent adds a task that comes before all that Add has added.
func (q *Queue) AddUrgent(t Task) { q.put(&q.urgent, t) }

// Open keeps Next waiting until Done, while tasks are still being added.
func (q *Queue) Open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open++
}

func (q *Queue) put(list *[]Task, t Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open++
	*list = append(*list, t)
	q.changed().Signal()
}

func (q *Queue) changed() *sync.Cond {
	if q.cond.L == nil {
		q.cond.L = &q.mu
	}
	return &q.cond
}

// Next waits for the next task; Done must follow.
func (q *Queue) Next() (t Task, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for _, list := range []*[]Task{&q.urgent, &q.queued} {
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

// Done ends a task that Next has given, or what Open has begun.
func (q *Queue) Done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open--; q.open == 0 {
		q.changed().Broadcast()
	}
}
