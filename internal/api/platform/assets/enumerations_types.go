package assets

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/core/enumeration"
)

// EnumerateData is an enumeration.
type EnumerateData struct {
	ID              string               `json:"id" doc:"The enumeration's id."`
	Name            string               `json:"name" doc:"Its name."`
	Status          string               `json:"status" enum:"queued,starting,running,finished,failed,stopped,scheduled" doc:"How far it is."`
	FailureReason   string               `json:"failure_reason" doc:"Why it failed, or what of it could not be run."`
	Type            string               `json:"enumeration_type" enum:"discovery,cloud,group" doc:"What it looks at; group: it is a group of assets, which is listed beside enumerations and cannot be run."`
	Stats           EnumerationStats     `json:"enumeration_stats" doc:"What its inventory has."`
	CreatedAt       time.Time            `json:"created_at" doc:"When it was made."`
	UpdatedAt       time.Time            `json:"updated_at" doc:"When it last changed."`
	CompletedAt     *time.Time           `json:"completed_at,omitempty" doc:"When the last run ended; absent while it has not."`
	Time            string               `json:"enumeration_time" doc:"How long the last run took, or takes until now, such as 1m3s."`
	TimeElapsed     string               `json:"enumeration_time_elapsed" doc:"The same."`
	RootDomains     []string             `json:"root_domains" doc:"The domains whose names it looks for."`
	DomainNames     []string             `json:"domain_names" doc:"The same."`
	Exclusions      []string             `json:"exclusions" doc:"Patterns of what it leaves out; those that begin with + say what alone it takes in."`
	InputCount      int                  `json:"enrichment_hosts_count" doc:"How many hosts, addresses, ranges, URLs and AS numbers it was given."`
	IsRescan        bool                 `json:"is_rescan" doc:"Whether it was launched again."`
	RescanCount     int                  `json:"rescan_count" doc:"How often it was launched again."`
	CloudConfigIDs  []string             `json:"cloudlist_config_ids" doc:"Configurations of clouds whose inventory it takes."`
	TotalAssets     int                  `json:"total_assets" doc:"How many assets its inventory has."`
	NewAssets       int                  `json:"new_assets" doc:"How many the last run saw first."`
	GroupFilters    *AssetFilters        `json:"asset_group_filters,omitempty" doc:"Of a group: which assets it has."`
	Schedule        *EnumerationSchedule `json:"schedule,omitempty" doc:"What launches it again and again; absent without one."`
	IsPublic        bool                 `json:"is_public" doc:"Whether others than the team see it: no."`
	AgentID         string               `json:"agent_id,omitempty" doc:"As in the request."`
	AgentTags       []string             `json:"agent_tags" doc:"As in the request."`
	AgentNetworks   []string             `json:"agent_networks" doc:"As in the request."`
	AgentBehavior   string               `json:"agent_behavior,omitempty" doc:"As in the request: distribute or mirror."`
	AgentDiscover   bool                 `json:"agent_auto_discover" doc:"As in the request."`
	AutomaticScans  bool                 `json:"automatic_vuln_scans" doc:"As in the request."`
	IsInternal      bool                 `json:"is_internal" doc:"Whether all it looks at are addresses that are not of the public internet."`
	TotalTargets    int                  `json:"total_targets" doc:"How many hosts the last run found."`
	DoneTargets     int                  `json:"total_targets_processed" doc:"How many of those it has looked at."`
	Denied          int                  `json:"denied" doc:"How many connections of the last run the scope refused."`
	EnrichmentSteps []string             `json:"steps" doc:"The steps it was asked for; none means all."`
}

// EnumerationStats counts an inventory.
type EnumerationStats struct {
	Hosts     int `json:"hosts" doc:"Hosts."`
	HTTP      int `json:"http" doc:"Assets that speak HTTP."`
	Endpoints int `json:"endpoints" doc:"Endpoints that were found by crawling."`
	Ports     int `json:"ports" doc:"Open ports."`
	Assets    int `json:"total_assets" doc:"Assets."`
	Groups    int `json:"total_asset_groups" doc:"1 for a group."`
}

func enumerateDataOf(e enumeration.Enumeration, now time.Time) EnumerateData {
	c, n, t := e.Config, e.Numbers, e.Totals
	elapsed := n.Elapsed(now).Round(time.Millisecond).String()
	out := EnumerateData{
		ID: e.ID, Name: e.Name, Status: string(e.Status), FailureReason: e.FailureReason, Type: string(e.Type), CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Stats: EnumerationStats{Hosts: t.Hosts, HTTP: t.HTTP, Endpoints: t.Endpoints, Ports: t.Ports, Assets: t.Assets}, Time: elapsed, TimeElapsed: elapsed,
		RootDomains: wire.OrEmpty(c.RootDomains), DomainNames: wire.OrEmpty(c.RootDomains), Exclusions: wire.OrEmpty(c.Exclusions), InputCount: e.InputCount,
		IsRescan: e.Rescans() > 0, RescanCount: e.Rescans(), CloudConfigIDs: wire.OrEmpty(c.CloudConfigIDs), TotalAssets: t.Assets, NewAssets: n.NewAssets,
		AgentID: c.AgentID, AgentTags: wire.OrEmpty(c.AgentTags), AgentNetworks: wire.OrEmpty(c.AgentNetworks), AgentBehavior: c.AgentBehavior, AgentDiscover: c.AgentDiscover,
		AutomaticScans: c.AutomaticScans, IsInternal: e.IsInternal, TotalTargets: n.Names, DoneTargets: n.DoneNames, Denied: n.Denials, EnrichmentSteps: wire.OrEmpty(c.StepNames()),
	}
	if !n.EndedAt.IsZero() {
		out.CompletedAt = &n.EndedAt
	}
	if e.Type == enumeration.Group {
		out.GroupFilters, out.Stats.Groups = (*AssetFilters)(e.Filters), 1
	}
	if e.Schedule != nil {
		out.Schedule = &EnumerationSchedule{e.ID, wire.TimesOf(*e.Schedule)}
	}
	return out
}

// EnumerationList is a page of enumerations.
type EnumerationList struct {
	CurrentPage  int             `json:"current_page" doc:"The number of this page, from 1."`
	ResultCount  int             `json:"result_count" doc:"How many this page has."`
	TotalResults int             `json:"total_results" doc:"How many there are in all."`
	TotalPages   int             `json:"total_pages" doc:"How many pages there are."`
	Data         []EnumerateData `json:"data" doc:"The page."`
}

// EnumerateOne is one enumeration.
type EnumerateOne struct {
	Message string        `json:"message" doc:"What this is, in words."`
	Data    EnumerateData `json:"data" doc:"The enumeration."`
}

// EnumerateRequest is the body of POST /v1/asset/enumerate.
type EnumerateRequest struct {
	RootDomains    []string              `json:"root_domains,omitempty" maxItems:"1000" doc:"Domains whose names are looked for."`
	Inputs         []string              `json:"enrichment_inputs,omitempty" maxItems:"50000" doc:"Hosts, addresses, ranges, URLs and numbers of autonomous systems (AS64500) to look at."`
	CloudConfigIDs []string              `json:"cloudlist_config_ids,omitempty" maxItems:"100" doc:"Configurations of clouds whose inventory is taken."`
	Name           string                `json:"name,omitempty" maxLength:"200" doc:"Its name; the first thing it looks at without it."`
	Steps          []string              `json:"steps,omitempty" maxItems:"50" enum:"dns_resolve,dns_bruteforce,dns_permute,port_scan,http_probe,http_screenshot,endpoint_crawling,dns_passive,tls_scan,uncover_assets,dns_scraping" doc:"What is done; all without any."`
	Ports          string                `json:"enumeration_ports,omitempty" maxLength:"500000" doc:"Ports and ranges separated by commas, top-100, top-1000 or full; top-100 without it."`
	Config         EnumerationLaunchOpts `json:"enumeration_config,omitzero" doc:"Further options."`
	AlertConfigIDs []string              `json:"alerting_config_ids,omitempty" maxItems:"100" doc:"Configurations for alerts."`
	NoGlobalAlerts bool                  `json:"disable_global_alert_config,omitempty" doc:"Leave out the team's global configurations for alerts."`
	ExcludeTargets []string              `json:"exclude_targets,omitempty" maxItems:"10000" doc:"Hosts with *, addresses and ranges to leave out."`
	Exclusions     []string              `json:"exclusions,omitempty" maxItems:"10000" doc:"The same; entries that begin with + say what alone is taken in."`
	AutomaticScans bool                  `json:"automatic_vuln_scans,omitempty" doc:"Scan what a run saw first, when it has ended: with the recommended templates, and with the exclusions and alerting configurations of the enumeration. An event of the run names the scan."`
	PerDomain      bool                  `json:"per_domain_enumeration,omitempty" doc:"Make an enumeration for each of root_domains."`
	AgentID        string                `json:"agent_id,omitempty" maxLength:"200" doc:"Kept and shown."`
	AgentTags      []string              `json:"agent_tags,omitempty" maxItems:"100" doc:"Kept and shown."`
	AgentNetworks  []string              `json:"agent_networks,omitempty" maxItems:"100" doc:"Kept and shown."`
	AgentBehavior  string                `json:"agent_behavior,omitempty" enum:"distribute,mirror" doc:"Kept and shown; distribute without it."`
	AgentDiscover  bool                  `json:"agent_auto_discover,omitempty" doc:"Kept and shown."`
}

// EnumerationLaunchOpts are further options of an enumeration.
type EnumerationLaunchOpts struct {
	FollowRedirect *bool   `json:"follow-redirect,omitempty" doc:"Whether redirects within the scope are followed, as they are without it. false: the answer that redirects is described, with redirect_location."`
	Ports          *string `json:"ports,omitempty" maxLength:"500000" doc:"As enumeration_ports, which wins."`
}

// EnumerateMade says what became of a request for enumerations.
type EnumerateMade struct {
	ID            string            `json:"id" doc:"The enumeration's id; the first of several."`
	Truncated     int               `json:"truncated-scan-targets" doc:"How many targets were left out for the plan's limits: none."`
	IsPublic      bool              `json:"is-public" doc:"Whether others than the team see it: no."`
	BulkIDs       []string          `json:"bulk_ids,omitempty" doc:"With per_domain_enumeration: the ids of all that were made."`
	FailedDomains map[string]string `json:"failed_domains,omitempty" doc:"With per_domain_enumeration: the domains that none was made for, and why."`
}

// EnumerationConfig is what an enumeration does when it is launched, and what is sent of
// it to change that.
type EnumerationConfig struct {
	Name               *string               `json:"name,omitempty" maxLength:"200" doc:"Its name."`
	RootDomains        []string              `json:"root_domains,omitempty" maxItems:"1000" doc:"Domains whose names are looked for."`
	Inputs             []string              `json:"enrichment_inputs,omitempty" maxItems:"50000" doc:"Hosts, addresses, ranges, URLs and numbers of autonomous systems (AS64500) to look at."`
	Steps              []string              `json:"steps,omitempty" maxItems:"50" enum:"dns_resolve,dns_bruteforce,dns_permute,port_scan,http_probe,http_screenshot,endpoint_crawling,dns_passive,tls_scan,uncover_assets,dns_scraping" doc:"What is done; all without any."`
	Ports              *string               `json:"enum_ports,omitempty" maxLength:"500000" doc:"Ports and ranges separated by commas, top-100, top-1000 or full."`
	Launch             EnumerationLaunchOpts `json:"enumeration_config,omitzero" doc:"Further options."`
	AlertConfigIDs     []string              `json:"alerting_config_ids,omitempty" maxItems:"100" doc:"Configurations for alerts."`
	SubfinderConfigIDs []string              `json:"subfinder_config_ids,omitempty" maxItems:"100" doc:"Configurations with keys of sources, besides the team's global ones."`
	Exclusions         []string              `json:"exclusions,omitempty" maxItems:"10000" doc:"Patterns of what is left out; those that begin with + say what alone is taken in."`
	AutomaticScans     *bool                 `json:"automatic_vuln_scans,omitempty" doc:"Scan what a run saw first, when it has ended: with the recommended templates, and with the exclusions and alerting configurations of the enumeration. An event of the run names the scan."`
}

// EnumerationDeletion names enumerations to delete. The key of their ids is not a mistake:
// clients of this interface send it so.
type EnumerationDeletion struct {
	IDs []string `json:"asset_ids" minItems:"1" maxItems:"1000" doc:"The enumerations."`
}

// EnumerationSchedule launches an enumeration again and again.
type EnumerationSchedule struct {
	EnumerationID string `json:"enumeration_id" doc:"The enumeration."`
	wire.Times
}

// EnumerationScheduleRequest is the body of POST /v1/enumeration/schedule.
type EnumerationScheduleRequest struct {
	EnumerationID string `json:"enumeration_id" doc:"The enumeration."`
	wire.TimesRequest
}

// EnumerationScheduleList is the schedules of a team.
type EnumerationScheduleList struct {
	Message   string                `json:"message" doc:"What this is, in words."`
	Schedules []EnumerationSchedule `json:"schedules" doc:"The schedules, the next to come first."`
}

// EnumerationHistory is a page of the runs of an enumeration (specification, Enumeration
// history response).
type EnumerationHistory struct {
	CurrentPage  int              `json:"current_page" doc:"The number of this page, from 1."`
	ResultCount  int              `json:"result_count" doc:"How many this page has."`
	TotalPages   int              `json:"total_pages" doc:"How many pages there are."`
	TotalResults int              `json:"total_results" doc:"How many runs there are in the time that was asked for."`
	Total        int64            `json:"total_enumeration" doc:"The same."`
	Unique       int64            `json:"total_unique_enumeration" doc:"How many enumerations they are of: 1, or 0 when there are none."`
	Data         []EnumerationRun `json:"data" doc:"The page, the newest first."`
}

// EnumerationRun is one launch of an enumeration.
type EnumerationRun struct {
	ID           string     `json:"enum_id" doc:"The enumeration."`
	Name         string     `json:"name" doc:"Its name."`
	Type         string     `json:"enum_type" enum:"discovery,cloud,group" doc:"What it looks at; group: it is a group of assets, which is listed beside enumerations and cannot be run."`
	StartedAt    time.Time  `json:"enum_started_at" doc:"When it began; when it was launched, while it waits."`
	FinishedAt   *time.Time `json:"enum_finished_at" nullable:"true" doc:"When it ended; null while it has not."`
	Time         string     `json:"enumeration_time" doc:"How long it took, or takes until now, such as 1m3s."`
	Status       string     `json:"status" enum:"queued,starting,running,finished,failed,stopped" doc:"How it ended, or how far it is."`
	NewAssets    int        `json:"new_assets_discovered" doc:"Assets that no run before it had seen."`
	Processed    int        `json:"total_targets_processed" doc:"Hosts that it has looked at."`
	ErrorDetails string     `json:"error_details" doc:"Why it failed, or what of it could not be run; empty when nothing went wrong."`
}

func enumerationRunOf(l enumeration.Launch, now time.Time) EnumerationRun {
	n := l.Numbers
	out := EnumerationRun{
		ID: l.EnumerationID, Name: l.Name, Type: string(l.Type), StartedAt: n.StartedAt, Time: n.Elapsed(now).Round(time.Millisecond).String(),
		Status: string(l.Status), NewAssets: n.NewAssets, Processed: n.DoneNames, ErrorDetails: l.FailureReason,
	}
	if n.StartedAt.IsZero() {
		out.StartedAt = l.CreatedAt
	}
	if !n.EndedAt.IsZero() {
		out.FinishedAt = &n.EndedAt
	}
	return out
}

// EnumerationSources is a page of how sources behaved.
type EnumerationSources struct {
	wire.Listing
	Data []EnumerationSource `json:"data" doc:"The page, by what was asked about and by source."`
}

// EnumerationSource is how one source behaved when it was asked about one thing.
type EnumerationSource struct {
	Run    int64     `json:"run" doc:"The number of the run, from 1."`
	Source string    `json:"source" doc:"The source."`
	About  string    `json:"about" doc:"The domain, range or configuration it was asked about."`
	State  string    `json:"state" enum:"ok,empty,limited,key_rejected,blocked,timed_out,failed,skipped" doc:"How it behaved: ok told something, empty knows nothing."`
	Count  int       `json:"count" doc:"How many hosts it told."`
	Took   string    `json:"took" doc:"How long that took, such as 1.2s."`
	Detail string    `json:"detail,omitempty" doc:"More, in words."`
	At     time.Time `json:"at" doc:"When it was noted."`
}

// EnumerationEvents is a page of what happened in a run.
type EnumerationEvents struct {
	wire.Listing
	Data []EnumerationEvent `json:"data" doc:"The page."`
}

// EnumerationEvent is something that happened in a run that people should know.
type EnumerationEvent struct {
	Run     int64     `json:"run" doc:"The number of the run, from 1."`
	Kind    string    `json:"kind" enum:"denied,source,scan" doc:"denied: the scope refused a connection; source: a source told far less than it used to; scan: what was found first is scanned, as automatic_vuln_scans asks for, or could not be."`
	Subject string    `json:"subject" doc:"What was to be dialled, the source, or the id of the scan."`
	Detail  string    `json:"detail" doc:"Why, in words."`
	Times   int       `json:"times" doc:"How often."`
	At      time.Time `json:"at" doc:"When it was noted first."`
}
