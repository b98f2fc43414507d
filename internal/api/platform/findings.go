package platform

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const vulnTag = "Vulnerabilities"

// VulnPath names a finding.
type VulnPath struct {
	ID string `path:"vuln_id" doc:"The finding's id."`
}

// Listing is what every list of this surface says of itself.
type Listing struct {
	CurrentPage  int    `json:"current_page" doc:"The number of this page, from 1."`
	ResultCount  int    `json:"result_count" doc:"How many this page has."`
	TotalResults int    `json:"total_results" doc:"How many there are in all."`
	TotalPages   int    `json:"total_pages" doc:"How many pages there are."`
	Message      string `json:"message" doc:"What this is, in words."`
}

func listing(w Window, count, total int, what string) Listing {
	return Listing{w.page().Page(), count, total, w.page().Pages(total), what}
}

func (s surface) findings() {
	const one = "/v1/scans/vuln/{vuln_id}"
	rest.Register(s.API, op("get-vulnerability", http.MethodGet, one, vulnTag, "One finding with everything that is known of it", 404),
		func(ctx context.Context, in *VulnPath) (*struct{ Body ScanVulnerability }, error) {
			f, err := s.Findings.Find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			known, err := s.assetAt(ctx, f.Host, f.Port)
			return &struct{ Body ScanVulnerability }{ScanVulnerability{vulnerabilityOf(f), eventOf(f), known}}, err
		})
	rest.Register(s.API, op("list-results", http.MethodGet, "/v1/scans/results", vulnTag, "Your team's findings across scans, newest first"), s.listResults)
	rest.Register(s.API, op("update-vulnerabilities", http.MethodPatch, "/v1/scans/vulns", vulnTag, "Decide about findings, named by id or by a filter", 404), s.patchVulns)
	rest.Register(s.API, op("delete-vulnerabilities", http.MethodDelete, "/v1/scans/vulns", vulnTag, "Delete findings, named by id or by a filter", 404, 413, 415),
		func(ctx context.Context, in *struct{ Body VulnDeletion }) (*struct{ Body message }, error) {
			b := in.Body
			f := b.filter(b.IDs)
			for _, status := range b.Statuses {
				f.Statuses = append(f.Statuses, finding.Status(status))
			}
			n, err := s.Findings.Delete(ctx, f)
			return said("%d findings are deleted.", n), err
		})
	rest.Register(s.API, op("label-vulnerabilities", http.MethodPatch, "/v1/scans/vulns/labels", vulnTag, "Label findings", 404),
		func(ctx context.Context, in *struct{ Body VulnLabels }) (*struct{ Body message }, error) {
			mode := finding.LabelMode(in.Body.Type)
			if mode == "" {
				mode = finding.ReplaceLabels
			}
			n, err := s.Findings.SetLabels(ctx, finding.Filter{IDs: in.Body.IDs}, mode, in.Body.Labels)
			return said("The labels of %d findings are changed.", n), err
		})
	rest.Register(s.API, op("list-changelogs", http.MethodGet, "/v1/scans/vuln/changelogs", vulnTag, "What changed of your team's findings, newest first"),
		func(ctx context.Context, in *ChangelogQuery) (*struct{ Body ChangelogList }, error) {
			return s.changelogs(ctx, "", *in)
		})
	rest.Register(s.API, op("list-vulnerability-changelogs", http.MethodGet, one+"/changelogs", vulnTag, "What changed of a finding, newest first", 404),
		func(ctx context.Context, in *struct {
			VulnPath
			ChangelogQuery
		}) (*struct{ Body ChangelogList }, error) {
			return s.changelogs(ctx, in.ID, in.ChangelogQuery)
		})
	rest.Register(s.API, op("get-vulnerability-timeline", http.MethodGet, one+"/timeline", vulnTag, "All that happened to a finding, oldest first", 404), s.timeline)
	rest.Register(s.API, op("get-vulnerability-history", http.MethodGet, "/v1/scans/vulns/history", vulnTag, "Each look at what hashes name, newest first; by hash"), s.vulnHistory)
	rest.Register(s.API, op("retest-vulnerability", http.MethodPost, "/v1/scans/{vuln_id}/retest", vulnTag, "Look at a finding again", 404),
		func(ctx context.Context, in *VulnPath) (*struct{ Body RetestAnswer }, error) {
			f, err := s.Findings.AskRetest(ctx, in.ID)
			return &struct{ Body RetestAnswer }{RetestAnswer{"The finding will be looked at again.", ScanVulnerability{vulnerabilityOf(f), eventOf(f), nil}}}, err
		})
	rest.Register(s.API, op("get-retest", http.MethodGet, "/v1/retest/{vuln_id}", vulnTag, "What the last retest of a finding showed", 404),
		func(ctx context.Context, in *VulnPath) (*struct{ Body RetestResult }, error) {
			f, r, err := s.Findings.FindRetest(ctx, in.ID)
			return &struct{ Body RetestResult }{RetestResult{retestWords(r), string(r.State), resultOf(f)}}, err
		})
}

func said(format string, args ...any) *struct{ Body message } {
	return &struct{ Body message }{message{fmt.Sprintf(format, args...)}}
}

// RetestAnswer says that a finding will be looked at again.
type RetestAnswer struct {
	Message string            `json:"message" doc:"What was done, in words."`
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

// ResultQuery is what a list of findings may be asked for.
type ResultQuery struct {
	Severity   string `query:"severity" doc:"Severities, separated by commas: critical, high, medium, low, info, unknown. Without it all but info."`
	Search     string `query:"search" maxLength:"200" doc:"A part of the host, or of the template's id or name."`
	Host       string `query:"host" doc:"Hosts, separated by commas."`
	Domain     string `query:"domain" doc:"Domains, separated by commas: hosts at and below them."`
	Port       string `query:"port" doc:"Ports, separated by commas."`
	Templates  string `query:"templates" doc:"Ids of templates, separated by commas."`
	Time       string `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"Found first in this time."`
	Status     string `query:"vuln_status" doc:"Decisions, separated by commas."`
	Tags       string `query:"tags" doc:"Tags, separated by commas."`
	Labels     string `query:"labels" doc:"Labels, separated by commas."`
	Category   string `query:"category" doc:"Protocols and folders of templates, separated by commas."`
	ScanIDs    string `query:"scan_ids" doc:"Scans, separated by commas."`
	Ticket     Maybe  `query:"is_ticket" doc:"Whether an issue tracker knows it."`
	Regression Maybe  `query:"is_regression" doc:"Whether it was fixed and came back."`
	Internal   Maybe  `query:"is_internal" doc:"Whether its address is not of the public internet."`
	SortAsc    string `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: created_at, updated_at, severity, vuln_status, host, port, template_id."`
	SortDesc   string `query:"sort_desc" doc:"Fields to sort by, descending; after those of sort_asc."`
	Before     int64  `query:"before" minimum:"0" doc:"Only what had arrived when a page said this number: before or next of its answer. 0: all."`
	Window
}

// Maybe is a boolean of the query that may be absent.
type Maybe struct {
	value bool
	given bool
}

// Schema implements huma.SchemaProvider.
func (Maybe) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean} }

// Receiver implements huma.ParamWrapper.
func (m *Maybe) Receiver() reflect.Value { return reflect.ValueOf(&m.value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (m *Maybe) OnParamSet(given bool, _ any) { m.given = given }

func (m Maybe) ptr() *bool {
	if !m.given {
		return nil
	}
	return &m.value
}

// withoutInfo is what a list shows that names no severity.
const withoutInfo = "unknown,low,medium,high,critical"

func (q ResultQuery) filter(now time.Time) (f finding.Filter, err error) {
	f = finding.Filter{
		Severities: commas(cmp.Or(q.Severity, withoutInfo)), Hosts: commas(q.Host), Domains: commas(q.Domain), Templates: commas(q.Templates), Categories: commas(q.Category),
		Tags: commas(q.Tags), Labels: commas(q.Labels), ScanIDs: commas(q.ScanIDs), Search: q.Search, Since: finding.Since(q.Time, now),
		Internal: q.Internal.ptr(), Regression: q.Regression.ptr(), Ticket: q.Ticket.ptr(), Before: q.Before,
	}
	for _, severity := range f.Severities {
		if !slices.Contains(finding.Severities, severity) {
			return f, errs.Field("severity", "severity %.40q is not known.", severity)
		}
	}
	for _, status := range commas(q.Status) {
		if !slices.Contains(finding.Statuses, finding.Status(status)) {
			return f, errs.Field("vuln_status", "vuln_status %.40q is not known.", status)
		}
		f.Statuses = append(f.Statuses, finding.Status(status))
	}
	for _, text := range commas(q.Port) {
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
	Listing
	Data    Results           `json:"data" doc:"The page."`
	Stats   ResultStats       `json:"stats" doc:"Counts."`
	Filters map[string]string `json:"filters" doc:"The filters that were applied."`
	Before  int64             `json:"before" doc:"Sent as before with the pages that follow, what arrives meanwhile does not shift them."`
	Next    int64             `json:"next,omitempty" doc:"Of a list that is not sorted: sent as before, without an offset, it asks for what follows this page, whatever arrived or was deleted meanwhile. Absent when nothing follows."`
}

// Results are findings as lists show them, each a VulnerabilityResult that is written
// already.
type Results []finding.Raw

// Schema implements huma.SchemaProvider.
func (Results) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[[]VulnerabilityResult]())
}

// WriteTo writes the page as JSON, its findings as they are; see io.WriterTo.
func (l ResultList) WriteTo(w io.Writer) (int64, error) {
	head := l
	head.Data = nil // written behind the rest
	return writePage(w, struct {
		ResultList
		Data *struct{} `json:"data,omitempty"`
	}{ResultList: head}, l.Data)
}

// writePage writes a page whose rows are written already: head is an object of what it has
// besides them.
func writePage[T ~[]byte](w io.Writer, head any, rows []T) (int64, error) {
	rest, err := json.Marshal(head)
	if err != nil {
		return 0, err
	}
	size := int64(0)
	out := bufio.NewWriterSize(w, pageBuffer)
	put := func(part []byte) {
		n, _ := out.Write(part) // an error stays until Flush
		size += int64(n)
	}
	put(rest[:len(rest)-1])
	put([]byte(`,"data":[`))
	for i, r := range rows {
		if i > 0 {
			put([]byte{','})
		}
		put(r)
	}
	put([]byte("]}\n"))
	return size, out.Flush()
}

// pageBuffer is what of a page is put together before it is sent, in bytes: a page as a
// whole, a thousand times a second, is more garbage than all else that a list makes.
const pageBuffer = 32 << 10

// ResultStats counts findings.
type ResultStats struct {
	Total int `json:"total" doc:"How many there are in all."`
}

func (s surface) listResults(ctx context.Context, in *ResultQuery) (*struct{ Body ResultList }, error) {
	f, err := in.filter(time.Now())
	if err != nil {
		return nil, err
	}
	sorts, err := page.Sorts(in.SortAsc, in.SortDesc, finding.Sortable)
	if err != nil {
		return nil, err
	}
	p, err := s.Findings.FindPage(ctx, f, sorts, in.page())
	if err != nil {
		return nil, err
	}
	list := ResultList{
		Listing: listing(in.Window, len(p.Results), p.Total, "Findings."), Data: p.Results, Stats: ResultStats{p.Total},
		Filters: in.applied(), Before: p.End, Next: p.Next,
	}
	return &struct{ Body ResultList }{list}, nil
}

// applied are the filters that a query holds, by name.
func (q ResultQuery) applied() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{
		"severity": cmp.Or(q.Severity, withoutInfo), "search": q.Search, "host": q.Host, "domain": q.Domain, "port": q.Port, "templates": q.Templates, "time": q.Time,
		"vuln_status": q.Status, "tags": q.Tags, "labels": q.Labels, "category": q.Category, "scan_ids": q.ScanIDs,
	} {
		if value != "" {
			out[name] = value
		}
	}
	for name, m := range map[string]Maybe{"is_ticket": q.Ticket, "is_regression": q.Regression, "is_internal": q.Internal} {
		if m.given {
			out[name] = strconv.FormatBool(m.value)
		}
	}
	return out
}

// VulnFilter names findings by what they are, where no ids are given.
type VulnFilter struct {
	ScanID   string   `json:"scan_id,omitempty" doc:"Those of this scan."`
	Severity []string `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"Those of these severities."`
	Host     []string `json:"host,omitempty" doc:"Those at these hosts."`
	Template []string `json:"template,omitempty" doc:"Those of these templates."`
	Search   string   `json:"search,omitempty" maxLength:"200" doc:"Those with this in the host, or in the template's id or name."`
}

func (v VulnFilter) filter(ids []string) finding.Filter {
	f := finding.Filter{IDs: ids, Severities: v.Severity, Hosts: v.Host, Templates: v.Template, Search: v.Search}
	if v.ScanID != "" {
		f.ScanIDs = []string{v.ScanID}
	}
	return f
}

// VulnPatch is a decision about findings.
type VulnPatch struct {
	IDs    []string `json:"vuln_ids,omitempty" maxItems:"10000" doc:"The findings; without it, those that the other fields pick."`
	Status string   `json:"vuln_status" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"What is decided."`
	VulnFilter
}

// VulnDeletion names findings to delete.
type VulnDeletion struct {
	IDs      []string `json:"ids,omitempty" maxItems:"10000" doc:"The findings; without it, those that the other fields pick."`
	Statuses []string `json:"vuln_status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"Those with these decisions."`
	VulnFilter
}

// VulnLabels are labels for findings.
type VulnLabels struct {
	IDs    []string `json:"ids" minItems:"1" maxItems:"10000" doc:"The findings."`
	Type   string   `json:"type,omitempty" enum:"append,replace,delete" doc:"What the labels do to those that are there; replace without it."`
	Labels []string `json:"labels,omitempty" maxItems:"100" doc:"The labels."`
}

func (s surface) patchVulns(ctx context.Context, in *struct{ Body VulnPatch }) (*struct{ Body message }, error) {
	n, err := s.Findings.SetStatus(ctx, in.Body.filter(in.Body.IDs), finding.Status(in.Body.Status))
	return said("The status of %d findings is changed.", n), err
}
