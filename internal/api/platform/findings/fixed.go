package findings

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
)

// FindingSettings is what a team says about its findings as a whole.
type FindingSettings struct {
	FixedByScans bool `json:"fixed_by_scans" doc:"A finding is fixed when a scan has tested its place with the same check and did not show it any more. false: people and retests alone say so."`
}

func (s area) fixed() {
	rest.Handle(s.API, wire.Op("get-finding-settings", "GET /v1/team/findings", teamTag,
		"What your team says about its findings as a whole"),
		func(ctx context.Context, _ *struct{}) (*FindingSettings, error) {
			is, err := s.Fixes.ByScans(ctx)
			return &FindingSettings{is}, err
		})
	rest.Handle(s.API, wire.Op("set-finding-settings", "PUT /v1/team/findings", teamTag,
		"Set what your team says about its findings as a whole"),
		func(ctx context.Context, in *struct{ Body FindingSettings }) (*FindingSettings, error) {
			return &in.Body, s.Fixes.SetByScans(ctx, in.Body.FixedByScans)
		})
}
