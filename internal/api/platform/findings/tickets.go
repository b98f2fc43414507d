package findings

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
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
	Tracker    string `json:"tracker_name" enum:"github,gitlab,jira,linear,custom" doc:"The tracker."`
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
			Provider string `query:"provider_name" required:"true" enum:"github,gitlab,jira,linear,custom" doc:"The tracker."`
		}) (*wire.OK, error) {
			_, err := s.Findings.Unlink(ctx, in.ID, in.Provider)
			return wire.Done(), err
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
		return s.Ticket(ctx, in.ID, in.ConfigID)
	case by.ID == "":
		return finding.Ticket{}, errs.Field("reporting_config_id",
			"reporting_config_id is required, or custom_reporting_id of an issue that you filed yourself.")
	}
	return s.Findings.Link(ctx, in.ID, by.ID, by.URL)
}
