// Package vulnerabilities has the operations of the platform API about CVEs: what the server's templates and the files
// that its operator loaded say of them, and what happened to a team's findings of one.
package vulnerabilities

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const tag = "CVEs"

type area struct {
	cves     *vulnerability.Vulnerabilities
	findings *finding.Findings
}

// Register adds the operations to the API.
func Register(api *rest.API, cves *vulnerability.Vulnerabilities, findings *finding.Findings) {
	s := area{cves, findings}
	const path = "/v2/vulnerability"
	search := wire.Op("search-cves", "GET "+path+"/search", tag, "Search CVEs")
	search.Description = "What the templates of this server, and the files that its operator has loaded (NVD, OSV, EPSS, known exploited " +
		"ones), say of CVEs. Nobody else is asked. Templates of teams are not part of it."
	rest.Handle(api, search, s.search)
	rest.Handle(api,
		wire.Op("list-cve-filters", "GET "+path+"/filters", tag, "The fields that a search of CVEs knows"), s.filters)
	rest.Handle(api, wire.Op("get-cve", "GET "+path+"/{id}", tag, "One CVE", 404), s.get)
	timeline := wire.Op("get-cve-timeline", "GET "+path+"/{id}/timeline", tag,
		"What happened to a CVE's template and to your team's findings of it, oldest first", 404)
	timeline.Description = "The latest 50 findings of templates for the CVE are looked at."
	rest.Handle(api, timeline, s.timeline)
}

// Facets counts the values of a field.
type Facets struct {
	Buckets map[string]int `json:"buckets" doc:"How many have each of the most frequent values; of a range, how many are in it."`
	Missing int            `json:"missing" doc:"How many have no value."`
	Others  int            `json:"others" doc:"The counts of all other values."`
	Total   int            `json:"total" doc:"All counts."`
}

// Search is what a search found.
type Search struct {
	Count   int                   `json:"count" doc:"Results on this page."`
	Total   int                   `json:"total"`
	Facets  map[string]Facets     `json:"facets" doc:"The counts that were asked for, by field."`
	Results []wire.Picked[Result] `json:"results"`
}

const behindWarning = "Feeds or templates have changed, and not all of it is shown yet. Ask again in a while."

func (s area) search(ctx context.Context, in *struct {
	SortAsc     string   `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: cve_id, severity, cvss_score, epss_score, cve_created_at, cve_updated_at. Without an order, the latest published come first."`
	SortDesc    string   `query:"sort_desc" doc:"Fields to sort by, descending; after those of sort_asc."`
	Fields      []string `query:"fields,explode" maxItems:"100" doc:"Fields of a result to answer; may be repeated, and each may hold several, separated by commas."`
	TermFacets  []string `query:"term_facets,explode" maxItems:"10" doc:"Fields to count by their values, such as severity, or severity=3 for 3 values; may be repeated or separated by commas."`
	RangeFacets []string `query:"range_facets,explode" maxItems:"10" doc:"Ranges to count, as FIELD:LABEL:FROM:TO, such as cvss_score:high:7:9 or cve_created_at:recent:2024-01-01:; from FROM on and below TO. May be repeated or separated by commas."`
	Query       string   `query:"q" maxLength:"1000" doc:"What to look for: words; \"several words\"; field:value, such as severity:critical or vendor:apache; cvss_score:>=9; OR between alternatives, NOT or - before what must not be, parentheses; a * at the end of a word or value for any ending."`
	Highlight   bool     `query:"highlight" default:"false" doc:"Mark what was looked for, in the field highlight of each result."`
	FacetSize   int      `query:"facet_size" minimum:"1" maximum:"100" default:"10" doc:"How many values a facet shows."`
	wire.Window
}) (*Search, error) {
	fields, err := wire.Pick[Result]("a CVE", strings.Join(in.Fields, ","))
	if err != nil {
		return nil, err
	}
	sorts, err := page.Sorts(in.SortAsc, in.SortDesc, vulnerability.Sortable)
	if err != nil {
		return nil, err
	}
	found, err := s.cves.Search(ctx, vulnerability.Search{Query: in.Query, Sorts: sorts, Window: in.Page(),
		Terms: wire.Commas(strings.Join(in.TermFacets, ",")), Ranges: wire.Commas(strings.Join(in.RangeFacets, ",")),
		FacetSize: in.FacetSize, Highlight: in.Highlight})
	if err != nil {
		return nil, err
	}
	if found.Behind {
		rest.Warnf(ctx, behindWarning)
	}
	if found.TotalIsEstimate {
		rest.Warnf(ctx, "There are more than total says.")
	}
	out := Search{Count: len(found.Vulnerabilities), Total: found.Total, Facets: map[string]Facets{},
		Results: make([]wire.Picked[Result], len(found.Vulnerabilities))}
	for i, v := range found.Vulnerabilities {
		r := resultOf(v, time.Now())
		if found.Highlights != nil {
			r.Highlight = found.Highlights[i]
		}
		out.Results[i] = wire.Picked[Result]{Value: r, Fields: fields}
	}
	for name, f := range found.Facets {
		one := Facets{map[string]int{}, f.Missing, f.Other, f.Total}
		for _, b := range f.Buckets {
			one.Buckets[b.Value] += b.Count
		}
		out.Facets[name] = one
	}
	return &out, nil
}

// Filter is a field that a search knows.
type Filter struct {
	Field          string   `json:"field" doc:"The name, as q has it."`
	DataType       string   `json:"data_type" enum:"keyword,text,boolean,number,date" doc:"What its values are."`
	Description    string   `json:"description" doc:"What it says."`
	CanSort        bool     `json:"can_sort" doc:"sort_asc and sort_desc may name it."`
	FacetPossible  bool     `json:"facet_possible" doc:"term_facets may name it; range_facets may name numbers and dates."`
	SearchAnalyzer string   `json:"search_analyzer" enum:"keyword,words" doc:"keyword: values are compared whole, in any case; words: words are looked for."`
	EnumValues     []string `json:"enum_values" doc:"All values, where they are few and known."`
	Examples       []string `json:"examples" doc:"Values as q may have them."`
}

func (s area) filters(context.Context, *struct{}) (*[]Filter, error) {
	out := make([]Filter, len(vulnerability.Fields))
	for i, f := range vulnerability.Fields {
		analyzer, values := "keyword", f.Values
		if f.Type == "text" {
			analyzer = "words"
		}
		if f.Type == "boolean" {
			values = []string{"true", "false"}
		}
		out[i] = Filter{
			f.Name, f.Type, f.Description, f.Sort, f.Facet, analyzer, rest.OrEmpty(values), rest.OrEmpty(f.Examples),
		}
	}
	return &out, nil
}

// Path names a CVE.
type Path struct {
	ID string `path:"id" minLength:"1" maxLength:"200" doc:"The CVE, in any case; of an entry of OSV without one, its id there."`
}

// One is one CVE.
type One struct {
	Data wire.Picked[Result] `json:"data" doc:"The CVE."`
}

func (s area) get(ctx context.Context, in *struct {
	Path
	Fields string `query:"fields" maxLength:"1000" doc:"Fields to answer, separated by commas; without it, all."`
}) (*One, error) {
	fields, err := wire.Pick[Result]("a CVE", in.Fields)
	if err != nil {
		return nil, err
	}
	v, err := s.cves.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	r := resultOf(v, time.Now())
	if v.Template != nil {
		r.Raw, err = s.cves.Raw(ctx, *v.Template)
	}
	return &One{wire.Picked[Result]{Value: r, Fields: fields}}, err
}

// Timeline is what happened to a CVE.
type Timeline struct {
	TemplateReleasedAt *time.Time `json:"template_released_at" doc:"When this server got a template for it; null: it has none."`
	TemplateUpdatedAt  *time.Time `json:"template_updated_at" doc:"When the template changed last."`
	TemplateRaw        string     `json:"template_raw" doc:"The template's text."`
	FirstDetectedAt    *time.Time `json:"first_detected_at" doc:"When your team found it first; null: it has not."`
	LastSeenAt         *time.Time `json:"last_seen_at" doc:"When your team saw it last."`
	CurrentStatus      string     `json:"current_status" doc:"not_detected; open, if one of your team's findings of it is; else the status of the latest."`
	Events             []Event    `json:"events" doc:"Events, oldest first."`
}

// Event is something that happened.
type Event struct {
	Timestamp   time.Time `json:"timestamp"`
	EventType   string    `json:"event_type" enum:"detected,status_change,resolved,reopened,severity_change,template_released,template_updated"`
	OldValue    string    `json:"old_value" doc:"The value before."`
	NewValue    string    `json:"new_value" doc:"The value after."`
	Description string    `json:"description" doc:"Where it happened."`
}

// maxFindings is how many findings a timeline looks at.
const maxFindings = 50

func (s area) timeline(ctx context.Context, in *struct {
	Path
	Types []string `query:"event_type" enum:"detected,status_change,resolved,reopened,severity_change,template_released,template_updated" doc:"Only events of these kinds, separated by commas."`
}) (*Timeline, error) {
	v, err := s.cves.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := Timeline{CurrentStatus: "not_detected", Events: []Event{}}
	add := func(e Event) {
		if len(in.Types) == 0 || slices.Contains(in.Types, e.EventType) {
			out.Events = append(out.Events, e)
		}
	}
	if t := v.Template; t != nil {
		if out.TemplateRaw, err = s.cves.Raw(ctx, *t); err != nil {
			return nil, err
		}
		out.TemplateReleasedAt, out.TemplateUpdatedAt = &t.Created, &t.Updated
		add(Event{t.Created, "template_released", "", t.ID, "The template came into the catalogue."})
		if t.Updated.After(t.Created) {
			add(Event{t.Updated, "template_updated", "", t.ID, "The template changed."})
		}
	}
	templates := v.Templates
	if !slices.Contains(templates, v.ID) {
		templates = append(slices.Clip(templates), v.ID) // of findings that were imported
	}
	if err := s.addFindings(ctx, templates, &out, add); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out.Events, func(a, b Event) int { return a.Timestamp.Compare(b.Timestamp) })
	return &out, nil
}

// addFindings adds what happened to the findings of the caller's team.
func (s area) addFindings(ctx context.Context, templates []string, out *Timeline, add func(Event)) error {
	window := page.Window{Limit: maxFindings}
	found, total, err := s.findings.FindAll(ctx, finding.Filter{Templates: templates}, nil, window)
	if err != nil {
		return err
	}
	if total > len(found) {
		rest.Warnf(ctx, "Your team has %d findings of it; the events are of the latest %d.", total, len(found))
	}
	for _, f := range found {
		_, changes, err := s.findings.Timeline(ctx, f.ID)
		if err != nil {
			return err
		}
		if out.FirstDetectedAt == nil || f.CreatedAt.Before(*out.FirstDetectedAt) {
			out.FirstDetectedAt = &f.CreatedAt
		}
		if out.LastSeenAt == nil || f.SeenAt.After(*out.LastSeenAt) {
			out.LastSeenAt = &f.SeenAt
		}
		if out.CurrentStatus == "not_detected" || f.Status == finding.Open {
			out.CurrentStatus = string(f.Status)
		}
		for _, c := range changes {
			switch kind := string(c.Type); kind {
			case "detected", "status_change", "resolved", "reopened", "severity_change":
				add(Event{c.At, kind, c.From, c.To, cmp.Or(f.Host, f.ID)})
			}
		}
	}
	return nil
}
