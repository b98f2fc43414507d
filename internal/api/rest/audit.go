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
	"github.com/vedette-sec/vedette/internal/core/audit"
)

// auditTimeout is how long an answer waits for its audit entry: as long as a busy disk may take, because the
// change is made and a 500 would deny it.
const auditTimeout = 2 * time.Minute

// addEntry writes the audit entry of a request before any of its answer is sent, so that an answer implies
// an entry. Only changes by known callers have one. Requests over their rate have none: a flood of requests
// must not become a flood of writes. Bodies and queries are left out, they may hold secrets.
func (a *API) addEntry(r *http.Request, rec *record, status int) error {
	if rec.result != 0 {
		status = rec.result
	}
	if a.Audit == nil || rec.unaudited || rec.caller.UserID == "" || r.Method == http.MethodGet && !rec.audited ||
		status == http.StatusTooManyRequests {
		return nil
	}
	e := audit.Entry{
		ID: rec.id, TeamID: rec.caller.TeamID, UserID: rec.caller.UserID, Email: rec.caller.Email,
		Action: rec.operation, Object: rec.object, Method: r.Method, Path: r.URL.Path, Status: status,
		IP: Address(r.RemoteAddr), Source: audit.Platform,
	}
	if rec.byKey {
		e.Source = audit.API
	}
	// The change is made, whether or not the client is still connected.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	return a.Audit.Add(ctx, e)
}

// RequestID is the id of a request, for an audit entry that is written after its answer.
func RequestID(ctx context.Context) string { return recordOf(ctx).id }

// About sets the object of a request's audit entry, for operations with no id in path or answer.
func About(ctx context.Context, id string) { recordOf(ctx).object = id }

// Audit has a request written down as an action of this name, also one that changes nothing: what it reads is to be
// known afterwards.
func Audit(ctx context.Context, action string) {
	rec := recordOf(ctx)
	rec.operation, rec.audited = action, true
}

// By sets who did what a request asked for, for its audit entry, where that is known only from the request itself: a
// login, or a link from a mail.
func By(ctx context.Context, c account.Caller) {
	if c.TeamID != "" {
		recordOf(ctx).caller = c
	}
}

// Did sets the operation and the status of a request for the log, the metrics and, if changes is true, its
// audit entry. It is for an endpoint with many operations, such as MCP.
func Did(ctx context.Context, operation string, status int, changes bool) {
	rec := recordOf(ctx)
	rec.operation, rec.result, rec.unaudited = operation, status, !changes
}

// pathID is the last id in an operation's path.
func pathID(ctx huma.Context) string {
	r, _ := humachi.Unwrap(ctx)
	values := chi.RouteContext(r.Context()).URLParams.Values
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// answerID is the id in the body of an answer, or in the one thing that the body has; "" where there is none.
func answerID(output any) string {
	answer := reflect.Indirect(reflect.ValueOf(output))
	if answer.Kind() != reflect.Struct {
		return ""
	}
	body := reflect.Indirect(answer.FieldByName("Body"))
	if id := ownID(body); id != "" || body.Kind() != reflect.Struct {
		return id
	}
	for _, field := range body.Fields() {
		if id := ownID(reflect.Indirect(field)); id != "" {
			return id
		}
	}
	return ""
}

func ownID(v reflect.Value) string {
	if v.Kind() != reflect.Struct {
		return ""
	}
	if id := v.FieldByName("ID"); id.Kind() == reflect.String {
		return id.String()
	}
	return ""
}

// statusWriter records the status of the answer, and writes the audit entry before the header.
type statusWriter struct {
	http.ResponseWriter
	api     *API
	request *http.Request
	record  *record
	status  int
	refused bool // the audit entry could not be written: the answer is an error instead
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if err := w.api.addEntry(w.request, w.record, status); err != nil {
		w.status = http.StatusInternalServerError
		w.api.Fail(w.ResponseWriter, w.request, err)
		w.refused = true
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
