package agentapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

// TaskExportQuery is the format of a task's file.
type TaskExportQuery struct {
	TaskPath
	Format string `query:"type" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf" default:"pdf" doc:"The kind of file: a report as pdf, docx or html; findings as json, csv, sarif, cyclonedx, csaf, openvex, defectdojo or ocsf."`
	Mask   string `query:"mask" enum:"secrets,none" default:"secrets" doc:"secrets: passwords, sessions, tokens and keys are masked. none: they are shown, for members and admins; the audit log says so."`
	Async  bool   `query:"async" doc:"Make the file in the background; the answer is 201 with its id for /v1/export."`
}

// TaskExportRequest says how a report looks.
type TaskExportRequest struct {
	Report report.Style `json:"report,omitzero" doc:"How a report looks; what is left out is that of your team (PUT /v1/team/report)."`
}

// TaskExportStarted names an export that is made in the background.
type TaskExportStarted struct {
	ID  string `json:"export_id" doc:"The id for /v1/export."`
	URL string `json:"url" doc:"Where to ask whether it is finished, from the server's root."`
}

func (s surface) exports() {
	const path, tag = "/api/v1/tasks/{id}/export", "Tasks"
	answers := map[string]*huma.Response{
		"200": {
			Description: "The file. If the connection breaks, it is incomplete.",
			Content:     map[string]*huma.MediaType{},
		},
		"201": {Description: "The file is being made in the background.", Content: map[string]*huma.MediaType{
			"application/json": {
				Schema: s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[TaskExportStarted](), true,
					"TaskExportStarted"),
			},
		}},
	}
	for _, f := range export.OfFinding {
		answers["200"].Content[f.ContentType()] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	get := op("export-task", "GET "+path, tag, "A task as a report, or its findings as a file", 404, 409)
	get.Description = "The report says who asked for what, within which scope and limits, what was found, what proves it, and what was not tested and why."
	get.Responses = answers
	rest.Register(s.API, get, func(ctx context.Context, in *TaskExportQuery) (*huma.StreamResponse, error) {
		return s.exportTask(ctx, *in, report.Style{})
	})
	post := op("export-task-report", "POST "+path, tag, "A task as a report with a look of its own", 404, 409)
	post.Responses = answers
	rest.Register(s.API, post, func(ctx context.Context, in *struct {
		TaskExportQuery
		Body *TaskExportRequest
	}) (*huma.StreamResponse, error) {
		var style report.Style
		if in.Body != nil {
			style = in.Body.Report
		}
		return s.exportTask(ctx, in.TaskExportQuery, style)
	})
}

func (s surface) exportTask(ctx context.Context, q TaskExportQuery, style report.Style) (*huma.StreamResponse, error) {
	if err := style.Check("report."); err != nil {
		return nil, err
	}
	t, err := s.Tasks.Find(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	r := export.Request{
		Format:   export.Format(q.Format),
		Name:     t.Title,
		TaskID:   t.ID,
		Style:    style,
		Unmasked: q.Mask == "none",
	}
	if r.Unmasked {
		rest.Audit(ctx, "export-unmasked")
	}
	if q.Async {
		e, err := s.Exports.Start(ctx, r)
		return &huma.StreamResponse{Body: func(out huma.Context) {
			out.SetHeader("Content-Type", "application/json")
			out.SetStatus(http.StatusCreated)
			started := TaskExportStarted{e.ID, "/v1/export/" + e.ID}
			_ = json.NewEncoder(out.BodyWriter()).Encode(rest.Warned(ctx, started)) // the client may have disconnected
		}}, err
	}
	file, err := s.Exports.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.File(
		ctx,
		r.Format.ContentType(),
		file.FileName,
		func(w io.Writer) error { return file.Write(ctx, w, nil) },
	), nil
}
