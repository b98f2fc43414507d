package exports

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// ScanExportRequest picks findings of a scan.
type ScanExportRequest struct {
	IDs      []string `json:"ids,omitempty" maxItems:"10000"`
	Status   string   `json:"vuln_status,omitempty" doc:"Decisions, separated by commas: open, false_positive, fixed, duplicate, fix_in_progress, accepted_risk, triaged."`
	Severity []string `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"Severities."`
	Host     []string `json:"host,omitempty" maxItems:"1000" doc:"Hosts."`
	Domain   []string `json:"domain,omitempty" maxItems:"1000" doc:"Domains, with their subdomains."`
	Port     []int    `json:"port,omitempty" maxItems:"1000" doc:"Ports."`
	Template []string `json:"template,omitempty" maxItems:"1000" doc:"Template ids."`
	Search   string   `json:"search,omitempty" maxLength:"200"`
	Category []string `json:"category,omitempty" maxItems:"1000" doc:"Protocols and folders of templates."`
	Internal *bool    `json:"is_internal,omitempty"`
}

// ScanExportBody picks findings of a scan, and says how a report of them looks.
type ScanExportBody struct {
	ScanExportRequest
	Report report.Style `json:"report,omitzero" doc:"How a report (pdf, docx, html) looks; what is left out is that of your team (PUT /v1/team/report)."`
}

// ExportRequest picks findings across scans (specification, Scan results export request).
type ExportRequest struct {
	ScanExportRequest
	ScanIDs   []string `json:"scan_ids,omitempty" maxItems:"1000"`
	Time      string   `json:"time,omitempty" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First found in this time; start_date and end_date take precedence."`
	StartDate string   `json:"start_date,omitempty" format:"date" doc:"First found on this day or later."`
	EndDate   string   `json:"end_date,omitempty" format:"date" doc:"First found on this day or earlier."`

	Report report.Style `json:"report,omitzero" doc:"How a report (pdf, docx, html) looks; what is left out is that of your team (PUT /v1/team/report)."`
}

func (r ScanExportRequest) filter() (f finding.Filter, err error) {
	f = finding.Filter{
		IDs: r.IDs, Severities: r.Severity, Hosts: r.Host, Domains: r.Domain, Ports: r.Port, Templates: r.Template,
		Search: r.Search, Categories: r.Category, Internal: r.Internal,
	}
	if f.Statuses, err = wire.Known("vuln_status", wire.Commas(r.Status), finding.Statuses); err != nil {
		return f, err
	}
	for _, port := range r.Port {
		if port < 0 || port > 65535 {
			return f, errs.Field("port", "port %d is no port.", port)
		}
	}
	return f, nil
}

func (r ExportRequest) filter(now time.Time) (finding.Filter, error) {
	f, err := r.ScanExportRequest.filter()
	if err != nil {
		return f, err
	}
	f.ScanIDs, f.Since = r.ScanIDs, page.Since(r.Time, now)
	since, until, err := wire.HistoryRange{StartDate: r.StartDate, EndDate: r.EndDate}.Times(now)
	if !since.IsZero() {
		f.Since = since
	}
	f.Until = until
	return f, err
}

// ExportStarted names an export that is made in the background.
type ExportStarted struct {
	ID string `json:"export_id" doc:"The id for /v1/export."`
}

// ExportItem is an export that is made, or was made, in the background.
type ExportItem struct {
	ID        string    `json:"id"`
	Name      string    `json:"name" doc:"Content, in words."`
	Status    string    `json:"export_status" enum:"queued,running,finished,failed" doc:"State."`
	ItemType  string    `json:"item_type" enum:"results,scan,task,scan_log,enumeration,assets" doc:"scan: the findings of one scan; task: those of one task; scan_log: its log; results: findings across scans; enumeration: the assets of an enumeration or a group; assets: assets of all."`
	ScanID    string    `json:"scan_id,omitempty" doc:"The scan, where it is of one."`
	TaskID    string    `json:"task_id,omitempty" doc:"The task, where it is of one."`
	Enumerate string    `json:"enumerate_id,omitempty" doc:"The enumeration or group, where it is of one."`
	Schedule  string    `json:"schedule_id,omitempty" doc:"The schedule of reports that made it."`
	Format    string    `json:"type" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf,jsonl,raw" doc:"The kind of file."`
	Progress  int       `json:"progress"`
	Total     int       `json:"total" doc:"How many findings, assets or lines the filter picked; 0 while it is queued."`
	Done      int       `json:"done" doc:"How many of them are written."`
	Size      int64     `json:"size" doc:"Bytes that are written."`
	URL       string    `json:"download_signed_url,omitempty" doc:"Where to download it, from the server's root and with your key; absent while it is not finished."`
	CreatedAt time.Time `json:"created_at" doc:"Request time."`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it will be deleted."`
}

func exportOf(e export.Export) ExportItem {
	out := ExportItem{
		ID: e.ID, Name: e.Name, Status: string(e.State), ItemType: "results", ScanID: e.ScanID,
		TaskID: e.TaskID, Enumerate: e.Assets, Schedule: e.ScheduleID,
		Format: string(e.Format), Progress: e.Progress(),
		Total: e.Total, Done: e.Done, Size: e.Size, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, ExpiresAt: e.ExpiresAt,
	}
	switch {
	case e.About == export.OfAssets && e.Assets != "":
		out.ItemType = "enumeration"
	case e.About == export.OfAssets:
		out.ItemType = "assets"
	case e.About == export.OfLog:
		out.ItemType = "scan_log"
	case e.TaskID != "":
		out.ItemType = "task"
	case e.ScanID != "":
		out.ItemType = "scan"
	}
	if e.State == export.Finished {
		out.URL = "/v1/export/" + e.ID + "/download"
	}
	return out
}

// ExportList is a page of exports.
type ExportList struct {
	wire.Listing
	Data []ExportItem `json:"data"`
}
