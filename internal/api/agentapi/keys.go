package agentapi

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

func (s surface) keys() {
	const path, tag = "/api/v1/user/apikey", "API Keys"

	create := op("create-api-key", "POST "+path, tag, "Create your API key", 409)
	create.Auth, create.DefaultStatus = rest.BearerOnly, http.StatusCreated
	create.Description = "The value is in this answer and never again. Each user has at most one key, unless the server allows more: 409 when there is one, rotate it then."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ signin.Challenge }) (*account.NewKey, error) {
		if err := in.Check(ctx, s.Accounts); err != nil {
			return nil, err
		}
		return body(s.Accounts.CreateKey(ctx))
	})

	rest.Handle(s.API, op("rotate-api-key", "POST "+path+"/rotate", tag,
		"Rotate your API key; the old value stops working at once", 404, 409),
		func(ctx context.Context, _ *struct{}) (*account.NewKey, error) {
			return body(s.Accounts.RotateKey(ctx))
		})

	rest.Handle(s.API, op("get-api-key", "GET "+path, tag, "Get your API key without its value", 404),
		func(ctx context.Context, _ *struct{}) (*account.Key, error) {
			return body(s.Accounts.FindKey(ctx))
		})

	act(s, op("delete-api-key", "DELETE "+path, tag, "Delete your API key; it stops working at once", 404),
		"The API key is deleted.",
		func(ctx context.Context, _ *struct{}) error { return s.Accounts.DeleteKey(ctx) })
	s.namedKeys("/api/v1/user/apikeys", tag)
}

// APIKeyList is the caller's keys.
type APIKeyList struct {
	Data []account.KeyInfo `json:"data" doc:"The oldest first."`
}

// APIKeyRequest describes a key to make.
type APIKeyRequest struct {
	Name      string        `json:"name" minLength:"1" maxLength:"64" doc:"What tells it from your other keys."`
	Scope     account.Scope `json:"scope,omitempty" enum:"read,full" default:"full" doc:"read: it is refused wherever something would be changed."`
	ExpiresAt *time.Time    `json:"expires_at,omitempty" doc:"From when on it is refused; default: never."`
}

// APIKeyMade is a key just made.
type APIKeyMade struct {
	account.KeyInfo

	Value string `json:"key" doc:"Its value, which is not shown again."`
}

// namedKeys are the operations on several keys of a user.
func (s surface) namedKeys(path, tag string) {
	rest.Handle(s.API, op("list-api-keys", "GET "+path, tag, "List your API keys without their values"),
		func(ctx context.Context, _ *struct{}) (*APIKeyList, error) {
			found, err := s.Accounts.FindKeys(ctx)
			return &APIKeyList{rest.OrEmpty(found)}, err
		})
	create := op("create-named-api-key", "POST "+path, tag, "Create an API key with a name, a scope and perhaps an end", 409)
	create.Auth, create.DefaultStatus = rest.BearerOnly, http.StatusCreated
	create.Description = "The value is in this answer and never again. 409 when you have one of this name, or as many as the server allows " +
		"(api_keys_per_user). POST /api/v1/user/apikey makes the one named default."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct {
		signin.Challenge
		Body APIKeyRequest
	}) (*APIKeyMade, error) {
		if err := in.Check(ctx, s.Accounts); err != nil {
			return nil, err
		}
		k, info, err := s.Accounts.CreateNamedKey(ctx,
			account.KeyOptions{Name: in.Body.Name, Scope: in.Body.Scope, ExpiresAt: in.Body.ExpiresAt})
		return &APIKeyMade{info, k.Key}, err
	})
	remove := op("delete-named-api-key", "DELETE "+path+"/{key_id}", tag,
		"Delete one of your API keys; it stops working at once", 404)
	remove.Auth = rest.BearerOnly
	act(s, remove, "The API key is deleted.", func(ctx context.Context, in *struct {
		ID string `path:"key_id" doc:"The key's id, as in the list."`
	}) error {
		return s.Accounts.RevokeKey(ctx, in.ID)
	})
}
