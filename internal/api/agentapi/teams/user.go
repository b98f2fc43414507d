package teams

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/model"
)

// User is the profile of the caller.
type User struct {
	Email      string          `json:"email"`
	Role       string          `json:"role" enum:"user,admin" doc:"admin: an operator of the server."`
	Features   map[string]bool `json:"features" doc:"What this server and the team's plan offer."`
	Models     []string        `json:"available_models" doc:"What the field model of a task may name, besides auto and builtin."`
	BYOKModels []UserModel     `json:"byok_models" doc:"Those of keys of your own or your team's."`
	Cap        *UserCap        `json:"cap" doc:"What you may spend in this team; null: no cap."`
	EgressIP   EgressIP        `json:"egress_ip" doc:"Where requests of this server come from, for allow-lists."`
	CostRate   float64         `json:"vedette_cost_rate" doc:"US dollars for a credit: always 1."`
	Onboarding Onboarding      `json:"onboarding" doc:"What a new user has done."`
	Team       UserTeam        `json:"team" doc:"The team that you act in."`
	Teams      []UserTeam      `json:"teams" doc:"All your teams, the default one first; X-Team-Id names the one to act in."`
}

// UserModel is a model that somebody's own key offers.
type UserModel struct {
	ID              string  `json:"id" doc:"The value for the field model of a task."`
	Provider        string  `json:"provider"`
	Supported       bool    `json:"supported" doc:"Whether its window and price are known here; a model that is not works too."`
	VedetteModelID  *string `json:"vedette_model_id" doc:"Its id in this server's catalogue; null: it is not there."`
	ProviderModelID string  `json:"provider_model_id" doc:"The provider's name for it."`
	Reason          string  `json:"reason,omitempty" doc:"Why it is not supported."`
}

// UserCap is the cap that applies to the caller.
type UserCap struct {
	Source    string  `json:"source" enum:"team" doc:"Who has set it: the team."`
	Limit     float64 `json:"limit" doc:"In US dollars."`
	Used      float64 `json:"used" doc:"In US dollars."`
	Remaining float64 `json:"remaining" doc:"In US dollars, never below 0."`
}

// EgressIP is where requests come from.
type EgressIP struct {
	Browser   Address  `json:"browser" doc:"Of browsers that test pages."`
	Sandbox   Address  `json:"sandbox" doc:"Of all other requests."`
	Addresses []string `json:"addresses" doc:"All addresses that the operator has named."`
}

// Address is an address.
type Address struct {
	IP *string `json:"ip_address" doc:"Null: the operator has named none."`
}

// Onboarding is what a new user has done.
type Onboarding struct {
	Subscription bool `json:"subscription" doc:"Whether there is a way to pay for models: the server's, or a key of your own."`
	Team         bool `json:"team" doc:"Whether somebody else is in your team."`
}

// UserTeam is one of the caller's teams.
type UserTeam struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Role       account.Role `json:"role" enum:"admin,member,viewer,guest" doc:"Your role in it."`
	AutoJoined bool         `json:"auto_joined" doc:"Whether you joined by the domain of your address."`
}

type userInput struct{ from string }

// Resolve implements huma.Resolver.
func (u *userInput) Resolve(ctx huma.Context) []error {
	u.from = rest.ClientIP(ctx)
	return nil
}

func (s Area) user() {
	get := op("get-profile", "GET /api/v1/user", "User", "Get your profile, models, cap, egress addresses and teams")
	get.Description = "Teams that take whoever has an address of a verified domain are joined here and when you sign in."
	rest.Handle(s.API, get, func(ctx context.Context, in *userInput) (*User, error) {
		c, err := account.From(ctx)
		if err != nil {
			return nil, err
		}
		if !c.ReadOnly {
			if _, err := s.Members.JoinByDomain(ctx, c, in.from); err != nil {
				return nil, err
			}
		}
		return s.profile(ctx, c)
	})
}

func (s Area) profile(ctx context.Context, c account.Caller) (*User, error) {
	me, err := s.Members.Me(ctx)
	if err != nil {
		return nil, err
	}
	teams, err := s.Members.Mine(ctx)
	if err != nil {
		return nil, err
	}
	offered, mode, err := s.Models.Find(ctx)
	if err != nil {
		return nil, err
	}
	u := User{
		Email: c.Email, Role: "user", Models: []string{}, BYOKModels: []UserModel{}, CostRate: 1,
		Features: map[string]bool{"vedette_ai": len(offered) > 0, "vedette_credits": true, "byok": mode == model.ModeBYOK,
			"teams": true, "dynamic_tools": true},
		EgressIP:   EgressIP{Addresses: append([]string{}, s.EgressIPs...)},
		Onboarding: Onboarding{Subscription: len(offered) > 0},
		Teams: rest.Each(teams, func(t membership.Mine) UserTeam {
			return UserTeam{t.ID, t.Name, t.Role,
				t.AutoJoined}
		}),
	}
	if c.SystemAdmin {
		u.Role = "admin"
	}
	if len(s.EgressIPs) > 0 {
		u.EgressIP.Browser.IP, u.EgressIP.Sandbox.IP = &s.EgressIPs[0], &s.EgressIPs[0]
	}
	if limit := capDoc(me.CapCents, me.SpentMicros); limit != nil {
		u.Cap = &UserCap{"team", limit.Limit, limit.Used, limit.Remaining}
	}
	for _, t := range teams {
		if t.ID == c.TeamID {
			u.Team, u.Onboarding.Team = UserTeam{t.ID, t.Name, t.Role, t.AutoJoined}, t.Members > 1
		}
	}
	for _, m := range offered {
		u.Models = append(u.Models, m.ID)
		if !m.Chosen.BYOK {
			continue
		}
		one := UserModel{ID: m.ID, Provider: string(m.Provider), Supported: m.Chosen.Priced, ProviderModelID: m.WireName}
		if one.Supported {
			one.VedetteModelID = new(m.ID)
		} else {
			one.Reason = "Its price is not known: its calls count as free."
		}
		u.BYOKModels = append(u.BYOKModels, one)
	}
	return &u, nil
}
