package jobs

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/oast"
)

// fetcher is a site that fetches what its path or its parameter url names, unless it is mended, and always says the
// same; with it comes an out-of-band server.
func fetcher(t *testing.T, d *db.DB) (base string, mended *atomic.Bool, service *interaction.Interactions) {
	t.Helper()
	mended = new(atomic.Bool)
	base, _ = site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.FormValue("url")
		if name, in := strings.CutPrefix(r.URL.Path, "/fetch/"); in {
			to = "http://" + name
		}
		if to != "" && !mended.Load() {
			if resp, err := http.Get(to); err == nil {
				resp.Body.Close()
			}
		}
		_, _ = w.Write([]byte("accepted"))
	}))
	server, err := oast.NewServer(oast.Config{Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	outside := httptest.NewServer(server)
	t.Cleanup(outside.Close)
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return base, mended, interaction.New(d, q, box, interaction.Config{
		Server: outside.URL, Token: "t0ken", HTTP: outside.Client(), Keep: time.Hour, Wait: time.Millisecond,
	}, slog.New(slog.DiscardHandler))
}

// A retest of a finding that an interaction has shown sends its request again and waits for another interaction, also
// when the name is a part of the path.
func TestRetestsWaitForInteractions(t *testing.T) {
	for name, text := range map[string]string{
		"parameter": blind,
		"path":      strings.Replace(blind, "/later?url=http://", "/fetch/", 1),
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				base, mended, service := fetcher(t, d)
				o := open(t, d)
				o.scans.Interactions = service
				own, err := o.catalog.Create(o.ctx, catalog.NewTemplate{Text: text})
				if err != nil {
					t.Fatal(err)
				}
				made, err := o.scans.Create(o.ctx, scan.NewScan{
					Config: scan.Config{Targets: []string{base}, Templates: []string{own.ID}},
				})
				if err != nil {
					t.Fatal(err)
				}
				o.scanEnds(t, made.ID)
				if err := service.Poll(t.Context()); err != nil {
					t.Fatal(err)
				}
				mine := finding.Filter{ScanIDs: []string{made.ID}}
				until(t, "a finding", func() bool { return len(o.found(t, mine)) > 0 })
				f := o.found(t, mine)[0]
				for _, want := range []struct {
					mended bool
					state  finding.RetestState
					status finding.Status
				}{{false, finding.Matched, finding.Open}, {true, finding.NotMatched, finding.Fixed}} {
					mended.Store(want.mended)
					if _, err := o.findings.QueueRetest(o.ctx, f.ID, nil); err != nil {
						t.Fatal(err)
					}
					var now finding.Finding
					var r finding.Retest
					until(t, "the retest", func() bool {
						now, r, err = o.findings.FindRetest(o.ctx, f.ID)
						return err != nil || r.State != finding.RetestQueued
					})
					if err != nil || r.State != want.state || now.Status != want.status {
						t.Errorf("mended %v: %+v, %s, %v", want.mended, r, now.Status, err)
					}
				}
			})
		})
	}
}

// A template that a task's model runs is waited for, its match is verified by other interactions, and a retest of the
// issue waits as well.
func TestTasksWaitForInteractions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, mended, service := fetcher(t, d)
		o := openWith(t, d, scripted(
			call(1, "run_template_text", map[string]any{"targets": []string{base}, "template": blind}),
		))
		o.scans.Interactions = service
		made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + base,
			Options: task.Options{Scope: &task.Scope{Intrusiveness: task.Intrusive}}})
		if err != nil {
			t.Fatal(err)
		}
		done := o.end(t, made)
		issues, _, err := o.tasks.FindIssues(o.ctx, task.IssueFilter{TaskID: made.ID, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if done.Status != task.Completed || len(issues) != 1 || issues[0].Verification != task.Verified ||
			issues[0].Event.Interaction == nil {
			t.Fatalf("%s: %s: %+v", done.Status, done.Summary, issues)
		}
		if i := o.retested(t, issues[0].ID); i.Retest.State != task.Matched {
			t.Errorf("it is there: %+v", i.Retest)
		}
		mended.Store(true)
		if i := o.retested(t, issues[0].ID); i.Retest.State != task.NotMatched {
			t.Errorf("it is mended: %+v", i.Retest)
		}
	})
}
