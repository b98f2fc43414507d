package sender

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Answers are the HTTP answers of one target, to what was asked of it and to paths that cannot exist. When every one of
// them is an error of the server, an application was not there to be tested: a proxy in front of it answered, or it
// could do nothing at all.
type Answers struct {
	mu     sync.Mutex
	fine   bool // at least one was no error of the server
	errors []int
}

// Saw counts an answer by its status.
func (a *Answers) Saw(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch isError := status >= 500 || status == http.StatusTooManyRequests; {
	case !isError:
		a.fine = true
	case !slices.Contains(a.errors, status):
		a.errors = append(a.errors, status)
	}
}

// Of is send that counts the answers.
func (a *Answers) Of(
	send func(ctx context.Context, req web.Request) (*web.Exchange, error),
) func(ctx context.Context, req web.Request) (*web.Exchange, error) {
	return func(ctx context.Context, req web.Request) (*web.Exchange, error) {
		x, err := send(ctx, req)
		if err == nil {
			a.Saw(x.Status)
		}
		return x, err
	}
}

// Down says that, and how, every answer was an error of the server; empty: some were not, or there were none.
func (a *Answers) Down() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.fine || len(a.errors) == 0:
		return ""
	case len(a.errors) == 1:
		return fmt.Sprintf("every answer was an error of the server: %d", a.errors[0])
	}
	return fmt.Sprintf("every answer was an error of the server: %d to %d", slices.Min(a.errors), slices.Max(a.errors))
}
