package scans

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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
	rest.Handle(s.API, wire.Op("get-scan-log", "GET "+one+"/scan_log", scanTag, "The result of each check of a scan",
		404), s.scanLog)
	rest.Handle(s.API, wire.Op("get-scan-log-stats", "GET "+one+"/scan_log/stats", scanTag,
		"Number of lines in the log of a scan", 404), s.scanLogStats)
	rest.Handle(s.API, wire.Op("export-scan-log", "GET "+one+"/scan_log/export", scanTag,
		"The download path of a scan's log", 404), s.exportLog)
	down := wire.Op("download-scan-log", "GET "+one+"/scan_log/download", scanTag, "The log of a scan as a file", 404)
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	down.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{
		"application/x-ndjson": text, "application/json": text, "text/csv": text,
	}}}
	rest.Register(s.API, down, s.downloadLog)
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
	Severity string     `query:"severity" enum:"error,info,all_logs" default:"all_logs" doc:"error: only what went wrong; info: only what did not."`
}

func (q LogQuery) filter() scan.LogFilter {
	f := scan.LogFilter{Run: runOf(q.Rescans), Host: q.Host, Template: q.Template, Search: q.Search,
		Matched: q.Matched.Ptr()}
	switch q.Severity {
	case "error":
		f.Errors = new(true)
	case "info":
		f.Errors = new(false)
	}
	return f
}

// ScanLog is a page of a log.
type ScanLog struct {
	Logs []LogLine `json:"logs" doc:"The page."`
	Next string    `json:"next_page_token" doc:"The token of the next page; empty on the last."`
}

// LogLine is the result of one check.
type LogLine struct {
	Target     string    `json:"target"`
	TemplateID string    `json:"template_id"`
	Matched    bool      `json:"matched" doc:"Whether something was found."`
	Error      string    `json:"error" doc:"What went wrong; empty when nothing did."`
	Timestamp  time.Time `json:"timestamp" doc:"When the run ended, or began while it has not."`
	Severity   string    `json:"severity" enum:"error,info" doc:"error where something went wrong."`
	Event      string    `json:"event" doc:"How the check ended, as in the coverage."`
}

func lineOf(l scan.LogLine) LogLine {
	out := LogLine{Target: l.Target, TemplateID: l.Template, Matched: l.Matched, Timestamp: l.At, Severity: "info",
		Event: string(l.State)}
	if l.Failed() {
		out.Severity, out.Error = "error", l.Reason
	}
	return out
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
	out := ScanLog{Logs: []LogLine{}}
	n := 0
	err := s.Scans.EachLogLine(ctx, in.ID, in.filter(), func(l scan.LogLine) bool {
		if n++; n <= skip {
			return true
		}
		if len(out.Logs) == in.Limit {
			out.Next = strconv.Itoa(skip + in.Limit)
			return false
		}
		out.Logs = append(out.Logs, lineOf(l))
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

// LogExport says where a log can be downloaded.
type LogExport struct {
	URL string `json:"url" doc:"Where to download it, from the server's root."`
}

func (s area) exportLog(ctx context.Context, in *struct {
	LogQuery
	Format string `query:"format" enum:"raw,json,csv" default:"raw" doc:"raw is one JSON object a line."`
}) (*LogExport, error) {
	if _, err := s.Scans.Find(ctx, in.ID); err != nil {
		return nil, err
	}
	query := url.Values{"format": {in.Format}, "severity": {in.Severity}}
	for name, value := range map[string]string{"host": in.Host, "template": in.Template, "search": in.Search} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if m := in.Matched.Ptr(); m != nil {
		query.Set("matched", strconv.FormatBool(*m))
	}
	if in.Rescans > 0 {
		query.Set("rescan_count", strconv.FormatInt(in.Rescans, 10))
	}
	return &LogExport{"/v1/scans/" + url.PathEscape(in.ID) + "/scan_log/download?" + query.Encode()}, nil
}

func (s area) downloadLog(ctx context.Context, in *struct {
	LogQuery
	Format string `query:"format" enum:"raw,json,csv" default:"raw" doc:"raw is one JSON object a line."`
}) (*huma.StreamResponse, error) {
	found, err := s.Scans.Find(ctx, in.ID)
	if run := runOf(in.Rescans); err == nil && (run < 0 || run > found.Run) {
		err = errs.Missing("run")
	}
	if err != nil {
		return nil, err
	}
	kind, ending := "application/x-ndjson", "jsonl"
	switch in.Format {
	case "json":
		kind, ending = "application/json", "json"
	case "csv":
		kind, ending = "text/csv", "csv"
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", kind)
		hc.SetHeader("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "scan-"+in.ID+"."+ending))
		s.writeLog(ctx, hc, in.LogQuery, in.Format)
	}}, nil
}

// writeLog writes a log. An error breaks the connection, so that the file does not look complete.
func (s area) writeLog(ctx context.Context, hc huma.Context, q LogQuery, format string) {
	w := hc.BodyWriter()
	table := csv.NewWriter(w)
	lines := json.NewEncoder(w)
	var failed error
	open, between := "", ""
	if format == "json" {
		open, between = "[", ","
	}
	_, _ = w.Write([]byte(open))
	if format == "csv" {
		failed = table.Write([]string{"timestamp", "target", "template_id", "matched", "severity", "event", "error"})
	}
	first := true
	err := s.Scans.EachLogLine(ctx, q.ID, q.filter(), func(l scan.LogLine) bool {
		line := lineOf(l)
		if format == "csv" {
			failed = table.Write([]string{
				line.Timestamp.Format(time.RFC3339), export.Cell(line.Target), export.Cell(line.TemplateID),
				strconv.FormatBool(line.Matched), line.Severity, line.Event, export.Cell(line.Error),
			})
			return failed == nil
		}
		if !first {
			_, _ = w.Write([]byte(between))
		}
		first = false
		failed = lines.Encode(line)
		return failed == nil
	})
	table.Flush()
	if err != nil || failed != nil || table.Error() != nil {
		panic(http.ErrAbortHandler)
	}
	if format == "json" {
		_, _ = w.Write([]byte("]\n"))
	}
}
