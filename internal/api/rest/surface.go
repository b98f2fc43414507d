// Package rest is the kit both API surfaces are made from: authentication, limits, the
// reading of bodies, request ids, logs and metrics, the contract document, and one error
// inside that each surface shows in its own shape.
package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Server is an address under which a surface can be reached, for its contract.
type Server struct{ URL, Description string }

// Config is what the doors have in common.
type Config struct {
	Accounts *account.Accounts
	Logger   *slog.Logger
	Metrics  *Metrics // nil: not counted
	MaxBody  int64    // bytes of a request body; 1 MiB when 0
	Rate     float64  // calls a second that one key may make on average; 0: no limit
	Burst    int      // calls it may make at once
}

// Surface is what makes one API differ from another.
type Surface struct {
	Name    string // in logs and metrics
	Title   string
	Version string
	About   string
	Servers []Server
	Tags    []string // the groups of operations, in the order of the contract
	// Shape is the body of an error answer; id is the id under which the log knows it.
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
	limiter *limiter
}

const defaultMaxBody = 1 << 20

// huma keeps these in variables of the process.
var setUpHuma = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	// This one only draws the contract: its type stands for the surface's, see New.
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
	a := &API{Surface: s, Config: c, router: chi.NewRouter(), limiter: newLimiter(c.Rate, c.Burst)}
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
	config.Components.Schemas = huma.NewMapRegistry(schemaPrefix, s.schemaName)
	config.Components.SecuritySchemes = securitySchemes()
	for _, tag := range s.Tags {
		config.Tags = append(config.Tags, &huma.Tag{Name: tag})
	}
	for _, server := range s.Servers {
		config.Servers = append(config.Servers, &huma.Server{URL: server.URL, Description: server.Description})
	}
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[failure](), reflect.TypeOf(s.ErrorType))
	a.Huma = humachi.New(a.router, config)
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Op is an operation: what huma needs to know, and who may call it.
type Op struct {
	huma.Operation
	Auth   Auth
	Before func() error // refuses before anybody is asked who they are; nil: nothing to refuse
}

// Register adds an operation. The handler gets a checked input and a context with the
// Caller, and returns an output or an error of the house.
func Register[I, O any](a *API, op Op, handler func(context.Context, *I) (*O, error)) {
	op.Middlewares = append(huma.Middlewares{a.observe, a.before(op.Before), a.authenticate(op.Auth), a.limit, a.readBody}, op.Middlewares...)
	op.Security = op.Auth.security()
	op.Errors = append([]int{400, 429, 500}, op.Errors...)
	switch op.Auth {
	case KeyOrBearer, BearerOnly:
		op.Errors = append(op.Errors, 401, 403)
	case InternalKey:
		op.Errors = append(op.Errors, 401)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, 413, 415)
	}
	// readBody has read the body, bounded in size and by BoundBody in time. Here huma lifts
	// that time again: the answer may be a stream that takes longer.
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1
	if op.Auth == KeyOrBearer {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: teamHeader, In: "header", Description: "The id of the team to act in, one of yours; without it, your own.", Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	huma.Register(a.Huma, op.Operation, handler)
	// huma announces 422 for what it refuses; the surfaces answer 400 to every malformed request.
	delete(op.Responses, "422")
}

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

func fromHuma(status int, message string, details []error) *errs.Error {
	for _, detail := range details {
		if e := errs.From(detail); e != nil && e.Kind != errs.Internal {
			return e
		}
	}
	kind := errs.KindOfStatus(status)
	if kind == errs.Internal && len(details) > 0 {
		return errs.From(details[0])
	}
	e := &errs.Error{Kind: kind, Code: string(kind) + "_request", Message: message}
	if kind == errs.Invalid {
		e.Code = "invalid_request"
	}
	var problems []string
	for _, detail := range details {
		d, ok := detail.(huma.ErrorDetailer)
		if !ok {
			continue
		}
		problem := d.ErrorDetail()
		field := fieldOf(problem.Location)
		if e.Param == "" {
			e.Param = field
		}
		if len(problems) < 5 {
			problems = append(problems, strings.TrimSpace(field+": "+problem.Message))
		}
	}
	if len(problems) > 0 {
		e.Message = strings.Join(problems, "; ")
	}
	return e
}

// fieldOf is the field's name without huma's prefix for the place it is in.
func fieldOf(location string) string {
	for _, prefix := range []string{"body.", "query.", "path.", "header.", "cookie."} {
		if rest, ok := strings.CutPrefix(location, prefix); ok {
			return rest
		}
	}
	return location
}

// failure is an error answer on its way out.
type failure struct {
	status int
	body   any
	text   string
}

func (f *failure) Error() string                { return f.text }
func (f *failure) GetStatus() int               { return f.status }
func (f *failure) MarshalJSON() ([]byte, error) { return json.Marshal(f.body) }

func failureFor(ctx huma.Context, e *errs.Error) huma.StatusError {
	rec := recordOf(ctx.Context())
	rec.err = e
	for name, value := range errorHeaders(e) {
		ctx.SetHeader(name, value)
	}
	status := e.Kind.Status()
	return &failure{status: status, body: rec.api.Shape(status, shown(e), rec.id), text: e.Message}
}

// Fail answers with an error of the house in the surface's shape.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errs.From(err)
	rec := recordOf(r.Context())
	rec.err = e
	for name, value := range errorHeaders(e) {
		w.Header().Set(name, value)
	}
	body, merr := json.Marshal(a.Shape(e.Kind.Status(), shown(e), rec.id))
	if merr != nil {
		a.Logger.ErrorContext(r.Context(), "encoding an error answer", "error", merr)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Kind.Status())
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}

// shown names the field in the message too: one of the surfaces has no other place for it.
func shown(e *errs.Error) *errs.Error {
	if e.Param == "" || strings.Contains(e.Message, e.Param) {
		return e
	}
	c := *e
	c.Message = fmt.Sprintf("%s: %s", e.Param, e.Message)
	return &c
}

func errorHeaders(e *errs.Error) map[string]string {
	switch e.Kind {
	case errs.Unauthenticated:
		return map[string]string{"WWW-Authenticate": "Bearer"}
	case errs.RateLimited:
		return map[string]string{"Retry-After": e.Extra[retryAfter]}
	}
	return nil
}
