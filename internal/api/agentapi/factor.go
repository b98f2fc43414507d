package agentapi

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// SecondStep is the second step of a sign-in.
type SecondStep struct {
	Ticket string `json:"ticket" doc:"From the header X-Sign-In-Ticket of the answer to the first step; valid for five minutes."`
	Code   string `json:"code" doc:"Of your authenticator app, or a recovery code."`
}

// FactorBegin begins to set up a second factor.
type FactorBegin struct {
	Password string `json:"current_password,omitempty" doc:"Your password, if you have one."`
}

// FactorCode proves a second factor.
type FactorCode struct {
	Code string `json:"code" doc:"Of your authenticator app; to remove it also a recovery code."`
}

// RecoveryCodes sign in instead of the app.
type RecoveryCodes struct {
	Message string   `json:"message"`
	Codes   []string `json:"recovery_codes" doc:"Each signs in once instead of a code of the app. They are not shown again."`
}

// secondFactor are the operations on the caller's second factor, and the second step of a sign-in.
func (s surface) secondFactor() {
	const path, tag = "/api/v1/user/second-factor", "User"
	login := op("login-second-step", "POST /api/v1/auth/login/second", tag,
		"Get a bearer token for the ticket of a login and a code", 401, 403)
	login.Auth = rest.None
	login.Description = "Logins of users with a second factor answer 403, second_factor_required, with a ticket in the header " +
		"X-Sign-In-Ticket. A ticket and a code work once. Wrong codes are slowed down for the user (429)."
	rest.Handle(s.API, login, func(ctx context.Context, in *struct {
		Challenge
		Body SecondStep
	}) (*account.Token, error) {
		from := account.Client{Address: in.ip, UserAgent: in.agent}
		return body(s.Accounts.FinishLogin(ctx, in.Body.Ticket, in.Body.Code, from))
	})
	own := func(id, route, summary string, statuses ...int) rest.Op {
		o := op(id, route, tag, summary, statuses...)
		o.Auth, o.Enrols = rest.BearerOnly, true
		return o
	}
	rest.Handle(s.API, own("get-second-factor", "GET "+path, "Whether you have a second factor"),
		func(ctx context.Context, _ *struct{}) (*account.Factor, error) {
			return body(s.Accounts.FindFactor(ctx))
		})
	begin := own("begin-second-factor", "POST "+path, "Begin to set up an authenticator app as second factor", 409)
	begin.Description = "Nothing changes until you confirm it with a code of the app."
	rest.Handle(s.API, begin, func(ctx context.Context, in *struct {
		Challenge
		Body FactorBegin
	}) (*account.NewFactor, error) {
		return body(s.Accounts.BeginFactor(ctx, in.Body.Password, in.ip))
	})
	rest.Handle(s.API, own("confirm-second-factor", "POST "+path+"/confirm",
		"Turn your second factor on with a first code; your other sessions end", 404),
		func(ctx context.Context, in *struct{ Body FactorCode }) (*RecoveryCodes, error) {
			codes, err := s.Accounts.ConfirmFactor(ctx, in.Body.Code)
			return &RecoveryCodes{"Signing in asks for a code from now on. Keep the recovery codes.", codes}, err
		})
	act(s, own("remove-second-factor", "DELETE "+path, "Remove your second factor, with a code", 404, 413, 415),
		"The second factor is removed.", func(ctx context.Context, in *struct{ Body FactorCode }) error {
			return s.Accounts.DeleteFactor(ctx, in.Body.Code)
		})
}
