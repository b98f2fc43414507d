package scans

import (
	"context"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// ScanHistory is a page of runs.
type ScanHistory struct {
	wire.Listing
	Data     []ScanRun `json:"data"`
	Requests int       `json:"total_completed_request" doc:"Requests that all the runs sent."`
	Runs     int       `json:"total_scan_run" doc:"Runs."`
	Scans    int       `json:"total_unique_scan_run" doc:"Scans that they are of."`
}

// ScanRun is one launch of a scan.
type ScanRun struct {
	ScanID       string         `json:"scan_id"`
	Name         string         `json:"name"`
	Status       string         `json:"status"`
	Time         string         `json:"time" doc:"Launch time."`
	ScanTime     string         `json:"scan_time" doc:"Duration, such as 1m3s."`
	Completed    int            `json:"completed_request" doc:"Requests that it sent."`
	Requests     int            `json:"total_request" doc:"Planned requests, or sent ones if more: redirects and retries are not planned."`
	Targets      int            `json:"total_target"`
	Templates    int            `json:"total_templates" doc:"Templates."`
	Results      int            `json:"total_result" doc:"Findings of the scan at its end."`
	Severity     map[string]int `json:"severity" doc:"Findings by severity."`
	ErrorDetails string         `json:"error_details,omitempty"`
}

func (s area) scanHistory() {
	const one = "/v1/scans/{scan_id}"
	rest.Handle(s.API, wire.Op("list-scan-history", "GET /v1/scans/history", scanTag,
		"The runs of your team's scans, newest first"),
		func(ctx context.Context, in *struct {
			wire.HistoryRange
			wire.Window
		}) (*ScanHistory, error) {
			return s.history(ctx, "", in.HistoryRange, in.Window)
		})
	rest.Handle(s.API, wire.Op("get-scan-history", "GET "+one+"/history", scanTag, "The runs of a scan, newest first",
		404),
		func(ctx context.Context, in *struct {
			wire.ScanPath
			wire.HistoryRange
			wire.Window
		}) (*ScanHistory, error) {
			return s.history(ctx, in.ID, in.HistoryRange, in.Window)
		})
	rest.Handle(s.API, wire.Op("get-scan-coverage", "GET "+one+"/coverage", scanTag, "The coverage of a scan", 404),
		s.coverage)
	s.coverageMap(one)
	rest.Handle(s.API, wire.Op("get-scan-log", "GET "+one+"/scan_log", scanTag, "The result of each check of a scan",
		404), s.scanLog)
	rest.Handle(s.API, wire.Op("get-scan-log-stats", "GET "+one+"/scan_log/stats", scanTag,
		"Number of lines in the log of a scan", 404), s.scanLogStats)
	s.logFiles()
}

func (s area) history(ctx context.Context, id string, r wire.HistoryRange, w wire.Window) (*ScanHistory, error) {
	since, until, err := r.Times(time.Now())
	if err != nil {
		return nil, err
	}
	h, err := s.Scans.FindHistory(ctx, scan.HistoryFilter{ScanID: id, Since: since, Until: until}, w.Page())
	if err != nil {
		return nil, err
	}
	out := ScanHistory{Listing: wire.ListOf(w, len(h.Runs), h.Total, "Runs of scans."), Requests: h.Requests,
		Runs: h.Total, Scans: h.UniqueScans, Data: make([]ScanRun, len(h.Runs))}
	for i, run := range h.Runs {
		as := scan.Scan{Numbers: run.Numbers, Severities: run.Severities}
		out.Data[i] = ScanRun{
			ScanID: run.ScanID, Name: run.Name, Status: string(run.Status), Time: run.CreatedAt.Format(time.RFC3339Nano),
			ScanTime:  as.Elapsed(time.Now()).Round(time.Millisecond).String(),
			Completed: run.Numbers.DoneRequests, Requests: max(run.Numbers.Requests, run.Numbers.DoneRequests),
			Targets: run.Numbers.Targets, Templates: run.Numbers.Templates,
			Results: as.Results(), Severity: rest.OrEmptyMap(run.Severities), ErrorDetails: run.FailureReason,
		}
	}
	return &out, nil
}

// ScanCoverage is the coverage of a run.
type ScanCoverage struct {
	ScanID     string         `json:"scan_id"`
	Run        int64          `json:"run" doc:"The number of the run, from 1; 0: it was never launched."`
	Targets    int            `json:"total_target"`
	Total      int            `json:"total" doc:"Checks: targets × templates."`
	Counts     map[string]int `json:"counts" doc:"Checks by how they ended: tested, not_applicable, skipped, denied, failed, pending."`
	Matched    int            `json:"matched" doc:"Checks with a finding."`
	Percentage float64        `json:"percentage" doc:"How much of what applies was tested, 0 to 100."`
	Partial    bool           `json:"partial" doc:"Whether something that applies was not tested."`
	Cells      []CoverageCell `json:"cells" doc:"The page of checks that were not tested, or of those in the requested state."`
}

// CoverageCell is the result of one check.
type CoverageCell struct {
	Target     string `json:"target"`
	TemplateID string `json:"template_id"`
	State      string `json:"state" enum:"tested,not_applicable,skipped,denied,failed,pending" doc:"How it ended."`
	Reason     string `json:"reason,omitempty" doc:"Why it was not tested."`
}

func (s area) coverage(ctx context.Context, in *struct {
	wire.ScanPath
	Run   int64  `query:"rescan_count" minimum:"0" doc:"The run after this number of rescans; 0: the last run."`
	State string `query:"state" enum:"tested,not_applicable,skipped,denied,failed,pending" doc:"Show the checks that ended so."`
	wire.Window
}) (*ScanCoverage, error) {
	c, err := s.Scans.FindCoverage(ctx, in.ID, scan.CoverageFilter{Run: runOf(in.Run), State: scan.State(in.State)},
		in.Page())
	if err != nil {
		return nil, err
	}
	out := ScanCoverage{ScanID: in.ID, Run: c.Run, Targets: c.Targets, Total: c.Total, Matched: c.Matched,
		Counts: map[string]int{}, Cells: make([]CoverageCell, len(c.Cells))}
	for _, state := range scan.States {
		out.Counts[string(state)] = c.Counts[state]
	}
	if applies := c.Total - out.Counts["not_applicable"]; applies > 0 {
		out.Percentage = float64(out.Counts["tested"]) * 100 / float64(applies)
		out.Partial = out.Counts["tested"] < applies
	}
	for i, cell := range c.Cells {
		out.Cells[i] = CoverageCell{cell.Target, cell.Template, string(cell.State), cell.Reason}
	}
	return &out, nil
}

// runOf is the run after a number of rescans; 0 is the last.
func runOf(rescans int64) int64 {
	if rescans == 0 {
		return 0
	}
	return rescans + 1
}

// LogQuery picks lines of a log.
type LogQuery struct {
	wire.ScanPath
	Rescans  int64      `query:"rescan_count" minimum:"0" doc:"The run after this number of rescans; 0: the last run."`
	Host     string     `query:"host" maxLength:"200" doc:"Part of the target."`
	Template string     `query:"template" maxLength:"200" doc:"The template's id."`
	Matched  wire.Maybe `query:"matched" doc:"Whether something was found."`
	Search   string     `query:"search" maxLength:"200" doc:"Part of the target, template id or error."`
	Error    string     `query:"error" maxLength:"200" doc:"Part of what went wrong."`
	Time     string     `query:"time" doc:"Lines of this day (2006-01-02) or time (RFC 3339), or later; a line has the time of its run."`
	Severity string     `query:"severity" enum:"error,info,all_logs" default:"all_logs" doc:"error: only what went wrong; info: only what did not."`
}

func (q LogQuery) filter() (f scan.LogFilter, err error) {
	f = scan.LogFilter{Run: runOf(q.Rescans), Host: q.Host, Template: q.Template, Search: q.Search, Error: q.Error,
		Matched: q.Matched.Ptr()}
	if f.Since, err = page.Moment("time", q.Time, false); err != nil {
		return f, err
	}
	switch q.Severity {
	case "error":
		f.Errors = new(true)
	case "info":
		f.Errors = new(false)
	}
	return f, nil
}

// ScanLog is a page of a log.
type ScanLog struct {
	Logs []export.LogLine `json:"logs" doc:"The page."`
	Next string           `json:"next_page_token" doc:"The token of the next page; empty on the last."`
}

func (s area) scanLog(ctx context.Context, in *struct {
	LogQuery
	Token string `query:"next_page_token" maxLength:"20" doc:"next_page_token of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of lines."`
}) (*ScanLog, error) {
	skip := 0
	if in.Token != "" {
		var err error
		if skip, err = strconv.Atoi(in.Token); err != nil || skip < 0 {
			return nil, errs.Field("next_page_token", "next_page_token is not one of this list's.")
		}
	}
	out := ScanLog{Logs: []export.LogLine{}}
	n := 0
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	err = s.Scans.EachLogLine(ctx, in.ID, f, func(l scan.LogLine) bool {
		if n++; n <= skip {
			return true
		}
		if len(out.Logs) == in.Limit {
			out.Next = strconv.Itoa(skip + in.Limit)
			return false
		}
		out.Logs = append(out.Logs, export.LineOf(l))
		return true
	})
	return &out, err
}

// LogStats counts the lines of a log.
type LogStats struct {
	Info      int `json:"info_count" doc:"Lines where nothing went wrong."`
	Errors    int `json:"error_count" doc:"Lines where something went wrong."`
	Total     int `json:"total_count" doc:"All lines."`
	Matched   int `json:"matched_count" doc:"Lines with a finding."`
	Unmatched int `json:"unmatched_count" doc:"Lines without a finding."`
}

func (s area) scanLogStats(ctx context.Context, in *wire.ScanPath) (*LogStats, error) {
	var out LogStats
	err := s.Scans.EachLogLine(ctx, in.ID, scan.LogFilter{}, func(l scan.LogLine) bool {
		out.Total++
		if l.Failed() {
			out.Errors++
		}
		if l.Matched {
			out.Matched++
		}
		return true
	})
	out.Info, out.Unmatched = out.Total-out.Errors, out.Total-out.Matched
	return &out, err
}
