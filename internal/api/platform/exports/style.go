package exports

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

// style has the operations about how the reports of a team look.
func (s area) style() {
	const path = "/v1/team/report"
	rest.Handle(s.API, wire.Op("get-report-style", "GET "+path, exportTag, "How your team's reports look"),
		func(ctx context.Context, _ *struct{}) (*report.Style, error) {
			style, err := s.Exports.FindStyle(ctx)
			return &style, err
		})
	rest.Handle(s.API, wire.Op("set-report-style", "PUT "+path, exportTag, "Set how your team's reports look: title, logo, sections"),
		func(ctx context.Context, in *struct{ Body report.Style }) (*report.Style, error) {
			style, err := s.Exports.SetStyle(ctx, in.Body)
			return &style, err
		})
}
