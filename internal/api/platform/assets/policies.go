package assets

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/document"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// PolicyPath names a policy.
type PolicyPath struct {
	ID string `path:"policy_id" doc:"The policy's id."`
}

// AssetPolicy is a rule about assets.
type AssetPolicy struct {
	ID             string         `json:"id"`
	Name           string         `json:"name"`
	Type           string         `json:"policy_type" enum:"alert,delete,set_label,remove_label"`
	Filters        AssetFilters   `json:"policies"`
	AlertConfigs   []string       `json:"alerting_config_ids"`
	Labels         []string       `json:"labels" doc:"Labels to set or remove."`
	EnumerationIDs []string       `json:"enumeration_ids"`
	Metadata       map[string]any `json:"metadata" doc:"Always empty."`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
	LastExecutedAt *time.Time     `json:"last_executed_at,omitempty" doc:"Last time it did something."`
	Existing       bool           `json:"apply_to_existing"`
}

func policyOf(p policy.Policy) AssetPolicy {
	return AssetPolicy{
		ID: p.ID, Name: p.Name, Type: string(p.Type), Filters: AssetFilters(p.Filters),
		AlertConfigs: rest.OrEmpty(p.AlertConfigs), Labels: rest.OrEmpty(p.Labels),
		EnumerationIDs: rest.OrEmpty(p.EnumerationIDs), Metadata: map[string]any{}, CreatedAt: p.CreatedAt,
		UpdatedAt: p.UpdatedAt, Existing: p.Existing,
		LastExecutedAt: rest.OrNull(p.ExecutedAt),
	}
}

// PolicyRequest is a new policy.
type PolicyRequest struct {
	Filters        AssetFilters `json:"policies" doc:"Filters: it acts when an asset comes to match."`
	Name           string       `json:"name,omitempty" maxLength:"200"`
	Type           string       `json:"policy_type,omitempty" enum:"alert,delete,set_label,remove_label" doc:"Action; default alert."`
	AlertConfigs   []string     `json:"alerting_config_ids,omitempty" doc:"Alerting configurations; required for alert."`
	Labels         []string     `json:"labels,omitempty" doc:"Labels to set or remove; required for set_label and remove_label."`
	EnumerationIDs []string     `json:"enumeration_ids,omitempty"`
	Existing       bool         `json:"apply_to_existing,omitempty"`
}

// PolicyPatch changes a policy.
type PolicyPatch struct {
	Filters        AssetFilters `json:"policies,omitzero"`
	Name           string       `json:"name,omitempty" maxLength:"200"`
	Type           string       `json:"policy_type,omitempty" enum:"alert,delete,set_label,remove_label"`
	AlertConfigs   []string     `json:"alerting_config_ids,omitempty"`
	Labels         []string     `json:"labels,omitempty" doc:"Labels to set or remove."`
	EnumerationIDs []string     `json:"enumeration_ids,omitempty"`
	Existing       *bool        `json:"apply_to_existing,omitempty"`
}

// PolicyList is a page of policies.
type PolicyList struct {
	Policies []AssetPolicy `json:"policies" doc:"The page, newest first."`
	Total    int           `json:"total"`
	Message  string        `json:"message"`
}

// PolicyAnswer is one policy.
type PolicyAnswer struct {
	Data    AssetPolicy `json:"data" doc:"The policy."`
	Message string      `json:"message"`
}

func (s area) assetPolicies() {
	const path, tag = "/v1/asset/policy", "Asset policies"
	const one = path + "/{policy_id}"
	rest.Handle(s.API, wire.Op("list-policies", "GET "+path, tag, "Your team's policies, newest first"),
		func(ctx context.Context, in *struct{ wire.Window }) (*PolicyList, error) {
			found, total, err := s.Policies.FindAll(ctx, in.Page())
			return &PolicyList{rest.Each(found, policyOf), total, "Policies."}, err
		})
	rest.Handle(s.API, wire.Op("create-policy", "POST "+path, tag, "Create a policy", 409),
		func(ctx context.Context, in *struct{ Body PolicyRequest }) (*wire.Made, error) {
			b := in.Body
			id, err := s.Policies.Create(ctx, policy.Policy{
				Name: b.Name, Type: policy.Type(b.Type), Filters: asset.Filters(b.Filters),
				Details: policy.Details{Labels: b.Labels, AlertConfigs: b.AlertConfigs, EnumerationIDs: b.EnumerationIDs,
					Existing: b.Existing},
			})
			return wire.Created(id, "The policy is made."), err
		})
	rest.Handle(s.API, wire.Op("suggest-policies", "GET "+path+"/suggestion", tag,
		"Suggested policies, most severe first", 404), s.suggestions)
	rest.Handle(s.API, wire.Op("get-policy", "GET "+one, tag, "One policy", 404),
		func(ctx context.Context, in *PolicyPath) (*PolicyAnswer, error) {
			p, err := s.Policies.Find(ctx, in.ID)
			return &PolicyAnswer{policyOf(p), "A policy."}, err
		})
	rest.Handle(s.API, wire.Op("update-policy", "PATCH "+one, tag, "Change a policy", 404),
		func(ctx context.Context, in *struct {
			PolicyPath
			wire.UpdateMode
			Body PolicyPatch
		}) (*wire.Made, error) {
			b := in.Body
			err := s.Policies.Update(ctx, in.ID, policy.Policy{
				Name: b.Name, Type: policy.Type(b.Type), Filters: asset.Filters(b.Filters),
				Details: policy.Details{Labels: b.Labels, AlertConfigs: b.AlertConfigs, EnumerationIDs: b.EnumerationIDs},
			}, b.Existing, in.Type == "replace")
			return wire.Created(in.ID, "The policy is changed."), err
		})
	wire.Act(s.API, wire.Op("delete-policy", "DELETE "+one, tag, "Delete a policy", 404), "The policy is deleted.",
		func(ctx context.Context, in *PolicyPath) error { return s.Policies.Delete(ctx, in.ID) })
	rest.Handle(s.API, wire.Op("list-policy-events", "GET "+one+"/events", tag, "What a policy did, newest first", 404),
		s.policyEvents)
}

// PolicySuggestions are suggested policies.
type PolicySuggestions struct {
	Suggestions []PolicySuggestion `json:"suggestions" doc:"Most severe first."`
	Total       int                `json:"total"`
	Message     string             `json:"message"`
}

// PolicySuggestion is a policy suggested for a pattern.
type PolicySuggestion struct {
	ID         string                        `json:"id" doc:"Id of the pattern."`
	Category   string                        `json:"category" doc:"The kind of pattern, such as ip_concentration or repeated_title."`
	Title      string                        `json:"title" doc:"Title."`
	Reason     string                        `json:"reason" doc:"Why."`
	Severity   string                        `json:"severity" doc:"high, medium, low or info."`
	Policy     SuggestedPolicy               `json:"suggested_policy" doc:"The policy."`
	Affected   int                           `json:"affected_count" doc:"Number of matching assets."`
	Percentage float64                       `json:"affected_percentage" doc:"Percentage of the assets examined."`
	Sample     []document.EnumerationContent `json:"sample_assets" doc:"Some of them."`
}

// SuggestedPolicy is a body for create-policy.
type SuggestedPolicy struct {
	Name    string       `json:"name"`
	Type    string       `json:"policy_type" enum:"alert,delete,set_label,remove_label"`
	Filters AssetFilters `json:"policies"`
	Labels  []string     `json:"labels"`
}

func (s area) suggestions(ctx context.Context, in *struct {
	Enumeration string  `query:"enumeration_id" doc:"Only this enumeration or group."`
	Limit       int     `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of suggestions."`
	Threshold   float64 `query:"threshold" minimum:"0" maximum:"100" default:"5" doc:"Minimum percentage of assets with a pattern."`
}) (*PolicySuggestions, error) {
	found, total, err := s.Policies.Suggest(ctx, in.Enumeration, in.Threshold, in.Limit)
	out := PolicySuggestions{make([]PolicySuggestion, len(found)), total, "Suggestions."}
	for i, f := range found {
		out.Suggestions[i] = PolicySuggestion{
			f.ID, f.Category, f.Title, f.Reason, f.Severity,
			SuggestedPolicy{f.Title, string(f.Type), AssetFilters(f.Filters), rest.OrEmpty(f.Labels)}, f.Affected, f.Percentage,
			rest.Each(f.Sample, func(a asset.Asset) document.EnumerationContent { return document.Of(a, false) }),
		}
	}
	return &out, err
}

// PolicyEventsAnswer is what a policy did.
type PolicyEventsAnswer struct {
	Data    PolicyEventList `json:"data" doc:"The events."`
	Total   int             `json:"total"`
	Limit   int             `json:"limit"`
	Offset  int             `json:"offset"`
	Message string          `json:"message"`
}

// PolicyEventList is a page of events.
type PolicyEventList struct {
	Events []ActivityEvent `json:"events"`
}

// ActivityEvent is an action of a policy.
type ActivityEvent struct {
	ID             string         `json:"id"`
	EventType      string         `json:"event_type" enum:"asset_policy_applied,asset_policy_alert_sent"`
	SubjectType    string         `json:"subject_type" enum:"asset_policy"`
	SubjectID      string         `json:"subject_id"`
	SubjectName    string         `json:"subject_name" doc:"The policy's name."`
	Status         string         `json:"status" enum:"succeeded,failed,pending"`
	ErrorMessage   string         `json:"error_message,omitempty"`
	Channel        string         `json:"channel,omitempty" doc:"Always empty; see the team's alert log."`
	Destination    string         `json:"destination,omitempty" doc:"Always empty."`
	AlertConfigID  string         `json:"alert_config_id,omitempty"`
	AssetPolicyID  string         `json:"asset_policy_id"`
	CreatedAt      time.Time      `json:"created_at" doc:"Start time."`
	UpdatedAt      time.Time      `json:"updated_at"`
	Seen           bool           `json:"seen" doc:"Always false."`
	MessagePayload map[string]any `json:"message_payload" doc:"affected_count, enumeration_id, run, and some of the assets."`
}

func (s area) policyEvents(ctx context.Context, in *struct {
	PolicyPath
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of events."`
	Offset int `query:"offset" minimum:"0" maximum:"2147483648" doc:"Events to skip."`
}) (*PolicyEventsAnswer, error) {
	found, total, err := s.Policies.Events(ctx, in.ID, page.Window{Offset: in.Offset, Limit: in.Limit})
	out := PolicyEventsAnswer{PolicyEventList{make([]ActivityEvent, len(found))}, total, in.Limit, in.Offset,
		"What the policy did."}
	for i, e := range found {
		out.Data.Events[i] = ActivityEvent{
			ID: e.ID, EventType: e.Type, SubjectType: "asset_policy", SubjectID: e.PolicyID, SubjectName: e.PolicyName,
			Status: e.Status, ErrorMessage: e.Note, AlertConfigID: e.ConfigID,
			AssetPolicyID: e.PolicyID, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
			MessagePayload: map[string]any{"affected_count": e.Affected, "enumeration_id": e.EnumerationID, "run": e.Run,
				"sample_assets": rest.OrEmpty(e.Sample)},
		}
	}
	return &out, err
}
