package team

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// InvitationList is the teams that have invited the caller.
type InvitationList struct {
	Message string           `json:"message"`
	Data    []InvitationItem `json:"data" doc:"The newest first; at most 100."`
}

// InvitationItem is one invitation.
type InvitationItem struct {
	TeamID    string    `json:"team_id"`
	Team      string    `json:"team_name" doc:"Its name."`
	Role      string    `json:"role" enum:"ADMIN,MEMBER,VIEWER,GUEST" doc:"The role that you would have."`
	InvitedAt time.Time `json:"invited_at" doc:"When you were invited."`
}

type invitationOf struct {
	TeamID string `path:"invited_team_id" doc:"The team's id, as in the list of your invitations."`
}

// invitations are the operations of who was invited.
func (s area) invitations() {
	const path, one, tag = "/v1/user/invitations", "/v1/user/invitations/{invited_team_id}", "User"
	rest.Handle(s.API, wire.Op("list-invitations", "GET "+path, tag, "The teams that have invited you"),
		func(ctx context.Context, _ *struct{}) (*InvitationList, error) {
			found, err := s.Accounts.FindInvitations(ctx)
			return &InvitationList{"Your invitations.", rest.Each(found, func(i account.Invitation) InvitationItem {
				return InvitationItem{i.TeamID, i.Team, roleWord(i.Role, false), i.CreatedAt}
			})}, err
		})
	wire.Act(s.API, wire.Op("accept-invitation", "POST "+one, tag,
		"Accept an invitation: you are in the team at once", 404),
		"You are in the team.", func(ctx context.Context, in *invitationOf) error {
			return s.Accounts.AcceptInvitation(ctx, in.TeamID)
		})
	wire.Act(s.API, wire.Op("decline-invitation", "DELETE "+one, tag, "Decline an invitation", 404),
		"The invitation is declined.", func(ctx context.Context, in *invitationOf) error {
			return s.Accounts.DeclineInvitation(ctx, in.TeamID)
		})
}
