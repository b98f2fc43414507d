package findings

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// ChangelogQuery has the parameters of a list of changes.
type ChangelogQuery struct {
	Time     string `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"Changed in this time."`
	Types    string `query:"event_type" doc:"Kinds of change, separated by commas: status_change, resolved, reopened, severity_change, labels_change, assignee_change, template_updated, ticket_closed, ticket_reopened, ticket_suggested, ticket_conflict, ticket_resolved, ticket_gone, comment, comment_edited, comment_deleted, due_change, overdue, not_seen, rule_applied."`
	SortAsc  string `query:"sort_asc" enum:"created_at" doc:"created_at: the oldest first."`
	SortDesc string `query:"sort_desc" enum:"created_at" doc:"created_at: the newest first, as without it."`
	wire.Window
}

// ChangelogList is a page of changes.
type ChangelogList struct {
	Data []VulnerabilityChangelog `json:"data"`
}

// VulnerabilityChangelog is a change with the finding as it is now.
type VulnerabilityChangelog struct {
	Vulnerability
	Event       VulnerabilityEvent `json:"event"`
	ResultType  string             `json:"result_type"`
	ChangeEvent []ChangeEvent      `json:"change_event"`
	ChangedAt   time.Time          `json:"changed_at"`
	EventType   string             `json:"event_type"`
}

// ChangeEvent is a field that changed.
type ChangeEvent struct {
	Name string `json:"name" doc:"The field."`
	From string `json:"from" doc:"Old value."`
	To   string `json:"to"`
}

func (s area) changelogs(ctx context.Context, id string, q ChangelogQuery) (*ChangelogList, error) {
	f := finding.ChangeFilter{FindingID: id, Since: page.Since(q.Time, time.Now()), Oldest: q.SortAsc != ""}
	for _, kind := range wire.Commas(q.Types) {
		switch {
		case kind == "vul_status" || kind == "vul_status_change": // from older clients
			f.Types = append(f.Types, timeline.StatusChange, timeline.Resolved, timeline.Reopened)
		case slices.Contains(timeline.Kinds, timeline.Kind(kind)):
			f.Types = append(f.Types, timeline.Kind(kind))
		default:
			return nil, errs.Field("event_type", "event_type %.40q is not known.", kind)
		}
	}
	found, err := s.Findings.Changes(ctx, f, q.Page())
	list := ChangelogList{Data: make([]VulnerabilityChangelog, len(found))}
	for i, c := range found {
		list.Data[i] = VulnerabilityChangelog{
			vulnerabilityOf(c.Finding), eventOf(c.Finding), "matched",
			[]ChangeEvent{{c.Change.Field, c.Change.From, c.Change.To}}, c.Change.At, string(c.Change.Type),
		}
	}
	return &list, err
}

// VulnerabilityTimeline is the history of a finding.
type VulnerabilityTimeline struct {
	FirstDetectedAt time.Time       `json:"first_detected_at" doc:"First detection."`
	LastSeenAt      time.Time       `json:"last_seen_at" doc:"Last seen."`
	CurrentStatus   string          `json:"current_status"`
	Events          []TimelineEvent `json:"events" doc:"Events, oldest first."`
}

// TimelineEvent is an event of a finding.
type TimelineEvent struct {
	Timestamp   time.Time  `json:"timestamp"`
	EventType   string     `json:"event_type" enum:"detected,status_change,resolved,reopened,severity_change,labels_change,assignee_change,template_updated,ticket_closed,ticket_reopened,ticket_suggested,ticket_conflict,ticket_resolved,ticket_gone,comment,comment_edited,comment_deleted,joined,split,due_change,overdue,not_seen,rule_applied"`
	OldValue    string     `json:"old_value,omitempty" doc:"Old value."`
	NewValue    string     `json:"new_value,omitempty" doc:"New value."`
	Description string     `json:"description,omitempty" doc:"Description."`
	Reason      string     `json:"reason,omitempty" doc:"Why, of a status or a severity."`
	CVSSVector  string     `json:"cvss_vector,omitempty" doc:"The CVSS vector from which a severity was taken."`
	Until       *time.Time `json:"until,omitempty" doc:"When an accepted risk ends; absent: it does not."`
	ChangeID    string     `json:"change_id,omitempty" doc:"What one request has changed has the same; POST /v1/scans/vulns/undo takes it back."`
	Undone      bool       `json:"undone,omitempty" doc:"It was taken back."`
}

func (s area) timeline(ctx context.Context, in *wire.VulnPath) (*VulnerabilityTimeline, error) {
	f, changes, err := s.Findings.Timeline(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := VulnerabilityTimeline{FirstDetectedAt: f.CreatedAt, LastSeenAt: f.SeenAt, CurrentStatus: string(f.Status)}
	for _, c := range changes {
		who := "by the service"
		if c.Actor != "" {
			who = "by " + c.Actor
		}
		out.Events = append(out.Events, TimelineEvent{c.At, string(c.Type), c.From, c.To, c.Field + ", " + who,
			c.Reason, c.Vector, rest.OrNull(c.Until), c.Operation, c.Undone})
	}
	return &out, nil
}

// VulnerabilityHistory is the observations of one hash.
type VulnerabilityHistory struct {
	Count   int        `json:"history_count" doc:"Number of entries."`
	History []VulnLook `json:"history" doc:"Observations, newest first."`
}

// VulnLook is one observation of a hash.
type VulnLook struct {
	Severity   string    `json:"severity"`
	Target     string    `json:"target"`
	TemplateID string    `json:"template_id"`
	Matched    bool      `json:"matched" doc:"Whether it was there."`
	Timestamp  time.Time `json:"timestamp"`
	VulnHash   string    `json:"vuln_hash" doc:"The hash."`
	Event      string    `json:"event" doc:"Location."`
}

// maxHashes is how many hashes one call may name.
const maxHashes = 100

func (s area) vulnHistory(ctx context.Context, in *struct {
	Hashes []string `query:"vuln_hash,explode" doc:"A hash; may be repeated, up to 100 times."`
	Limit  int      `query:"history_limit" minimum:"1" maximum:"1000" default:"5" doc:"Observations of each hash."`
}) (*map[string]VulnerabilityHistory, error) {
	if len(in.Hashes) > maxHashes {
		return nil, errs.Field("vuln_hash", "vuln_hash may be given at most %d times.", maxHashes)
	}
	found, err := s.Findings.History(ctx, in.Hashes, in.Limit)
	if err != nil {
		return nil, err
	}
	out := map[string]VulnerabilityHistory{}
	for hash, looks := range found {
		h := VulnerabilityHistory{Count: len(looks)}
		for _, look := range looks {
			h.History = append(h.History,
				VulnLook{look.Severity, look.Target, look.TemplateID, look.Matched, look.At, look.Hash, look.Event.MatchedAt})
		}
		out[hash] = h
	}
	return &out, nil
}
