package findings

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding/moment"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// UndoRequest names a change.
type UndoRequest struct {
	ChangeID string `json:"change_id" minLength:"1" maxLength:"100" doc:"The change, as the timeline has it."`
}

// UndoAnswer says what was taken back.
type UndoAnswer struct {
	Message  string `json:"message"`
	ChangeID string `json:"change_id" doc:"The new change: taken back, it undoes the undoing."`
	Changed  int    `json:"changed" doc:"Findings that have what they had before."`
	Kept     int    `json:"kept" doc:"Findings that stay as they are: they were changed again since, or the time of their accepted risk is over."`
}

// ResultDiffQuery picks the differences between two moments.
type ResultDiffQuery struct {
	From     string `query:"from" required:"true" doc:"The first moment: a time (RFC 3339) or the end of this day."`
	To       string `query:"to" doc:"The second moment; default now."`
	Kinds    string `query:"kind" doc:"Only these differences, separated by commas: new, fixed, regressed, reopened, changed."`
	Severity string `query:"severity" doc:"Severities, separated by commas; default all."`
	Status   string `query:"vuln_status" doc:"Statuses, comma-separated."`
	Host     string `query:"host" doc:"Hosts, comma-separated."`
	Domain   string `query:"domain" doc:"Domains, comma-separated, with their subdomains."`
	ScanIDs  string `query:"scan_ids" doc:"Scans, separated by commas."`
	Labels   string `query:"labels" doc:"Labels, comma-separated."`
	Assignee string `query:"assignee" doc:"Addresses of assignees, comma-separated; none: findings without one."`
	wire.Window
}

// ResultDiff is a page of differences.
type ResultDiff struct {
	wire.Listing
	From   time.Time      `json:"from" doc:"The first moment."`
	To     time.Time      `json:"to" doc:"The second moment."`
	Counts map[string]int `json:"counts" doc:"How many findings differ, by kind, on all pages and of all kinds."`
	Data   []VulnDiff     `json:"data" doc:"The newest findings first."`
}

// VulnDiff is a finding that differs between two moments.
type VulnDiff struct {
	Kind   string              `json:"kind" enum:"new,fixed,regressed,reopened,changed" doc:"How it differs."`
	Before *VulnState          `json:"before,omitempty" doc:"What it was at the first moment; absent for a new one."`
	Vuln   VulnerabilityResult `json:"vulnerability" doc:"The finding as it was at the second moment."`
}

// VulnState is what of a finding changes.
type VulnState struct {
	State      string   `json:"state" enum:"open,triaged,in_progress,fixed,regressed,false_positive,accepted_risk,duplicate"`
	VulnStatus string   `json:"vuln_status" doc:"Triage status."`
	Severity   string   `json:"severity"`
	Labels     []string `json:"labels"`
	Assignee   string   `json:"assignee,omitempty" doc:"Who worked on it."`
}

func diffOf(d moment.Difference) VulnDiff {
	out := VulnDiff{Kind: string(d.Kind), Vuln: resultOf(d.Finding)}
	if d.Kind != moment.Appeared {
		b := d.Before
		out.Before = &VulnState{string(b.Name()), string(b.Status), b.Severity, rest.OrEmpty(b.Labels), b.Assignee}
	}
	return out
}

func (s area) moments() {
	undo := wire.Op("undo-vulnerability-changes", "POST /v1/scans/vulns/undo", vulnTag,
		"Take a change back, of all findings that it changed", 404, 409)
	undo.Description = "The change of a status, a severity, labels or an assignee, a join or a split. It is in the timelines, and can be undone too. " +
		"409: it was undone before, is no such change, or what it made was changed, joined or split again since."
	rest.Handle(s.API, undo, func(ctx context.Context, in *struct{ Body UndoRequest }) (*UndoAnswer, error) {
		return s.undo(ctx, "", in.Body.ChangeID)
	})
	one := wire.Op("undo-vulnerability-change", "POST /v1/scans/vuln/{vuln_id}/undo", vulnTag,
		"Take a change of one finding back", 404, 409)
	one.Description = "As POST /v1/scans/vulns/undo, for the sightings of this weakness alone; a join or a split is taken back as a whole."
	rest.Handle(s.API, one, func(ctx context.Context, in *struct {
		wire.VulnPath
		Body UndoRequest
	}) (*UndoAnswer, error) {
		return s.undo(ctx, in.ID, in.Body.ChangeID)
	})
	diff := wire.Op("diff-results", "GET /v1/scans/results/diff", vulnTag, "What differs between two moments")
	diff.Description = "New findings, and those that were fixed, came back, were opened again, or changed in status, severity, labels or assignee."
	rest.Handle(s.API, diff, s.diffResults)
	series := wire.Op("get-result-series", "GET /v1/scans/results/series", vulnTag, "How many weaknesses were open, day by day or week by week")
	series.Description = "Open are those that nobody has fixed or set aside. Each weakness is counted once, with the severity that it had."
	rest.Handle(s.API, series, s.series)
}

func (s area) undo(ctx context.Context, findingID, change string) (*UndoAnswer, error) {
	u, err := s.Undos.Undo(ctx, findingID, change)
	return &UndoAnswer{wire.Messagef("The change of %d findings is undone.", u.Changed).Message, u.Operation, u.Changed, u.Kept}, err
}

// endOf is the end of a time between two moments, as the parameter "to" gives it: now, if it is absent or today.
func endOf(to string) (time.Time, error) {
	end, err := page.Moment("to", to, true)
	if now := time.Now().UTC(); err == nil && (end.IsZero() || to == now.Format(time.DateOnly)) {
		end = now
	}
	return end, err
}

func (s area) diffResults(ctx context.Context, in *ResultDiffQuery) (*ResultDiff, error) {
	all := "critical,high,medium,low,info,unknown"
	if in.Severity != "" {
		all = in.Severity
	}
	f, err := FilterQuery{Severity: all, Status: in.Status, Host: in.Host, Domain: in.Domain, ScanIDs: in.ScanIDs,
		Labels: in.Labels, Assignee: in.Assignee}.filter(time.Now())
	if err != nil {
		return nil, err
	}
	from, err := page.Moment("from", in.From, true)
	if err != nil {
		return nil, err
	}
	to, err := endOf(in.To)
	if err != nil {
		return nil, err
	}
	kinds, err := wire.Known("kind", wire.Commas(in.Kinds), moment.Kinds)
	if err != nil {
		return nil, err
	}
	found, counts, err := s.Moments.Diff(ctx, f, from, to, kinds, in.Page())
	if err != nil {
		return nil, err
	}
	out := ResultDiff{From: from, To: to, Counts: map[string]int{}, Data: rest.Each(found, diffOf)}
	total := 0
	for _, k := range moment.Kinds {
		out.Counts[string(k)] = counts[k]
		if len(kinds) == 0 || slices.Contains(kinds, k) {
			total += counts[k]
		}
	}
	out.Listing = wire.ListOf(in.Window, len(found), total, "Differences.")
	return &out, nil
}

// pastResults is a list of findings as of a time before.
func (s area) pastResults(ctx context.Context, in *ResultQuery) (*ResultList, error) {
	f, err := in.filter(time.Now())
	if err != nil {
		return nil, err
	}
	at, err := page.Moment("as_of", in.AsOf, true)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	if in.AsOf == now.Format(time.DateOnly) { // the day has not ended
		at = now
	}
	switch {
	case in.SortAsc != "" && in.SortAsc != "created_at":
		return nil, errs.Field("sort_asc", "sort_asc together with as_of is created_at alone.")
	case in.SortDesc != "" && in.SortDesc != "created_at":
		return nil, errs.Field("sort_desc", "sort_desc together with as_of is created_at alone.")
	case in.isSet() != "":
		return nil, errs.Field(in.isSet(), "%s cannot be asked together with as_of: it is known as of now.", in.isSet())
	case in.AssetData:
		return nil, errs.Field("asset_metadata", "asset_metadata cannot be asked together with as_of.")
	}
	found, total, err := s.Moments.List(ctx, f, at, in.SortAsc != "", in.Page())
	return &ResultList{
		Listing: wire.ListOf(in.Window, len(found), total, "Findings."), Data: rest.Each(found, resultOf),
		Stats: ResultStats{total}, Filters: in.applied(),
	}, err
}
