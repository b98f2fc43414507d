// Package platform serves the platform API, /v1 and /v2, for clients of the public scanning platform.
package platform

import (
	"net/netip"

	"github.com/vedette-sec/vedette/internal/api/platform/assets"
	"github.com/vedette-sec/vedette/internal/api/platform/exports"
	"github.com/vedette-sec/vedette/internal/api/platform/findings"
	"github.com/vedette-sec/vedette/internal/api/platform/leaks"
	"github.com/vedette-sec/vedette/internal/api/platform/scans"
	"github.com/vedette-sec/vedette/internal/api/platform/team"
	"github.com/vedette-sec/vedette/internal/api/platform/templates"
	"github.com/vedette-sec/vedette/internal/api/platform/vulnerabilities"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/moment"
	"github.com/vedette-sec/vedette/internal/core/finding/undo"
	"github.com/vedette-sec/vedette/internal/core/finding/upkeep"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/leak"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/scan/fixed"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Prefixes are where the surface is mounted.
var Prefixes = []string{"/v1/", "/v2/"}

const version = "1.0.0"

// Error is the surface's full error body (specification, Errors).
type Error struct {
	Message string `json:"message" doc:"Error message."`
	Kind    string `json:"kind" doc:"The class of the error, such as invalid or not_found."`
	Code    string `json:"code" doc:"Stable error code."`
	Error   string `json:"error" doc:"Error message."`
	ErrorID string `json:"error_id" doc:"The id of this request in the server's log."`
	Param   string `json:"param" doc:"The field or parameter at fault; empty when there is none."`
	Status  int    `json:"status" doc:"The HTTP status."`
}

func shape(status int, e *errs.Error, id string) any {
	return Error{e.Message, string(e.Kind), e.Code, e.Message, id, e.Param, status}
}

// Deps are the services that the handlers call.
type Deps struct {
	Accounts      *account.Accounts
	Settings      *setting.Settings
	Scans         *scan.Scans
	Fixes         *fixed.Fixes
	Upkeep        *upkeep.Upkeep
	Feeds         *feed.Feeds
	Exclusions    *exclusion.Exclusions
	Enumerations  *enumeration.Enumerations
	Assets        *asset.Assets
	AssetReports  *report.Reports
	Policies      *policy.Policies
	Findings      *finding.Findings
	Tickets       *ticket.Tickets
	Comments      *comment.Comments
	Works         *work.Works
	Undos         *undo.Undos
	Moments       *moment.Moments
	Inbox         *inbox.Inbox
	Exports       *export.Exports
	Reports       *reportschedule.Schedules
	Proofs        *proof.Proofs
	Catalog       *catalog.Catalog
	Domains       *domain.Domains
	Audit         *audit.Log
	Notifications *notification.Notifications
	EgressIPs     []netip.Addr // from which scans reach their targets; none: those of the network interfaces
	Models        *model.Models
	Leaks         *leak.Leaks
	CVEs          *vulnerability.Vulnerabilities
	Signers       *signer.Signers
}

// New makes the surface with all its operations.
func New(c rest.Config, servers []rest.Server, d Deps) *rest.API {
	api := rest.New(rest.Surface{
		Name: "platform", Title: "Vedette platform API", Version: version, Servers: servers,
		Shape: shape, ErrorType: Error{},
		Vocabulary: rest.Vocabulary{Words: rest.ParseWords(words), WithoutEffect: withoutEffect},
		About: "Templates, scans, assets and findings, for programs. The values of a repeated query parameter are joined by commas. " +
			"What you send that has no effect is named in warnings, a list of texts in the answer, and in the header X-Warning.",
	}, c)
	team.Register(api, team.Services{
		Accounts: d.Accounts, Settings: d.Settings, Domains: d.Domains, Audit: d.Audit, Notifications: d.Notifications,
		Inbox: d.Inbox,
	})
	assets.Register(api, assets.Services{
		Assets: d.Assets, Reports: d.AssetReports, Policies: d.Policies, Enumerations: d.Enumerations, Findings: d.Findings,
	})
	findings.Register(api, findings.Services{
		Findings: d.Findings, Reports: d.AssetReports, Catalog: d.Catalog, Settings: d.Settings, Tickets: d.Tickets,
		Proofs: d.Proofs, Fixes: d.Fixes, Upkeep: d.Upkeep, Feeds: d.Feeds,
		Comments: d.Comments, Works: d.Works, Undos: d.Undos, Moments: d.Moments,
	})
	scans.Register(api, scans.Services{
		Scans: d.Scans, Enumerations: d.Enumerations, Exclusions: d.Exclusions, Settings: d.Settings, Exports: d.Exports,
		EgressIPs: d.EgressIPs,
	})
	exports.Register(api, exports.Services{
		Exports: d.Exports, Reports: d.Reports, Scans: d.Scans, Findings: d.Findings, Assets: d.Assets,
		Enumerations: d.Enumerations,
	})
	templates.Register(api, templates.Services{Catalog: d.Catalog, Models: d.Models, Signers: d.Signers})
	leaks.Register(api, d.Leaks)
	vulnerabilities.Register(api, d.CVEs, d.Findings)
	return api
}
