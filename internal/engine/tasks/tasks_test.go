package tasks_test

import (
	"context"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/tasks"
)

// Several goroutines do what tasks add, urgent ones first, and all end when nothing is left.
func TestQueue(t *testing.T) {
	var q tasks.Queue
	var order []string
	var mu sync.Mutex
	note := func(name string) tasks.Task {
		return func(context.Context) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}
	}
	q.Open()
	q.Add(note("late"))
	q.Add(func(context.Context) { q.Add(note("added")) })
	q.AddUrgent(note("urgent"))
	first, ok := q.Next()
	if !ok {
		t.Fatal("nothing to do")
	}
	first(t.Context())
	q.Done()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for next, ok := q.Next(); ok; next, ok = q.Next() {
				next(t.Context())
				q.Done()
			}
		})
	}
	q.Done() // of Open
	workers.Wait()
	if len(order) != 3 || order[0] != "urgent" {
		t.Errorf("done: %v", order)
	}
}
