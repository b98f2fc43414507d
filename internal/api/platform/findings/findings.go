// Package findings has the operations of the platform API about findings: lists, decisions, history, retests,
// severities and tickets.
package findings

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/document"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/moment"
	"github.com/vedette-sec/vedette/internal/core/finding/undo"
	"github.com/vedette-sec/vedette/internal/core/finding/upkeep"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/scan/fixed"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Services are what the operations call.
type Services struct {
	Findings *finding.Findings
	Reports  *report.Reports
	Catalog  *catalog.Catalog
	Settings *setting.Settings
	Tickets  *ticket.Tickets
	Proofs   *proof.Proofs
	Comments *comment.Comments
	Works    *work.Works
	Fixes    *fixed.Fixes
	Upkeep   *upkeep.Upkeep
	Feeds    *feed.Feeds
	Undos    *undo.Undos
	Moments  *moment.Moments
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.severities()
	s.findings()
	s.tickets()
	s.weaknesses()
	s.evidence()
	s.work()
	s.fixed()
	s.due()
	s.moments()
}

const vulnTag = "Vulnerabilities"

func (s area) getVuln(ctx context.Context, in *wire.VulnPath) (*ScanVulnerability, error) {
	f, err := s.Findings.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	known, err := s.assetAt(ctx, f.Host, f.Port)
	if err != nil {
		return nil, err
	}
	v := vulnerabilityOf(f)
	cves, err := s.feeds(ctx, []finding.Finding{f})
	if err != nil {
		return nil, err
	}
	v.CVEs = cves[0]
	return &ScanVulnerability{v, eventOf(f), known}, nil
}

func (s area) findings() {
	const one = "/v1/scans/vuln/{vuln_id}"
	rest.Handle(s.API, wire.Op("get-vulnerability", "GET "+one, vulnTag, "One finding with all details", 404), s.getVuln)
	rest.Handle(s.API, wire.Op("list-results", "GET /v1/scans/results", vulnTag,
		"Your team's findings across scans, newest first"), s.listResults)
	rest.Handle(s.API, wire.Op("count-results", "GET /v1/scans/results/counts", vulnTag,
		"How many of your team's findings have each severity and each status"), s.countResults)
	rest.Handle(s.API, wire.Op("update-vulnerabilities", "PATCH /v1/scans/vulns", vulnTag,
		"Decide about findings, named by id or by a filter", 404), s.patchVulns)
	rest.Handle(s.API, wire.Op("delete-vulnerabilities", "DELETE /v1/scans/vulns", vulnTag,
		"Delete findings, named by id or by a filter", 404, 413, 415),
		func(ctx context.Context, in *struct{ Body VulnDeletion }) (*wire.Message, error) {
			b := in.Body
			f, err := b.picked(b.IDs)
			if err == nil && b.Filter != nil && len(b.Statuses) > 0 {
				err = errs.Field("filter", "filter stands for itself: leave out ids and the fields beside it.")
			}
			if err != nil {
				return nil, err
			}
			for _, status := range b.Statuses {
				f.Statuses = append(f.Statuses, finding.Status(status))
			}
			n, err := s.Findings.Delete(ctx, f)
			return wire.Messagef("%d findings are deleted.", n), err
		})
	rest.Handle(s.API, wire.Op("label-vulnerabilities", "PATCH /v1/scans/vulns/labels", vulnTag,
		"Label findings, named by id or by a filter", 404), s.labelVulns)
	rest.Handle(s.API, wire.Op("list-changelogs", "GET /v1/scans/vuln/changelogs", vulnTag,
		"What changed of your team's findings, newest first"),
		func(ctx context.Context, in *ChangelogQuery) (*ChangelogList, error) {
			return s.changelogs(ctx, "", *in)
		})
	rest.Handle(s.API, wire.Op("list-vulnerability-changelogs", "GET "+one+"/changelogs", vulnTag,
		"What changed of a finding, newest first", 404),
		func(ctx context.Context, in *struct {
			wire.VulnPath
			ChangelogQuery
		}) (*ChangelogList, error) {
			return s.changelogs(ctx, in.ID, in.ChangelogQuery)
		})
	rest.Handle(s.API, wire.Op("get-vulnerability-timeline", "GET "+one+"/timeline", vulnTag,
		"All that happened to a finding, oldest first", 404), s.timeline)
	rest.Handle(s.API, wire.Op("get-vulnerability-history", "GET /v1/scans/vulns/history", vulnTag,
		"The observations of findings by their hashes, newest first"), s.vulnHistory)
	rest.Handle(s.API, wire.Op("retest-vulnerability", "POST /v1/scans/{vuln_id}/retest", vulnTag, "Retest a finding",
		404, 409),
		func(ctx context.Context, in *struct {
			wire.VulnPath
			Body *RetestRequest
		}) (*RetestAnswer, error) {
			c, err := account.Writer(ctx)
			if err != nil {
				return nil, err
			}
			var proxy *setting.Proxy
			if in.Body != nil {
				if proxy, err = s.Settings.SealProxy(c.TeamID, in.Body.Socks5Proxy, nil); err != nil {
					return nil, err
				}
			}
			f, err := s.Findings.QueueRetest(ctx, in.ID, proxy)
			return &RetestAnswer{"The finding will be looked at again.",
				ScanVulnerability{vulnerabilityOf(f), eventOf(f), nil}}, err
		})
	rest.Handle(s.API, wire.Op("get-retest", "GET /v1/retest/{vuln_id}", vulnTag,
		"What the last retest of a finding showed", 404),
		func(ctx context.Context, in *wire.VulnPath) (*RetestResult, error) {
			f, r, err := s.Findings.FindRetest(ctx, in.ID)
			return &RetestResult{retestWords(r), string(r.State), resultOf(f)}, err
		})
}

// RetestRequest says how to retest.
type RetestRequest struct {
	Socks5Proxy   string   `json:"socks5_proxy,omitempty" maxLength:"2048" doc:"SOCKS5 proxy for all connections to the target, such as socks5://user:password@proxy.example.com:1080; default: that of the scan."`
	AgentID       string   `json:"agent_id,omitempty" maxLength:"200" doc:"Has no effect."`
	AgentTags     []string `json:"agent_tags,omitempty" maxItems:"100" doc:"Has no effect."`
	AgentNetworks []string `json:"agent_networks,omitempty" maxItems:"100" doc:"Has no effect."`
}

// RetestAnswer says that a finding will be retested.
type RetestAnswer struct {
	Message string            `json:"message"`
	Results ScanVulnerability `json:"results" doc:"The finding as it is now."`
}

// RetestResult says what a retest showed.
type RetestResult struct {
	Message string              `json:"message" doc:"What it showed, in words."`
	State   string              `json:"state" enum:"none,queued,matched,not_matched,failed" doc:"How far the retest is, or how it ended; none: there was no retest."`
	Results VulnerabilityResult `json:"results" doc:"The finding as it is now."`
}

func retestWords(r finding.Retest) string {
	switch r.State {
	case finding.RetestQueued:
		return "The retest waits or is at work."
	case finding.Matched:
		return "It is still there."
	case finding.NotMatched:
		return "It is not there any more."
	case finding.RetestFailed:
		return "It could not be retested. " + r.Note
	default:
		return "It was not retested."
	}
}

// FilterQuery has the parameters that select findings.
type FilterQuery struct {
	Severity   string     `query:"severity" doc:"Severities, separated by commas: critical, high, medium, low, info, unknown. Without it all but info."`
	Search     string     `query:"search" maxLength:"200" doc:"Part of the host, template id or template name."`
	Host       string     `query:"host" doc:"Hosts, comma-separated."`
	Domain     string     `query:"domain" doc:"Domains, comma-separated, with their subdomains."`
	Port       string     `query:"port" doc:"Ports, comma-separated."`
	Templates  string     `query:"templates" doc:"Template ids, comma-separated."`
	Time       string     `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First found in this time."`
	Status     string     `query:"vuln_status" doc:"Statuses, comma-separated."`
	Tags       string     `query:"tags" doc:"Tags, separated by commas."`
	Labels     string     `query:"labels" doc:"Labels, comma-separated."`
	Assignee   string     `query:"assignee" doc:"Addresses of assignees, comma-separated; none: findings without one."`
	Category   string     `query:"category" doc:"Protocols and folders of templates, separated by commas."`
	ScanIDs    string     `query:"scan_ids" doc:"Scans, separated by commas."`
	Ticket     wire.Maybe `query:"is_ticket" doc:"Whether an issue tracker knows it."`
	Regression wire.Maybe `query:"is_regression" doc:"Whether it was fixed and came back."`
	Internal   wire.Maybe `query:"is_internal" doc:"Whether its address is internal."`
	FollowsQuery
	Sightings bool `query:"sightings" doc:"List each sighting of a scan or a task by itself. Without it, and without scan_ids, each weakness is listed once, by its first sighting."`
}

// ResultQuery has the parameters of a list of findings.
type ResultQuery struct {
	FilterQuery
	AssetData bool   `query:"asset_metadata" doc:"Add to each finding the asset at its host and port."`
	SortAsc   string `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: created_at, updated_at, severity, vuln_status, host, port, template_id, due_at, epss."`
	SortDesc  string `query:"sort_desc" doc:"Descending sort fields, after those of sort_asc."`
	AsOf      string `query:"as_of" doc:"The list as of this time (RFC 3339) or the end of this day; default now. Which sightings are one weakness, and what was deleted, is known as of now."`
	Before    int64  `query:"before" minimum:"0" doc:"Only items older than this: the before or next of an earlier page. 0: all."`
	NoTotal   bool   `query:"without_total" doc:"Do not count: where the total is not known, total_results is how far the page reaches, and total_is_estimate says that more may follow. Lists of a big database answer sooner."`
	wire.Window
}

// withoutInfo are the severities in a list that names none.
const withoutInfo = "unknown,low,medium,high,critical"

func (q FilterQuery) filter(now time.Time) (f finding.Filter, err error) {
	f = finding.Filter{
		Severities: wire.Commas(cmp.Or(q.Severity, withoutInfo)), Hosts: wire.Commas(q.Host), Domains: wire.Commas(q.Domain),
		Templates: wire.Commas(q.Templates), Categories: wire.Commas(q.Category),
		Tags: wire.Commas(
			q.Tags,
		), Labels: wire.Commas(q.Labels), Assignees: wire.Commas(q.Assignee), ScanIDs: wire.Commas(q.ScanIDs),
		Search:   q.Search,
		Since:    page.Since(q.Time, now),
		Internal: q.Internal.Ptr(), Regression: q.Regression.Ptr(), Ticket: q.Ticket.Ptr(),
		Sightings: q.Sightings,
	}
	if _, err = wire.Known("severity", f.Severities, finding.Severities); err != nil {
		return f, err
	}
	if f.Statuses, err = wire.Known("vuln_status", wire.Commas(q.Status), finding.Statuses); err != nil {
		return f, err
	}
	if err = q.add(&f); err != nil {
		return f, err
	}
	for _, text := range wire.Commas(q.Port) {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return f, errs.Field("port", "port %.40q is not a port.", text)
		}
		f.Ports = append(f.Ports, int(port))
	}
	return f, nil
}

// ResultList is a page of findings.
type ResultList struct {
	wire.Listing
	TotalIsEstimate bool                  `json:"total_is_estimate,omitempty"`
	Data            []VulnerabilityResult `json:"data"`
	Stats           ResultStats           `json:"stats" doc:"Counts."`
	Filters         map[string]string     `json:"filters" doc:"The filters that were applied."`
	Before          int64                 `json:"before"`
	Next            int64                 `json:"next,omitempty"`
}

// ResultStats counts findings.
type ResultStats struct {
	Total int `json:"total"`
}

func (s area) listResults(ctx context.Context, in *ResultQuery) (*ResultList, error) {
	if in.AsOf != "" {
		return s.pastResults(ctx, in)
	}
	f, err := in.filter(time.Now())
	if err != nil {
		return nil, err
	}
	f.Before = in.Before
	sorts, err := page.Sorts(in.SortAsc, in.SortDesc, finding.Sortable)
	if err != nil {
		return nil, err
	}
	w := in.Page()
	w.WithoutTotal = in.NoTotal
	p, err := s.Findings.FindPage(ctx, f, sorts, w)
	if err != nil {
		return nil, err
	}
	data := rest.Each(p.Results, resultOf)
	known, err := s.feeds(ctx, p.Results)
	if err != nil {
		return nil, err
	}
	for i := range known {
		data[i].CVEs = known[i]
	}
	if in.AssetData {
		if err := s.addAssets(ctx, data); err != nil {
			return nil, err
		}
	}
	list := ResultList{
		Listing: wire.ListOf(in.Window, len(p.Results), p.Total, "Findings."), Data: data,
		Stats: ResultStats{p.Total}, Filters: in.applied(), Before: p.End, Next: p.Next, TotalIsEstimate: p.TotalIsEstimate,
	}
	return &list, nil
}

// applied are the filters that a query holds, by name.
func (q ResultQuery) applied() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{
		"severity": cmp.Or(q.Severity, withoutInfo), "search": q.Search, "host": q.Host, "domain": q.Domain, "port": q.Port,
		"templates": q.Templates, "time": q.Time, "as_of": q.AsOf,
		"vuln_status": q.Status, "tags": q.Tags, "labels": q.Labels, "assignee": q.Assignee, "category": q.Category,
		"scan_ids": q.ScanIDs, "due": q.Due, "epss_min": q.EPSSMin,
	} {
		if value != "" {
			out[name] = value
		}
	}
	for name, m := range map[string]wire.Maybe{"is_ticket": q.Ticket, "is_regression": q.Regression,
		"is_internal": q.Internal, "is_kev": q.KEV} {
		if v := m.Ptr(); v != nil {
			out[name] = strconv.FormatBool(*v)
		}
	}
	return out
}

// VulnDeletion names findings to delete.
type VulnDeletion struct {
	IDs      []string `json:"ids,omitempty" maxItems:"10000" doc:"The findings; default: those that the other fields select."`
	Statuses []string `json:"vuln_status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"Triage statuses."`
	VulnFilter
}

// assetAt is all that the inventory of the caller's team knows of a host and port; nil: nothing.
func (s area) assetAt(ctx context.Context, host string, port int) (*document.EnumerationContent, error) {
	at := report.Place{Host: host, Port: port}
	known, err := s.Reports.At(ctx, []report.Place{at})
	a, ok := known[at]
	if err != nil || !ok {
		return nil, err
	}
	n, err := s.Findings.CountAt(ctx, a.Host, a.Port)
	content := document.Of(a, true)
	content.Vulnerabilities = &n
	return &content, err
}

// addAssets adds what the inventory knows of their hosts and ports to findings.
func (s area) addAssets(ctx context.Context, results []VulnerabilityResult) error {
	at := func(r VulnerabilityResult) report.Place { return report.Place{Host: r.host, Port: r.Port} }
	known, err := s.Reports.At(ctx, rest.Each(results, at))
	for i, r := range results {
		results[i].AssetMetadata = contentAt(known, at(r))
	}
	return err
}

func contentAt(known map[report.Place]asset.Asset, at report.Place) *document.EnumerationContent {
	a, ok := known[at]
	if !ok {
		return nil
	}
	content := document.Of(a, false)
	return &content
}
