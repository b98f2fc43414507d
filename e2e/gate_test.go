package e2e

import (
	"slices"
	"sync"
	"time"
)

// gates are places in a lab at which an enumeration can be stopped, by the names of its
// steps. A gate that is shut holds whoever comes, until it is opened for good.
type gates struct {
	came chan string // the first to come to each gate since it was last listened to

	mu   sync.Mutex
	shut map[string]chan struct{}
}

func newGates(steps ...string) *gates {
	g := &gates{came: make(chan string, 1000), shut: map[string]chan struct{}{}}
	for _, step := range steps {
		g.shut[step] = make(chan struct{})
	}
	return g
}

// pass returns when the gate of a step is open.
func (g *gates) pass(step string) {
	g.mu.Lock()
	held := g.shut[step]
	g.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case g.came <- step:
	default: // somebody has been told of others
	}
	<-held
}

// left are the steps whose gates are shut.
func (g *gates) left() (steps []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for step := range g.shut {
		steps = append(steps, step)
	}
	slices.Sort(steps)
	return steps
}

// open lets go whoever is held at the gates of these steps.
func (g *gates) open(steps ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, step := range steps {
		if held := g.shut[step]; held != nil {
			close(held)
			delete(g.shut, step)
		}
	}
}

// next waits until somebody is held, and returns at the gates of which steps.
func (g *gates) next(within time.Duration) (steps []string) {
	select {
	case step := <-g.came:
		steps = append(steps, step)
	case <-time.After(within):
		return nil
	}
	for {
		select {
		case step := <-g.came:
			steps = append(steps, step)
		default:
			return steps
		}
	}
}

// forget drops the news of those who came and have died since.
func (g *gates) forget() {
	for len(g.came) > 0 {
		<-g.came
	}
}
