package extension

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// connection is a task's connection to a server. A broken one is opened again at the next call; the failed call is not
// repeated.
type connection struct {
	dial func(ctx context.Context) (*mcp.Session, error)

	mu      sync.Mutex
	session *mcp.Session // nil: closed or broken
	checked []string     // digests of the tools it has
}

func (l *connection) call(ctx context.Context, t mcp.Tool, args json.RawMessage) (mcp.Answer, error) {
	session, err := l.open(ctx, t)
	if err != nil {
		return mcp.Answer{}, err
	}
	answer, err := session.Call(ctx, t.Name, args)
	if why := (*errs.Error)(nil); errors.As(err, &why) && why.Code != mcp.CodeRefused {
		l.close(session)
	}
	return answer, err
}

// open returns the session. A new one must still have the accepted tool.
func (l *connection) open(ctx context.Context, t mcp.Tool) (*mcp.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		if _, err := l.connect(ctx); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(l.checked, t.Digest) {
		return nil, errs.New(errs.Conflict, "tool_changed", "The tool is not as it was accepted any more.")
	}
	return l.session, nil
}

func (l *connection) first(ctx context.Context) ([]mcp.Tool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.connect(ctx)
}

func (l *connection) connect(ctx context.Context) ([]mcp.Tool, error) {
	session, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	tools, _, err := session.Tools(ctx)
	if err != nil {
		session.Close()
		return nil, err
	}
	l.session, l.checked = session, nil
	for _, t := range tools {
		l.checked = append(l.checked, t.Digest)
	}
	return tools, nil
}

// close closes a session if it is still open; nil is any.
func (l *connection) close(session *mcp.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && (session == nil || session == l.session) {
		l.session.Close()
		l.session = nil
	}
}
