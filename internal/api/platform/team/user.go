package team

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// UserProfile is the caller and their teams. Scanners request it to check a key.
type UserProfile struct {
	Message      string          `json:"message"`
	Email        string          `json:"email"`
	Name         string          `json:"name" doc:"The part of your address before the @."`
	Role         string          `json:"role" enum:"OWNER,ADMIN,MEMBER,VIEWER,GUEST" doc:"Your role in the team you act in."`
	Plan         string          `json:"plan" doc:"The plan of the team you act in, such as ENT."`
	PersonalPlan string          `json:"personal_account_plan" doc:"The plan of your default team."`
	TeamName     string          `json:"team_name" doc:"The team you act in."`
	TeamOwner    string          `json:"team_owner_name" doc:"Owner's address."`
	IsTeamOwner  bool            `json:"is_team_owner" doc:"Whether you own the team."`
	ReadOnly     bool            `json:"is_read_only" doc:"Whether you can only read."`
	CloudScans   bool            `json:"cloud_scans" doc:"Always true."`
	FullPortScan bool            `json:"full_port_scan" doc:"Whether the plan allows all ports. Always true."`
	LeaksEnabled bool            `json:"is_leaks_enabled" doc:"Always false."`
	Workspaces   []UserWorkspace `json:"workspaces"`
	Features     UserFeatures    `json:"feature_flag" doc:"Features of the server."`
}

type passwordChange struct {
	Body PasswordChange
	from string
}

// Resolve implements huma.Resolver.
func (c *passwordChange) Resolve(ctx huma.Context) []error {
	c.from = rest.ClientIP(ctx)
	return nil
}

// PasswordChange is a new password.
type PasswordChange struct {
	Current string `json:"current_password" doc:"Your present one."`
	New     string `json:"new_password" doc:"10 to 1024 bytes, and none of the common passwords."`
}

// UserFeatures are optional features of the server.
type UserFeatures struct {
	InternalScan bool `json:"internal_scan" doc:"Private addresses can be scanned."`
}

// UserWorkspace is one of the caller's teams.
type UserWorkspace struct {
	Name        string `json:"name"`
	TeamID      string `json:"team_id"`
	Active      bool   `json:"active" doc:"Whether this request acts in it."`
	Plan        string `json:"plan"`
	MemberCount int    `json:"member_count"`
	Role        string `json:"role" enum:"OWNER,ADMIN,MEMBER,VIEWER,GUEST"`
	Default     bool   `json:"default" doc:"Whether it is your default team."`
}

// roleWord is this API's name for a role.
func roleWord(role account.Role, owner bool) string {
	if owner {
		return strings.ToUpper(account.OwnerTitle)
	}
	return strings.ToUpper(string(role))
}

func roleOf(word string) account.Role { return account.Role(strings.ToLower(word)) }

func (s area) user() {
	rest.Handle(s.API, wire.Op("get-user", "GET /v1/user", "User", "Your profile and your teams"), s.getUser)
	password := wire.Op("change-password", "POST /v1/user/password", "User",
		"Change your password; your other sessions end")
	password.Description = "A new password has 10 to 1024 bytes, and is no common one. Wrong current passwords are slowed down as logins are (429)."
	wire.Act(s.API, password, "The password is changed. Your other sessions have ended.",
		func(ctx context.Context, in *passwordChange) error {
			return s.Accounts.ChangePassword(ctx, in.Body.Current, in.Body.New, in.from)
		})
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
		CloudScans: true, FullPortScan: true, Features: UserFeatures{InternalScan: true},
		Workspaces: make([]UserWorkspace, len(teams)),
	}
	for i, t := range teams {
		p.Workspaces[i] = UserWorkspace{
			Name: t.Name, TeamID: t.ID, Active: t.Active, Plan: string(t.Plan), MemberCount: t.MemberCount,
			Role: roleWord(t.Role, t.Owner), Default: t.Default,
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

// keyAnswer is the platform's answer about an API key.
type keyAnswer struct {
	Message string `json:"message" doc:"Summary."`
	APIKey  string `json:"api_key" doc:"The value of a new key; else a mask."`
}

// maskedKey replaces the value of an existing key.
const maskedKey = "svc_sk_********************************"

func (s area) keys() {
	const path, tag = "/v1/user/apikey", "User"
	rest.Handle(s.API, wire.Op("get-api-key", "GET "+path, tag,
		"Whether you have an API key; its value is not shown again", 404),
		func(ctx context.Context, _ *struct{}) (*keyAnswer, error) {
			_, err := s.Accounts.FindKey(ctx)
			return &keyAnswer{"You have an API key. Its value was shown when it was made.", maskedKey}, err
		})
	rest.Handle(s.API, wire.Op("create-api-key", "POST "+path, tag, "Create your API key, if you have none"),
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
	rest.Handle(s.API, wire.Op("rotate-api-key", "POST "+path+"/rotate", tag,
		"Rotate your API key; the old value stops working at once", 404, 409),
		func(ctx context.Context, _ *struct{}) (*keyAnswer, error) {
			key, err := s.Accounts.RotateKey(ctx)
			return &keyAnswer{"The API key has a new value. Keep it: it is not shown again.", key.Key}, err
		})
	wire.Act(s.API, wire.Op("delete-api-key", "DELETE "+path, tag, "Delete your API key; it stops working at once", 404),
		"The API key is deleted.",
		func(ctx context.Context, _ *struct{}) error { return s.Accounts.DeleteKey(ctx) })
}
