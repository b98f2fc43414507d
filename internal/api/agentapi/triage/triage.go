// Package triage has the operations of the agent-task API that help a team to decide about its findings: queues, rules
// and suggestions.
package triage

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const (
	path = "/api/v1/triage"
	tag  = "Triage"
)

type area struct {
	*rest.API

	triage *triage.Triage
}

// Register adds the operations to the API.
func Register(api *rest.API, t *triage.Triage) {
	s := area{api, t}
	s.queues()
	s.claims()
	s.rules()
	s.runs()
	s.suggestions()
}

var op = rest.NewOp

// Done is an answer with nothing but words.
type Done struct {
	Message string `json:"message"`
}

// Window is a part of a list.
type Window struct {
	Limit  int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Offset int `query:"offset" minimum:"0" maximum:"100000" doc:"How many to leave out first."`
}

func (w Window) page() page.Window { return page.Window{Offset: w.Offset, Limit: w.Limit} }

func (w Window) more(n, total int) bool { return w.Offset+n < total }

// Finding is a finding as triage shows it.
type Finding struct {
	VulnID     string    `json:"vuln_id" doc:"GET /v1/scans/vuln/{vuln_id} has its evidence."`
	Name       string    `json:"name"`
	Severity   string    `json:"severity"`
	Status     string    `json:"vuln_status" doc:"Its status."`
	TemplateID string    `json:"template_id"`
	Target     string    `json:"target"`
	MatchedAt  string    `json:"matched_at"`
	Labels     []string  `json:"labels" doc:"Its labels."`
	Assignee   string    `json:"assignee,omitempty" doc:"Who works on it; absent: nobody."`
	TaskID     string    `json:"task_id,omitempty" doc:"The task that saw it; absent: a scan did."`
	ScanID     string    `json:"scan_id,omitempty" doc:"The scan that saw it."`
	CreatedAt  time.Time `json:"created_at"`
}

func findingOf(f finding.Finding) Finding {
	out := Finding{
		VulnID: f.ID, Name: f.Name, Severity: f.Severity, Status: string(f.Status), TemplateID: f.TemplateID,
		Target:    f.Target,
		MatchedAt: f.Event.MatchedAt, Labels: f.Labels, Assignee: f.Assignee, CreatedAt: f.CreatedAt,
	}
	if f.IsTask {
		out.TaskID = f.ScanID
	} else {
		out.ScanID = f.ScanID
	}
	return out
}

// Queue is a saved selection of findings in the order in which they are to be looked at.
type Queue struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Selection  triage.Selection `json:"selection" doc:"Which findings are in it."`
	Sort       triage.Sort      `json:"sort" enum:"severity,oldest,newest" doc:"severity: the worst first, of these the oldest."`
	Count      int              `json:"count" doc:"Findings in it now, each weakness once."`
	IsEstimate bool             `json:"count_is_estimate,omitempty" doc:"There are more than count."`
	BySeverity map[string]int   `json:"count_by_severity" doc:"How many of each severity."`
	OldestID   string           `json:"oldest_vuln_id,omitempty" doc:"The finding that waits longest; absent: the queue is empty."`
	OldestAt   *time.Time       `json:"oldest_created_at,omitempty" doc:"Since when it waits."`
	Claimed    []Claim          `json:"claimed" doc:"What people look at now."`
	CreatedBy  string           `json:"created_by" doc:"Email of who made it."`
	CreatedAt  time.Time        `json:"created_at"`
	UpdatedAt  time.Time        `json:"updated_at"`
}

// Claim says that somebody looks at a finding.
type Claim struct {
	VulnID  string    `json:"vuln_id" doc:"The finding."`
	Email   string    `json:"claimed_by" doc:"Email of who looks at it."`
	At      time.Time `json:"claimed_at" doc:"Since when."`
	Until   time.Time `json:"claimed_until" doc:"When the claim runs out by itself."`
	QueueID string    `json:"queue_id,omitempty" doc:"The queue in which it was claimed."`
}

func claimOf(c triage.Claim) Claim {
	return Claim{VulnID: c.FindingID, Email: c.Email, At: c.At, Until: c.Until, QueueID: c.QueueID}
}

func queueOf(q triage.Queue) Queue {
	out := Queue{
		ID: q.ID, Name: q.Name, Selection: q.Selection, Sort: q.Sort, Count: q.Total, IsEstimate: q.TotalIsEstimate,
		BySeverity: q.BySeverity, Claimed: rest.Each(q.Claims, claimOf), CreatedBy: q.CreatedBy, CreatedAt: q.CreatedAt,
		UpdatedAt: q.UpdatedAt,
	}
	if q.Oldest != nil {
		out.OldestID, out.OldestAt = q.Oldest.ID, &q.Oldest.CreatedAt
	}
	return out
}

func oneQueue(q triage.Queue, err error) (*Queue, error) {
	out := queueOf(q)
	return &out, err
}

// QueueList is all queues.
type QueueList struct {
	Queues []Queue `json:"queues" doc:"In their order."`
	Count  int     `json:"count"`
}

// QueueRequest makes a queue.
type QueueRequest struct {
	Name      string           `json:"name" minLength:"1" maxLength:"120"`
	Selection triage.Selection `json:"selection,omitzero" doc:"Which findings are in it; without it all open ones."`
	Sort      triage.Sort      `json:"sort,omitempty" enum:"severity,oldest,newest" default:"severity" doc:"severity: the worst first, of these the oldest."`
}

// QueuePatch changes a queue; what is left out stays as it is.
type QueuePatch struct {
	Name      *string           `json:"name,omitempty" minLength:"1" maxLength:"120"`
	Selection *triage.Selection `json:"selection,omitempty" doc:"In place of the old one."`
	Sort      *triage.Sort      `json:"sort,omitempty" enum:"severity,oldest,newest"`
	Position  *int              `json:"position,omitempty" minimum:"1" maximum:"100" doc:"Its place among the queues, from 1."`
}

// QueuePath names a queue.
type QueuePath struct {
	ID string `path:"queue_id" doc:"The queue's id."`
}

// Item is a finding in a queue.
type Item struct {
	Finding
	Claim *Claim `json:"claim,omitempty" doc:"Who looks at it now; absent: nobody."`
}

func itemOf(i triage.Item) Item {
	out := Item{Finding: findingOf(i.Finding)}
	if i.Claim != nil {
		claim := claimOf(*i.Claim)
		out.Claim = &claim
	}
	return out
}

// ItemList is a page of a queue.
type ItemList struct {
	Items   []Item `json:"items" doc:"In the order of the queue."`
	Total   int    `json:"total"`
	HasMore bool   `json:"has_more"`
}

func (s area) queues() {
	const queues, one = path + "/queues", path + "/queues/{queue_id}"
	rest.Handle(s.API, op("list-triage-queues", "GET "+queues, tag, "List your team's queues, with counts"),
		func(ctx context.Context, _ *struct{}) (*QueueList, error) {
			found, err := s.triage.Queues(ctx)
			return &QueueList{rest.Each(found, queueOf), len(found)}, err
		})
	create := op("create-triage-queue", "POST "+queues, tag, "Make a queue", 409)
	create.DefaultStatus = http.StatusCreated
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body QueueRequest }) (*Queue, error) {
		return oneQueue(s.triage.CreateQueue(ctx, triage.Queue{Name: in.Body.Name, Selection: in.Body.Selection,
			Sort: in.Body.Sort}))
	})
	rest.Handle(s.API, op("get-triage-queue", "GET "+one, tag, "Get a queue, with counts", 404),
		func(ctx context.Context, in *QueuePath) (*Queue, error) { return oneQueue(s.triage.Queue(ctx, in.ID)) })
	rest.Handle(s.API, op("update-triage-queue", "PATCH "+one, tag, "Change a queue", 404),
		func(ctx context.Context, in *struct {
			QueuePath
			Body QueuePatch
		}) (*Queue, error) {
			return oneQueue(s.triage.UpdateQueue(ctx, in.ID, triage.QueueUpdate(in.Body)))
		})
	rest.Handle(s.API, op("delete-triage-queue", "DELETE "+one, tag, "Delete a queue; its findings stay", 404),
		func(ctx context.Context, in *QueuePath) (*Done, error) {
			return &Done{"The queue is deleted."}, s.triage.DeleteQueue(ctx, in.ID)
		})
	rest.Handle(s.API, op("list-triage-queue-items", "GET "+one+"/items", tag,
		"List the findings in a queue, in its order, with who looks at them", 404),
		func(ctx context.Context, in *struct {
			QueuePath
			Window
		}) (*ItemList, error) {
			found, total, err := s.triage.Items(ctx, in.ID, in.page())
			return &ItemList{rest.Each(found, itemOf), total, in.more(len(found), total)}, err
		})
}

// VulnPath names a finding.
type VulnPath struct {
	ID string `path:"vuln_id" doc:"The finding's vuln_id."`
}

func oneItem(i triage.Item, err error) (*Item, error) {
	out := itemOf(i)
	return &out, err
}

func (s area) claims() {
	next := op("claim-next", "POST "+path+"/queues/{queue_id}/claim", tag,
		"Claim the first finding of a queue that nobody looks at", 404, 409)
	next.Description = "Two people never get the same. A claim runs out after 30 minutes; claiming the finding again prolongs it. 404 nothing_to_claim: all are claimed, or the queue is empty."
	rest.Handle(s.API, next, func(ctx context.Context, in *QueuePath) (*Item, error) {
		return oneItem(s.triage.ClaimNext(ctx, in.ID))
	})
	rest.Handle(s.API, op("claim-finding", "PUT "+path+"/claims/{vuln_id}", tag,
		"Claim a finding, or prolong your claim of it", 404, 409),
		func(ctx context.Context, in *VulnPath) (*Item, error) { return oneItem(s.triage.ClaimOne(ctx, in.ID)) })
	rest.Handle(s.API, op("release-finding", "DELETE "+path+"/claims/{vuln_id}", tag,
		"End the claim of a finding, whoever has it", 404),
		func(ctx context.Context, in *VulnPath) (*Done, error) {
			return &Done{"Nobody looks at the finding."}, s.triage.Release(ctx, in.ID)
		})
}

// Suggestion is what could be decided about a finding, and why.
type Suggestion struct {
	ID         string     `json:"id"`
	VulnID     string     `json:"vuln_id" doc:"The finding."`
	Field      string     `json:"field" enum:"vuln_status,severity" doc:"What would change."`
	Value      string     `json:"value" doc:"What it would become."`
	Reason     string     `json:"reason" doc:"Why, in words."`
	Confidence float64    `json:"confidence" minimum:"0" maximum:"1" doc:"How sure its source is."`
	Source     string     `json:"source" enum:"builtin,model" doc:"A built-in rule, or a language model."`
	By         string     `json:"suggested_by" doc:"The built-in rule (precedent, cvss_score, informational), or the model's name."`
	State      string     `json:"state" enum:"open,accepted,dismissed,outdated"`
	EndedBy    string     `json:"ended_by,omitempty" doc:"Who accepted or dismissed it: an email, or a rule as \"rule: NAME\"."`
	CreatedAt  time.Time  `json:"created_at"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
}

func suggestionOf(s triage.Suggestion) Suggestion {
	return Suggestion{
		ID: s.ID, VulnID: s.FindingID, Field: s.Field, Value: s.Value, Reason: s.Reason,
		Confidence: float64(s.Confidence) / 100, Source: s.Source, By: s.By, State: s.State, EndedBy: s.EndedBy,
		CreatedAt: s.CreatedAt, EndedAt: rest.OrNull(s.EndedAt),
	}
}

// SuggestionList is a page of suggestions.
type SuggestionList struct {
	Suggestions []Suggestion `json:"suggestions" doc:"The page."`
	Total       int          `json:"total"`
	HasMore     bool         `json:"has_more"`
}

// SuggestionRequest asks for suggestions.
type SuggestionRequest struct {
	VulnIDs []string `json:"vuln_ids" minItems:"1" maxItems:"100" doc:"The findings."`
	Model   bool     `json:"model,omitempty" doc:"Ask your language model, too. It costs what its tokens cost; the findings' evidence is sent to it, with secrets masked."`
}

// SuggestionPath names a suggestion.
type SuggestionPath struct {
	ID string `path:"suggestion_id" doc:"The suggestion's id."`
}

func oneSuggestion(v triage.Suggestion, err error) (*Suggestion, error) {
	out := suggestionOf(v)
	return &out, err
}

func (s area) suggestions() {
	const all, one = path + "/suggestions", path + "/suggestions/{suggestion_id}"
	rest.Handle(s.API, op("list-triage-suggestions", "GET "+all, tag, "List suggestions, the newest first", 404),
		func(ctx context.Context, in *struct {
			Window
			State  string `query:"state" enum:"open,accepted,dismissed,outdated" doc:"Only those in this state."`
			Source string `query:"source" enum:"builtin,model" doc:"Only those of this source."`
			VulnID string `query:"vuln_id" maxLength:"100" doc:"Only those for this finding."`
		}) (*SuggestionList, error) {
			found, total, err := s.triage.Suggestions(ctx, triage.SuggestionFilter{State: in.State, Source: in.Source,
				FindingID: in.VulnID}, in.page())
			return &SuggestionList{rest.Each(found, suggestionOf), total, in.more(len(found), total)}, err
		})
	offer := op("make-triage-suggestions", "POST "+all, tag, "Make suggestions for findings", 403, 404, 424)
	offer.Description = "They take the place of open ones for the same findings. Nothing is changed by a suggestion, until a person accepts it or a rule says that it is taken. 403 no_model: model is true and none is configured."
	rest.Handle(s.API, offer, func(ctx context.Context, in *struct{ Body SuggestionRequest }) (*SuggestionList, error) {
		made, err := s.triage.Suggest(ctx, in.Body.VulnIDs, in.Body.Model)
		return &SuggestionList{rest.Each(made, suggestionOf), len(made), false}, err
	})
	rest.Handle(s.API, op("accept-triage-suggestion", "POST "+one+"/accept", tag,
		"Accept a suggestion: the finding is changed in your name", 404, 409),
		func(ctx context.Context, in *SuggestionPath) (*Suggestion, error) {
			return oneSuggestion(s.triage.EndSuggestion(ctx, in.ID, true))
		})
	rest.Handle(s.API, op("dismiss-triage-suggestion", "POST "+one+"/dismiss", tag, "Dismiss a suggestion", 404, 409),
		func(ctx context.Context, in *SuggestionPath) (*Suggestion, error) {
			return oneSuggestion(s.triage.EndSuggestion(ctx, in.ID, false))
		})
}
