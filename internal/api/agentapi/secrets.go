package agentapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/secret"
)

// SecretRequest is the body of POST /api/v1/secrets.
type SecretRequest struct {
	Name             string `json:"name" minLength:"1" maxLength:"128" pattern:"^[A-Z][A-Z0-9_]*$" doc:"The name that tasks use: {{$NAME}} in a tool's arguments."`
	Value            string `json:"value" minLength:"1" maxLength:"10000" doc:"The secret. It is never shown again."`
	DefaultAvailable bool   `json:"default_available,omitempty"`
	CreatedByAgent   bool   `json:"created_by_agent,omitempty"`
	ProjectID        string `json:"project_id,omitempty" format:"uuid"`
}

func (r SecretRequest) secret() secret.NewSecret {
	r.ProjectID = strings.ToLower(r.ProjectID)
	return secret.NewSecret(r)
}

// SecretPatch is the body of PATCH /api/v1/secrets/{secret_id}.
type SecretPatch struct {
	DefaultAvailable *bool `json:"default_available" required:"true" nullable:"true" doc:"Whether every task of yours may use it; null leaves it."`
}

// SecretList is the caller's secrets.
type SecretList struct {
	Secrets []secret.Secret `json:"secrets" doc:"By name."`
	Total   int             `json:"total"`
}

func (s surface) secrets() {
	const path, tag = "/api/v1/secrets", "Secrets"
	type SecretPath struct {
		ID string `path:"secret_id" doc:"The secret's id."`
	}

	create := op("create-secret", "POST "+path, tag, "Store a secret for your tasks", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "It is stored encrypted, replaces {{$NAME}} in tools of tasks that may use it, is removed from all " +
		"results, and is never shown to a model."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body SecretRequest }) (*secret.Secret, error) {
		return body(s.Secrets.Create(ctx, in.Body.secret()))
	})

	rest.Handle(s.API, op("list-secrets", "GET "+path, tag, "List your secrets, their values masked"),
		func(ctx context.Context, in *struct {
			ProjectID string `query:"project_id" format:"uuid" doc:"Those of this project; those of none when absent."`
		}) (*SecretList, error) {
			found, err := s.Secrets.FindAll(ctx, strings.ToLower(in.ProjectID))
			return &SecretList{found, len(found)}, err
		})

	rest.Handle(s.API, op("update-secret", "PATCH "+path+"/{secret_id}", tag,
		"Set whether all your tasks may use a secret", 404),
		func(ctx context.Context, in *struct {
			SecretPath
			Body SecretPatch
		}) (*secret.Secret, error) {
			return body(s.Secrets.Update(ctx, in.ID, in.Body.DefaultAvailable))
		})

	act(s, op("delete-secret", "DELETE "+path+"/{secret_id}", tag, "Delete a secret", 404), "The secret is deleted.",
		func(ctx context.Context, in *SecretPath) error { return s.Secrets.Delete(ctx, in.ID) })
}
