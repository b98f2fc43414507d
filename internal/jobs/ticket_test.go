package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// desk is a GitHub whose search knows nothing yet, as the real one's for some seconds.
type desk struct {
	url string

	mu       sync.Mutex
	refuse   []int // statuses to answer first
	bodies   []string
	comments int
}

func openDesk(t *testing.T, refuse ...int) *desk {
	t.Helper()
	d := &desk{refuse: refuse}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.refuse) > 0 {
		w.WriteHeader(d.refuse[0])
		d.refuse = d.refuse[1:]
		return
	}
	var sent struct{ Body string }
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &sent)
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/search/issues":
		_, _ = io.WriteString(w, `{"items": []}`)
	case r.Method == http.MethodGet:
		list := []map[string]any{}
		for i, body := range d.bodies {
			list = append(list, map[string]any{"number": i + 1, "html_url": fmt.Sprint("https://gh/", i+1), "body": body})
		}
		_ = json.NewEncoder(w).Encode(list)
	case strings.HasSuffix(r.URL.Path, "/comments"):
		d.comments++
		_, _ = io.WriteString(w, `{}`)
	default:
		d.bodies = append(d.bodies, sent.Body)
		_, _ = fmt.Fprintf(w, `{"number": %d, "html_url": "https://gh/%d"}`, len(d.bodies), len(d.bodies))
	}
}

func (d *desk) counts() (issues, comments int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.bodies), d.comments
}

func (d *desk) config(more string) string {
	return "github: {owner: o, project-name: p, token: t0ken, base-url: " + d.url + "}\n" + more
}

func TestFindingsOfAScanAreFiled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, weaksite.New(7))
		o := open(t, d)
		gh := openDesk(t, 503, 429)
		o.configure(t, setting.Reporting, true, gh.config("allow-list: {severity: [critical, high]}\n"))
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		worst := o.found(t, finding.Filter{ScanIDs: []string{made.ID}, Severities: []string{"critical", "high"}})
		yes := true
		filed := func(n int) []finding.Finding {
			t.Helper()
			var with []finding.Finding
			until(t, "issues", func() bool {
				with = o.found(t, finding.Filter{Ticket: &yes})
				return len(with) == n
			})
			return with
		}
		for _, f := range filed(len(worst)) {
			if issue := f.Event.IssueTrackers["github"]; issue.ID == "" || !strings.HasPrefix(issue.URL, "https://gh/") ||
				f.Severity != "high" && f.Severity != "critical" {
				t.Errorf("%s: %+v", f.Severity, issue)
			}
		}
		if issues, comments := gh.counts(); issues != len(worst) || comments != 0 {
			t.Errorf("%d issues and %d comments of %d findings", issues, comments, len(worst))
		}
		// A rescan, and another scan of the same target, comment.
		if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		until(t, "comments", func() bool { _, comments := gh.counts(); return comments == len(worst) })
		other, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, other.ID)
		filed(2 * len(worst))
		if issues, comments := gh.counts(); issues != len(worst) || comments != 2*len(worst) {
			t.Errorf("%d issues and %d comments of %d findings", issues, comments, len(worst))
		}
	})
}

// uploaded stores one finding.
func (o office) uploaded(t *testing.T) finding.Finding {
	t.Helper()
	got, err := o.scans.Import(o.ctx, "",
		strings.NewReader(`{"template-id": "x", "host": "a.example.com", "matched-at": "http://a.example.com/", "info": {"name": "n", "severity": "low"}, "type": "http"}`))
	if err != nil {
		t.Fatal(err)
	}
	return o.found(t, finding.Filter{ScanIDs: []string{got.ScanID}})[0]
}

func TestKilledBetweenOpeningAndRecording(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		gh := openDesk(t)
		id := o.configure(t, setting.Reporting, false, gh.config(""))
		f := o.uploaded(t)
		tickets := ticket.New(o.findings, o.settings, loopback(), slog.New(slog.DiscardHandler))
		config, err := tracker.Parse([]byte(gh.config("")))
		if err != nil {
			t.Fatal(err)
		}
		c, err := account.From(o.ctx)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }() // what the end of a process leaves on disk
			_, err := o.findings.File(t.Context(), c.TeamID, f.ID, finding.Tracker{ConfigID: id, Provider: "github"},
				func(ctx context.Context, f finding.Finding, _ *engine.IssueTracker) (engine.IssueTracker, error) {
					filed := tracker.Finding{Hash: f.Hash, Title: f.Name, Severity: f.Severity}
					if _, err := tracker.New(loopback()).File(ctx, config.Trackers[0], filed, nil, false); err != nil {
						t.Error(err)
					}
					panic("killed")
				})
			t.Error("it was not killed: ", err)
		}()
		if _, err := tickets.File(o.ctx, f.ID, id); !errs.Is(err, errs.Conflict) {
			t.Errorf("while the claim holds: %v", err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE ticket SET claimed_until = 1`); err != nil { // time passes
			t.Fatal(err)
		}
		got, err := tickets.File(o.ctx, f.ID, id)
		issues, comments := gh.counts()
		if err != nil || issues != 1 || comments != 0 || got.Issue.ID != "1" || got.Issue.URL != "https://gh/1" {
			t.Errorf("%+v %v: %d issues, %d comments", got, err, issues, comments)
		}
		if f, err = o.findings.Find(o.ctx, f.ID); err != nil || !f.IsTicket || f.Event.IssueTrackers["github"].ID != "1" {
			t.Errorf("%+v %v", f.Event.IssueTrackers, err)
		}
		// The same thing in another scan has the same issue.
		if got, err = tickets.File(o.ctx, o.uploaded(t).ID, id); err != nil || got.Issue.ID != "1" {
			t.Errorf("%+v %v", got, err)
		}
		if issues, comments = gh.counts(); issues != 1 || comments != 1 {
			t.Errorf("%d issues, %d comments", issues, comments)
		}
		if _, err := o.findings.Unlink(o.ctx, f.ID, "github"); err != nil {
			t.Error(err)
		}
		if f, err = o.findings.Find(o.ctx, f.ID); err != nil || f.IsTicket || len(f.Event.IssueTrackers) != 0 {
			t.Errorf("unlinked: %+v %v", f.Event.IssueTrackers, err)
		}
		gh.refuse = []int{http.StatusForbidden}
		if _, err := tickets.File(o.ctx, f.ID, id); errs.From(err).Kind != errs.FailedDependency {
			t.Errorf("refused: %v", err)
		}
		if _, err := tickets.File(o.ctx, f.ID, id); err != nil {
			t.Errorf("after a refusal: %v", err)
		}
	})
}
