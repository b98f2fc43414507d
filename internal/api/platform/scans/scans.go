// Package scans has the operations of the platform API about scans: launch and stop, configuration, schedules, history,
// coverage, logs and exclusions.
package scans

import (
	"context"
	"net/netip"
	"slices"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Services are what the operations call.
type Services struct {
	Scans        *scan.Scans
	Enumerations *enumeration.Enumerations
	Exclusions   *exclusion.Exclusions
	Settings     *setting.Settings
	Exports      *export.Exports
	EgressIPs    []netip.Addr // none: the public addresses of this machine
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.scans()
}

const scanTag = "Scans"

// ScanDeletion names scans to delete.
type ScanDeletion struct {
	IDs []string `json:"scan_ids" minItems:"1" maxItems:"1000"`
}

// ScanName is a new name for a scan.
type ScanName struct {
	Name string `json:"name" maxLength:"200"`
}

func (s area) scans() {
	const path, one = "/v1/scans", "/v1/scans/{scan_id}"

	rest.Handle(s.API, wire.Op("list-scans", "GET "+path, scanTag, "Your team's scans, newest first"), s.listScans)
	rest.Handle(s.API, wire.Op("create-scan", "POST "+path, scanTag, "Create and launch a scan"), s.createScan)
	rest.Handle(s.API, wire.Op("delete-scans", "DELETE "+path, scanTag,
		"Delete scans with their findings; running ones are stopped", 404, 413, 415),
		func(ctx context.Context, in *struct {
			Body ScanDeletion
		}) (*ScansDone, error) {
			return &ScansDone{"The scans are deleted.", true}, s.Scans.Delete(ctx, in.Body.IDs)
		})
	rest.Handle(s.API, wire.Op("get-scan", "GET "+one, scanTag, "One scan", 404),
		func(ctx context.Context, in *wire.ScanPath) (*ScanStatus, error) {
			found, err := s.Scans.Find(ctx, in.ID)
			return new(statusOf(found)), err
		})
	rest.Handle(s.API, wire.Op("delete-scan", "DELETE "+one, scanTag,
		"Delete a scan with its findings; a running one is stopped", 404),
		func(ctx context.Context, in *wire.ScanPath) (*ScansDone, error) {
			return &ScansDone{"The scan is deleted.", true}, s.Scans.Delete(ctx, []string{in.ID})
		})
	wire.Act(s.API, wire.Op("rename-scan", "PATCH "+one, scanTag, "Rename a scan", 404), "The scan is renamed.",
		func(ctx context.Context, in *struct {
			wire.ScanPath
			Body ScanName
		}) error {
			return s.Scans.Rename(ctx, in.ID, in.Body.Name)
		})
	rest.Handle(s.API, wire.Op("stop-scan", "POST "+one+"/stop", scanTag, "Stop a running scan; its findings are kept",
		404, 409),
		func(ctx context.Context, in *wire.ScanPath) (*ScansDone, error) {
			return &ScansDone{"The scan is stopped.", true}, s.Scans.Stop(ctx, in.ID)
		})
	rest.Handle(s.API, wire.Op("rescan", "POST "+one+"/rescan", scanTag, "Run a scan again", 404, 409),
		func(ctx context.Context, in *wire.ScanPath) (*ScanMade, error) {
			again, err := s.Scans.Rescan(ctx, in.ID)
			return &ScanMade{ID: again.ID, Message: "The scan is launched."}, err
		})
	rest.Handle(s.API, wire.Op("get-scan-ips", "GET "+path+"/scan_ips", scanTag, "The known source addresses of scans"),
		s.scanIPs)
	rest.Handle(s.API, wire.Op("get-scan-stats", "GET "+path+"/stats", scanTag, "Number of your team's scans, by state"),
		s.scanStats)
	s.imports()
	s.scanConfigs()
	s.schedules()
	s.scanHistory()
	s.exclusions()
}

func (s area) listScans(ctx context.Context, in *struct {
	Search   string     `query:"search" maxLength:"200" doc:"Part of the name, or an id."`
	Status   string     `query:"status" enum:"failed,finished,queued,running,starting,uploaded,scheduled,stopped" doc:"Only those in this state."`
	Internal wire.Maybe `query:"is_internal" doc:"Whether all targets are internal addresses."`
	SortAsc  string     `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: created_at, updated_at, completed_at, name, status, severity, progress, total_target, total_template, total_scan, total_result, rescan_count, scan_time_elapsed, scan_id."`
	SortDesc string     `query:"sort_desc" doc:"Descending sort fields, after those of sort_asc."`
	wire.Window
}) (*ScanList, error) {
	sorts, err := page.Sorts(in.SortAsc, in.SortDesc, scan.Sortable)
	if err != nil {
		return nil, err
	}
	f := scan.Filter{Status: scan.Status(in.Status), Search: in.Search, Internal: in.Internal.Ptr()}
	found, total, err := s.Scans.FindAll(ctx, f, sorts, in.Page())
	if err != nil {
		return nil, err
	}
	return &ScanList{wire.ListOf(in.Window, len(found), total, "Scans."), rest.Each(found, statusOf)}, nil
}

func (s area) createScan(ctx context.Context, in *struct{ Body ScanRequest }) (*ScanMade, error) {
	if _, err := account.Writer(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	c := scan.Config{
		Inventory: scan.Inventory{
			AssetLists: b.Assets, EnumerationIDs: rest.Each(b.EnumerationIDs, EnumerationRef.id), AllAssets: b.ScanAllAssets,
			AssetFilters: (*asset.Filters)(b.AssetFilters),
		},
		Targets: b.Targets, EarlyTemplates: b.EarlyTemplates, Recommended: b.Recommended, All: b.All,
		Capture:       b.CaptureTraffic,
		ScanConfigIDs: b.ScanConfigIDs, ReportConfigIDs: b.ReportConfigIDs,
		AlertConfigIDs: b.AlertConfigIDs, Exclusions: slices.Concat(b.ExcludeTargets, b.Exclusions),
		NoGlobalAlerts: b.NoGlobalAlerts, NoGlobalReports: b.NoGlobalReports,
		NoGlobalSettings: b.NoGlobalScans, AgentID: b.AgentID, AgentTags: b.AgentTags, AgentNetworks: b.AgentNetworks,
		AgentBehavior: b.AgentBehavior,
	}
	if b.Type == scan.Web {
		c.Type = scan.Web
	}
	c.Templates, c.TemplateURLs = byURL(b.Templates)
	for _, in := range b.PrivateTemplates {
		c.Inline = append(c.Inline, scan.Inline(in))
	}
	made, err := s.Scans.Create(ctx,
		scan.NewScan{Name: b.Name, Config: c, ScheduleOnly: b.ScheduleOnly, Automatic: b.AutomaticScan,
			Proxy: b.Socks5Proxy, Web: b.Web.options()})
	message := "The scan is launched."
	if b.ScheduleOnly {
		message = "The scan is kept."
	}
	return &ScanMade{ID: made.ID, Message: message}, err
}

// ScanIPs are source addresses of scans.
type ScanIPs struct {
	IPs []ScanIP `json:"ips" doc:"What the operator has configured, else the public addresses of the server's network interfaces."`
}

// ScanIP is a source address of scans.
type ScanIP struct {
	IP string `json:"ip"`
}

func (s area) scanIPs(ctx context.Context, _ *struct{}) (*ScanIPs, error) {
	if _, err := account.From(ctx); err != nil {
		return nil, err
	}
	known := s.EgressIPs
	if len(known) == 0 {
		var err error
		if known, err = netguard.PublicAddresses(); err != nil {
			return nil, err
		}
	}
	if len(known) == 0 {
		rest.Warnf(ctx, "ips is empty: this server has no public address of its own, and its operator has not configured"+
			" egress_ips.")
	}
	return &ScanIPs{rest.Each(known, func(a netip.Addr) ScanIP { return ScanIP{a.String()} })}, nil
}

// ScanStats counts scans.
type ScanStats struct {
	Scans    ScanCounts     `json:"scan_stats" doc:"Total."`
	Statuses map[string]int `json:"scan_status" doc:"Scans by state."`
}

// ScanCounts is how many scans there are.
type ScanCounts struct {
	Total     int `json:"total_scan" doc:"Launches and uploads."`
	Unique    int `json:"total_unique_scan" doc:"Scans."`
	Uploaded  int `json:"total_uploaded_scan" doc:"Scans whose results were uploaded."`
	Scheduled int `json:"total_scheduled_scan" doc:"Scans with a schedule."`
}

func (s area) scanStats(ctx context.Context, _ *struct{}) (*ScanStats, error) {
	found, err := s.Scans.FindStats(ctx)
	out := ScanStats{ScanCounts{found.Total, found.Unique, found.Uploaded, found.Scheduled}, map[string]int{}}
	for _, status := range scan.Statuses {
		out.Statuses[string(status)] = found.Statuses[status]
	}
	return &out, err
}
