// Package signin has the operations of the agent-task API for signing in: passwords, second factors, and links to a new
// password.
package signin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const tag = "User"

type area struct {
	*rest.API

	accounts *account.Accounts
	failures *audit.Failures
	members  *membership.Members
}

// Register adds the operations to the API. Logins with a wrong password are written down by failures.
func Register(api *rest.API, accounts *account.Accounts, failures *audit.Failures, members *membership.Members) {
	s := area{api, accounts, failures, members}
	s.login()
	s.secondFactor()
	s.securityKeys()
	s.resets()
}

// Message is an answer with nothing but words.
type Message struct {
	Message string `json:"message"`
}

// Act adds an operation that answers with a fixed message.
func Act[I any](api *rest.API, o rest.Op, done string, do func(context.Context, *I) error) {
	rest.Handle(api, o, func(ctx context.Context, in *I) (*Message, error) { return &Message{done}, do(ctx, in) })
}

// Challenge is the part of a request that answers a Turnstile challenge.
type Challenge struct {
	Token string `header:"CF-Turnstile-Response" doc:"The answer to the challenge, where the deployment asks for one."`
	from  account.Client
	r     *http.Request
}

// Resolve implements huma.Resolver.
func (c *Challenge) Resolve(ctx huma.Context) []error {
	c.r, _ = humachi.Unwrap(ctx)
	c.from = account.Client{Address: rest.ClientIP(ctx), UserAgent: ctx.Header("User-Agent")}
	return nil
}

// Check fails with Forbidden when the deployment asks for a challenge that the request has not solved.
func (c *Challenge) Check(ctx context.Context, accounts *account.Accounts) error {
	return accounts.Challenge(ctx, c.Token, c.from.Address)
}

// LoginRequest is the body of POST /api/v1/auth/login.
type LoginRequest struct {
	Email          string `json:"email"`
	Password       string `json:"password" doc:"The user's password."`
	TurnstileToken string `json:"turnstile_token,omitempty" doc:"The answer to the challenge, where the deployment asks for one."`
	CookieWish
}

// CookieWish is where the session of a sign-in is to go.
type CookieWish struct {
	Cookie bool `json:"cookie,omitempty" doc:"For pages of this server: the session goes into a cookie that no script reads, and access_token is empty. Needs the header X-Requested-With."`
}

func (s area) login() {
	login := rest.NewOp("login", "POST /api/v1/auth/login", tag, "Get a bearer token for an email and a password",
		401, 403)
	login.Auth = rest.None
	rest.Register(s.API, login, func(ctx context.Context, in *struct {
		Challenge
		Body LoginRequest
	}) (*rest.SessionAnswer, error) {
		if err := s.CheckSignIn(in.r, in.Body.Cookie); err != nil {
			return nil, err
		}
		if in.Body.TurnstileToken != "" {
			in.Token = in.Body.TurnstileToken
		}
		if err := s.accounts.MayLogin(in.Body.Email, in.from.Address); err != nil {
			return nil, err
		}
		if err := in.Check(ctx, s.accounts); err != nil {
			return nil, err
		}
		t, err := s.accounts.Login(ctx, in.Body.Email, in.Body.Password, in.from)
		if errs.Is(err, errs.Unauthenticated) {
			// Later and elsewhere: the time of the answer must not tell whether there is an account.
			s.failures.Add(in.Body.Email, audit.Entry{
				ID: rest.RequestID(ctx), Action: login.OperationID, Method: login.Method, Path: login.Path,
				Status: http.StatusUnauthorized, IP: in.from.Address, Source: audit.Platform,
			})
			return nil, err
		}
		if err == nil || errs.From(err).Code == account.SecondFactorRequired {
			c, whoErr := s.accounts.Whose(ctx, in.Body.Email)
			if whoErr != nil {
				return nil, whoErr
			}
			rest.By(ctx, c)
			if err == nil {
				_, err = s.members.JoinByDomain(ctx, c, in.from.Address)
			}
		}
		return s.AnswerSession(in.Body.Cookie, t), err
	})
	methods := rest.NewOp("get-sign-in-methods", "GET /api/v1/auth/methods", tag, "How people can sign in to this server")
	methods.Auth = rest.None
	rest.Handle(s.API, methods, func(ctx context.Context, _ *struct{}) (*SignInMethods, error) {
		closed, err := s.accounts.SetupClosed(ctx)
		m := SignInMethods{Password: !s.accounts.OIDCOnly, SetUp: closed, TurnstileSiteKey: s.accounts.TurnstileSiteKey}
		if s.accounts.SignsInByOIDC() {
			m.OIDCPath = account.SignInPath
		}
		return &m, err
	})
}

// SignInMethods are the ways in.
type SignInMethods struct { //nolint:revive // the name in the contract
	Password         bool   `json:"password" doc:"With an email and a password, by POST /api/v1/auth/login."`
	OIDCPath         string `json:"oidc_path,omitempty" doc:"Where a browser begins to sign in at the OpenID issuer, if it can."`
	SetUp            bool   `json:"set_up" doc:"Whether the server has its first user; if not, the link that it printed at its start makes one."`
	TurnstileSiteKey string `json:"turnstile_site_key,omitempty" doc:"Logins need the answer to a challenge of this site."`
}
