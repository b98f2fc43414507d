package kit

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Many checks read the pages of the map as a user, to know what the application shows that user before they judge an
// answer. They read the same pages: so each answer is asked for once and kept (Shown), and each check chooses the pages
// that it reads, and how many, by its own rule.
//
// An answer is kept as long as asking again would bring the same:
//
//   - While nothing was sent that may have changed data (client.Changes), also in between the request and its answer.
//   - While the user has the session in which it was given. One who was logged in again is asked for anew.
//   - Until Forget.
//
// Not kept are answers that another attempt may not get: of connections that broke, of an application that had a fault
// or was asked too often. Requests that need others before them, and messages, are sent each time. A test does not use
// Shown: its answers must be fresh.

// maxShown is how many bytes of bodies are kept. What does not fit is asked for each time.
const maxShown = 64 << 20

// shown are the answers that are kept.
type shown struct {
	changes int64 // of the client, when they were asked for
	size    int
	answers map[shownKey]*message.Response
}

// shownKey names an answer by the session, 0 for nobody, and the request.
type shownKey struct {
	session int64
	request string
}

// Shown is Ask for a page that is read to know what the application shows a user, or nobody for nil. The answer may be
// one that was given before.
func (w *World) Shown(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	if r.After != nil || r.IsMessage() {
		return w.Ask(ctx, r, as)
	}
	changes, key := w.Client.Changes(), shownKey{request: r.Key()}
	if as != nil {
		key.session = as.Version()
	}
	if known := w.known(changes, key); known != nil && ctx.Err() == nil && w.Client.Permit(r, client.Options{}) == nil {
		return known, nil
	}
	answer, err := w.Ask(ctx, r, as)
	if err != nil || answer.Status == 0 || answer.Status >= http.StatusInternalServerError ||
		answer.Status == http.StatusTooManyRequests || as != nil && as.Version() != key.session {
		return answer, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown.answers != nil && w.shown.changes == changes && w.shown.size+len(answer.Body) <= maxShown {
		w.shown.size += len(answer.Body)
		w.shown.answers[key] = answer
	}
	return answer, nil
}

// known is an answer that is kept; nil for none. Those from before the last change are dropped.
func (w *World) known(changes int64, key shownKey) *message.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown.answers == nil || w.shown.changes < changes {
		w.shown = shown{changes: changes, answers: map[shownKey]*message.Response{}}
	}
	if w.shown.changes > changes {
		return nil
	}
	return w.shown.answers[key]
}
