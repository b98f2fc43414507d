package loop

import (
	"context"
	"errors"
	"sync"
)

// errAborted is the cause of a context that Control.Abort ended.
var errAborted = errors.New("stopped by the user")

// Control stops tool calls and sub-agents of a run in another goroutine. Its zero value is ready.
type Control struct {
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc
}

// Abort stops the tool call or sub-agent with this id and reports whether it was running. The run goes on.
func (c *Control) Abort(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, ok := c.running[id]
	if ok {
		cancel(errAborted)
	}
	return ok
}

// watch derives a context that Abort(id) ends, until release is called.
func (c *Control) watch(ctx context.Context, id string) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c == nil {
		return ctx, func() { cancel(nil) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[string]context.CancelCauseFunc{}
	}
	c.running[id] = cancel
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
	}
}
