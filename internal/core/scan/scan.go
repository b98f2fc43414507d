// Package scan stores scans: their configurations, runs, chunks and coverage. A worker calls Begin to cut a run into
// chunks of bounded cost, and RunChunk to test a chunk with the engine. Package run owns the life of a run. Findings
// have keys, so that a chunk that runs twice leaves the same rows.
package scan

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Status is the state of a scan.
type Status = run.Status

// The states; docs/reference/states.md has the drawing.
const (
	Scheduled = run.Scheduled
	Queued    = run.Queued
	Starting  = run.Starting
	Running   = run.Running
	Finished  = run.Finished
	Failed    = run.Failed
	Stopped   = run.Stopped

	Uploaded Status = "uploaded" // its results were uploaded; nothing runs
)

// Statuses are all of them.
var Statuses = []Status{Failed, Finished, Queued, Running, Starting, Uploaded, Scheduled, Stopped}

// Config is what a scan does in each run.
type Config struct {
	Inventory // further targets

	Type             string         `json:"type,omitempty"` // Web, or empty: with templates
	Targets          []string       `json:"-"`              // as they were given, in a column of their own
	Templates        []string       `json:"templates,omitempty"`
	EarlyTemplates   []string       `json:"early_templates,omitempty"`
	TemplateURLs     []string       `json:"template_urls,omitempty"`
	Inline           []Inline       `json:"private_templates,omitempty"`
	Capture          bool           `json:"capture_traffic,omitempty"`
	Recommended      bool           `json:"recommended,omitempty"`
	All              bool           `json:"all,omitempty"`
	ScanConfigIDs    []string       `json:"scan_config_ids,omitempty"`
	ReportConfigIDs  []string       `json:"report_config_ids,omitempty"`
	AlertConfigIDs   []string       `json:"alerting_config_ids,omitempty"`
	Exclusions       []string       `json:"exclusions,omitempty"` // patterns; one that begins with + allows
	NoGlobalAlerts   bool           `json:"disable_global_alert_config,omitempty"`
	NoGlobalReports  bool           `json:"disable_global_report_config,omitempty"`
	NoGlobalSettings bool           `json:"disable_global_scan_config,omitempty"`
	Proxy            *setting.Proxy `json:"socks5_proxy,omitempty"` // nil: that of a configuration, or none
	Web              *webapp.Kept   `json:"web_options,omitempty"`
	AgentID          string         `json:"agent_id,omitempty"`
	AgentTags        []string       `json:"agent_tags,omitempty"`
	AgentNetworks    []string       `json:"agent_networks,omitempty"`
	AgentBehavior    string         `json:"agent_behavior,omitempty"`
}

// Web is the type of scans that test what applications do with their inputs, without templates.
const Web = "web"

// WebTest stands for a template in the coverage of such scans.
const WebTest = "webtest"

// Inline is a template that came with the request.
type Inline struct {
	Name     string `json:"name"`
	Contents string `json:"contents"`
}

// Scan is one scan with the numbers of its last run.
type Scan struct {
	ID            string
	TeamID        string
	UserID        string
	Name          string
	Status        Status
	FailureReason string
	Run           int64 // 0: never launched
	IsOSS         bool
	IsAutomatic   bool
	IsInternal    bool
	CreatedAt     time.Time
	UpdatedAt     time.Time

	Config     Config // without targets in a list
	Numbers    Numbers
	Severities map[string]int     // how many findings it has, by severity; without zeros
	Schedule   *schedule.Schedule // nil: none
}

// Numbers are the size and the progress of a run.
type Numbers struct {
	Targets, Templates     int
	Cells, DoneCells       int // targets × templates
	Requests, DoneRequests int // planned; sent
	StartedAt, EndedAt     time.Time
}

// Rescans is how often the scan was launched after the first time.
func (s Scan) Rescans() int { return int(max(0, s.Run-1)) }

// Results is how many findings the scan has.
func (s Scan) Results() (n int) {
	for _, each := range s.Severities {
		n += each
	}
	return n
}

// Progress is the part of the run that is done, 0 to 100; 100 only when it has finished.
func (s Scan) Progress() int {
	switch {
	case s.Status == Finished, s.Status == Uploaded:
		return 100
	case s.Numbers.Cells == 0:
		return 0
	}
	return min(99, s.Numbers.DoneCells*100/s.Numbers.Cells)
}

// Elapsed is how long the run took, or has taken until now.
func (s Scan) Elapsed(now time.Time) time.Duration {
	return run.Elapsed(s.Numbers.StartedAt, s.Numbers.EndedAt, now)
}

// Scans is the service of scans.
type Scans struct {
	db       *db.DB
	queue    *queue.Queue
	findings *finding.Findings
	assets   *asset.Assets
	catalog  *catalog.Catalog
	settings *setting.Settings
	logger   *slog.Logger
	now      func() time.Time
	limited  sync.Map // locks of scans whose rate is limited, by id

	// Interactions are those of scans with the out-of-band server; nil: templates that need one are skipped.
	Interactions *interaction.Interactions
	// Signers say whose templates may run programs; nil: nobody's.
	Signers *signer.Signers
	// TempDir is where reports are kept while they are imported; empty: the system's.
	TempDir string
}

// New makes the service. logger may be nil.
func New(
	d *db.DB, q *queue.Queue, findings *finding.Findings, assets *asset.Assets, templates *catalog.Catalog,
	settings *setting.Settings, logger *slog.Logger,
) *Scans {
	return &Scans{
		db: d, queue: q, findings: findings, assets: assets, catalog: templates, settings: settings, now: time.Now,
		logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
	}
}

const columns = `s.id, s.team_id, s.user_id, s.name, s.status, s.failure_reason, s.run, s.is_oss, s.is_automatic, s.is_internal,
	s.created_at, s.updated_at, ` + numberColumns

const numberColumns = `coalesce(r.total_target, 0), coalesce(r.total_template, 0), coalesce(r.total_cell, 0), coalesce(r.done_cell, 0),
	coalesce(r.total_request, 0), coalesce(r.done_request, 0), r.started_at, r.ended_at`

const tables = ` FROM scan s LEFT JOIN scan_run r ON r.scan_id = s.id AND r.run = s.run`

// scan reads numberColumns with the columns before and after them.
func (n *Numbers) scan(r db.Row, before []any, after ...any) error {
	return r.Scan(slices.Concat(before, []any{
		&n.Targets, &n.Templates, &n.Cells, &n.DoneCells, &n.Requests, &n.DoneRequests,
		db.Into(&n.StartedAt), db.Into(&n.EndedAt),
	}, after)...)
}

func scanRow(r db.Row) (s Scan, err error) {
	err = s.Numbers.scan(r, []any{
		&s.ID, &s.TeamID, &s.UserID, &s.Name, &s.Status, &s.FailureReason, &s.Run, &s.IsOSS, &s.IsAutomatic, &s.IsInternal,
		db.Into(&s.CreatedAt), db.Into(&s.UpdatedAt),
	})
	return s, err
}
