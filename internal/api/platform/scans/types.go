package scans

import (
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/assets"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/schedule"
)

// ScanStatus is a scan (specification, ScanStatusItem).
type ScanStatus struct {
	ScanID          string         `json:"scan_id"`
	Name            string         `json:"name"`
	Status          string         `json:"status" enum:"queued,starting,running,finished,failed,stopped,scheduled,uploaded"`
	Progress        int            `json:"progress"`
	Elapsed         string         `json:"scan_time_elapsed" doc:"Duration of the last run so far, such as 1m3s."`
	FailureReason   string         `json:"failure_reason"`
	CreatedAt       time.Time      `json:"created_at"`
	UpdatedAt       time.Time      `json:"updated_at"`
	CompletedAt     string         `json:"completed_at" doc:"End of the last run; empty while active."`
	TotalTarget     int            `json:"total_target"`
	TotalTemplate   int            `json:"total_template" doc:"Templates of the last run."`
	TotalScan       int            `json:"total_scan"`
	TotalResult     int            `json:"total_result"`
	Severity        map[string]int `json:"severity" doc:"Findings by severity."`
	RescanCount     int            `json:"rescan_count"`
	IsRescan        bool           `json:"is_rescan"`
	Type            string         `json:"scan_type,omitempty" enum:"web" doc:"web: a scan of applications without templates. Absent: one of templates."`
	IsOSS           bool           `json:"is_oss" doc:"Whether its results were uploaded."`
	IsCloud         bool           `json:"is_cloud" doc:"Whether this service ran it."`
	IsAutomatic     bool           `json:"is_automatic" doc:"Whether the service created it."`
	IsInternal      bool           `json:"is_internal"`
	AssetIDs        []string       `json:"asset_ids" doc:"The enumerations and groups whose assets are targets."`
	PublicTemplates []string       `json:"public_templates"`
	TemplateIDs     []string       `json:"template_ids"`
	TemplateURLs    []string       `json:"template_urls"`
	ReportConfigIDs []string       `json:"report_config_ids"`
	ScanConfigIDs   []string       `json:"scan_config_ids"`
	wire.Agent
	Schedule *ScanSchedule `json:"schedule,omitempty"`
}

func statusOf(s scan.Scan) ScanStatus {
	c := s.Config
	out := ScanStatus{
		ScanID: s.ID, Name: s.Name, Status: string(s.Status), Progress: s.Progress(),
		Elapsed: s.Elapsed(time.Now()).Round(time.Millisecond).String(), FailureReason: s.FailureReason,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, TotalTarget: s.Numbers.Targets, TotalTemplate: s.Numbers.Templates,
		TotalScan: s.Numbers.Cells, TotalResult: s.Results(),
		Severity: rest.OrEmptyMap(s.Severities), RescanCount: s.Rescans(), IsRescan: s.Rescans() > 0, IsOSS: s.IsOSS,
		IsCloud: !s.IsOSS, IsAutomatic: s.IsAutomatic, IsInternal: s.IsInternal,
		Type:            c.Type,
		AssetIDs:        rest.OrEmpty(slices.Concat(c.AssetLists, c.EnumerationIDs)),
		PublicTemplates: rest.OrEmpty(c.Templates), TemplateIDs: []string{},
		TemplateURLs:    rest.OrEmpty(c.TemplateURLs),
		ReportConfigIDs: rest.OrEmpty(c.ReportConfigIDs), ScanConfigIDs: rest.OrEmpty(c.ScanConfigIDs),
		Agent: wire.AgentOf(c.AgentID, c.AgentTags, c.AgentNetworks, c.AgentBehavior),
	}
	for _, in := range c.Inline {
		out.TemplateIDs = append(out.TemplateIDs, in.Name)
	}
	switch {
	case !s.Numbers.EndedAt.IsZero():
		out.CompletedAt = s.Numbers.EndedAt.Format(time.RFC3339Nano)
	case s.Status == scan.Uploaded:
		out.CompletedAt = s.UpdatedAt.Format(time.RFC3339Nano)
	}
	if s.Schedule != nil {
		out.Schedule = new(scheduleOf(*s.Schedule))
	}
	return out
}

// ScanList is a page of scans.
type ScanList struct {
	wire.Listing
	Data []ScanStatus `json:"data"`
}

// ScanRequest is the body of POST /v1/scans.
type ScanRequest struct {
	Name             string               `json:"name,omitempty" maxLength:"200" doc:"Name; default: the first target."`
	Type             string               `json:"scan_type,omitempty" enum:"templates,web" doc:"templates, the default: known weaknesses, by templates. web: what applications do with their inputs; the targets are applications, and nothing is said of templates."`
	Targets          []string             `json:"targets,omitempty" maxItems:"100000" doc:"Hosts, addresses, ranges and URLs to test."`
	Templates        []string             `json:"templates,omitempty" maxItems:"10000" doc:"Templates by id, folder, tag or URL; default: the recommended set."`
	EarlyTemplates   []string             `json:"early_templates,omitempty" maxItems:"10000"`
	PrivateTemplates []InlineTemplate     `json:"private_templates,omitempty" maxItems:"100" doc:"Templates that come with the request."`
	CaptureTraffic   bool                 `json:"capture_traffic,omitempty" doc:"Capture its HTTP requests and the answers, as network events (agent-task API), as far as the team's policy allows it."`
	Recommended      bool                 `json:"recommended,omitempty" doc:"Add the recommended set: all severities but info, nothing intrusive."`
	All              bool                 `json:"all,omitempty" doc:"All templates."`
	Assets           []string             `json:"assets,omitempty" doc:"Enumerations and groups whose assets are targets, in each run those that are known then."`
	EnumerationIDs   []EnumerationRef     `json:"enumeration_ids,omitempty" doc:"Enumerations whose assets are targets, in each run those that are known then."`
	ScanAllAssets    bool                 `json:"scan_all_assets,omitempty" doc:"Every asset is a target, in each run those that are known then."`
	AssetFilters     *assets.AssetFilters `json:"asset_filters,omitempty" doc:"Only matching assets; alone: of all of the team's."`
	ScanConfigIDs    []string             `json:"scan_config_ids,omitempty"`
	ReportConfigIDs  []string             `json:"reporting_config_ids,omitempty"`
	AlertConfigIDs   []string             `json:"alerting_config_ids,omitempty"`
	ExcludeTargets   []string             `json:"exclude_targets,omitempty" maxItems:"10000"`
	Exclusions       []string             `json:"exclusions,omitempty" maxItems:"10000"`
	NoGlobalAlerts   bool                 `json:"disable_global_alert_config,omitempty"`
	NoGlobalReports  bool                 `json:"disable_global_report_config,omitempty" doc:"Ignore global reporting configurations."`
	NoGlobalScans    bool                 `json:"disable_global_scan_config,omitempty" doc:"Ignore global scan configurations."`
	ScheduleOnly     bool                 `json:"schedule_only,omitempty" doc:"Only store it, for a schedule."`
	AutomaticScan    bool                 `json:"automatic_scan,omitempty" doc:"Whether a program made it."`
	Socks5Proxy      string               `json:"socks5_proxy,omitempty" maxLength:"2048" doc:"SOCKS5 proxy for all connections to targets, such as socks5://user:password@proxy.example.com:1080; its password is never shown."`
	Web              *WebOptions          `json:"web_options,omitempty" doc:"For scan_type web. Users, oauth and descriptions are those of one application: the scan has one target."`
	wire.AgentRequest
}

// InlineTemplate is a template that comes with a request.
type InlineTemplate struct {
	Name     string `json:"name" maxLength:"200" doc:"Its name, such as mine.yaml."`
	Contents string `json:"contents" maxLength:"1048576" doc:"The YAML."`
}

// EnumerationRef names an enumeration.
type EnumerationRef struct {
	ID string `json:"id"`
}

func (r EnumerationRef) id() string { return r.ID }

// ScanMade says that a scan was made or launched.
type ScanMade struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	Truncated int    `json:"truncated-scan-targets"`
}

// ScansDone says what was done to scans.
type ScansDone struct {
	Message string `json:"message"`
	OK      bool   `json:"ok"`
}

// ScanSchedule is the schedule of a scan.
type ScanSchedule struct {
	ScanID string `json:"scan_id"`
	wire.Times
}

func scheduleOf(s schedule.Schedule) ScanSchedule { return ScanSchedule{s.Subject, wire.TimesOf(s)} }

// ScheduleRequest is the body of POST /v1/scans/schedule.
type ScheduleRequest struct {
	ScanID string `json:"scan_id"`
	wire.TimesRequest
}

// ScheduleList is the schedules of a team.
type ScheduleList struct {
	Message   string         `json:"message"`
	Schedules []ScanSchedule `json:"schedules"`
}
