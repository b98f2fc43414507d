package scans

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/scan/heat"
)

// CoverageMap is the coverage of a run as a picture.
type CoverageMap struct {
	ScanID      string   `json:"scan_id"`
	Run         int64    `json:"run" doc:"The number of the run, from 1; 0: it was never launched."`
	Targets     int      `json:"total_target"`
	Templates   int      `json:"total_template" doc:"All templates."`
	Rows        []string `json:"rows" doc:"A text for each row, with a letter for each of its tiles, the worst state among their checks: n not applicable, t tested, p pending, s skipped, d denied, f failed, x with a finding."`
	RowNames    []string `json:"row_names" doc:"The first target of each row."`
	ColumnNames []string `json:"column_names" doc:"The first template of each column."`
}

func (s area) coverageMap(one string) {
	o := wire.Op("get-scan-coverage-map", "GET "+one+"/coverage/map", scanTag, "The coverage of a scan as a picture", 404)
	o.Description = "A grid of which each tile stands for some targets and some templates. Row i of R begins with the target at " +
		"i × total_target ÷ R, rounded up; columns are the same of templates."
	rest.Handle(s.API, o, func(ctx context.Context, in *struct {
		wire.ScanPath
		Run     int64 `query:"rescan_count" minimum:"0" doc:"The run after this number of rescans; 0: the last run."`
		Rows    int   `query:"rows" minimum:"1" maximum:"500" default:"100" doc:"Rows at most; there are no more than targets."`
		Columns int   `query:"columns" minimum:"1" maximum:"500" default:"200" doc:"Columns at most; there are no more than templates."`
	}) (*CoverageMap, error) {
		m, err := heat.Draw(ctx, s.Scans, in.ID, runOf(in.Run), in.Rows, in.Columns)
		if err != nil {
			return nil, err
		}
		out := CoverageMap{ScanID: in.ID, Run: m.Run, Targets: m.Targets, Templates: m.Templates,
			Rows: make([]string, m.Rows), RowNames: rest.OrEmpty(m.RowNames), ColumnNames: rest.OrEmpty(m.ColumnNames)}
		for i := range out.Rows {
			out.Rows[i] = string(m.Tiles[i*m.Columns : (i+1)*m.Columns])
		}
		return &out, nil
	})
}
