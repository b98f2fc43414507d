package assets

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/schedule"
)

// EnumerateData is an enumeration.
type EnumerateData struct {
	ID             string               `json:"id"`
	Name           string               `json:"name"`
	Status         string               `json:"status" enum:"queued,starting,running,finished,failed,stopped,scheduled"`
	FailureReason  string               `json:"failure_reason"`
	Type           string               `json:"enumeration_type" enum:"discovery,cloud,group" doc:"Type; a group of assets is listed too, and has no runs."`
	Stats          EnumerationStats     `json:"enumeration_stats" doc:"Counts of its assets."`
	CreatedAt      time.Time            `json:"created_at"`
	UpdatedAt      time.Time            `json:"updated_at"`
	CompletedAt    *time.Time           `json:"completed_at,omitempty" doc:"End of the last run; absent while active."`
	Time           string               `json:"enumeration_time" doc:"Duration of the last run so far, such as 1m3s."`
	TimeElapsed    string               `json:"enumeration_time_elapsed" doc:"The same."`
	RootDomains    []string             `json:"root_domains"`
	DomainNames    []string             `json:"domain_names" doc:"The same."`
	Exclusions     []string             `json:"exclusions"`
	InputCount     int                  `json:"enrichment_hosts_count" doc:"Number of enrichment_inputs."`
	IsRescan       bool                 `json:"is_rescan"`
	RescanCount    int                  `json:"rescan_count"`
	CloudConfigIDs []string             `json:"cloudlist_config_ids"`
	TotalAssets    int                  `json:"total_assets"`
	NewAssets      int                  `json:"new_assets" doc:"New assets of the last run."`
	GroupFilters   *AssetFilters        `json:"asset_group_filters,omitempty" doc:"Filters of a group."`
	Schedule       *EnumerationSchedule `json:"schedule,omitempty"`
	IsPublic       bool                 `json:"is_public"`
	wire.Agent
	AgentDiscover   bool     `json:"agent_auto_discover"`
	AutomaticScans  bool     `json:"automatic_vuln_scans"`
	IsInternal      bool     `json:"is_internal"`
	TotalTargets    int      `json:"total_targets" doc:"Hosts that the last run found."`
	DoneTargets     int      `json:"total_targets_processed"`
	Denied          int      `json:"denied" doc:"Connections that the scope refused in the last run."`
	EnrichmentSteps []string `json:"steps" doc:"Its steps; empty: all."`
}

// EnumerationStats counts an inventory.
type EnumerationStats struct {
	Hosts     int `json:"hosts" doc:"Hosts."`
	HTTP      int `json:"http" doc:"Assets that speak HTTP."`
	Endpoints int `json:"endpoints" doc:"Endpoints that were found by crawling."`
	Ports     int `json:"ports" doc:"Open ports."`
	Assets    int `json:"total_assets"`
	Groups    int `json:"total_asset_groups" doc:"1 for a group, else 0."`
}

func enumerateDataOf(e enumeration.Enumeration) EnumerateData {
	c, n, t := e.Config, e.Numbers, e.Totals
	elapsed := n.Elapsed(time.Now()).Round(time.Millisecond).String()
	out := EnumerateData{
		ID: e.ID, Name: e.Name, Status: string(e.Status), FailureReason: e.FailureReason, Type: string(e.Type),
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Stats: EnumerationStats{Hosts: t.Hosts, HTTP: t.HTTP, Endpoints: t.Endpoints, Ports: t.Ports, Assets: t.Assets},
		Time:  elapsed, TimeElapsed: elapsed,
		RootDomains: rest.OrEmpty(c.RootDomains), DomainNames: rest.OrEmpty(c.RootDomains),
		Exclusions: rest.OrEmpty(c.Exclusions), InputCount: e.InputCount, CompletedAt: rest.OrNull(n.EndedAt),
		IsRescan: e.Rescans() > 0, RescanCount: e.Rescans(), CloudConfigIDs: rest.OrEmpty(c.CloudConfigIDs),
		TotalAssets: t.Assets, NewAssets: n.NewAssets,
		Agent: wire.AgentOf(c.AgentID, c.AgentTags, c.AgentNetworks, c.AgentBehavior), AgentDiscover: c.AgentDiscover,
		AutomaticScans: c.AutomaticScans, IsInternal: e.IsInternal, TotalTargets: n.Names, DoneTargets: n.DoneNames,
		Denied: n.Denials, EnrichmentSteps: rest.OrEmpty(c.StepNames()),
	}
	if e.Type == enumeration.Group {
		out.GroupFilters, out.Stats.Groups = (*AssetFilters)(e.Filters), 1
	}
	if e.Schedule != nil {
		out.Schedule = new(scheduleOf(*e.Schedule))
	}
	return out
}

// EnumerationList is a page of enumerations.
type EnumerationList struct {
	CurrentPage  int             `json:"current_page"`
	ResultCount  int             `json:"result_count"`
	TotalResults int             `json:"total_results"`
	TotalPages   int             `json:"total_pages"`
	Data         []EnumerateData `json:"data"`
}

// EnumerateOne is one enumeration.
type EnumerateOne struct {
	Message string        `json:"message"`
	Data    EnumerateData `json:"data" doc:"The enumeration."`
}

// EnumerateRequest is the body of POST /v1/asset/enumerate.
type EnumerateRequest struct {
	RootDomains    []string              `json:"root_domains,omitempty" maxItems:"1000"`
	Inputs         []string              `json:"enrichment_inputs,omitempty" maxItems:"50000"`
	CloudConfigIDs []string              `json:"cloudlist_config_ids,omitempty" maxItems:"100"`
	Name           string                `json:"name,omitempty" maxLength:"200" doc:"Name; default: the first input."`
	Steps          []string              `json:"steps,omitempty" maxItems:"50" enum:"dns_resolve,dns_bruteforce,dns_permute,port_scan,http_probe,http_screenshot,endpoint_crawling,dns_passive,tls_scan,uncover_assets,dns_scraping"`
	Ports          string                `json:"enumeration_ports,omitempty" maxLength:"500000" doc:"Ports and ranges separated by commas, top-100, top-1000 or full; top-100 without it."`
	Config         EnumerationLaunchOpts `json:"enumeration_config,omitzero"`
	AlertConfigIDs []string              `json:"alerting_config_ids,omitempty" maxItems:"100"`
	NoGlobalAlerts bool                  `json:"disable_global_alert_config,omitempty"`
	ExcludeTargets []string              `json:"exclude_targets,omitempty" maxItems:"10000"`
	Exclusions     []string              `json:"exclusions,omitempty" maxItems:"10000"`
	AutomaticScans bool                  `json:"automatic_vuln_scans,omitempty"`
	Socks5Proxy    string                `json:"socks5_proxy,omitempty" maxLength:"2048" doc:"SOCKS5 proxy for all connections to targets, such as socks5://user:password@proxy.example.com:1080; its password is never shown. Names are looked up, and public sources asked, without it."`
	PerDomain      bool                  `json:"per_domain_enumeration,omitempty" doc:"Make an enumeration for each of root_domains."`
	wire.AgentRequest
	AgentDiscover bool `json:"agent_auto_discover,omitempty"`
}

// EnumerationLaunchOpts are further options of an enumeration.
type EnumerationLaunchOpts struct {
	FollowRedirect *bool   `json:"follow-redirect,omitempty" doc:"Follow redirects within the scope; default true. false: the redirecting response is described, with redirect_location."`
	Ports          *string `json:"ports,omitempty" maxLength:"500000" doc:"As enumeration_ports, which takes precedence."`
}

// EnumerateMade is the answer about new enumerations.
type EnumerateMade struct {
	ID            string            `json:"id" doc:"Enumeration id; the first of several."`
	Truncated     int               `json:"truncated-scan-targets"`
	IsPublic      bool              `json:"is-public" doc:"Always false."`
	BulkIDs       []string          `json:"bulk_ids,omitempty" doc:"With per_domain_enumeration: all ids."`
	FailedDomains map[string]string `json:"failed_domains,omitempty" doc:"With per_domain_enumeration: refused domains, with the reason."`
}

// EnumerationConfig is the configuration of an enumeration, or a change of it.
type EnumerationConfig struct {
	Name               *string               `json:"name,omitempty" maxLength:"200"`
	RootDomains        []string              `json:"root_domains,omitempty" maxItems:"1000"`
	Inputs             []string              `json:"enrichment_inputs,omitempty" maxItems:"50000"`
	Steps              []string              `json:"steps,omitempty" maxItems:"50" enum:"dns_resolve,dns_bruteforce,dns_permute,port_scan,http_probe,http_screenshot,endpoint_crawling,dns_passive,tls_scan,uncover_assets,dns_scraping"`
	Ports              *string               `json:"enum_ports,omitempty" maxLength:"500000" doc:"Ports and ranges separated by commas, top-100, top-1000 or full."`
	Launch             EnumerationLaunchOpts `json:"enumeration_config,omitzero"`
	AlertConfigIDs     []string              `json:"alerting_config_ids,omitempty" maxItems:"100"`
	SubfinderConfigIDs []string              `json:"subfinder_config_ids,omitempty" maxItems:"100" doc:"Configurations with keys for sources, besides the global ones."`
	Exclusions         []string              `json:"exclusions,omitempty" maxItems:"10000"`
	AutomaticScans     *bool                 `json:"automatic_vuln_scans,omitempty"`
	Socks5Proxy        *string               `json:"socks5_proxy,omitempty" maxLength:"2048" doc:"SOCKS5 proxy for all connections to targets, shown with its password masked. The masked form that was shown keeps it; empty: none."`
}

// EnumerationDeletion names enumerations to delete; clients send them as asset_ids.
type EnumerationDeletion struct {
	IDs []string `json:"asset_ids" minItems:"1" maxItems:"1000"`
}

// EnumerationSchedule is the schedule of an enumeration.
type EnumerationSchedule struct {
	EnumerationID string `json:"enumeration_id"`
	wire.Times
}

func scheduleOf(s schedule.Schedule) EnumerationSchedule {
	return EnumerationSchedule{s.Subject, wire.TimesOf(s)}
}

// EnumerationScheduleRequest is the body of POST /v1/enumeration/schedule.
type EnumerationScheduleRequest struct {
	EnumerationID string `json:"enumeration_id"`
	wire.TimesRequest
}

// EnumerationScheduleList is the schedules of a team.
type EnumerationScheduleList struct {
	Message   string                `json:"message"`
	Schedules []EnumerationSchedule `json:"schedules"`
}

// EnumerationHistory is a page of runs (specification, Enumeration history response).
type EnumerationHistory struct {
	CurrentPage  int              `json:"current_page"`
	ResultCount  int              `json:"result_count"`
	TotalPages   int              `json:"total_pages"`
	TotalResults int              `json:"total_results"`
	Total        int64            `json:"total_enumeration" doc:"The same."`
	Unique       int64            `json:"total_unique_enumeration" doc:"1, or 0 without runs."`
	Data         []EnumerationRun `json:"data"`
}

// EnumerationRun is one launch of an enumeration.
type EnumerationRun struct {
	ID           string     `json:"enum_id" doc:"The enumeration."`
	Name         string     `json:"name"`
	Type         string     `json:"enum_type" enum:"discovery,cloud,group" doc:"Type; a group of assets is listed too, and has no runs."`
	StartedAt    time.Time  `json:"enum_started_at" doc:"Start time; while queued, launch time."`
	FinishedAt   *time.Time `json:"enum_finished_at" nullable:"true" doc:"End time; null while active."`
	Time         string     `json:"enumeration_time" doc:"Duration so far, such as 1m3s."`
	Status       string     `json:"status" enum:"queued,starting,running,finished,failed,stopped"`
	NewAssets    int        `json:"new_assets_discovered" doc:"Number of new assets."`
	Processed    int        `json:"total_targets_processed"`
	ErrorDetails string     `json:"error_details"`
}

func enumerationRunOf(l enumeration.Launch) EnumerationRun {
	n := l.Numbers
	out := EnumerationRun{
		ID: l.EnumerationID, Name: l.Name, Type: string(l.Type), StartedAt: n.StartedAt,
		Time:   n.Elapsed(time.Now()).Round(time.Millisecond).String(),
		Status: string(l.Status), NewAssets: n.NewAssets, Processed: n.DoneNames, ErrorDetails: l.FailureReason,
		FinishedAt: rest.OrNull(n.EndedAt),
	}
	if n.StartedAt.IsZero() {
		out.StartedAt = l.CreatedAt
	}
	return out
}

// EnumerationSources is a page of the results of sources.
type EnumerationSources struct {
	wire.Listing
	Data []EnumerationSource `json:"data" doc:"The page, by subject and source."`
}

// EnumerationSource is the result of one source for one query.
type EnumerationSource struct {
	Run    int64     `json:"run"`
	Source string    `json:"source" doc:"The source."`
	About  string    `json:"about" doc:"The queried domain, range or configuration."`
	State  string    `json:"state" enum:"ok,empty,limited,key_rejected,blocked,timed_out,failed,skipped" doc:"How it behaved: ok: returned hosts; empty: returned none."`
	Count  int       `json:"count" doc:"Hosts that it returned."`
	Took   string    `json:"took" doc:"Duration, such as 1.2s."`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// EnumerationEvents is a page of the events of a run.
type EnumerationEvents struct {
	wire.Listing
	Data []EnumerationEvent `json:"data"`
}

// EnumerationEvent is something in a run that people should know.
type EnumerationEvent struct {
	Run     int64     `json:"run"`
	Kind    string    `json:"kind" enum:"denied,source,scan,proxy" doc:"denied: the scope refused a connection; source: a source returned far less than before; scan: the automatic scan of new assets, or why there is none; proxy: socks5_proxy did not work."`
	Subject string    `json:"subject" doc:"The refused address, the source, the id of the scan, or the proxy."`
	Detail  string    `json:"detail"`
	Times   int       `json:"times" doc:"Frequency."`
	At      time.Time `json:"at"`
}
