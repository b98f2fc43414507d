package team

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// UserProfile says who the caller is, and in which teams. Scanners ask for it before they
// keep a key.
type UserProfile struct {
	Message      string          `json:"message"`
	Email        string          `json:"email"`
	Name         string          `json:"name" doc:"What to call you: the part of your address before the @."`
	Role         string          `json:"role" enum:"OWNER,ADMIN,MEMBER,VIEWER,GUEST" doc:"What you are in the team you act in."`
	Plan         string          `json:"plan" doc:"The plan of the team you act in, such as ENT."`
	PersonalPlan string          `json:"personal_account_plan" doc:"The plan of your default team."`
	TeamName     string          `json:"team_name" doc:"The team you act in."`
	TeamOwner    string          `json:"team_owner_name" doc:"Owner's address."`
	IsTeamOwner  bool            `json:"is_team_owner" doc:"The team is yours."`
	ReadOnly     bool            `json:"is_read_only" doc:"You can change nothing in this team."`
	CloudScans   bool            `json:"cloud_scans" doc:"Scans run on the server. Always."`
	FullPortScan bool            `json:"full_port_scan" doc:"No port is left out by a plan. Always."`
	LeaksEnabled bool            `json:"is_leaks_enabled" doc:"Leaked credentials are looked for. Never yet."`
	Workspaces   []UserWorkspace `json:"workspaces"`
	Features     UserFeatures    `json:"feature_flag" doc:"What this server can do."`
}

// UserFeatures are what a server can do that not all can.
type UserFeatures struct {
	InternalScan bool `json:"internal_scan" doc:"Private addresses can be scanned."`
}

// UserWorkspace is one of the caller's teams.
type UserWorkspace struct {
	Name        string `json:"name"`
	TeamID      string `json:"team_id"`
	Active      bool   `json:"active" doc:"You act in it in this request."`
	Plan        string `json:"plan"`
	MemberCount int    `json:"member_count"`
	Role        string `json:"role" enum:"OWNER,ADMIN,MEMBER,VIEWER,GUEST"`
	Default     bool   `json:"default" doc:"You act in it when you name none."`
}

// roleWord is a role as this surface spells it.
func roleWord(role account.Role, owner bool) string {
	if owner {
		return strings.ToUpper(account.OwnerTitle)
	}
	return strings.ToUpper(string(role))
}

func roleOf(word string) account.Role { return account.Role(strings.ToLower(word)) }

func (s area) user() {
	rest.Handle(s.API, wire.Op("get-user", "GET /v1/user", "User", "Your profile and your teams"), s.getUser)
}

func (s area) getUser(ctx context.Context, _ *struct{}) (*UserProfile, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	teams, err := s.Accounts.FindWorkspaces(ctx)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(c.Email, "@")
	p := UserProfile{
		Message: "This is you.", Email: c.Email, Name: name, Plan: string(c.Plan), ReadOnly: c.Role.ReadsOnly(),
		CloudScans: true, FullPortScan: true, Features: UserFeatures{InternalScan: true}, Workspaces: make([]UserWorkspace, len(teams)),
	}
	for i, t := range teams {
		p.Workspaces[i] = UserWorkspace{
			Name: t.Name, TeamID: t.ID, Active: t.Active, Plan: string(t.Plan), MemberCount: t.MemberCount, Role: roleWord(t.Role, t.Owner), Default: t.Default,
		}
		if t.Active {
			p.TeamName, p.TeamOwner, p.IsTeamOwner, p.Role = t.Name, t.OwnerEmail, t.Owner, p.Workspaces[i].Role
		}
		if t.Default {
			p.PersonalPlan = string(t.Plan)
		}
	}
	return &p, nil
}
