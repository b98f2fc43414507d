package agentapi

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// OperatorUser disables or enables a user.
type OperatorUser struct {
	Email    string `json:"email"`
	Disabled bool   `json:"disabled" doc:"true: they cannot sign in, their sessions end, keys are refused, and tasks are stopped. false: they may sign in again."`
}

// OperatorUserDeletion names a user to delete.
type OperatorUserDeletion struct {
	Email     string `json:"email"`
	WithTeams bool   `json:"with_teams,omitempty" doc:"Delete the teams that nobody else is in, with everything in them."`
}

// operateUsers are the operations on any user of the server.
func (s surface) operateUsers(tag string) {
	const path = "/api/v1/operator/users"
	set := op("operate-user", "PATCH "+path, tag, "Disable or enable any user (operators of the server only)", 404, 409)
	set.Description = "It takes effect with the user's next request, on every node. What they have scheduled for their teams goes on. " +
		"409 for yourself."
	rest.Handle(s.API, set, func(ctx context.Context, in *struct{ Body OperatorUser }) (*message, error) {
		c, err := account.Operator(ctx)
		if err == nil && in.Body.Disabled {
			err = account.CheckNotOwn(c, in.Body.Email)
		}
		if err != nil {
			return nil, err
		}
		rest.About(ctx, in.Body.Email)
		done := "The user may sign in."
		if in.Body.Disabled {
			done = "The user is disabled."
		}
		return &message{Message: done}, s.Accounts.SetDisabled(ctx, in.Body.Email, in.Body.Disabled)
	})
	remove := op("delete-user", "DELETE "+path, tag, "Delete any user (operators of the server only)", 404, 409, 413, 415)
	remove.Description = "They leave their teams; what they made there stays. 409 names the teams that would have no admin, or nobody. " +
		"The audit log keeps their address."
	act(s, remove, "The user is deleted.", func(ctx context.Context, in *struct{ Body OperatorUserDeletion }) error {
		c, err := account.Operator(ctx)
		if err == nil {
			err = account.CheckNotOwn(c, in.Body.Email)
		}
		if err != nil {
			return err
		}
		rest.About(ctx, in.Body.Email)
		return s.Accounts.DeleteUser(ctx, in.Body.Email, in.Body.WithTeams)
	})
}
