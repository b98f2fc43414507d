package region

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestADeadRegionIsNamed: answers of regions are tested by the stories of the lookup.
func TestADeadRegionIsNamed(t *testing.T) {
	_, err := Ask(t.Context(), http.DefaultClient, []Service{{Name: "eu", URL: "http://127.0.0.1:9"}}, "key", "ada@example.com")
	if !errs.Is(err, errs.Unavailable) || errs.From(err).Message != "The service of region eu does not answer." {
		t.Error(err)
	}
	if found, err := Ask(t.Context(), http.DefaultClient, nil, "key", "ada@example.com"); found.Exists || err != nil {
		t.Errorf("no regions: %+v, %v", found, err)
	}
}
