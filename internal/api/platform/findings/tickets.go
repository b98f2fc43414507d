package findings

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TicketRequest is an issue that was filed by hand.
type TicketRequest struct {
	ID  string `json:"custom_reporting_id,omitempty" maxLength:"200" doc:"The id of an issue that you filed yourself, instead of reporting_config_id."`
	URL string `json:"custom_reporting_url,omitempty" maxLength:"2000" doc:"URL of that issue."`
}

// TicketAnswer is the issue of a finding.
type TicketAnswer struct {
	OK         bool   `json:"ok"`
	VulnID     string `json:"vuln_id"`
	ConfigID   string `json:"reporting_config_id" doc:"Reporting configuration; empty for an issue that you filed yourself."`
	ConfigName string `json:"reporting_config_name" doc:"Its name."`
	URL        string `json:"ticket_url"`
	TicketID   string `json:"ticket_id" doc:"The issue's id there."`
	Tracker    string `json:"tracker_name" enum:"github,gitlab,jira,linear,azure,servicenow,custom" doc:"The tracker."`
}

// TicketPath names a finding and where its issue goes.
type TicketPath struct {
	wire.VulnPath
	ConfigID string `query:"reporting_config_id" maxLength:"100" doc:"Reporting configuration."`
}

func (s area) tickets() {
	const path = "/v1/scans/vulns/{vuln_id}/ticket"
	made := wire.Op("file-vulnerability", "POST "+path, vulnTag,
		"File a finding as an issue, or comment in its issue that it still exists", 403, 404, 409, 424)
	made.Description = "What has the same vuln_hash has the same issue. 424: the tracker did not do what it should; the message says why."
	rest.Handle(s.API, made, func(ctx context.Context, in *struct {
		TicketPath
		Body TicketRequest
	}) (*TicketAnswer, error) {
		t, err := s.fileVuln(ctx, in.TicketPath, in.Body)
		return &TicketAnswer{true, in.ID, t.ConfigID, t.ConfigName, t.Issue.URL, t.Issue.ID, t.Provider}, err
	})
	rest.Handle(s.API, wire.Op("unfile-vulnerability", "DELETE "+path, vulnTag,
		"Unlink the issue of a finding; the issue itself stays", 403, 404),
		func(ctx context.Context, in *struct {
			wire.VulnPath
			Provider string `query:"provider_name" required:"true" enum:"github,gitlab,jira,linear,azure,servicenow,custom" doc:"The tracker."`
		}) (*wire.OK, error) {
			_, err := s.Findings.Unlink(ctx, in.ID, in.Provider)
			return wire.Done(), err
		})
	s.ticketSync(path)
}

// FindingTicket is a ticket: a finding and its issue in a tracker, kept in step.
type FindingTicket struct {
	Hash       string     `json:"vuln_hash" doc:"The weakness that it belongs to."`
	VulnID     string     `json:"vuln_id,omitempty" doc:"The finding that was seen last; absent when all were deleted."`
	VulnStatus string     `json:"vuln_status,omitempty" doc:"Its status."`
	ConfigID   string     `json:"reporting_config_id" doc:"Reporting configuration."`
	Tracker    string     `json:"tracker_name" enum:"github,gitlab,jira,linear,azure,servicenow,custom" doc:"The tracker."`
	TicketID   string     `json:"ticket_id" doc:"The issue's id there; empty while it has none."`
	URL        string     `json:"ticket_url"`
	Ours       string     `json:"our_state,omitempty" enum:"open,in_progress,done,declined" doc:"What the status is for trackers, when both sides were in step last."`
	Theirs     string     `json:"their_state,omitempty" enum:"open,in_progress,done,declined" doc:"What the issue's state is, as it was read last."`
	Native     string     `json:"their_status,omitempty" doc:"The same in the tracker's own words."`
	Pending    int        `json:"pending" doc:"How many changes and comments wait to be told to the issue."`
	Error      string     `json:"error,omitempty" doc:"Why the last try failed."`
	RetryAt    *time.Time `json:"retry_at,omitempty" doc:"When it is tried again."`
	ConflictAt *time.Time `json:"conflict_at,omitempty" doc:"Since when both sides differ after both have changed; absent without a conflict."`
	IsClaimed  bool       `json:"is_claimed" doc:"The issue is done, and no retest has shown yet that the finding is fixed."`
	IsGone     bool       `json:"is_gone" doc:"The issue was deleted in the tracker."`
	UpdatedAt  time.Time  `json:"updated_at"`
}

func ticketOf(t ticket.Ticket) FindingTicket {
	return FindingTicket{
		Hash: t.Hash, VulnID: t.FindingID, VulnStatus: string(t.Status), ConfigID: t.ConfigID, Tracker: t.Provider,
		TicketID: t.IssueID, URL: t.URL, Ours: string(t.Ours), Theirs: string(t.Theirs), Native: t.Native, Pending: t.Pending,
		Error: t.Error, RetryAt: rest.OrNull(t.RetryAt), ConflictAt: rest.OrNull(t.ConflictAt), IsClaimed: t.IsClaimed,
		IsGone: t.IsGone, UpdatedAt: t.UpdatedAt,
	}
}

// TicketList is a page of tickets.
type TicketList struct {
	wire.Listing
	Data []FindingTicket `json:"data"`
}

// TicketQuery picks tickets.
type TicketQuery struct {
	State  string `query:"state" enum:"conflict,failing,claimed,gone" doc:"Only these: conflict: a person has to resolve it; failing: the tracker refuses or does not answer; claimed: the issue is done, and no retest has shown it yet; gone: the issue was deleted."`
	VulnID string `query:"vuln_id" maxLength:"100" doc:"Only those of this finding."`
	wire.Window
}

// ResolveRequest resolves a conflict.
type ResolveRequest struct {
	ConfigID string `json:"reporting_config_id" maxLength:"100" doc:"Reporting configuration of the ticket."`
	Tracker  string `json:"tracker_name" enum:"github,gitlab,jira,linear,azure,servicenow,custom" doc:"Its tracker."`
	Keep     string `json:"keep" enum:"ours,theirs" doc:"ours: the issue gets the finding's state; theirs: the issue's state is taken in."`
	Status   string `json:"vuln_status,omitempty" enum:"accepted_risk,false_positive,duplicate" doc:"With theirs, when the issue was declined: the finding's status."`
}

func (s area) ticketSync(path string) {
	list := wire.Op("list-tickets", "GET /v1/scans/vulns/tickets", vulnTag,
		"Tickets of your team's findings, those that were changed last first", 404)
	list.Description = "A ticket belongs to a weakness (vuln_hash), a reporting configuration and one of its trackers, and is kept in step with its issue."
	rest.Handle(s.API, list, func(ctx context.Context, in *TicketQuery) (*TicketList, error) {
		hash := ""
		if in.VulnID != "" {
			f, err := s.Findings.Find(ctx, in.VulnID)
			if err != nil {
				return nil, err
			}
			hash = f.Hash
		}
		found, total, err := s.Tickets.Find(ctx, hash, ticket.Which(in.State), in.Page())
		return &TicketList{wire.ListOf(in.Window, len(found), total, "Tickets."), rest.Each(found, ticketOf)}, err
	})
	resolve := wire.Op("resolve-ticket", "POST "+path+"/resolve", vulnTag,
		"Resolve the conflict of a finding and its issue, which have both changed", 403, 404, 409)
	resolve.Description = "Nothing is changed on either side until you do. An issue that is done and counts is a claim: the finding gets into work, and a retest is queued."
	rest.Handle(s.API, resolve, func(ctx context.Context, in *struct {
		wire.VulnPath
		Body ResolveRequest
	}) (*wire.OK, error) {
		return wire.Done(), s.Tickets.Resolve(ctx, in.ID, ticket.Resolution{
			ConfigID: in.Body.ConfigID, Provider: in.Body.Tracker, Ours: in.Body.Keep == "ours",
			Status: finding.Status(in.Body.Status),
		})
	})
}

func (s area) fileVuln(ctx context.Context, in TicketPath, by TicketRequest) (finding.Ticket, error) {
	if _, err := account.Writer(ctx); err != nil {
		return finding.Ticket{}, err
	}
	if _, err := s.Findings.Find(ctx, in.ID); err != nil {
		return finding.Ticket{}, err
	}
	switch {
	case in.ConfigID != "" && by != (TicketRequest{}):
		return finding.Ticket{}, errs.Field("custom_reporting_id",
			"custom_reporting_id and reporting_config_id cannot be said together.")
	case in.ConfigID != "":
		return s.Tickets.File(ctx, in.ID, in.ConfigID)
	case by.ID == "":
		return finding.Ticket{}, errs.Field("reporting_config_id",
			"reporting_config_id is required, or custom_reporting_id of an issue that you filed yourself.")
	}
	return s.Findings.Link(ctx, in.ID, by.ID, by.URL)
}
