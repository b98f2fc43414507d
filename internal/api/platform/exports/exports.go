// Package exports has the operations of the platform API about files of findings and assets.
package exports

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/scan"
)

// Services are what the operations call.
type Services struct {
	Exports      *export.Exports
	Reports      *reportschedule.Schedules
	Scans        *scan.Scans
	Findings     *finding.Findings
	Assets       *asset.Assets
	Enumerations *enumeration.Enumerations
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.exports()
}

const exportTag = "Exports"

// ExportQuery is the format of exported findings.
type ExportQuery struct {
	Format string `query:"type" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf" default:"json" doc:"The kind of file: findings as json or csv; a report as pdf, docx or html; sarif 2.1; cyclonedx 1.6, csaf 2.0 and openvex 0.2 VEX; defectdojo generic JSON; ocsf 1.3, an event a line."`
	Mask   string `query:"mask" enum:"secrets,none" default:"secrets" doc:"secrets: passwords, sessions, tokens and keys are masked. none: they are shown, for members and admins; the audit log says so."`
	Async  bool   `query:"async" doc:"Make the file in the background; the answer is 201 with its id."`
}

// ExportPath names an export.
type ExportPath struct {
	ID string `path:"export_id" doc:"The export's id."`
}

func (s area) exports() {
	const ofScan, one = "/v1/scans/{scan_id}/export", "/v1/export/{export_id}"
	rest.Register(s.API, s.fileOp("export-results", "POST /v1/scans/results/export",
		"Your team's findings across scans as a file", 409), s.exportResults)
	rest.Register(s.API, s.fileOp("export-scan", "GET "+ofScan, "The findings of a scan as a file", 404, 409),
		func(ctx context.Context, in *struct {
			wire.ScanPath
			ExportQuery
		}) (*huma.StreamResponse, error) {
			return s.exportScan(ctx, in.ID, in.ExportQuery, ScanExportBody{})
		})
	rest.Register(s.API, s.fileOp("export-scan-results", "POST "+ofScan, "Some findings of a scan as a file", 404, 409),
		func(ctx context.Context, in *struct {
			wire.ScanPath
			ExportQuery
			Body *ScanExportBody
		}) (*huma.StreamResponse, error) {
			return s.exportScan(ctx, in.ID, in.ExportQuery, wire.Value(in.Body))
		})
	single := wire.Op("export-vulnerability", "GET /v1/scans/vuln/{vuln_id}/export", exportTag, "One finding as a file",
		404)
	single.Responses = map[string]*huma.Response{"200": FileResponse(export.OfFinding...)}
	rest.Register(s.API, single, s.exportVuln)

	rest.Handle(s.API, wire.Op("list-exports", "GET /v1/export/list", exportTag, "Background exports, newest first"),
		s.listExports)
	rest.Handle(s.API, wire.Op("get-export", "GET "+one, exportTag, "One export", 404),
		func(ctx context.Context, in *ExportPath) (*ExportItem, error) {
			e, err := s.Exports.Find(ctx, in.ID)
			return new(exportOf(e)), err
		})
	wire.Act(s.API, wire.Op("delete-export", "DELETE "+one, exportTag, "Delete an export; a running one is stopped", 404),
		"The export is deleted.",
		func(ctx context.Context, in *ExportPath) error { return s.Exports.Delete(ctx, in.ID) })
	down := wire.Op("download-export", "GET "+one+"/download", exportTag, "The file of a finished export", 404, 409)
	down.Responses = map[string]*huma.Response{"200": FileResponse(slices.Concat(export.OfFinding,
		[]export.Format{export.Lines, export.Raw})...)}
	rest.Register(s.API, down, s.downloadExport)
	s.schedules()
	s.assetExports()
	s.style()
}

// fileOp is an operation that answers with a file, or with the id of a background export.
func (s area) fileOp(id, route, summary string, statuses ...int) rest.Op {
	return s.fileOpOf(export.OfFinding, id, route, summary, statuses...)
}

// StartedResponse describes the answer about an export that was started.
func StartedResponse(api *rest.API) *huma.Response {
	started := api.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[ExportStarted](), true, "ExportStarted")
	return &huma.Response{Description: "The file is being made in the background.",
		Content: map[string]*huma.MediaType{"application/json": {Schema: started}}}
}

func (s area) fileOpOf(formats []export.Format, id, route, summary string, statuses ...int) rest.Op {
	o := wire.Op(id, route, exportTag, summary, statuses...)
	o.Responses = map[string]*huma.Response{
		"200": FileResponse(formats...),
		"201": StartedResponse(s.API),
	}
	return o
}

// FileResponse describes an answer that is a file.
func FileResponse(formats ...export.Format) *huma.Response {
	r := &huma.Response{Description: "The file. If the connection breaks, it is incomplete.",
		Content: map[string]*huma.MediaType{}}
	for _, f := range formats {
		r.Content[f.ContentType()] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return r
}

func (s area) exportResults(ctx context.Context, in *struct {
	ExportQuery
	Body *ExportRequest
}) (*huma.StreamResponse, error) {
	body := wire.Value(in.Body)
	f, err := body.filter(time.Now())
	if err != nil {
		return nil, err
	}
	return s.export(ctx, in.ExportQuery, export.Request{Name: "Findings", Filter: f, Style: body.Report})
}

func (s area) exportScan(
	ctx context.Context, id string, q ExportQuery, r ScanExportBody,
) (*huma.StreamResponse, error) {
	scan, err := s.Scans.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := r.filter()
	if err != nil {
		return nil, err
	}
	f.ScanIDs = []string{scan.ID}
	return s.export(ctx, q, export.Request{Name: scan.Name, ScanID: scan.ID, Filter: f, Style: r.Report})
}

func (s area) exportVuln(ctx context.Context, in *struct {
	wire.VulnPath
	Format string `query:"type" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf" default:"json" doc:"The kind of file."`
	Mask   string `query:"mask" enum:"secrets,none" default:"secrets" doc:"As for many findings."`
}) (*huma.StreamResponse, error) {
	f, err := s.Findings.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.export(ctx, ExportQuery{Format: in.Format, Mask: in.Mask},
		export.Request{Name: f.Name, Filter: finding.Filter{IDs: []string{f.ID}}})
}

func (s area) export(ctx context.Context, q ExportQuery, r export.Request) (*huma.StreamResponse, error) {
	if err := r.Style.Check("report."); err != nil {
		return nil, err
	}
	r.Format, r.Unmasked = export.Format(q.Format), q.Mask == "none"
	if r.Unmasked {
		rest.Audit(ctx, "export-unmasked")
	}
	return Answer(ctx, s.API, s.Exports, q.Async, r)
}

// Answer answers with the file of a request, or with the id of the export that makes it in the background.
func Answer(
	ctx context.Context, api *rest.API, exports *export.Exports, async bool, r export.Request,
) (*huma.StreamResponse, error) {
	if async {
		e, err := exports.Start(ctx, r)
		if err == nil && r.ScanID == "" { // of a scan, the entry is about the scan
			rest.About(ctx, e.ID)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "application/json")
			hc.SetStatus(http.StatusCreated)
			started := rest.Warned(ctx, ExportStarted{e.ID})
			_ = json.NewEncoder(hc.BodyWriter()).Encode(started) // the client may have disconnected
		}}, err
	}
	file, err := exports.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	write := func(w io.Writer) error { return file.Write(ctx, w, nil) }
	return api.File(ctx, r.Format.ContentType(), file.FileName, write), nil
}

func (s area) downloadExport(ctx context.Context, in *ExportPath) (*huma.StreamResponse, error) {
	e, err := s.Exports.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := e.Ready(); err != nil {
		return nil, err
	}
	return s.File(ctx, e.Format.ContentType(), e.FileName(),
		func(w io.Writer) error { return s.Exports.Download(ctx, e, w) }), nil
}

func (s area) listExports(ctx context.Context, in *struct {
	Status   string `query:"export_status" enum:"queued,running,finished,failed" doc:"Only those in this state."`
	Schedule string `query:"schedule_id" maxLength:"100" doc:"Only those that this schedule of reports made."`
	wire.Window
}) (*ExportList, error) {
	found, total, err := s.Exports.FindAll(ctx, export.State(in.Status), in.Schedule, in.Page())
	if err != nil {
		return nil, err
	}
	return &ExportList{wire.ListOf(in.Window, len(found), total, "Exports."), rest.Each(found, exportOf)}, nil
}
