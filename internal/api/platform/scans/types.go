package scans

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/assets"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/schedule"
)

// ScanStatus is a scan (specification, ScanStatusItem).
type ScanStatus struct {
	ScanID          string         `json:"scan_id" doc:"The scan's id."`
	Name            string         `json:"name" doc:"Its name."`
	Status          string         `json:"status" enum:"queued,starting,running,finished,failed,stopped,scheduled,uploaded" doc:"How far it is."`
	Progress        int            `json:"progress" doc:"How much of it is done, 0 to 100."`
	Elapsed         string         `json:"scan_time_elapsed" doc:"How long the last run took, or takes until now, such as 1m3s."`
	FailureReason   string         `json:"failure_reason" doc:"Why it failed, or what of it could not be run."`
	CreatedAt       time.Time      `json:"created_at" doc:"When it was made."`
	UpdatedAt       time.Time      `json:"updated_at" doc:"When it last changed."`
	CompletedAt     string         `json:"completed_at" doc:"When the last run ended; empty while it has not."`
	TotalTarget     int            `json:"total_target" doc:"How many targets the last run has."`
	TotalTemplate   int            `json:"total_template" doc:"How many templates the last run has."`
	TotalScan       int            `json:"total_scan" doc:"How many checks that makes: targets × templates."`
	TotalResult     int            `json:"total_result" doc:"How many findings it has."`
	Severity        map[string]int `json:"severity" doc:"How many findings it has, by severity."`
	RescanCount     int            `json:"rescan_count" doc:"How often it was launched again."`
	IsRescan        bool           `json:"is_rescan" doc:"Whether it was launched again."`
	IsOSS           bool           `json:"is_oss" doc:"Whether its results were uploaded."`
	IsCloud         bool           `json:"is_cloud" doc:"Whether this service ran it."`
	IsAutomatic     bool           `json:"is_automatic" doc:"Whether the service made it by itself."`
	IsInternal      bool           `json:"is_internal" doc:"Whether all its targets are addresses that are not of the public internet."`
	AssetIDs        []string       `json:"asset_ids" doc:"Lists of assets it takes targets from."`
	PublicTemplates []string       `json:"public_templates" doc:"The templates, folders and tags that were named."`
	TemplateIDs     []string       `json:"template_ids" doc:"Private templates that were named."`
	TemplateURLs    []string       `json:"template_urls" doc:"Templates that were named by URL."`
	ReportConfigIDs []string       `json:"report_config_ids" doc:"Configurations for issue trackers."`
	ScanConfigIDs   []string       `json:"scan_config_ids" doc:"Configurations of the engine, and template sets."`
	AgentID         string         `json:"agent_id,omitempty" doc:"As in the request."`
	AgentTags       []string       `json:"agent_tags" doc:"As in the request."`
	AgentNetworks   []string       `json:"agent_networks" doc:"As in the request."`
	AgentBehavior   string         `json:"agent_behavior,omitempty" doc:"As in the request: distribute or mirror."`
	Schedule        *ScanSchedule  `json:"schedule,omitempty" doc:"What launches it again and again; absent without one."`
}

func statusOf(s scan.Scan) ScanStatus {
	c := s.Config
	out := ScanStatus{
		ScanID: s.ID, Name: s.Name, Status: string(s.Status), Progress: s.Progress(), Elapsed: elapsedText(s.Elapsed(time.Now())), FailureReason: s.FailureReason,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, TotalTarget: s.Numbers.Targets, TotalTemplate: s.Numbers.Templates, TotalScan: s.Numbers.Cells, TotalResult: s.Results(),
		Severity: s.Severities, RescanCount: s.Rescans(), IsRescan: s.Rescans() > 0, IsOSS: s.IsOSS, IsCloud: !s.IsOSS, IsAutomatic: s.IsAutomatic, IsInternal: s.IsInternal,
		AssetIDs: []string{}, PublicTemplates: wire.OrEmpty(c.Templates), TemplateIDs: []string{}, TemplateURLs: wire.OrEmpty(c.TemplateURLs),
		ReportConfigIDs: wire.OrEmpty(c.ReportConfigIDs), ScanConfigIDs: wire.OrEmpty(c.ScanConfigIDs), AgentID: c.AgentID, AgentTags: wire.OrEmpty(c.AgentTags),
		AgentNetworks: wire.OrEmpty(c.AgentNetworks), AgentBehavior: c.AgentBehavior,
	}
	if out.Severity == nil {
		out.Severity = map[string]int{}
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
		schedule := scheduleOf(*s.Schedule)
		out.Schedule = &schedule
	}
	return out
}

// ScanList is a page of scans.
type ScanList struct {
	wire.Listing
	Data []ScanStatus `json:"data" doc:"The page."`
}

func elapsedText(d time.Duration) string { return d.Round(time.Millisecond).String() }

// ScanRequest is the body of POST /v1/scans.
type ScanRequest struct {
	Name             string               `json:"name,omitempty" maxLength:"200" doc:"Its name; the first target without it."`
	Targets          []string             `json:"targets,omitempty" maxItems:"100000" doc:"Hosts, addresses, ranges and URLs to test."`
	Templates        []string             `json:"templates,omitempty" maxItems:"10000" doc:"Templates by id, folder, tag or URL. Without any the recommended set is meant."`
	EarlyTemplates   []string             `json:"early_templates,omitempty" maxItems:"10000" doc:"Early templates by id."`
	PrivateTemplates []InlineTemplate     `json:"private_templates,omitempty" maxItems:"100" doc:"Templates that come with the request."`
	Recommended      bool                 `json:"recommended,omitempty" doc:"Also the recommended set: all severities but info, nothing loud."`
	All              bool                 `json:"all,omitempty" doc:"All templates."`
	Assets           []string             `json:"assets,omitempty" doc:"Enumerations and groups to take targets from, as they are now."`
	EnumerationIDs   []EnumerationRef     `json:"enumeration_ids,omitempty" doc:"Enumerations to take targets from."`
	ScanAllAssets    bool                 `json:"scan_all_assets,omitempty" doc:"Take every asset as a target."`
	AssetFilters     *assets.AssetFilters `json:"asset_filters,omitempty" doc:"Take only assets that these mean; by themselves, of all of the team's."`
	ScanConfigIDs    []string             `json:"scan_config_ids,omitempty" doc:"Configurations of the engine, and template sets."`
	ReportConfigIDs  []string             `json:"reporting_config_ids,omitempty" doc:"Configurations for issue trackers."`
	AlertConfigIDs   []string             `json:"alerting_config_ids,omitempty" doc:"Configurations for alerts."`
	ExcludeTargets   []string             `json:"exclude_targets,omitempty" maxItems:"10000" doc:"Hosts with *, addresses and ranges to leave out."`
	Exclusions       []string             `json:"exclusions,omitempty" maxItems:"10000" doc:"As exclude_targets; one that begins with + allows, and then only what is allowed is tested."`
	NoGlobalAlerts   bool                 `json:"disable_global_alert_config,omitempty" doc:"Leave global alerting configurations out."`
	NoGlobalReports  bool                 `json:"disable_global_report_config,omitempty" doc:"Leave global reporting configurations out."`
	NoGlobalScans    bool                 `json:"disable_global_scan_config,omitempty" doc:"Leave global scan configurations out."`
	ScheduleOnly     bool                 `json:"schedule_only,omitempty" doc:"Keep it for a schedule, and do not launch it."`
	AutomaticScan    bool                 `json:"automatic_scan,omitempty" doc:"It was made by a program, not by a person."`
	Socks5Proxy      string               `json:"socks5_proxy,omitempty" doc:"Not supported: refused where it is given."`
	AgentID          string               `json:"agent_id,omitempty" maxLength:"200" doc:"Kept and shown."`
	AgentTags        []string             `json:"agent_tags,omitempty" maxItems:"100" doc:"Kept and shown."`
	AgentNetworks    []string             `json:"agent_networks,omitempty" maxItems:"100" doc:"Kept and shown."`
	AgentBehavior    string               `json:"agent_behavior,omitempty" enum:"distribute,mirror" doc:"Kept and shown."`
}

// InlineTemplate is a template that comes with a request.
type InlineTemplate struct {
	Name     string `json:"name" maxLength:"200" doc:"Its name, such as mine.yaml."`
	Contents string `json:"contents" maxLength:"1048576" doc:"The YAML."`
}

// EnumerationRef names an enumeration.
type EnumerationRef struct {
	ID string `json:"id" doc:"The enumeration's id."`
}

// ScanMade says that a scan was made or launched.
type ScanMade struct {
	ID        string `json:"id" doc:"The scan's id."`
	Message   string `json:"message" doc:"What was done, in words."`
	Truncated int    `json:"truncated-scan-targets" doc:"How many targets were left out for the plan's limits: none."`
}

// ScansDone says what was done to scans.
type ScansDone struct {
	Message string `json:"message" doc:"What was done, in words."`
	OK      bool   `json:"ok" doc:"It was done."`
}

// ScanSchedule launches a scan again and again.
type ScanSchedule struct {
	ScanID string `json:"scan_id" doc:"The scan."`
	wire.Times
}

func scheduleOf(s schedule.Schedule) ScanSchedule { return ScanSchedule{s.Subject, wire.TimesOf(s)} }

// ScheduleRequest is the body of POST /v1/scans/schedule.
type ScheduleRequest struct {
	ScanID string `json:"scan_id" doc:"The scan."`
	wire.TimesRequest
}

// ScheduleList is the schedules of a team.
type ScheduleList struct {
	Message   string         `json:"message" doc:"What this is, in words."`
	Schedules []ScanSchedule `json:"schedules" doc:"The schedules, the next to come first."`
}
