package findings

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// VulnFilter selects findings without their ids.
type VulnFilter struct {
	ScanID   string   `json:"scan_id,omitempty" doc:"Those of this scan."`
	Severity []string `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"Severities."`
	Host     []string `json:"host,omitempty" doc:"Hosts."`
	Template []string `json:"template,omitempty" doc:"Template ids."`
	Search   string   `json:"search,omitempty" maxLength:"200"`
	Type     string   `json:"type,omitempty" enum:"http,dns,network,tcp,ssl,file,headless,code,javascript,websocket,whois,workflow" doc:"The protocol of the template."`

	Filter *VulnSelection `json:"filter,omitempty" doc:"What a list of findings shows with these filters, on all of its pages; instead of the fields beside it."`
}

// VulnSelection has the filters of a list of findings, as values of JSON. The fields beside it could not have the names
// of what is decided, such as vuln_status.
type VulnSelection struct {
	Severity   []string `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" maxItems:"6" doc:"Severities; default: all."`
	Statuses   []string `json:"vuln_status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" maxItems:"7" doc:"Statuses that they have now."`
	Search     string   `json:"search,omitempty" maxLength:"200" doc:"Part of the host, template id or template name."`
	Host       []string `json:"host,omitempty" maxItems:"100" doc:"Hosts."`
	Domain     []string `json:"domain,omitempty" maxItems:"100" doc:"Domains, with their subdomains."`
	Port       []int    `json:"port,omitempty" maxItems:"100" doc:"Ports."`
	Templates  []string `json:"templates,omitempty" maxItems:"100" doc:"Template ids."`
	Category   []string `json:"category,omitempty" maxItems:"100" doc:"Protocols and folders of templates."`
	Tags       []string `json:"tags,omitempty" maxItems:"100" doc:"Tags."`
	Labels     []string `json:"labels,omitempty" maxItems:"100" doc:"Labels."`
	Assignees  []string `json:"assignee,omitempty" maxItems:"100" doc:"Addresses of assignees; none: findings without one."`
	ScanIDs    []string `json:"scan_ids,omitempty" maxItems:"100" doc:"Scans."`
	Time       string   `json:"time,omitempty" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First found in this time."`
	Regression *bool    `json:"is_regression,omitempty" doc:"Whether it was fixed and came back."`
	Internal   *bool    `json:"is_internal,omitempty" doc:"Whether its address is internal."`
	Ticket     *bool    `json:"is_ticket,omitempty" doc:"Whether an issue tracker knows it."`
}

func (v VulnSelection) filter(now time.Time) finding.Filter {
	f := finding.Filter{
		Severities: v.Severity, Search: v.Search, Hosts: v.Host, Domains: v.Domain, Ports: v.Port, Templates: v.Templates,
		Categories: v.Category, Tags: v.Tags, Labels: v.Labels, Assignees: v.Assignees, ScanIDs: v.ScanIDs,
		Since: page.Since(v.Time, now), Regression: v.Regression, Internal: v.Internal, Ticket: v.Ticket,
	}
	for _, status := range v.Statuses {
		f.Statuses = append(f.Statuses, finding.Status(status))
	}
	return f
}

// picked are the findings that a request names, in one way.
func (v VulnFilter) picked(ids []string) (finding.Filter, error) {
	if v.Filter == nil {
		return v.filter(ids), nil
	}
	if !v.filter(ids).MatchesAll() {
		return finding.Filter{}, errs.Field("filter", "filter stands for itself: leave out ids and the fields beside it.")
	}
	f := v.Filter.filter(time.Now())
	if f.MatchesAll() {
		return f, errs.Field("filter", "filter must name something that says which findings are meant.")
	}
	return f, nil
}

func (v VulnFilter) filter(ids []string) finding.Filter {
	f := finding.Filter{IDs: ids, Severities: v.Severity, Hosts: v.Host, Templates: v.Template, Search: v.Search}
	if v.ScanID != "" {
		f.ScanIDs = []string{v.ScanID}
	}
	if v.Type != "" {
		f.Categories = []string{v.Type}
	}
	return f
}

// VulnPatch is a decision about findings.
type VulnPatch struct {
	IDs    []string `json:"vuln_ids,omitempty" maxItems:"10000" doc:"The findings; default: those that the other fields select."`
	Status string   `json:"vuln_status" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"What is decided."`
	Reason string   `json:"reason,omitempty" maxLength:"2000" doc:"Why; required with until."`
	Until  string   `json:"until,omitempty" format:"date-time" doc:"Of an accepted risk: when it ends, and the findings are open again; default: it does not end."`
	VulnFilter
}

// Decided says what a decision has changed.
type Decided struct {
	Message  string `json:"message"`
	Changed  *int   `json:"changed,omitempty" doc:"With filter: number of findings that are changed, those of all sightings counted."`
	ChangeID string `json:"change_id,omitempty" doc:"With filter: what POST /v1/scans/vulns/undo takes back; absent when nothing has changed."`
}

func (s area) patchVulns(ctx context.Context, in *struct{ Body VulnPatch }) (*Decided, error) {
	f, err := in.Body.picked(in.Body.IDs)
	if err != nil {
		return nil, err
	}
	d := finding.Decision{Status: finding.Status(in.Body.Status), Reason: in.Body.Reason, Operation: ids.New()}
	if in.Body.Until != "" {
		until, err := time.Parse(time.RFC3339, in.Body.Until)
		if err != nil {
			return nil, errs.Field("until", "until must be a time such as 2027-01-31T00:00:00Z.")
		}
		d.Until = until
	}
	n, err := s.Findings.SetDecision(ctx, f, d)
	return decided(fmt.Sprintf("The status of %d findings is changed.", n), in.Body.Filter, n, d.Operation), err
}

// decided is the answer about a change. That to a request without a filter is that of the public service.
func decided(message string, by *VulnSelection, changed int, operation string) *Decided {
	out := &Decided{Message: message}
	if by != nil {
		out.Changed = &changed
		if changed > 0 {
			out.ChangeID = operation
		}
	}
	return out
}

// VulnLabels are labels for findings.
type VulnLabels struct {
	IDs    []string       `json:"ids,omitempty" minItems:"1" maxItems:"10000" doc:"The findings; or filter."`
	Filter *VulnSelection `json:"filter,omitempty" doc:"What a list of findings shows with these filters, on all of its pages; instead of ids."`
	Type   string         `json:"type,omitempty" enum:"append,replace,delete" doc:"How the labels change the present ones; default replace."`
	Labels []string       `json:"labels,omitempty" maxItems:"100"`
}

func (s area) labelVulns(ctx context.Context, in *struct{ Body VulnLabels }) (*Decided, error) {
	b, operation := in.Body, ids.New()
	f, err := VulnFilter{Filter: b.Filter}.picked(b.IDs)
	if err != nil {
		return nil, err
	}
	mode := cmp.Or(finding.LabelMode(b.Type), finding.ReplaceLabels)
	n, err := s.Findings.SetLabels(ctx, f, mode, b.Labels, operation)
	return decided(fmt.Sprintf("The labels of %d findings are changed.", n), b.Filter, n, operation), err
}
