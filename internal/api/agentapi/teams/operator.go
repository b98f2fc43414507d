package teams

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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

// OperatorTeam changes a team as an operator of the server.
type OperatorTeam struct {
	Team       string       `json:"team" minLength:"1" maxLength:"128" doc:"The team's id, or its name where no other team has it."`
	Plan       account.Plan `json:"plan,omitempty" enum:"FREE,PRO,ENT" doc:"The features that the team may use from now on."`
	MaxMembers *int         `json:"max_members,omitempty" minimum:"0" maximum:"10000" doc:"How many members it may have, with those invited; 0: as many as its plan says. Who is in it stays."`
}

// OperatorTeamAnswer is a team as an operator sees it.
type OperatorTeamAnswer struct {
	Team OperatorTeamDoc `json:"team" doc:"The team as it is now."`
}

// OperatorTeamDoc is a team with what an operator has set.
type OperatorTeamDoc struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Plan       string `json:"plan"`
	MaxMembers *int   `json:"max_members" doc:"Null: as many as its plan says."`
}

// operator are the operations of operators of the server.
func (s Area) operator(tag string) {
	s.operateUsers(tag)
	set := op("operate-team", "PATCH /api/v1/operator/teams", tag,
		"Change the plan or the limits of any team (operators of the server only)", 404)
	rest.Handle(s.API, set, func(ctx context.Context, in *struct{ Body OperatorTeam }) (*OperatorTeamAnswer, error) {
		if _, err := account.Operator(ctx); err != nil {
			return nil, err
		}
		r := in.Body
		if r.Plan == "" && r.MaxMembers == nil {
			return nil, errs.Field("plan", "plan or max_members is required.")
		}
		if r.Plan != "" {
			t, err := s.Accounts.SetPlan(ctx, r.Team, r.Plan)
			if err != nil {
				return nil, err
			}
			r.Team = t.ID
		}
		change := membership.Change{Set: r.MaxMembers != nil}
		if change.Set && *r.MaxMembers > 0 {
			change.MaxMembers = r.MaxMembers
		}
		l, err := s.Members.SetLimits(ctx, r.Team, change)
		rest.About(ctx, l.TeamID)
		return &OperatorTeamAnswer{OperatorTeamDoc{l.TeamID, l.Name, l.Plan, l.MaxMembers}}, err
	})
}

// operateUsers are the operations on any user of the server.
func (s Area) operateUsers(tag string) {
	const path = "/api/v1/operator/users"
	set := op("operate-user", "PATCH "+path, tag, "Disable or enable any user (operators of the server only)", 404, 409)
	set.Description = "It takes effect with the user's next request, on every node. What they have scheduled for their teams goes on. " +
		"409 for yourself."
	rest.Handle(s.API, set, func(ctx context.Context, in *struct{ Body OperatorUser }) (*signin.Message, error) {
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
		return &signin.Message{Message: done}, s.Accounts.SetDisabled(ctx, in.Body.Email, in.Body.Disabled)
	})
	remove := op("delete-user", "DELETE "+path, tag, "Delete any user (operators of the server only)", 404, 409, 413, 415)
	remove.Description = "They leave their teams; what they made there stays. 409 names the teams that would have no admin, or nobody. " +
		"The audit log keeps their address."
	signin.Act(s.API, remove, "The user is deleted.", func(ctx context.Context, in *struct{ Body OperatorUserDeletion }) error {
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
