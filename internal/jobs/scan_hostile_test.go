package jobs

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

const (
	endless = `id: endless
info: {name: n, author: a, severity: low}
flow: |
  http(1); while (true) {}
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: status, status: [200]}]
`
	harmless = `id: harmless
info: {name: n, author: a, severity: low}
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: status, status: [200]}]
`
)

// A template that ends the engine is named in the coverage of its scan, and set aside for its team. Its neighbours in
// the scan and the scans of other teams lose nothing.
func TestAHostileTemplateEndsOnlyItself(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, weaksite.New(7))
		o := openEngine(t, d, model.Config{}, child.Config{
			Args: []string{engineCommand, strconv.Itoa(512 << 20)}, Memory: 512 << 20, Compute: 300 * time.Millisecond,
		})
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "bob@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		bob := o
		bob.ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})

		bad, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, Inline: []scan.Inline{
			{Name: "endless.yaml", Contents: endless}, {Name: "harmless.yaml", Contents: harmless},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		good, err := bob.scans.Create(bob.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		if s := bob.scanEnds(t, good.ID); s.Status != scan.Finished || s.FailureReason != "" || s.Results() == 0 {
			t.Errorf("the other team's scan: %s %q with %d findings", s.Status, s.FailureReason, s.Results())
		}
		check := func(state engine.State, reason string) {
			t.Helper()
			if s := o.scanEnds(t, bad.ID); s.Status != scan.Finished || s.Results() != 2 { // one of each template
				t.Errorf("%s %q with %d findings", s.Status, s.FailureReason, s.Results())
			}
			c, err := o.scans.FindCoverage(o.ctx, bad.ID, scan.CoverageFilter{}, page.Window{Limit: 10})
			if err != nil || len(c.Cells) != 1 || c.Counts[engine.Tested] != 1 || c.Cells[0].Template != "endless" ||
				c.Cells[0].State != state || !strings.Contains(c.Cells[0].Reason, reason) {
				t.Errorf("coverage %+v, %v; want %s %q", c, err, state, reason)
			}
		}
		check(engine.Failed, "the engine ended: over time")
		if _, err := o.scans.Rescan(o.ctx, bad.ID); err != nil {
			t.Fatal(err)
		}
		check(engine.Skipped, "because it ended the engine twice (over time)")
	})
}
