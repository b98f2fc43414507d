package scans

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/platform/assets"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// byURL separates URLs from other names of templates.
func byURL(names []string) (plain, urls []string) {
	for _, name := range names {
		if strings.Contains(name, "://") {
			urls = append(urls, name)
		} else {
			plain = append(plain, name)
		}
	}
	return plain, urls
}

// ScanConfig is the configuration of a scan.
type ScanConfig struct {
	Type            string               `json:"scan_type" enum:"templates,web" doc:"web: a scan of applications without templates."`
	Targets         []string             `json:"targets" doc:"Targets of the request."`
	AssetLists      []string             `json:"assets_lists" doc:"Enumerations and groups whose assets are targets."`
	PublicTemplates []string             `json:"public_templates"`
	EarlyTemplates  []string             `json:"early_templates"`
	TemplateURLs    []string             `json:"template_urls"`
	TemplateIDs     []string             `json:"template_ids"`
	ScanConfigs     []ScanConfigRef      `json:"scan_config_ids"`
	ReportConfigs   []ScanConfigRef      `json:"report_config_ids"`
	AlertConfigs    []ScanConfigRef      `json:"alerting_config_ids"`
	Enumerations    []InventorySource    `json:"enumeration_ids" doc:"Enumerations whose assets are targets."`
	ScanAllAssets   bool                 `json:"scan_all_assets" doc:"Whether every asset is a target."`
	AssetFilters    *assets.AssetFilters `json:"asset_filters,omitempty" doc:"Only matching assets are targets; absent: no filter."`
	Exclusions      []string             `json:"exclusions"`
	CaptureTraffic  bool                 `json:"capture_traffic" doc:"Whether its requests are captured, as far as the team's policy allows it."`
	Recommended     bool                 `json:"recommended" doc:"Whether it uses the recommended set."`
	All             bool                 `json:"all" doc:"Whether it uses all templates."`
	NoGlobalAlerts  bool                 `json:"disable_global_alert_config"`
	NoGlobalReports bool                 `json:"disable_global_report_config" doc:"Whether it ignores global reporting configurations."`
	NoGlobalScans   bool                 `json:"disable_global_scan_config" doc:"Whether it ignores global scan configurations."`
	Socks5Proxy     string               `json:"socks5_proxy" doc:"With the password masked; empty: none."`
	Web             *WebOptions          `json:"web_options,omitempty" doc:"For scan_type web, without secrets; absent: defaults."`
	wire.Agent
}

// ScanConfigRef names a configuration.
type ScanConfigRef struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"Empty when the configuration was deleted."`
	Type string `json:"config_type"`
}

// InventorySource is an enumeration whose assets are targets.
type InventorySource struct {
	ID     string   `json:"id"`
	Name   string   `json:"name" doc:"Empty when the enumeration was deleted; the next run then fails."`
	Assets int      `json:"total_assets" doc:"How many assets it has now."`
	Type   string   `json:"enumeration_type" doc:"discovery, cloud, group; empty when it was deleted."`
	Types  []string `json:"types" doc:"The kinds of assets that are targets: all."`
}

// configOf is the configuration of a scan with the names of what it refers to.
func (s area) configOf(ctx context.Context, found scan.Scan) (out ScanConfig, err error) {
	c := found.Config
	names, err := s.Settings.Names(ctx, slices.Concat(c.ScanConfigIDs, c.ReportConfigIDs, c.AlertConfigIDs))
	if err != nil {
		return out, err
	}
	refs := func(ids []string, kind string) []ScanConfigRef {
		return rest.Each(ids, func(id string) ScanConfigRef { return ScanConfigRef{id, names[id], kind} })
	}
	out = ScanConfig{
		Type: cmp.Or(c.Type, "templates"), Targets: rest.OrEmpty(c.Targets), AssetLists: rest.OrEmpty(c.AssetLists), PublicTemplates: rest.OrEmpty(c.Templates),
		EarlyTemplates: rest.OrEmpty(c.EarlyTemplates), TemplateURLs: rest.OrEmpty(c.TemplateURLs),
		TemplateIDs: []string{}, ScanConfigs: refs(c.ScanConfigIDs, "scan"),
		ReportConfigs: refs(c.ReportConfigIDs, "reporting"), AlertConfigs: refs(c.AlertConfigIDs, "alerting"),
		Enumerations: []InventorySource{}, ScanAllAssets: c.AllAssets,
		AssetFilters: (*assets.AssetFilters)(c.AssetFilters), Socks5Proxy: c.Proxy.String(),
		Exclusions: rest.OrEmpty(c.Exclusions), Recommended: c.Recommended, All: c.All,
		CaptureTraffic: c.Capture, Web: webOptionsOf(c.Web),
		NoGlobalAlerts: c.NoGlobalAlerts, NoGlobalReports: c.NoGlobalReports, NoGlobalScans: c.NoGlobalSettings,
		Agent: wire.AgentOf(c.AgentID, c.AgentTags, c.AgentNetworks, c.AgentBehavior),
	}
	for _, in := range c.Inline {
		out.TemplateIDs = append(out.TemplateIDs, in.Name)
	}
	for _, id := range c.EnumerationIDs {
		e, err := s.Enumerations.FindListed(ctx, id)
		if err != nil && !errs.Is(err, errs.NotFound) {
			return out, err
		}
		out.Enumerations = append(out.Enumerations, InventorySource{id, e.Name, e.Totals.Assets, string(e.Type),
			[]string{"hosts", "ports", "http", "endpoints"}})
	}
	return out, nil
}

// ScanConfigPatch is what may be changed of a scan's configuration.
type ScanConfigPatch struct {
	Targets         []string             `json:"targets,omitempty" maxItems:"100000" doc:"Hosts, addresses, ranges and URLs."`
	AssetLists      []string             `json:"assets_lists,omitempty" maxItems:"1000" doc:"Enumerations and groups whose assets are targets, in each run those that are known then."`
	EnumerationIDs  []EnumerationRef     `json:"enumeration_ids,omitempty" maxItems:"1000" doc:"Enumerations whose assets are targets, in each run those that are known then."`
	ScanAllAssets   *bool                `json:"scan_all_assets,omitempty" doc:"Every asset is a target, in each run those that are known then."`
	AssetFilters    *assets.AssetFilters `json:"asset_filters,omitempty" doc:"Only matching assets; alone: of all of the team's. They replace earlier filters; {} removes them."`
	Templates       []string             `json:"templates,omitempty" maxItems:"10000" doc:"Templates by id, folder, tag or URL."`
	EarlyTemplates  []string             `json:"early_templates,omitempty" maxItems:"10000"`
	ScanConfigIDs   []string             `json:"scan_config_ids,omitempty" maxItems:"100"`
	ReportConfigIDs []string             `json:"report_config_ids,omitempty" maxItems:"100"`
	AlertConfigIDs  []string             `json:"alerting_config_ids,omitempty" maxItems:"100"`
	Socks5Proxy     *string              `json:"socks5_proxy,omitempty" maxLength:"2048" doc:"SOCKS5 proxy for all connections to targets, such as socks5://user:password@proxy.example.com:1080. The masked form that was shown keeps it; empty: none."`
	Web             *WebOptions          `json:"web_options,omitempty" doc:"For scan_type web: they replace earlier ones; {} removes them. ******** keeps a secret of the user, description or client that is there, as long as it goes nowhere else."`
	AgentID         *string              `json:"agent_id,omitempty" maxLength:"200"`
	AgentTags       []string             `json:"agent_tags,omitempty" maxItems:"100"`
	AgentNetworks   []string             `json:"agent_networks,omitempty" maxItems:"100"`
	AgentBehavior   *string              `json:"agent_behavior,omitempty" enum:"distribute,mirror"`
}

func (s area) scanConfigs() {
	const path = "/v1/scans/{scan_id}/config"
	rest.Handle(s.API, wire.Op("get-scan-config", "GET "+path, scanTag, "The configuration of a scan", 404),
		func(ctx context.Context, in *wire.ScanPath) (*ScanConfig, error) {
			found, err := s.Scans.Find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			out, err := s.configOf(ctx, found)
			return &out, err
		})
	rest.Handle(s.API, wire.Op("update-scan-config", "PATCH "+path, scanTag,
		"Change the configuration of a scan, for its next run", 404),
		func(ctx context.Context, in *struct {
			wire.ScanPath
			Type string `query:"update_type" enum:"append,replace" default:"append" doc:"Whether lists are extended or replaced."`
			Body ScanConfigPatch
		}) (*wire.OK, error) {
			b := in.Body
			plain, urls := byURL(b.Templates)
			if b.Templates != nil { // both parts of the list are replaced
				plain, urls = rest.OrEmpty(plain), rest.OrEmpty(urls)
			}
			var enumerations []string
			if b.EnumerationIDs != nil {
				enumerations = rest.Each(b.EnumerationIDs, EnumerationRef.id)
			}
			err := s.Scans.UpdateConfig(ctx, in.ID, scan.ConfigUpdate{
				Targets: b.Targets, AssetLists: b.AssetLists, EnumerationIDs: enumerations, ScanAllAssets: b.ScanAllAssets,
				AssetFilters: (*asset.Filters)(b.AssetFilters), Templates: plain, TemplateURLs: urls,
				EarlyTemplates: b.EarlyTemplates, ScanConfigIDs: b.ScanConfigIDs,
				ReportConfigIDs: b.ReportConfigIDs,
				AlertConfigIDs:  b.AlertConfigIDs, Proxy: b.Socks5Proxy, AgentID: b.AgentID,
				AgentTags: b.AgentTags, AgentNetworks: b.AgentNetworks,
				AgentBehavior: b.AgentBehavior, Web: b.Web.options(),
			}, in.Type == "replace")
			return wire.Done(), err
		})
}

// ImportAnswer is the result of an upload.
type ImportAnswer struct {
	ID      string        `json:"id" doc:"The scan; empty where a report held no finding."`
	Message string        `json:"message"`
	Report  *ImportReport `json:"report,omitempty" doc:"What was in the report; only with format."`
}

// ImportReport is what came of the report of another tool.
type ImportReport struct {
	Format     string         `json:"format" doc:"The format that was read."`
	Tool       string         `json:"tool,omitempty" doc:"The tool that wrote it."`
	Accepted   int            `json:"accepted" doc:"Findings in it."`
	New        int            `json:"new" doc:"Findings that were stored and that nobody had seen before."`
	Merged     int            `json:"merged" doc:"Findings that were stored as sightings of known ones; GET /v1/scans/vuln/{vuln_id}/occurrences says why."`
	Known      int            `json:"known" doc:"Findings that this scan had already."`
	Repeated   int            `json:"repeated" doc:"Findings that the report holds more than once: the same check at the same place."`
	Rejected   int            `json:"rejected" doc:"Items that could not be read."`
	Ignored    int            `json:"ignored" doc:"Items that are no findings."`
	Rejections []RejectedItem `json:"rejections" doc:"The first 1000 rejected items."`
	Reasons    map[string]int `json:"ignored_reasons" doc:"Why items are no findings, with how many."`
}

// RejectedItem is an item of a report that could not be read.
type RejectedItem struct {
	Reason   string `json:"reason" doc:"Why it could not be read."`
	File     string `json:"file,omitempty" doc:"In an archive."`
	Line     int    `json:"line,omitempty" doc:"Where it begins in the report."`
	Position string `json:"position,omitempty" doc:"Such as results[3]."`
}

func (s area) imports() {
	made := wire.Op("import-scan", "POST /v1/scans/import", scanTag,
		"Create a scan from nuclei results, one JSON object a line, or from the report of another tool")
	made.Stream = true
	made.Description = "With format, the body is a report as the tool wrote it, which may be compressed with gzip; the same report again goes into the same scan. " +
		"Without it, the body is read as it comes and stored in parts. A line that is no result is refused by its number; the message says whether results before it are stored."
	rest.Handle(s.API, made, s.importScan)
	more := wire.Op("import-into-scan", "PATCH /v1/scans/{scan_id}/import", scanTag,
		"Add results to a scan; known ones are skipped", 404)
	more.Stream = true
	rest.Handle(s.API, more, func(ctx context.Context, in *struct {
		wire.ScanPath
		rest.Stream
	}) (*ImportAnswer, error) {
		got, err := s.Scans.Append(ctx, in.ID, &in.Stream)
		return &ImportAnswer{ID: got.ScanID, Message: importWords(got)}, err
	})
}

// ImportQuery has the parameters of an import.
type ImportQuery struct {
	Name     string   `query:"name" maxLength:"200" doc:"The scan's name."`
	Format   string   `query:"format" maxLength:"64" doc:"The kind of report (vedette import --list-formats), or auto. Without it, nuclei results."`
	FileName string   `query:"file_name" maxLength:"200" doc:"The name of the report's file: a hint for auto."`
	Columns  []string `query:"column,explode" maxItems:"50" doc:"For the format csv, FIELD=NAME: the name of a field's column. May be repeated."`
}

func (s area) importScan(ctx context.Context, in *struct {
	ImportQuery
	rest.Stream
}) (*ImportAnswer, error) {
	if in.Format == "" {
		for name, is := range map[string]bool{"file_name": in.FileName != "", "column": len(in.Columns) > 0} {
			if is {
				return nil, errs.Field(name, "%s needs a format.", name)
			}
		}
		got, err := s.Scans.Import(ctx, in.Name, &in.Stream)
		return &ImportAnswer{ID: got.ScanID, Message: importWords(got)}, err
	}
	r := scan.Report{Name: in.Name, Format: in.Format, FileName: in.FileName, Columns: map[string]string{}}
	for _, c := range in.Columns {
		field, column, ok := strings.Cut(c, "=")
		if !ok {
			return nil, errs.Field("column", "column must be FIELD=NAME, not %.40q.", c)
		}
		r.Columns[field] = column
	}
	got, err := s.Scans.ImportReport(ctx, r, &in.Stream)
	if err != nil {
		return nil, err
	}
	out := ImportReport{
		Format: got.Format, Tool: got.Tool, Accepted: got.Accepted, New: got.Stored - got.Merged, Merged: got.Merged,
		Known: got.Known, Repeated: got.Accepted - got.Stored - got.Known, Rejected: got.Summary.Rejected,
		Ignored: got.Ignored, Reasons: got.Ignores,
		Rejections: rest.Each(got.Rejected, func(r scan.Rejection) RejectedItem {
			return RejectedItem{r.Reason, r.File, r.Line, r.Position}
		}),
	}
	return &ImportAnswer{got.ScanID, importWords(got.Imported), &out}, nil
}

func importWords(got scan.Imported) string {
	return wire.Messagef("%d findings are stored; %d were known.", got.Stored, got.Known).Message
}
