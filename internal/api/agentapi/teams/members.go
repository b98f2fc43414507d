package teams

import (
	"context"
	"math"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
)

// MemberDoc is a member of a team, or somebody who was invited.
type MemberDoc struct {
	ID         string            `json:"id" doc:"The user's id, or the invitation's."`
	Email      string            `json:"email"`
	Role       account.Role      `json:"role" enum:"admin,member,viewer,guest" doc:"Their role in the team."`
	IsOwner    bool              `json:"is_owner" doc:"Whether they own the team; an owner cannot be changed or removed."`
	Status     membership.Status `json:"status" enum:"pending,active" doc:"pending: invited, and has not accepted."`
	InvitedBy  *string           `json:"invited_by" doc:"Who invited them; null: nobody, or it is not known."`
	InvitedAt  time.Time         `json:"invited_at" doc:"When they joined, if nobody invited them."`
	AcceptedAt *time.Time        `json:"accepted_at" doc:"When they joined; null: not yet."`
	CreatedAt  time.Time         `json:"created_at" doc:"When they joined or were invited."`
	Billable   bool              `json:"billable" doc:"Whether the server's models may be used for them."`
	Access     string            `json:"project_access" enum:"all,restricted" doc:"restricted: sees only projects to which they were invited; ignored for admins."`
	AutoJoined bool              `json:"auto_joined" doc:"Whether they joined by the domain of their address."`
	Cap        *CapDoc           `json:"cap" doc:"Their own spending cap, or else the team's default; null: none."`
}

const (
	accessAll        = "all"
	accessRestricted = "restricted"

	microsPerCent = 10_000
	microsPerUSD  = 1e6
	centsPerUSD   = 100
)

func capDoc(cents *int64, micros int64) *CapDoc {
	if cents == nil {
		return nil
	}
	return &CapDoc{float64(*cents) / centsPerUSD, float64(micros) / microsPerUSD,
		float64(max(0, *cents*microsPerCent-micros)) / microsPerUSD}
}

func memberDoc(m membership.Member) MemberDoc {
	doc := MemberDoc{ID: m.ID, Email: m.Email, Role: m.Role, IsOwner: m.Owner, Status: m.Status, InvitedAt: m.InvitedAt,
		AcceptedAt: m.AcceptedAt, CreatedAt: m.InvitedAt, Billable: m.Billable, Access: accessAll, AutoJoined: m.AutoJoined,
		Cap: capDoc(m.CapCents, m.SpentMicros)}
	if m.Restricted {
		doc.Access = accessRestricted
	}
	if m.InvitedBy != "" {
		doc.InvitedBy = &m.InvitedBy
	}
	if m.AcceptedAt != nil {
		doc.CreatedAt = *m.AcceptedAt
	}
	return doc
}

// MemberAnswer is a member.
type MemberAnswer struct {
	Member MemberDoc `json:"member" doc:"The member as they are now."`
}

// MemberList is who is in a team, and who was invited.
type MemberList struct {
	Members []MemberDoc `json:"members" doc:"In the order of joining, and then the invited."`
	Total   int         `json:"total"`
}

// InviteRequest invites a person.
type InviteRequest struct {
	Email    string   `json:"email" maxLength:"254"`
	Role     string   `json:"role,omitempty" enum:"admin,member,viewer,guest" default:"member"`
	Billable *bool    `json:"billable,omitempty" default:"true" doc:"false: the server's models are not used for them; with keys of your own they work."`
	Access   string   `json:"project_access,omitempty" enum:"all,restricted" default:"all" doc:"restricted: sees only projects to which they were invited; ignored for admins."`
	Cap      *float64 `json:"spending_cap_usd,omitempty" minimum:"0" maximum:"1000000000" doc:"What they may spend, in US dollars; 0 blocks. Absent: the team's default."`
}

// InviteAnswer is an invitation.
type InviteAnswer struct {
	Member MemberDoc `json:"member" doc:"The invited person."`
	Token  string    `json:"invite_token" doc:"Shown this once: who signs in with this address accepts with it."`
	Link   string    `json:"invite_link" doc:"Where they sign in and accept. Where the operator has set up a mail server, a mail tells them too."`
}

// AcceptRequest accepts an invitation.
type AcceptRequest struct {
	Token string `json:"invite_token" minLength:"1" maxLength:"200"`
}

// AcceptAnswer is the new member and their team.
type AcceptAnswer struct {
	Member MemberDoc `json:"member" doc:"You, in the team."`
	Team   Team      `json:"team" doc:"The team."`
}

// RoleRequest changes a role.
type RoleRequest struct {
	Email string `json:"email" maxLength:"254"`
	Role  string `json:"role" enum:"admin,member,viewer,guest"`
}

// AccessRequest changes the terms of a member.
type AccessRequest struct {
	Email    string  `json:"email" maxLength:"254"`
	Access   *string `json:"project_access,omitempty" enum:"all,restricted" doc:"restricted: sees only projects to which they were invited; ignored for admins."`
	Billable *bool   `json:"billable,omitempty" doc:"Whether the server's models may be used for them."`
}

func answerMember(m membership.Member, err error) (*MemberAnswer, error) {
	return &MemberAnswer{memberDoc(m)}, err
}

// capped is the answer about a member whose cap was changed.
func (s Area) capped(ctx context.Context, email string, err error) (*MemberAnswer, error) {
	if err != nil {
		return nil, err
	}
	return answerMember(s.Members.One(ctx, email))
}

// members are the operations on who is in the team.
func (s Area) members(path, tag string) {
	rest.Handle(s.API, op("list-team-members", "GET "+path+"/members", tag, "List who is in your team, and who was invited (not for guests)"),
		func(ctx context.Context, _ *struct{}) (*MemberList, error) {
			found, err := s.Members.FindAll(ctx)
			return &MemberList{rest.Each(found, memberDoc), len(found)}, err
		})
	invite := op("invite-team-member", "POST "+path+"/members/invite", tag,
		"Invite a person to your team (team admins only)")
	invite.Description = "They are in the team when they accept. The answer is the same whether they have an account or not; an operator of the " +
		"server makes accounts. A second invitation of the same person replaces the first."
	rest.Handle(s.API, invite, func(ctx context.Context, in *struct{ Body InviteRequest }) (*InviteAnswer, error) {
		r := in.Body
		t := membership.Terms{Email: r.Email, Role: account.Role(r.Role), Billable: r.Billable == nil || *r.Billable,
			Restricted: r.Access == accessRestricted}
		if r.Role == "" {
			t.Role = account.Member
		}
		if r.Cap != nil {
			t.CapCents = new(int64(math.Round(*r.Cap * centsPerUSD)))
		}
		i, err := s.Members.Invite(ctx, t)
		return &InviteAnswer{memberDoc(i.Member), i.Token, i.Link}, err
	})
	accept := op("accept-team-invitation", "POST "+path+"/invitations/accept", tag, "Join a team that has invited you",
		404)
	rest.Handle(s.API, accept, func(ctx context.Context, in *struct{ Body AcceptRequest }) (*AcceptAnswer, error) {
		m, teamID, err := s.Members.Accept(ctx, in.Body.Token)
		if err != nil {
			return nil, err
		}
		rest.About(ctx, teamID)
		t, err := s.answerIn(ctx, teamID)
		if err != nil {
			return nil, err
		}
		return &AcceptAnswer{memberDoc(m), t.Team}, nil
	})
	rest.Handle(s.API, op("set-team-member-role", "PATCH "+path+"/members/role", tag,
		"Change the role of a member (team admins only)", 404),
		func(ctx context.Context, in *struct{ Body RoleRequest }) (*MemberAnswer, error) {
			return answerMember(s.Members.SetRole(ctx, in.Body.Email, account.Role(in.Body.Role)))
		})
	rest.Handle(s.API, op("set-team-member-access", "PATCH "+path+"/members/access", tag,
		"Change which projects a member sees, and whether the server's models are used for them (team admins only)", 404),
		func(ctx context.Context, in *struct{ Body AccessRequest }) (*MemberAnswer, error) {
			a := membership.Access{Billable: in.Body.Billable}
			if in.Body.Access != nil {
				a.Restricted = new(*in.Body.Access == accessRestricted)
			}
			return answerMember(s.Members.SetAccess(ctx, in.Body.Email, a))
		})
	remove := op("remove-team-member", "DELETE "+path+"/members", tag, "Remove a member, or withdraw an invitation (team admins only)", 404)
	remove.Description = "They lose access at once; what they made stays. Neither the owner nor the last admin can be removed."
	signin.Act(s.API, remove, "They are not in the team any more.", func(ctx context.Context, in *struct {
		Email string `query:"email" required:"true" maxLength:"254" doc:"The member's email address."`
	}) error {
		if _, err := account.TeamAdmin(ctx); err != nil {
			return err
		}
		rest.About(ctx, in.Email)
		return s.Accounts.RemoveMember(ctx, in.Email)
	})
	leave := op("leave-team", "POST "+path+"/leave", tag, "Leave the team that you act in")
	leave.Description = "Its owner cannot leave, and nobody who would have no team left."
	signin.Act(s.API, leave, "You are not in the team any more.",
		func(ctx context.Context, _ *struct{}) error { return s.Members.Leave(ctx) })
}
