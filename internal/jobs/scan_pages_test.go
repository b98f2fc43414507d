package jobs

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// page is a template that finds what a script of the page at a path writes.
func pageTemplate(path string) scan.Inline {
	return scan.Inline{Name: path + ".yaml", Contents: fmt.Sprintf(`id: %[1]s
info: {name: n, author: a, severity: low}
headless:
  - steps: [{action: navigate, args: {url: "{{BaseURL}}/%[1]s"}}, {action: waitidle}]
    matchers: [{type: word, words: [made by a script]}]
`, path)}
}

// openWithBrowsers is an office whose engines have a browser.
func openWithBrowsers(t *testing.T, d *db.DB) office {
	t.Helper()
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	temp, err := os.MkdirTemp("", "jobs") //nolint:usetesting // t.TempDir is closed to the user nobody, as whom browsers run
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("the browsers left %v, %v", left, err)
		}
		_ = os.RemoveAll(temp)
	})
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	return openEngine(t, d, model.Config{}, child.Config{
		Args: []string{engineCommand, strconv.Itoa(512 << 20)}, Memory: 512 << 20,
		Browsers: child.Browsers{AtOnce: 1, Memory: 500 << 20, Temp: temp},
	})
}

// A server visits pages. One that fills the memory of its browser is named in the coverage of its scan; its neighbours in
// the scan and the scans of other teams lose nothing.
func TestAServerVisitsPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/good":
				fmt.Fprint(w, `<body><script>document.body.append("made " + "by a script")</script>`)
			case "/bad":
				fmt.Fprint(w, `<script>a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))</script>`)
			}
		}))
		o := openWithBrowsers(t, d)
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
		bad, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base},
			Inline: []scan.Inline{pageTemplate("bad"), pageTemplate("good")}}})
		if err != nil {
			t.Fatal(err)
		}
		good, err := bob.scans.Create(bob.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base},
			Inline: []scan.Inline{pageTemplate("good")}}})
		if err != nil {
			t.Fatal(err)
		}
		if s := bob.scanEnds(t, good.ID); s.Status != scan.Finished || s.Results() != 1 {
			t.Errorf("the other team's scan: %s %q with %d findings", s.Status, s.FailureReason, s.Results())
		}
		if s := o.scanEnds(t, bad.ID); s.Status != scan.Finished || s.Results() != 1 {
			t.Errorf("%s %q with %d findings", s.Status, s.FailureReason, s.Results())
		}
		c, err := o.scans.FindCoverage(o.ctx, bad.ID, scan.CoverageFilter{}, page.Window{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]string{}
		for _, cell := range c.Cells {
			reasons[cell.Template] = fmt.Sprint(cell.State, " ", cell.Reason)
		}
		if !strings.HasPrefix(reasons["bad"], string(engine.Failed)+" the browser used ") ||
			!strings.Contains(reasons["bad"], "MiB of memory") {
			t.Errorf("%v", reasons)
		}
	})
}
