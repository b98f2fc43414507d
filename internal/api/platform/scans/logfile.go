package scans

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/exports"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
)

// LogFileQuery picks lines of a log and the format of their file.
type LogFileQuery struct {
	LogQuery
	Format string `query:"format" enum:"raw,json,csv" default:"raw" doc:"raw is one JSON object a line."`
}

// LogExport says where a log can be downloaded.
type LogExport struct {
	URL string `json:"url" doc:"Where to download it, from the server's root."`
}

func (s area) logFiles() {
	const one = "/v1/scans/{scan_id}/scan_log"
	link := wire.Op("export-scan-log", "GET "+one+"/export", scanTag,
		"The download path of a scan's log, or with async the id of an export that makes the file", 404, 409)
	document := s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[LogExport](), true, "LogExport")
	link.Responses = map[string]*huma.Response{
		"200": {Description: "Where the file is.",
			Content: map[string]*huma.MediaType{"application/json": {Schema: document}}},
		"201": exports.StartedResponse(s.API),
	}
	rest.Register(s.API, link, s.exportLog)
	down := wire.Op("download-scan-log", "GET "+one+"/download", scanTag, "The log of a scan as a file", 404)
	down.Responses = map[string]*huma.Response{"200": exports.FileResponse(export.Lines, export.JSON, export.CSV)}
	rest.Register(s.API, down, func(ctx context.Context, in *LogFileQuery) (*huma.StreamResponse, error) {
		r, err := in.request()
		if err != nil {
			return nil, err
		}
		return exports.Answer(ctx, s.API, s.Exports, false, r)
	})
}

// request is the export that a query describes.
func (q LogFileQuery) request() (export.Request, error) {
	format := export.Format(q.Format)
	if q.Format == "raw" {
		format = export.Lines
	}
	f, err := q.filter()
	return export.Request{Format: format, ScanID: q.ID, Log: &f}, err
}

// logAnswer is a link (200) or an export that was started (201).
type logAnswer struct {
	Status int
	Body   any
}

func (s area) exportLog(ctx context.Context, in *struct {
	LogFileQuery
	Async bool   `query:"async" doc:"Make the file in the background; the answer is 201 with its id."`
	Email string `query:"alert_email" maxLength:"254" doc:"Has no effect: this server sends no mail about exports."`
}) (*logAnswer, error) {
	r, err := in.request()
	if err != nil {
		return nil, err
	}
	if in.Email != "" {
		rest.Warnf(ctx, "alert_email has no effect: this server sends no mail about exports. "+
			"GET /v1/export/{export_id} says whether one is ready.")
	}
	if in.Async {
		started, err := s.Exports.Start(ctx, r)
		return &logAnswer{http.StatusCreated, exports.ExportStarted{ID: started.ID}}, err
	}
	if _, err := s.Scans.Find(ctx, in.ID); err != nil {
		return nil, err
	}
	query := url.Values{"format": {in.Format}, "severity": {in.Severity}}
	for name, value := range map[string]string{"host": in.Host, "template": in.Template, "search": in.Search,
		"error": in.Error, "time": in.Time} {
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
	return &logAnswer{http.StatusOK,
		LogExport{"/v1/scans/" + url.PathEscape(in.ID) + "/scan_log/download?" + query.Encode()}}, nil
}
