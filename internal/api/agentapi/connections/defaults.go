package connections

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/review"
)

// Defaults is how the team's repositories are reviewed, where nothing is set for one.
type Defaults struct {
	Effective map[string]review.Value `json:"effective_config" doc:"Every option by name."`
}

// DefaultsPatch is the body of PATCH /api/v1/reviews/defaults.
type DefaultsPatch struct {
	review.Config

	Reset []string `json:"reset_fields,omitempty" maxItems:"100" doc:"Options that go back to this server's defaults."`
}

func (a Area) defaults() {
	const tag, path = "Reviews", "/api/v1/reviews/defaults"
	rest.Handle(a.API, rest.NewOp("get-review-defaults", "GET "+path, tag,
		"Get how the repositories of your team are reviewed, at GitHub and GitLab, where nothing is set for one"),
		func(ctx context.Context, _ *struct{}) (*Defaults, error) {
			r, err := a.Reviews.Defaults(ctx)
			return &Defaults{r.Values()}, err
		})
	rest.Handle(a.API, rest.NewOp("update-review-defaults", "PATCH "+path, tag,
		"Change how the repositories of your team are reviewed, where nothing is set for one (team admins only)"),
		func(ctx context.Context, in *struct{ Body DefaultsPatch }) (*Defaults, error) {
			r, err := a.Reviews.SetDefaults(ctx, in.Body.Config, in.Body.Reset)
			return &Defaults{a.warned(ctx, r, in.Body.Config, err).Values()}, err
		})
}
