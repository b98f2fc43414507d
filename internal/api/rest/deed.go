package rest

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Deed is a request of a known caller that asked for a change, as it was decided. It has
// nothing of the body and nothing of the query: both may hold secrets.
type Deed struct {
	ID        string // of the request
	Operation string // the operation's id, such as create-config
	Object    string // the id of what it was about, or of what it made; empty: none, or several
	Method    string
	Path      string
	Status    int
	IP        string // where it came from
	ByKey     bool   // the caller used their API key; otherwise a bearer token
	Caller    account.Caller
}

// deedTimeout is how long an answer waits for its deed to be kept: as long as a busy disk may
// take, for the change is made, and 500 would tell its caller that it is not.
const deedTimeout = 2 * time.Minute

// decided hands on what a request did, before a byte of its answer leaves: who gets the
// answer can rely on the record. What was refused only for its rate is not handed on, for
// a flood of requests must not become a flood of writes.
func (a *API) decided(r *http.Request, rec *record, status int) error {
	if rec.came != 0 {
		status = rec.came
	}
	if a.After == nil || rec.caller.UserID == "" || r.Method == http.MethodGet || status == http.StatusTooManyRequests {
		return nil
	}
	// The change is made, whether or not the client is there to hear of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), deedTimeout)
	defer cancel()
	return a.After(ctx, Deed{
		ID: rec.id, Operation: rec.operation, Object: rec.object, Method: r.Method, Path: r.URL.Path, Status: status,
		IP: address(r.RemoteAddr), ByKey: rec.byKey, Caller: rec.caller,
	})
}

// About names what a request was about, or made, for its deed: for a handler whose
// operation has no id in its path, and none in the body of its answer.
func About(ctx context.Context, id string) { recordOf(ctx).object = id }

// Did names what a request did and what came of it, for its deed, the log and the metrics:
// for an operation that stands for many, and whose protocol has no status for each.
func Did(ctx context.Context, operation string, status int) {
	rec := recordOf(ctx)
	rec.operation, rec.came = operation, status
}

// named is the id in an operation's path, the innermost where there are several.
func named(ctx huma.Context) string {
	r, _ := humachi.Unwrap(ctx)
	values := chi.RouteContext(r.Context()).URLParams.Values
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// madeBy is the id in the body of an answer, if it has one.
func madeBy(output any) string {
	body := reflect.Indirect(reflect.ValueOf(output))
	for _, field := range []string{"Body", "ID"} {
		if body.Kind() != reflect.Struct {
			return ""
		}
		body = body.FieldByName(field)
	}
	if body.Kind() != reflect.String {
		return ""
	}
	return body.String()
}

// statusWriter remembers the status of the answer, and holds it back until decide has
// agreed to it.
type statusWriter struct {
	http.ResponseWriter
	decide  func(status int) error
	instead func(error) // answers with an error
	status  int
	refused bool // decide did not agree: what was to be the answer is not sent
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if err := w.decide(status); err != nil {
		w.status, w.refused = http.StatusInternalServerError, true
		w.instead(errs.From(err))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
