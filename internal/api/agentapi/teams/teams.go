// Package teams serves the areas Teams and User of the agent-task API: the team and its members, caps, deliveries of
// its webhook, what operators set, and the profile of the caller.
package teams

import (
	"context"
	"math"
	"net/http"
	"reflect"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Team is a team with its terms.
type Team struct {
	account.Team
	MaxMembers int      `json:"max_members" doc:"How many it may have, with those invited."`
	AutoJoin   bool     `json:"auto_join_enabled" doc:"Whether people with an address of a verified domain join when they sign in."`
	IsVerified bool     `json:"is_domain_verified" doc:"Whether the team has proved to own a domain (POST /v1/domain)."`
	Domains    []string `json:"verified_domains" doc:"The domains that it has proved to own, at most 100."`
}

// TeamAnswer is a team with a warning about its settings.
type TeamAnswer struct {
	Team    Team   `json:"team" doc:"The team as it is now."`
	Warning string `json:"warning,omitempty" doc:"Set when deliveries to the webhook URL will be blocked, with the reason."`
}

// TeamPatch changes a team.
type TeamPatch struct {
	Name       *string `json:"name,omitempty" minLength:"1" maxLength:"128"`
	AutoJoin   *bool   `json:"auto_join_enabled,omitempty" doc:"true: people with an address of a domain that the team has proved to own join as members when they sign in; 409 without such a domain."`
	WebhookURL *string `json:"webhook_url,omitempty" maxLength:"2048" doc:"Where completion artifacts are pushed, http or https; an empty string clears it."`
	Factor     *bool   `json:"require_second_factor,omitempty" doc:"true: members without a second factor may only set one up, also with API keys; 409 when you have none."`
	SecretName *string `json:"webhook_secret_name,omitempty" maxLength:"128" doc:"The name of a secret of the team's owner, of no project, that deliveries carry: Authorization: Bearer VALUE; an empty string clears it."`
}

// TeamRequest is a new team.
type TeamRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"128"`
}

// Area is the areas with the services that they call.
type Area struct {
	*rest.API
	Tasks     *task.Tasks
	Accounts  *account.Accounts
	Members   *membership.Members
	Secrets   *secret.Secrets
	Models    *model.Models
	Hooks     *hook.Hooks
	Webhooks  *netguard.Guard
	EgressIPs []string
}

var op = rest.NewOp

// Register adds the operations.
func (s Area) Register() {
	const path, tag = "/api/v1/teams", "Teams"
	rest.Handle(s.API, op("get-team", "GET "+path, tag, "Get your team"),
		func(ctx context.Context, _ *struct{}) (*TeamAnswer, error) {
			return s.answer(ctx, "")
		})
	create := op("create-team", "POST "+path, tag, "Create a team that you own")
	create.DefaultStatus = http.StatusCreated
	create.Description = "It has the plan of your present team, whose default members are invited. Work in it with its id in the header X-Team-Id."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body TeamRequest }) (*TeamAnswer, error) {
		id, err := s.Accounts.CreateTeam(ctx, in.Body.Name)
		if err != nil {
			return nil, err
		}
		rest.About(ctx, id)
		return s.answerIn(ctx, id)
	})
	patch := op("update-team", "PATCH "+path, tag, "Change your team's settings (team admins only)", 409)
	patch.Description = "webhook_url receives the completion artifacts of tasks with completion_delivery webhook; an empty " +
		"string clears it. Deliveries to private, local and cloud metadata addresses are blocked. " +
		"webhook_secret_name is the secret that they carry as a bearer token; when it is deleted, deliveries fail until another " +
		"is named, and the log of deliveries says why."
	rest.Handle(s.API, patch, s.update)
	remove := op("delete-team", "DELETE "+path, tag, "Delete your team with everything in it (its owner only)", 404)
	remove.Description = "You must be the only one in it and have another team. team_id is the id of the team that you act in, once more."
	signin.Act(s.API, remove, "The team is deleted.", func(ctx context.Context, in *struct {
		ID string `query:"team_id" required:"true" maxLength:"64" doc:"The team's id."`
	}) error {
		c, err := account.From(ctx)
		if err != nil {
			return err
		}
		if in.ID != c.TeamID {
			return errs.New(errs.Forbidden, "not_in_team", "team_id is not the team that you act in: name that one in X-Team-Id.").At("team_id")
		}
		rest.About(ctx, in.ID)
		return s.Accounts.DeleteTeam(ctx, in.ID)
	})
	rest.Handle(s.API, op("list-webhook-deliveries", "GET "+path+"/webhook/deliveries", tag,
		"List your team's webhook deliveries, newest first"), s.listDeliveries)
	test := op("test-webhook", "POST "+path+"/webhook/test", tag, "Send a test to your team's webhook (team admins only)", 409)
	test.Description = "It goes to webhook_url with the secret of the team, as the artifact of a task would, with the event " +
		"webhook.test and without a task. What became of it is in the list of deliveries."
	rest.Handle(s.API, test, func(ctx context.Context, _ *struct{}) (*WebhookTest, error) {
		id, err := s.Tasks.TestWebhook(ctx)
		return &WebhookTest{id}, err
	})
	s.members(path, tag)
	s.caps(path+"/members/cap", tag)
	s.operator(tag)
	s.user()
}

// answer is the team that the caller acts in.
func (s Area) answer(ctx context.Context, warning string) (*TeamAnswer, error) {
	team, err := s.Accounts.FindTeam(ctx)
	if err != nil {
		return nil, err
	}
	terms, err := s.Members.Team(ctx)
	return &TeamAnswer{Team{team, terms.MaxMembers, terms.AutoJoin, len(terms.Domains) > 0, append([]string{},
		terms.Domains...)},
		warning}, err
}

// answerIn is another team of the caller.
func (s Area) answerIn(ctx context.Context, teamID string) (*TeamAnswer, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	if c, err = s.Accounts.InTeam(ctx, c, teamID); err != nil {
		return nil, err
	}
	return s.answer(account.WithCaller(ctx, c), "")
}

func (s Area) update(ctx context.Context, in *struct{ Body TeamPatch }) (*TeamAnswer, error) {
	if _, err := account.TeamAdmin(ctx); err != nil {
		return nil, err
	}
	warning, err := s.checkWebhook(in.Body.WebhookURL)
	if err != nil {
		return nil, err
	}
	if err := s.checkWebhookSecret(ctx, in.Body.SecretName); err != nil {
		return nil, err
	}
	if in.Body.AutoJoin != nil {
		if err := s.Members.SetAutoJoin(ctx, *in.Body.AutoJoin); err != nil {
			return nil, err
		}
	}
	if _, err := s.Accounts.UpdateTeam(ctx, account.TeamUpdate{
		Name: in.Body.Name, WebhookURL: in.Body.WebhookURL, SecretName: in.Body.SecretName,
		SecondFactor: in.Body.Factor}); err != nil {
		return nil, err
	}
	return s.answer(ctx, warning)
}

// checkWebhookSecret refuses the name of a secret that the team's owner does not have, or that no header can carry.
func (s Area) checkWebhookSecret(ctx context.Context, name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	value, err := s.Secrets.OfOwner(ctx, c.TeamID, *name)
	switch {
	case errs.Is(err, errs.NotFound):
		return errs.Field("webhook_secret_name", "webhook_secret_name: %s", errs.From(err).Message)
	case err == nil && !hook.IsToken(value):
		return errs.Field("webhook_secret_name", "webhook_secret_name: the value of %s has characters that no header can carry.",
			*name)
	}
	return err
}

// checkWebhook refuses an invalid URL. A blocked address only causes a warning: the operator may allow it
// later, and each delivery checks the address that it dials.
func (s Area) checkWebhook(url *string) (warning string, err error) {
	if url == nil || *url == "" {
		return "", nil
	}
	_, err = s.Webhooks.CheckURL(*url)
	if e := errs.From(err); e != nil && e.Code == netguard.CodeBlocked {
		return "Deliveries to this address are blocked. " + e.Message, nil
	} else if e != nil {
		return "", e.At("webhook_url")
	}
	return "", nil
}

// DeliveryList is a page of the delivery log.
type DeliveryList struct {
	Deliveries []DeliveryDoc `json:"deliveries" doc:"The page."`
	Total      int           `json:"total"`
	HasMore    bool          `json:"has_more"`
}

// WebhookTest is a delivery that was asked for.
type WebhookTest struct {
	ID string `json:"delivery_id" doc:"As in the list of deliveries."`
}

// DeliveryDoc is one line of the delivery log.
type DeliveryDoc struct {
	ID         string     `json:"id"`
	TaskID     string     `json:"task_id" doc:"Empty of a test."`
	Event      string     `json:"event" doc:"What was delivered: task.completed, or webhook.test."`
	Receiver   string     `json:"receiver" doc:"Scheme and host of the webhook URL; the rest may be secret."`
	State      hook.State `json:"state" enum:"pending,sending,delivered,failed,blocked" doc:"State; blocked: its address is not allowed."`
	StatusCode int        `json:"status_code" doc:"HTTP status of the answer; 0 without one."`
	Error      string     `json:"error,omitempty" doc:"Why it failed or was blocked."`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	DurationMS int64      `json:"duration_ms"`
}

func (s Area) listDeliveries(ctx context.Context, in *struct {
	Limit  int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Offset int `query:"offset" minimum:"0" doc:"How many to skip."`
}) (*DeliveryList, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	seen, args := task.VisibleTo(caller)
	found, total, err := s.Hooks.Find(ctx, caller.TeamID, page.Window{Offset: in.Offset, Limit: in.Limit}, seen, args...)
	return &DeliveryList{rest.Each(found, func(e hook.Entry) DeliveryDoc {
		return DeliveryDoc{
			ID: e.ID, TaskID: e.Subject, Event: e.Event, Receiver: e.Receiver, State: e.State, StatusCode: e.StatusCode,
			Error:     e.Error,
			CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, DurationMS: e.Duration.Milliseconds(),
		}
	}), total, in.Offset+len(found) < total}, err
}

// CapRequest sets a member's spending cap.
type CapRequest struct {
	Email string  `json:"email"`
	Cap   float64 `json:"spending_cap_usd" minimum:"0" maximum:"1000000000" doc:"The cap in US dollars; 0 blocks."`
}

// DefaultCapRequest sets the cap of a team's members.
type DefaultCapRequest struct {
	Cap *float64 `json:"default_spending_cap_usd" required:"true" nullable:"true" minimum:"0" maximum:"1000000000" doc:"The cap in US dollars; 0 blocks, null removes it."`
	All bool     `json:"apply_to_all_members,omitempty" doc:"Whether the members' own caps are removed."`
}

// DefaultCap is the default spending cap.
type DefaultCap struct {
	Cap *float64 `json:"default_spending_cap_usd" doc:"As in the request."`
}

// CapDoc is a spending cap in US dollars.
type CapDoc struct {
	Limit     float64 `json:"limit" doc:"In US dollars."`
	Used      float64 `json:"used" doc:"In US dollars."`
	Remaining float64 `json:"remaining" doc:"In US dollars, never below 0."`
}

// caps are the operations on spending caps. A member with a cap of 0 may have no API key.
func (s Area) caps(path, tag string) {
	rest.Handle(s.API, op("set-member-cap", "PATCH "+path, tag,
		"Set what a member may spend in your team, in US dollars; 0 blocks (team admins only)", 404),
		func(ctx context.Context, in *struct{ Body CapRequest }) (*MemberAnswer, error) {
			cents := int64(math.Round(in.Body.Cap * 100))
			_, err := s.Accounts.SetCap(ctx, in.Body.Email, &cents)
			return s.capped(ctx, in.Body.Email, err)
		})
	rest.Handle(s.API, op("set-default-cap", "PATCH /api/v1/teams/default-spending-cap", tag,
		"Set the spending cap of members that have none of their own (team admins only)"),
		func(ctx context.Context, in *struct{ Body DefaultCapRequest }) (*DefaultCap, error) {
			var cents *int64
			if in.Body.Cap != nil {
				cents = new(int64(math.Round(*in.Body.Cap * 100)))
			}
			return &DefaultCap{in.Body.Cap}, s.Accounts.SetDefaultCap(ctx, cents, in.Body.All)
		})
	rest.Handle(s.API, op("clear-member-cap", "DELETE "+path, tag, "Remove a member's spending cap (team admins only)",
		404),
		func(ctx context.Context, in *struct {
			Email string `query:"email" required:"true" doc:"The member's email address."`
		}) (*MemberAnswer, error) {
			_, err := s.Accounts.SetCap(ctx, in.Email, nil)
			return s.capped(ctx, in.Email, err)
		})
}

// Words name and describe the types of the areas in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[DeliveryDoc]():   "WebhookDelivery",
			reflect.TypeFor[DeliveryList]():  "WebhookDeliveryList",
			reflect.TypeFor[MemberList]():    "TeamMemberList",
			reflect.TypeFor[InviteRequest](): "TeamInviteRequest",
			reflect.TypeFor[InviteAnswer]():  "TeamInvitation",
			reflect.TypeFor[AcceptRequest](): "TeamAcceptRequest",
			reflect.TypeFor[AcceptAnswer]():  "TeamAccepted",
			reflect.TypeFor[RoleRequest]():   "TeamRoleRequest",
			reflect.TypeFor[AccessRequest](): "TeamAccessRequest",
			reflect.TypeFor[Address]():       "EgressAddress",
		},
		Words: map[string]string{
			"TeamAcceptRequest.invite_token": "The token of the invitation, as in its link.",
			"TeamInviteRequest.role":         "The role that they will have.",
			"TeamRoleRequest.role":           "The role that they have from now on.",
		},
	}
}
