package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// RequestIDHeader names the id of a request; error_id and the log carry the same.
const RequestIDHeader = "X-Request-Id"

// record collects what the log, the metrics and the audit log say about a request.
type record struct {
	api       *API
	id        string
	operation string
	object    string // the id of the object of the request
	unaudited bool   // without an audit entry
	audited   bool   // with one, although it changes nothing
	result    int    // the status to record; 0: that of the answer
	caller    account.Caller
	byKey     bool // the caller used their API key
	err       *errs.Error
	warnings  []string    // see Warnf
	header    http.Header // of the answer
}

type recordKey struct{}

func recordOf(ctx context.Context) *record {
	rec, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		panic("rest: a request without identify")
	}
	return rec
}

// identify gives the request its id and writes its log line.
func (a *API) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &record{api: a, id: ids.New(), operation: "none", header: w.Header()}
		began := time.Now()
		w.Header().Set(RequestIDHeader, rec.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		out := &statusWriter{ResponseWriter: w, api: a, request: r, record: rec}
		defer func() {
			took := time.Since(began)
			a.Metrics.observe(a.Name, rec.operation, out.status, took)
			a.log(r, rec, out.status, took)
		}()
		next.ServeHTTP(out, r)
	})
}

func (a *API) log(r *http.Request, rec *record, status int, took time.Duration) {
	level := slog.LevelInfo
	// The query is not logged: it may hold secrets.
	attrs := []slog.Attr{
		slog.String("request_id", rec.id), slog.String("surface", a.Name), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.String("operation", rec.operation), slog.Int("status", status),
		slog.Duration("took", took), slog.String("client", Address(r.RemoteAddr)), slog.String("user_id", rec.caller.UserID),
	}
	if rec.err != nil {
		attrs = append(attrs, slog.String("code", rec.err.Code))
		if cause := rec.err.Unwrap(); cause != nil {
			attrs = append(attrs, slog.String("cause", cause.Error()))
		}
		if status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	a.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

// recoverPanics turns a panic in a handler into an internal error.
func (a *API) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p) // the server's own way to drop a connection
			}
			a.Logger.ErrorContext(r.Context(), "panic",
				"request_id", recordOf(r.Context()).id, "panic", p, "stack", string(debug.Stack()))
			if out, ok := w.(*statusWriter); ok && out.status != 0 {
				panic(http.ErrAbortHandler) // the answer has begun: it must not look complete
			}
			a.Fail(w, r, errs.New(errs.Internal, "internal_error", "Internal error."))
		}()
		next.ServeHTTP(w, r)
	})
}

// observe records the operation of the request and the id in its path.
func (a *API) observe(unaudited bool) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		rec := recordOf(ctx.Context())
		rec.operation, rec.object, rec.unaudited = ctx.Operation().OperationID, pathID(ctx), unaudited
		next(ctx)
	}
}

func (a *API) before(check func() error) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if check != nil {
			if err := check(); err != nil {
				a.refuse(ctx, err)
				return
			}
		}
		next(ctx)
	}
}

// refuse answers with an error from a middleware.
func (a *API) refuse(ctx huma.Context, err error) {
	r, w := humachi.Unwrap(ctx)
	a.Fail(w, r.WithContext(ctx.Context()), err)
}

// joinRepeated warns of unknown parameters, and joins the values of a query parameter that is repeated, as many clients
// send lists, by commas.
// So a repeated parameter that is no list is refused, not silently cut. Words that are no JSON number, such as NaN, are
// refused where a number is expected.
func (a *API) joinRepeated(ctx huma.Context, next func(huma.Context)) {
	address := ctx.URL()
	query := address.Query()
	for _, p := range ctx.Operation().Parameters {
		if p.In != "query" || p.Schema == nil || p.Schema.Type != huma.TypeNumber {
			continue
		}
		notJSON := func(c rune) bool { return !strings.ContainsRune("+-.0123456789eE", c) }
		if slices.ContainsFunc(query[p.Name], func(text string) bool { return strings.ContainsFunc(text, notJSON) }) {
			a.refuse(ctx, errs.Field(p.Name, "%s must be a number.", p.Name)) // strconv knows NaN, Inf and 0x1p4 too
			return
		}
	}
	warnOfQuery(ctx, query)
	for _, values := range query {
		if len(values) > 1 {
			ctx = repeatedQuery{ctx, query}
			break
		}
	}
	next(ctx)
}

// repeatedQuery is a request with a repeated query parameter.
type repeatedQuery struct {
	inner
	query url.Values
}

type inner = huma.Context // as a field it may not have the name of its method

func (r repeatedQuery) Query(name string) string { return strings.Join(r.query[name], ",") }

// Unwrap lets the library find its own context.
func (r repeatedQuery) Unwrap() huma.Context { return r.inner }
