package team

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// keyAnswer is the platform's answer about an API key.
type keyAnswer struct {
	Message string `json:"message" doc:"What was done, or is known, in words."`
	APIKey  string `json:"api_key" doc:"The key's value where it was just made; otherwise a mask: a key is shown once."`
}

// maskedKey replaces the value of an existing key.
const maskedKey = "svc_sk_********************************"

func (s area) keys() {
	const path, tag = "/v1/user/apikey", "User"
	rest.Handle(s.API, wire.Op("get-api-key", "GET "+path, tag, "Whether you have an API key; its value is not shown again", 404),
		func(ctx context.Context, _ *struct{}) (*keyAnswer, error) {
			_, err := s.Accounts.FindKey(ctx)
			return &keyAnswer{"You have an API key. Its value was shown when it was made.", maskedKey}, err
		})
	rest.Handle(s.API, wire.Op("create-api-key", "POST "+path, tag, "Create your API key, or learn that you have one"),
		func(ctx context.Context, in *struct {
			Token string `header:"CF-Turnstile-Response" doc:"The answer to the challenge, where the deployment asks for one."`
		}) (*keyAnswer, error) {
			if err := s.Accounts.Challenge(ctx, in.Token, ""); err != nil {
				return nil, err
			}
			key, err := s.Accounts.CreateKey(ctx)
			if errs.Is(err, errs.Conflict) {
				return &keyAnswer{"You have an API key. Rotate it to get a new value.", maskedKey}, nil
			}
			return &keyAnswer{"The API key is made. Keep it: it is not shown again.", key.Key}, err
		})
	rest.Handle(s.API, wire.Op("rotate-api-key", "POST "+path+"/rotate", tag, "Give your API key a new value; the old one is void at once", 404),
		func(ctx context.Context, _ *struct{}) (*keyAnswer, error) {
			key, err := s.Accounts.RotateKey(ctx)
			return &keyAnswer{"The API key has a new value. Keep it: it is not shown again.", key.Key}, err
		})
	wire.Act(s.API, wire.Op("delete-api-key", "DELETE "+path, tag, "Delete your API key; it is void at once", 404), "The API key is deleted.",
		func(ctx context.Context, _ *struct{}) error { return s.Accounts.DeleteKey(ctx) })
}
