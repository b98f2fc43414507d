package signin

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
)

// ResetRequest asks for a link to a new password.
type ResetRequest struct {
	Email          string `json:"email"`
	TurnstileToken string `json:"turnstile_token,omitempty" doc:"The answer to the challenge, where the deployment asks for one."`
}

// ResetFinish sets a new password.
type ResetFinish struct {
	Token string `json:"token" doc:"From the link in the mail."`
	New   string `json:"new_password" doc:"10 to 1024 bytes, and none of the common passwords."`
}

// resets are the operations for those who have lost their password.
func (s area) resets() {
	const path = "/api/v1/auth/password/reset"
	request := rest.NewOp("request-password-reset", "POST "+path, tag, "Have a link for a new password mailed to you",
		403, 404)
	request.Auth = rest.None
	request.Description = "The answer is the same whether the address has an account or not. The link works once, for 30 minutes. 404 when " +
		"the server sends no mail."
	rest.Handle(s.API, request, func(ctx context.Context, in *struct {
		Challenge
		Body ResetRequest
	}) (*Message, error) {
		if in.Body.TurnstileToken != "" {
			in.Token = in.Body.TurnstileToken
		}
		if err := in.Check(ctx, s.accounts); err != nil {
			return nil, err
		}
		return &Message{"If this address has an account with a password, a link is on its way."},
			s.accounts.RequestReset(in.Body.Email, in.from.Address)
	})

	finish := rest.NewOp("finish-password-reset", "POST "+path+"/finish", tag,
		"Set a new password with the token of a link", 403)
	finish.Auth = rest.None
	finish.Description = "Your sessions end; API keys stay. Wrong tokens are slowed down as wrong passwords are (429)."
	rest.Handle(s.API, finish, func(ctx context.Context, in *struct {
		Challenge
		Body ResetFinish
	}) (*Message, error) {
		c, err := s.accounts.FinishReset(ctx, in.Body.Token, in.Body.New, in.from.Address)
		if err != nil {
			return nil, err
		}
		rest.By(ctx, c)
		return &Message{"The password is set. Your sessions have ended: sign in."}, nil
	})
}
