// Package rest is what both HTTP APIs are built with: authentication, rate limits, bounded
// bodies, request ids, logs, metrics, audit entries and the OpenAPI document. Handlers return
// one error type, errs.Error; each API renders it in its own shape.
//
// A request passes identify (id, log line, audit entry), recoverPanics, and then the middlewares
// that Register puts before the handler: observe, before, authenticate, limit, the reading of
// the body, and joinRepeated.
package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ratelimit"
)

// Server is an address under which a surface can be reached, for its contract.
type Server struct{ URL, Description string }

// Config is what the APIs have in common.
type Config struct {
	Accounts *account.Accounts
	Logger   *slog.Logger
	Metrics  *Metrics // nil: not counted
	MaxBody  int64    // bytes of a request body; 1 MiB when 0
	Rate     float64  // calls a second that one key may make on average; 0: no limit
	Burst    int      // calls it may make at once
	// Audit gets an entry for each change that a known caller requests, before the answer is sent; if that
	// fails, the answer is the error. nil: no entries.
	Audit *audit.Log
	// Streams that one user, and all users of one team, may have open on this node; 0: no limit.
	StreamsPerUser, StreamsPerTeam int
}

// Surface describes one API.
type Surface struct {
	Name    string // in logs and metrics
	Title   string
	Version string
	About   string
	Servers []Server
	Tags    []string // the groups of operations, in the order of the contract
	// Shape is the body of an error answer; id is the request's id in the log.
	Shape func(status int, e *errs.Error, id string) any
	// ErrorType is a value of the type that Shape returns, for the contract.
	ErrorType  any
	Vocabulary Vocabulary
}

// API is a surface with its routes.
type API struct {
	Surface
	Config
	Huma    huma.API
	router  chi.Router
	limiter *ratelimit.Limiter
	streams *streams

	browsers *Browsers
	complete sync.Once // see Complete
}

const defaultMaxBody = 1 << 20

// huma keeps these in variables of the process.
var setUpHuma = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	// Only for the contract; New replaces its type by the API's own.
	huma.NewError = func(int, string, ...error) huma.StatusError { return &failure{} }
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, details ...error) huma.StatusError {
		return failureFor(ctx, fromHuma(status, message, details))
	}
})

// New makes a surface without operations.
func New(s Surface, c Config) *API {
	setUpHuma()
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{Surface: s, Config: c, router: chi.NewRouter(), limiter: ratelimit.New(c.Rate, c.Burst),
		streams: &streams{perUser: c.StreamsPerUser, perTeam: c.StreamsPerTeam}}
	a.browsers = NewBrowsers("")
	if c.Accounts != nil {
		a.browsers = NewBrowsers(c.Accounts.PublicURL)
	}
	a.router.Use(a.identify, a.recoverPanics)
	a.router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		a.Fail(w, r, errs.New(errs.NotFound, "endpoint_not_found", "There is no such endpoint."))
	})
	a.router.MethodNotAllowed(a.methodNotAllowed)

	config := huma.DefaultConfig(s.Title, s.Version)
	config.Info.Description = s.About
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil // no $schema in bodies
	config.AllowAdditionalPropertiesByDefault = true
	config.Formats = maps.Clone(config.Formats) // the library's own
	for name, format := range config.Formats {
		if strings.HasSuffix(name, "json") {
			format.Unmarshal = decodeJSON
			config.Formats[name] = format
		}
	}
	config.Components.Schemas = huma.NewMapRegistry(schemaPrefix, s.schemaName)
	config.Components.SecuritySchemes = securitySchemes()
	for _, tag := range s.Tags {
		config.Tags = append(config.Tags, &huma.Tag{Name: tag})
	}
	for _, server := range s.Servers {
		config.Servers = append(config.Servers, &huma.Server{URL: server.URL, Description: server.Description})
	}
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[failure](), reflect.TypeOf(s.ErrorType))
	config.Transformers = append(config.Transformers, a.addWarnings)
	a.Huma = humachi.New(a.router, config)
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Op is an operation: what huma needs to know, and who may call it.
type Op struct {
	huma.Operation
	Auth   Auth
	Before func() error // refuses before authentication; nil: nothing to refuse
	Reads  bool         // changes nothing although it is no GET, or decides by itself: keys of the scope read may call it
	Enrols bool         // is open to those whose team requires a second factor that they have yet to set up
	Stream bool         // the input embeds a Stream, and reads the body from it
	// Unaudited requests get no audit entry unless the handler asks for one with Did.
	Unaudited bool
}

// NewOp is an operation at a route such as "GET /v1/scans"; statuses are its errors besides the common ones.
func NewOp(id, route, tag, summary string, statuses ...int) Op {
	method, path, _ := strings.Cut(route, " ")
	return Op{Operation: huma.Operation{
		OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary, Errors: statuses,
	}}
}

// Register adds an operation. The handler gets a checked input and a context with the
// Caller, and returns an output or an errs.Error.
func Register[I, O any](a *API, op Op, handler func(context.Context, *I) (*O, error)) {
	read := a.readBody
	if op.Stream {
		read = a.checkStream
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}}
	}
	op.Middlewares = huma.Middlewares{
		a.observe(op.Unaudited), a.before(op.Before),
		a.authenticate(op), a.limit, read, a.joinRepeated,
	}
	op.Security = op.Auth.security()
	op.Errors = append([]int{400, 429, 500, 503}, op.Errors...)
	switch op.Auth {
	case KeyOrBearer, BearerOnly, Optional:
		op.Errors = append(op.Errors, 401, 403)
	case InternalKey:
		op.Errors = append(op.Errors, 401)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, 413, 415)
	}
	if op.Method != http.MethodGet {
		op.Errors = append(op.Errors, 507)
	}
	// readBody and BoundBody bound the body. huma's own limits are lifted: a stream may take longer.
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1
	if op.Auth == KeyOrBearer || op.Auth == Optional {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: teamHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "The id of the team to act in, one of yours; without it, your own.",
		})
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	huma.Register(a.Huma, op.Operation, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if rec := recordOf(ctx); err == nil && rec.object == "" {
			rec.object = answerID(out)
		}
		return out, err
	})
	// huma announces 422; these APIs answer 400 to every malformed request.
	delete(op.Responses, "422")
	for _, status := range []string{"503", "507"} { // outages of what the server depends on
		if answer := op.Responses[status]; answer != nil {
			answer.Headers = map[string]*huma.Param{"Retry-After": {
				Description: "Seconds after which the request may succeed.", Schema: &huma.Schema{Type: huma.TypeInteger},
			}}
		}
	}
}

// Handle adds an operation whose handler returns the body of its answer.
func Handle[I, T any](a *API, op Op, handler func(context.Context, *I) (*T, error)) {
	Register(a, op, func(ctx context.Context, in *I) (*Answer[T], error) {
		body, err := handler(ctx, in)
		if err != nil {
			return nil, err
		}
		return &Answer[T]{*body}, nil
	})
}

// Each converts a list; never nil, which JSON would write as null.
func Each[F, T any](values []F, convert func(F) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = convert(v)
	}
	return out
}

// OrEmpty is a list that JSON does not write as null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Document decodes stored JSON; nil for none.
func Document(raw json.RawMessage) (doc any) {
	_ = json.Unmarshal(raw, &doc) // valid, or empty
	return doc
}

// Encoded is a JSON object as it is stored; nil for none.
func Encoded(doc map[string]any) (json.RawMessage, error) {
	if doc == nil {
		return nil, nil
	}
	return json.Marshal(doc)
}

// OrEmptyMap is a map that JSON does not write as null.
func OrEmptyMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// OrNull is a time, or nil for the zero time.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Answer is an output that is a body and no headers.
type Answer[T any] struct{ Body T }

func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if a.router.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.Fail(w, r, errs.New(errs.MethodNotAllowed, "method_not_allowed", "This endpoint does not take %.16q.", r.Method))
}
