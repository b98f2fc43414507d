// Package team has the operations of the platform API about the caller and their team: user, API key, teams and
// members, audit log, alert log, configurations and domains.
package team

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/setting"
)

// Services are what the operations call.
type Services struct {
	Accounts      *account.Accounts
	Settings      *setting.Settings
	Domains       *domain.Domains
	Audit         *audit.Log
	Notifications *notification.Notifications
	Inbox         *inbox.Inbox
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.keys()
	s.user()
	s.sessions()
	s.inbox()
	s.teams()
	s.members()
	s.auditLog()
	s.alertLog()
	s.configs()
	s.domains()
}

const (
	teamTag  = "Teams"
	teamPath = "/v1/user/team"
)

// TeamAnswer is the caller's teams.
type TeamAnswer struct {
	Message    string     `json:"message"`
	Name       string     `json:"name" doc:"The name of the team you act in."`
	Workspaces []TeamItem `json:"workspaces"`
}

// TeamItem is one of the caller's teams.
type TeamItem struct {
	ID          string    `json:"id" doc:"Team id, for X-Team-Id."`
	Name        string    `json:"name"`
	CreatedAt   time.Time `json:"created_at"`
	MemberCount int       `json:"member_count"`
	OwnerEmail  string    `json:"owner_email" doc:"Owner's address."`
}

// TeamName is a team to be made, or a new name for one.
type TeamName struct {
	Name string `json:"name" minLength:"1" maxLength:"128"`
}

// TeamMade is a team just made.
type TeamMade struct {
	Message string `json:"message"`
	ID      string `json:"team_id"`
}

// TeamRenamed is a team with a new name.
type TeamRenamed struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// TeamDeletion names a team to delete.
type TeamDeletion struct {
	ID string `json:"team_id"`
}

func (s area) teams() {
	rest.Handle(s.API, wire.Op("get-team", "GET "+teamPath, teamTag, "Your teams"),
		func(ctx context.Context, _ *struct{}) (*TeamAnswer, error) {
			found, err := s.Accounts.FindWorkspaces(ctx)
			a := TeamAnswer{Message: "Your teams.", Workspaces: make([]TeamItem, len(found))}
			for i, t := range found {
				a.Workspaces[i] = TeamItem{t.ID, t.Name, t.CreatedAt, t.MemberCount, t.OwnerEmail}
				if t.Active {
					a.Name = t.Name
				}
			}
			return &a, err
		})
	create := wire.Op("create-team", "POST "+teamPath, "User", "Create a team")
	create.Description = "You become its owner; it gets the plan of the team you act in, whose default members are invited."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body TeamName }) (*TeamMade, error) {
		id, err := s.Accounts.CreateTeam(ctx, in.Body.Name)
		return &TeamMade{"The team is made.", id}, err
	})
	rest.Handle(s.API, wire.Op("rename-team", "PATCH "+teamPath, teamTag, "Rename your team (team admins only)"),
		func(ctx context.Context, in *struct{ Body TeamName }) (*TeamRenamed, error) {
			t, err := s.Accounts.UpdateTeam(ctx, account.TeamUpdate{Name: &in.Body.Name})
			return &TeamRenamed{t.Name, "The team has a new name."}, err
		})
	remove := wire.Op("delete-team", "DELETE "+teamPath, teamTag, "Delete a team with everything in it (its owner only)",
		413, 415)
	remove.Description = "It must have no other members, and you must have another team. The answer has no body."
	remove.DefaultStatus = http.StatusOK
	rest.Register(s.API, remove, func(ctx context.Context, in *struct{ Body TeamDeletion }) (*struct{}, error) {
		if err := s.Accounts.DeleteTeam(ctx, in.Body.ID); err != nil {
			return nil, err
		}
		rest.About(ctx, in.Body.ID)
		return nil, nil //nolint:nilnil // huma: an answer without a body
	})
}

// TeamMember is a member of a team, or an invited one.
type TeamMember struct {
	Email      string     `json:"email"`
	Status     string     `json:"status" enum:"active,pending" doc:"pending: invited, and has not accepted."`
	Role       string     `json:"role" enum:"OWNER,ADMIN,MEMBER,VIEWER,GUEST" doc:"What they may do: an owner or admin manages, a member works, a viewer reads, a guest does not see who is in the team."`
	InvitedAt  *time.Time `json:"invited_at,omitempty" doc:"When they were invited; absent if they were not."`
	AcceptedAt *time.Time `json:"accepted_at,omitempty" doc:"When they joined."`
	Service    bool       `json:"service,omitempty" doc:"A program: it has API keys and never signs in."`
	LastSignIn *time.Time `json:"last_sign_in,omitempty" doc:"When they last signed in with their password; absent unless they sign in to this team."`
}

// MemberList is the members of a team.
type MemberList struct {
	Message string       `json:"message"`
	Max     int          `json:"max_team_members" doc:"How many the plan allows, including invited ones."`
	Members []TeamMember `json:"members" doc:"Those in the team, and then those invited."`
}

// MemberInvitation invites a member.
type MemberInvitation struct {
	Email string `json:"email" maxLength:"254"`
	Role  string `json:"role,omitempty" enum:"ADMIN,MEMBER,VIEWER,GUEST" default:"MEMBER"`
}

// MemberRole changes the role of a member.
type MemberRole struct {
	Email string `json:"email" maxLength:"254"`
	Role  string `json:"role" enum:"ADMIN,MEMBER,VIEWER,GUEST"`
}

// MemberName names a member.
type MemberName struct {
	Email string `json:"email" maxLength:"254"`
}

func (s area) members() {
	const path = teamPath + "/member"
	rest.Handle(s.API, wire.Op("list-members", "GET "+path, teamTag, "The members of your team (not for guests)"),
		s.listMembers)
	add := wire.Op("add-member", "POST "+path, teamTag, "Invite a member (team admins only)")
	add.Description = "They are in the team when they accept: POST /v1/user/invitations/{invited_team_id}. Where the operator has set up a mail " +
		"server, a mail tells them. The answer is the same whether they have an account or not."
	rest.Handle(s.API, add, func(ctx context.Context, in *struct{ Body MemberInvitation }) (*wire.Message, error) {
		return wire.Messagef("%s is invited, and in the team when they accept.", in.Body.Email),
			s.Accounts.Invite(ctx, in.Body.Email, roleOf(in.Body.Role))
	})
	rest.Handle(s.API, wire.Op("set-member-role", "PATCH "+path, teamTag,
		"Change the role of a member (team admins only)", 404),
		func(ctx context.Context, in *struct{ Body MemberRole }) (*wire.Message, error) {
			return wire.Messagef("%s has the role %s.", in.Body.Email, in.Body.Role), s.Accounts.SetRole(ctx, in.Body.Email,
				roleOf(in.Body.Role))
		})
	remove := wire.Op("remove-member", "DELETE "+path, teamTag, "Remove a member (team admins only), or leave", 404, 413,
		415)
	remove.Description = "They lose access; what they made stays. Neither the owner nor the last admin can be removed."
	rest.Handle(s.API, remove, func(ctx context.Context, in *struct{ Body MemberName }) (*wire.Message, error) {
		return wire.Messagef("%s is not in the team any more.", in.Body.Email), s.Accounts.RemoveMember(ctx, in.Body.Email)
	})
	s.defaultMembers()
	s.invitations()
}

func (s area) listMembers(ctx context.Context, _ *struct{}) (*MemberList, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.Accounts.FindMembers(ctx)
	list := MemberList{Message: "Who is in your team.", Max: c.Plan.MaxMembers(), Members: make([]TeamMember, len(found))}
	for i, m := range found {
		list.Members[i] = TeamMember{m.Email, "active", roleWord(m.Role, m.Owner), m.InvitedAt, m.AcceptedAt, m.Service, m.LastSignIn}
		if m.Pending {
			list.Members[i].Status = "pending"
		}
	}
	return &list, err
}

// DefaultMember is invited to each team that is created from this one.
type DefaultMember struct {
	Email string `json:"email" maxLength:"254"`
	Role  string `json:"role" enum:"ADMIN,MEMBER,VIEWER,GUEST"`
}

// DefaultMemberList is the default members of a team.
type DefaultMemberList struct {
	Message string          `json:"message"`
	Members []DefaultMember `json:"members" doc:"The list, in its order."`
}

// DefaultMembers replaces the list.
type DefaultMembers struct {
	Members []DefaultMember `json:"members" maxItems:"1000" doc:"The list; of several with one address the first stays. An empty one clears it."`
}

// DefaultMemberRemoval removes default members.
type DefaultMemberRemoval struct {
	Email string `json:"email,omitempty" maxLength:"254" doc:"Their address; default: all."`
}

func (s area) defaultMembers() {
	const path = teamPath + "/default-members"
	rest.Handle(s.API, wire.Op("list-default-members", "GET "+path, teamTag,
		"Your default members, who are invited to each team created from yours (team admins only)"),
		func(ctx context.Context, _ *struct{}) (*DefaultMemberList, error) {
			found, err := s.Accounts.FindDefaultMembers(ctx)
			return &DefaultMemberList{"Default members.", rest.Each(found, func(m account.DefaultMember) DefaultMember {
				return DefaultMember{m.Email, roleWord(m.Role, false)}
			})}, err
		})
	rest.Handle(s.API, wire.Op("set-default-members", "POST "+path, teamTag,
		"Replace the default members (team admins only)"),
		func(ctx context.Context, in *struct{ Body DefaultMembers }) (*wire.Message, error) {
			return wire.Messagef("The default members are set; existing teams do not change."),
				s.Accounts.SetDefaultMembers(ctx, rest.Each(in.Body.Members, func(m DefaultMember) account.DefaultMember {
					return account.DefaultMember{Email: m.Email, Role: roleOf(m.Role)}
				}))
		})
	wire.Act(s.API, wire.Op("remove-default-members", "DELETE "+path, teamTag,
		"Remove one or all default members (team admins only)", 404, 413, 415), "The list is changed.",
		func(ctx context.Context, in *struct{ Body DefaultMemberRemoval }) error {
			return s.Accounts.RemoveDefaultMember(ctx, in.Body.Email)
		})
}
