package connections

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What is not here is a conflict with its own code, never a missing path.
func TestRefusalsHaveNames(t *testing.T) {
	for code, err := range map[string]error{"slack_not_configured": chat.ErrNotConfigured, "github_not_configured": review.ErrNotConfigured} {
		if e := errs.From(err); e.Code != code || e.Kind != errs.Conflict || e.Message == "" {
			t.Errorf("%s: %+v", code, e)
		}
	}
}
