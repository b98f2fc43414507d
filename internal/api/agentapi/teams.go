package agentapi

import (
	"context"
	"math"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TeamAnswer is a team with a warning about its settings.
type TeamAnswer struct {
	Team    account.Team `json:"team" doc:"The team as it is now."`
	Warning string       `json:"warning,omitempty" doc:"Set when deliveries to the webhook URL will be blocked, with the reason."`
}

// TeamPatch changes a team.
type TeamPatch struct {
	Name       *string `json:"name,omitempty" minLength:"1" maxLength:"128"`
	WebhookURL *string `json:"webhook_url,omitempty" maxLength:"2048" doc:"Where completion artifacts are pushed, http or https; an empty string clears it."`
	Factor     *bool   `json:"require_second_factor,omitempty" doc:"true: members without a second factor may only set one up, also with API keys; 409 when you have none."`
	SecretName *string `json:"webhook_secret_name,omitempty" maxLength:"128" doc:"The name of a secret of the team's owner, of no project, that deliveries carry: Authorization: Bearer VALUE; an empty string clears it."`
}

// OperatorTeam changes a team as an operator of the server.
type OperatorTeam struct {
	Team string       `json:"team" minLength:"1" maxLength:"128" doc:"The team's id, or its name where no other team has it."`
	Plan account.Plan `json:"plan" enum:"FREE,PRO,ENT" doc:"The features that the team may use from now on."`
}

func (s surface) teams() {
	const path, tag = "/api/v1/teams", "Teams"
	rest.Handle(s.API, op("get-team", "GET "+path, tag, "Get your team"),
		func(ctx context.Context, _ *struct{}) (*TeamAnswer, error) {
			team, err := s.Accounts.FindTeam(ctx)
			return &TeamAnswer{Team: team}, err
		})

	patch := op("update-team", "PATCH "+path, tag, "Change your team's settings (team admins only)", 409)
	patch.Description = "webhook_url receives the completion artifacts of tasks with completion_delivery webhook; an empty " +
		"string clears it. Deliveries to private, local and cloud metadata addresses are blocked. " +
		"webhook_secret_name is the secret that they carry as a bearer token; when it is deleted, deliveries fail until another " +
		"is named, and the log of deliveries says why."
	rest.Handle(s.API, patch, func(ctx context.Context, in *struct{ Body TeamPatch }) (*TeamAnswer, error) {
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
		team, err := s.Accounts.UpdateTeam(ctx, account.TeamUpdate{
			Name: in.Body.Name, WebhookURL: in.Body.WebhookURL, SecretName: in.Body.SecretName, SecondFactor: in.Body.Factor})
		return &TeamAnswer{team, warning}, err
	})

	rest.Handle(s.API, op("list-webhook-deliveries", "GET "+path+"/webhook/deliveries", tag,
		"List your team's webhook deliveries, newest first"), s.listDeliveries)
	s.caps(path+"/members/cap", tag)
	s.operateUsers(tag)

	rest.Handle(s.API, op("operate-team", "PATCH /api/v1/operator/teams", tag,
		"Change the plan of any team (operators of the server only)", 404),
		func(ctx context.Context, in *struct{ Body OperatorTeam }) (*TeamAnswer, error) {
			if _, err := account.Operator(ctx); err != nil {
				return nil, err
			}
			team, err := s.Accounts.SetPlan(ctx, in.Body.Team, in.Body.Plan)
			return &TeamAnswer{Team: team}, err
		})
}

// checkWebhookSecret refuses the name of a secret that the team's owner does not have, or that no header can carry.
func (s surface) checkWebhookSecret(ctx context.Context, name *string) error {
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
func (s surface) checkWebhook(url *string) (warning string, err error) {
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

// DeliveryDoc is one line of the delivery log.
type DeliveryDoc struct {
	ID         string     `json:"id"`
	TaskID     string     `json:"task_id"`
	Event      string     `json:"event" doc:"What was delivered: task.completed."`
	Receiver   string     `json:"receiver" doc:"Scheme and host of the webhook URL; the rest may be secret."`
	State      hook.State `json:"state" enum:"pending,sending,delivered,failed,blocked" doc:"State; blocked: its address is not allowed."`
	StatusCode int        `json:"status_code" doc:"HTTP status of the answer; 0 without one."`
	Error      string     `json:"error,omitempty" doc:"Why it failed or was blocked."`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	DurationMS int64      `json:"duration_ms"`
}

func (s surface) listDeliveries(ctx context.Context, in *struct {
	Limit  int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Offset int `query:"offset" minimum:"0" doc:"How many to skip."`
}) (*DeliveryList, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	found, total, err := s.Hooks.Find(ctx, caller.TeamID, page.Window{Offset: in.Offset, Limit: in.Limit})
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

// MemberAnswer is a member whose cap was changed.
type MemberAnswer struct {
	Member MemberDoc `json:"member" doc:"The member as they are now."`
}

// MemberDoc is a member of a team.
type MemberDoc struct {
	ID         string       `json:"id"`
	Email      string       `json:"email"`
	Role       account.Role `json:"role" doc:"Their role in the team."`
	Status     string       `json:"status" enum:"active" doc:"Always active: who was invited and has no account has no cap."`
	InvitedAt  time.Time    `json:"invited_at" doc:"When they joined, if nobody invited them."`
	AcceptedAt time.Time    `json:"accepted_at" doc:"When they joined."`
	CreatedAt  time.Time    `json:"created_at" doc:"When they joined."`
	Cap        *CapDoc      `json:"cap" doc:"Their own spending cap, or else the team's default; null: none."`
}

// CapDoc is a spending cap in US dollars.
type CapDoc struct {
	Limit     float64 `json:"limit" doc:"In US dollars."`
	Used      float64 `json:"used" doc:"In US dollars."`
	Remaining float64 `json:"remaining" doc:"In US dollars, never below 0."`
}

func memberAnswer(m account.CappedMember, err error) (*MemberAnswer, error) {
	doc := MemberDoc{ID: m.ID, Email: m.Email, Role: m.Role, Status: "active", InvitedAt: m.InvitedAt,
		AcceptedAt: m.JoinedAt, CreatedAt: m.JoinedAt}
	if m.Cap != nil {
		doc.Cap = &CapDoc{float64(*m.Cap) / 100, float64(m.Spent) / 100, float64(max(0, *m.Cap-m.Spent)) / 100}
	}
	return &MemberAnswer{doc}, err
}

// caps are the operations on spending caps. A member with a cap of 0 may have no API key.
func (s surface) caps(path, tag string) {
	rest.Handle(s.API, op("set-member-cap", "PATCH "+path, tag,
		"Set what a member may spend in your team, in US dollars; 0 blocks (team admins only)", 404),
		func(ctx context.Context, in *struct{ Body CapRequest }) (*MemberAnswer, error) {
			cents := int64(math.Round(in.Body.Cap * 100))
			return memberAnswer(s.Accounts.SetCap(ctx, in.Body.Email, &cents))
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
			return memberAnswer(s.Accounts.SetCap(ctx, in.Email, nil))
		})
}
