package rest

import (
	"net"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Auth is how the caller of an operation authenticates.
type Auth int

// Ways to authenticate (specification, Authentication).
const (
	KeyOrBearer Auth = iota // X-Api-Key, or a bearer token
	BearerOnly              // a bearer token
	InternalKey             // X-Internal-API-Key
	Optional                // as KeyOrBearer if either is sent; else anonymous
	None
)

const (
	apiKeyHeader = "X-Api-Key"
	teamHeader   = "X-Team-Id"
)

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"apiKey": {Type: "apiKey", In: "header", Name: apiKeyHeader,
			Description: "An API key of the user: svc_sk_ and 32 characters. One of the scope read is refused (403) unless the operation is a GET."},
		"bearer": {
			Type: "http", Scheme: "bearer", BearerFormat: "JWT",
			Description: "An access token from POST /api/v1/auth/login, or one of the configured OpenID issuer. " +
				"A browser that has signed in at /login sends it in a cookie; what changes something then needs the header " +
				BrowserHeader + ", with any value, too.",
		},
		"internalKey": {Type: "apiKey", In: "header", Name: account.InternalKeyHeader,
			Description: "The deployment's service key."},
	}
}

func (a Auth) security() []map[string][]string {
	scheme := func(names ...string) (out []map[string][]string) {
		for _, name := range names {
			out = append(out, map[string][]string{name: {}})
		}
		return out
	}
	switch a {
	case KeyOrBearer:
		return scheme("apiKey", "bearer")
	case Optional:
		return append([]map[string][]string{{}}, scheme("apiKey", "bearer")...)
	case BearerOnly:
		return scheme("bearer")
	case InternalKey:
		return scheme("internalKey")
	default:
		return []map[string][]string{}
	}
}

// authenticate puts the caller into the context, or refuses: who has not set up the second factor that their team
// requires may only do that. An API key of the scope read is refused unless the
// operation only reads.
func (a *API) authenticate(op Op) func(huma.Context, func(huma.Context)) {
	auth, reads := op.Auth, op.Reads || op.Method == http.MethodGet
	return func(ctx huma.Context, next func(huma.Context)) {
		switch auth {
		case None:
			next(ctx)
			return
		case Optional:
			if ctx.Header(apiKeyHeader) == "" && ctx.Header("Authorization") == "" && a.session(ctx) == "" {
				next(ctx)
				return
			}
		case InternalKey:
			if err := a.Accounts.CheckInternalKey(ctx.Header(account.InternalKeyHeader)); err != nil {
				a.refuseLogin(ctx, err)
				return
			}
			next(ctx)
			return
		}
		caller, err := a.caller(ctx, auth)
		if team := ctx.Header(teamHeader); err == nil && team != "" {
			if !isText(team) {
				err = errs.Field(teamHeader, "%s must be UTF-8 text without NUL.", teamHeader)
			} else {
				caller, err = a.Accounts.InTeam(ctx.Context(), caller, team)
			}
		}
		if err != nil {
			a.refuseLogin(ctx, err)
			return
		}
		rec := recordOf(ctx.Context())
		rec.caller, rec.byKey = caller, auth != BearerOnly && ctx.Header(apiKeyHeader) != ""
		if err := caller.CheckFactor(); err != nil && !op.Enrols {
			a.refuse(ctx, err)
			return
		}
		if caller.ReadOnly && !reads {
			a.refuse(ctx, account.ErrReadOnlyKey)
			return
		}
		next(huma.WithContext(ctx, account.WithCaller(ctx.Context(), caller)))
	}
}

// refuseLogin refuses a caller without valid credentials. Such failures have a rate per network: guessing is
// limited, and other callers behind the same address are not.
func (a *API) refuseLogin(ctx huma.Context, err error) {
	if limited := a.spend("failed login " + account.Peer(ClientIP(ctx))); limited != nil {
		err = limited
	}
	a.refuse(ctx, err)
}

func (a *API) caller(ctx huma.Context, auth Auth) (account.Caller, error) {
	if key := ctx.Header(apiKeyHeader); key != "" && auth != BearerOnly {
		return a.Accounts.ByKey(ctx.Context(), key)
	}
	scheme, token, _ := strings.Cut(ctx.Header("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && token != "" {
		return a.Accounts.ByBearer(ctx.Context(), strings.TrimSpace(token))
	}
	if session := a.session(ctx); session != "" {
		r, _ := humachi.Unwrap(ctx)
		if err := a.browsers.CheckWrite(r); err != nil {
			return account.Caller{}, err
		}
		return a.Accounts.ByBearer(ctx.Context(), session)
	}
	if auth == BearerOnly {
		return account.Caller{}, errs.New(errs.Unauthenticated, "bearer_token_required",
			"Send a bearer token in the Authorization header.")
	}
	return account.Caller{}, errs.New(errs.Unauthenticated, "api_key_required",
		"Send your API key in the X-Api-Key header.")
}

// session is the bearer token in the cookie of a browser. It counts only where a request says nothing else.
func (a *API) session(ctx huma.Context) string {
	if ctx.Header("Authorization") != "" {
		return ""
	}
	r, _ := humachi.Unwrap(ctx)
	return a.browsers.Session(r)
}

// ClientIP is the address the request came from; see BehindProxies.
func ClientIP(ctx huma.Context) string { return Address(ctx.RemoteAddr()) }

// Address is the host of host:port.
func Address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
