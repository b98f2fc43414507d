package signin

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// SecondStep is the second step of a sign-in.
type SecondStep struct {
	TicketBody
	FactorProof
	CookieWish
}

// TicketBody continues a sign-in.
type TicketBody struct {
	Ticket string `json:"ticket" doc:"From the header X-Sign-In-Ticket of the answer to the first step; valid for five minutes."`
}

// FactorProof proves a second factor.
type FactorProof struct {
	Code       *string         `json:"code,omitempty" doc:"Of your authenticator app, or a recovery code."`
	Credential json.RawMessage `json:"credential,omitempty" doc:"Instead of a code: what navigator.credentials.get has returned for a challenge, as its toJSON writes it."`
}

func (p FactorProof) proof() (factor.Proof, error) {
	if p.Code != nil {
		return factor.Proof{Code: *p.Code, Key: p.Credential}, nil
	}
	if len(p.Credential) == 0 {
		return factor.Proof{}, errs.Field("code", "code is required, or credential.")
	}
	return factor.Proof{Key: p.Credential}, nil
}

// FactorBegin begins to set up a second factor.
type FactorBegin struct {
	Password string `json:"current_password,omitempty" doc:"Your password, if you have one."`
}

// FactorCode is a first code.
type FactorCode struct {
	Code string `json:"code" doc:"Of your authenticator app."`
}

// RecoveryCodes sign in instead of another factor.
type RecoveryCodes struct {
	Message string   `json:"message"`
	Codes   []string `json:"recovery_codes,omitempty" doc:"With your first second factor only: each signs in once instead of it. They are not shown again."`
}

const (
	ownPath   = "/api/v1/user/second-factor"
	loginPath = "/api/v1/auth/login/second"
)

// own is an operation on the caller's factors, which who has to set one up may use.
func own(id, route, summary string, statuses ...int) rest.Op {
	o := rest.NewOp(id, route, tag, summary, statuses...)
	o.Auth, o.Enrols = rest.BearerOnly, true
	return o
}

// secondFactor are the operations on the caller's second factors, and the second step of a sign-in.
func (s area) secondFactor() {
	login := rest.NewOp("login-second-step", "POST "+loginPath, tag,
		"Get a bearer token for the ticket of a login and a second factor", 401, 403, 404)
	login.Auth = rest.None
	login.Description = "Logins of users with a second factor answer 403, second_factor_required, with a ticket in the header " +
		"X-Sign-In-Ticket. A ticket and a code, or the answer of a security key to a challenge for this ticket, work once. Wrong ones " +
		"are slowed down for the user (429)."
	rest.Register(s.API, login, func(ctx context.Context, in *struct {
		Challenge
		Body SecondStep
	}) (*rest.SessionAnswer, error) {
		if err := s.CheckSignIn(in.r, in.Body.Cookie); err != nil {
			return nil, err
		}
		proof, err := in.Body.proof()
		if err != nil {
			return nil, err
		}
		t, c, err := s.accounts.FinishLogin(ctx, in.Body.Ticket, proof, in.from)
		rest.By(ctx, c)
		return s.AnswerSession(in.Body.Cookie, t), err
	})
	rest.Handle(s.API, own("get-second-factor", "GET "+ownPath, "Whether you have a second factor"),
		func(ctx context.Context, _ *struct{}) (*factor.SecondFactor, error) {
			f, err := s.accounts.OwnFactors(ctx)
			if err != nil {
				return nil, err
			}
			found, err := f.Find(ctx)
			return &found, err
		})
	begin := own("begin-second-factor", "POST "+ownPath, "Begin to set up an authenticator app as second factor", 409)
	begin.Description = "Nothing changes until you confirm it with a code of the app."
	rest.Handle(s.API, begin, func(ctx context.Context, in *struct {
		Challenge
		Body FactorBegin
	}) (*factor.NewSecondFactor, error) {
		made, err := s.accounts.BeginFactor(ctx, in.Body.Password, in.from.Address)
		return &made, err
	})
	rest.Handle(s.API, own("confirm-second-factor", "POST "+ownPath+"/confirm",
		"Turn your authenticator app on with a first code; your other sessions end", 404),
		func(ctx context.Context, in *struct{ Body FactorCode }) (*RecoveryCodes, error) {
			codes, err := s.accounts.ConfirmFactor(ctx, in.Body.Code)
			return &RecoveryCodes{codesMessage(codes), codes}, err
		})
	Act(s.API, own("remove-second-factor", "DELETE "+ownPath, "Remove your authenticator app, with any second factor", 404,
		413, 415), "The authenticator app is removed.", func(ctx context.Context, in *struct{ Body FactorProof }) error {
		proof, err := in.Body.proof()
		if err != nil {
			return err
		}
		f, err := s.accounts.OwnFactors(ctx)
		if err != nil {
			return err
		}
		return f.DeleteApp(ctx, proof)
	})
}

func codesMessage(codes []string) string {
	if len(codes) == 0 {
		return "Signing in takes it from now on. Your recovery codes stay as they are."
	}
	return "Signing in asks for a second factor from now on. Keep the recovery codes."
}
