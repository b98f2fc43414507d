package engine

import (
	"context"
	"sync"
)

// work is a list of things to do. Things may be added while others are done; next is
// over when nothing is left and nothing is under way.
type work struct {
	mu    sync.Mutex
	some  sync.Cond
	todo  []func(ctx context.Context)
	first []func(ctx context.Context) // before the rest: they hold answers
	open  int                         // added and not done
}

func (w *work) add(do func(ctx context.Context))   { w.put(&w.todo, do) }
func (w *work) hurry(do func(ctx context.Context)) { w.put(&w.first, do) }

func (w *work) put(list *[]func(ctx context.Context), do func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	*list = append(*list, do)
	w.wake().Signal()
}

func (w *work) wake() *sync.Cond {
	if w.some.L == nil {
		w.some.L = &w.mu
	}
	return &w.some
}

// next gives the next thing to do; done must follow.
func (w *work) next() (do func(ctx context.Context), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for _, list := range []*[]func(ctx context.Context){&w.first, &w.todo} {
			if len(*list) > 0 {
				do, *list = (*list)[0], (*list)[1:]
				return do, true
			}
		}
		if w.open == 0 {
			return nil, false
		}
		w.wake().Wait()
	}
}

func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open--; w.open == 0 {
		w.wake().Broadcast()
	}
}
