package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestListsAreInTheOrderOfResults: by how many findings scans have; what is deleted
// counts no more, and a scan without findings is there.
func TestListsAreInTheOrderOfResults(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		upload := func(ctx yard, name string, results int) string {
			t.Helper()
			var body strings.Builder
			for i := range results {
				fmt.Fprintf(&body, `{"template-id":"x","host":"%s","port":"%d","info":{"severity":"low"}}`+"\n", name, i)
			}
			got, err := ctx.Import(ctx.alice, name, strings.NewReader(body.String()))
			if err != nil {
				t.Fatal(err)
			}
			return got.ScanID
		}
		few, most, some := upload(y, "few", 2), upload(y, "most", 5), upload(y, "some", 3)
		none := y.create(t, Config{Targets: []string{"h"}, All: true}).ID
		upload(yard{y.Scans, y.stranger, y.alice}, "theirs", 9)
		check := func(what string, sorts []page.Sort, f Filter, want ...string) {
			t.Helper()
			found, total, err := y.FindAll(y.alice, f, sorts, page.Window{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range found {
				got = append(got, one.ID)
			}
			if total != len(want) || !slices.Equal(got, want) {
				t.Errorf("%s: %v of %d, want %v", what, got, total, want)
			}
		}
		results := func(desc bool) []page.Sort { return []page.Sort{{Column: Sortable["total_result"], Desc: desc}} }
		check("most first", results(true), Filter{}, most, some, few, none)
		check("least first", results(false), Filter{}, none, few, some, most)
		check("of a state", results(true), Filter{Status: Uploaded}, most, some, few)
		check("behind a number of the run",
			append([]page.Sort{{Column: Sortable["total_target"], Desc: true}}, results(false)...), Filter{}, none, few, some,
			most)

		list, _, err := y.findings.FindAll(y.alice, finding.Filter{ScanIDs: []string{most}}, nil, page.Window{Limit: 4})
		if err != nil || len(list) != 4 {
			t.Fatal(list, err)
		}
		if _, err := y.findings.Delete(y.alice,
			finding.Filter{IDs: []string{list[0].ID, list[1].ID, list[2].ID, list[3].ID}}); err != nil {
			t.Fatal(err)
		}
		check("after findings were deleted", results(true), Filter{}, some, few, most, none)
		if err := y.Delete(y.alice, []string{some}); err != nil {
			t.Fatal(err)
		}
		check("after a scan was deleted", results(true), Filter{}, few, most, none)
		var kept int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM finding_total`).Scan(&kept); err != nil || kept != 4 {
			t.Errorf("%d rows are kept of 4 scans, %v", kept, err)
		}
	})
}
