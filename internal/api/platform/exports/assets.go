package exports

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/assets"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
)

// AssetExportQuery selects assets and the format of their file.
type AssetExportQuery struct {
	assets.ContentFilters
	SortAsc  string `query:"sort_asc" doc:"Ascending sort fields, comma-separated, as in lists."`
	SortDesc string `query:"sort_desc" doc:"Descending sort fields, after those of sort_asc."`
	Format   string `query:"format" enum:"raw,json,csv,jsonl" default:"raw" doc:"raw: a host or host:port a line; json: an array; jsonl: an object a line; csv: a table."`
	Async    bool   `query:"async" doc:"Make the file in the background; the answer is 201 with its id."`
}

// NamesQuery selects names and the format of their file.
type NamesQuery struct {
	Search string `query:"search" maxLength:"200" doc:"Only those with this in them."`
	Format string `query:"format" enum:"json,csv,raw" default:"json" doc:"json: an array; csv: a table of one column; raw: one a line."`
}

func (s area) assetExports() {
	const all, one = "/v1/asset/enumerate/export", "/v1/asset/enumerate/{enumerate_id}"
	formats := []export.Format{export.Raw, export.JSON, export.Lines, export.CSV}
	rest.Register(s.API, s.fileOpOf(formats, "export-contents", "GET "+all, "Your team's assets as a file", 409),
		func(ctx context.Context, in *AssetExportQuery) (*huma.StreamResponse, error) {
			return s.exportAssets(ctx, "", "Assets", *in)
		})
	rest.Register(s.API, s.fileOpOf(formats, "export-enumeration-contents", "GET "+one+"/export",
		"The assets of an enumeration or a group as a file", 404, 409),
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			AssetExportQuery
			Domains string `query:"domains" doc:"The same as domain."`
		}) (*huma.StreamResponse, error) {
			if _, err := s.Assets.NarrowTo(ctx, in.ID); err != nil {
				return nil, err
			}
			in.Domain = strings.Trim(in.Domain+","+in.Domains, ",")
			return s.exportAssets(ctx, in.ID, "Assets of an enumeration", in.AssetExportQuery)
		})
	names := []export.Format{export.JSON, export.CSV, export.Raw}
	domains := wire.Op("export-enumeration-domains", "GET "+one+"/domains/export", exportTag,
		"The root domains of an enumeration as a file", 404)
	domains.Responses = map[string]*huma.Response{"200": FileResponse(names...)}
	rest.Register(s.API, domains, func(ctx context.Context, in *struct {
		wire.EnumerationPath
		NamesQuery
	}) (*huma.StreamResponse, error) {
		found, err := s.Enumerations.Find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return s.names(ctx, in.NamesQuery, "domain", found.Config.RootDomains), nil
	})
	targets := wire.Op("export-scan-assets", "GET /v1/scans/{scan_id}/asset/export", exportTag,
		"The targets of a scan as a file", 404)
	targets.Responses = map[string]*huma.Response{"200": FileResponse(names...)}
	rest.Register(s.API, targets, func(ctx context.Context, in *struct {
		wire.ScanPath
		NamesQuery
	}) (*huma.StreamResponse, error) {
		scan, err := s.Scans.Find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return s.names(ctx, in.NamesQuery, "asset", scan.Config.Targets), nil
	})
}

func (s area) exportAssets(ctx context.Context, id, name string, q AssetExportQuery) (*huma.StreamResponse, error) {
	wanted := export.Inventory{EnumerationID: id, Filters: q.Filters(), SortAsc: q.SortAsc, SortDesc: q.SortDesc,
		At: time.Now().UTC()}
	return s.export(ctx, ExportQuery{Format: q.Format, Async: q.Async}, export.Request{Name: name, Inventory: &wanted})
}

// names answers with a file of names, without duplicates.
func (s area) names(ctx context.Context, q NamesQuery, title string, all []string) *huma.StreamResponse {
	wanted, found, had := strings.ToLower(q.Search), []string{}, map[string]bool{}
	for _, name := range all {
		if !had[name] && strings.Contains(strings.ToLower(name), wanted) {
			found, had[name] = append(found, name), true
		}
	}
	ending := q.Format
	if q.Format == string(export.Raw) {
		ending = "txt"
	}
	return s.File(ctx, export.Format(q.Format).ContentType(), title+"s."+ending, func(w io.Writer) error {
		switch export.Format(q.Format) {
		case export.CSV:
			table := csv.NewWriter(w)
			rows := [][]string{{title}}
			for _, name := range found {
				rows = append(rows, []string{export.Cell(name)})
			}
			return table.WriteAll(rows)
		case export.Raw:
			_, err := io.WriteString(w, strings.Join(append(found, ""), "\n"))
			return err
		default:
			return json.NewEncoder(w).Encode(found)
		}
	})
}
