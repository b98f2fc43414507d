package jobs

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// until polls until done says so: nothing in the database announces a state.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waiting: %s", what)
		}
	}
}

func (o office) scanEnds(t *testing.T, id string) (s scan.Scan) {
	t.Helper()
	until(t, "the scan's end", func() bool {
		var err error
		if s, err = o.scans.Find(o.ctx, id); err != nil {
			t.Fatal(err)
		}
		if p := s.Progress(); p < 0 || p > 100 || p == 100 && s.Status != scan.Finished {
			t.Fatalf("progress %d while %s", p, s.Status)
		}
		return !s.Status.Active()
	})
	return s
}

func (o office) found(t *testing.T, f finding.Filter) []finding.Finding {
	t.Helper()
	found, _, err := o.findings.FindAll(o.ctx, f, nil, page.Window{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestScanFindsAndCovers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, weaksite.New(7))
		o := open(t, d)
		made, err := o.scans.Create(o.ctx,
			scan.NewScan{Config: scan.Config{Targets: []string{base, "127.0.0.1:1"}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		done := o.scanEnds(t, made.ID)
		found := o.found(t, finding.Filter{ScanIDs: []string{made.ID}})
		if done.Status != scan.Finished || len(found) == 0 || done.Results() != len(found) ||
			done.Numbers.DoneCells != done.Numbers.Cells || done.Numbers.Targets != 2 {
			t.Fatalf("%+v with %d findings", done, len(found))
		}
		for _, weakness := range weaksite.Weaknesses() {
			if !slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Event.Path != "" && f.Target == base && hasSuffix(f.Event.MatchedAt, weakness.Path)
			}) {
				t.Errorf("%s was not found", weakness.Path)
			}
		}
		c, err := o.scans.FindCoverage(o.ctx, made.ID, scan.CoverageFilter{}, page.Window{Limit: 1000})
		if err != nil || c.Total != done.Numbers.Cells || c.Targets != 2 || c.Counts[engine.Failed] == 0 ||
			c.Counts[engine.Tested] == 0 || len(c.Cells) != c.Total-c.Counts[engine.Tested]-c.Counts[engine.NotApplicable] {
			t.Errorf("coverage %+v, %v", c.Counts, err)
		}
		before := ids(found)
		if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		again := o.scanEnds(t, made.ID)
		if after := ids(o.found(t, finding.Filter{})); again.Status != scan.Finished || again.Rescans() != 1 ||
			!maps.Equal(before, after) {
			t.Errorf("a rescan left %d findings of %d", len(after), len(before))
		}
		h, err := o.scans.FindHistory(o.ctx, scan.HistoryFilter{ScanID: made.ID}, page.Window{Limit: 10})
		if err != nil || h.Total != 2 || h.UniqueScans != 1 || len(h.Runs) != 2 || h.Runs[0].Numbers.DoneRequests == 0 {
			t.Errorf("history %+v, %v", h, err)
		}
	})
}

func hasSuffix(url, path string) bool {
	return len(url) >= len(path) && url[len(url)-len(path):] == path || path == "/"
}

func ids(found []finding.Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range found {
		out[f.ID] = true
	}
	return out
}

func TestStopKeepsWhatWasFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		weak := weaksite.New(7)
		hanging := make(chan struct{}, 100)
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/server-status" { // hangs until the scan is stopped
				hanging <- struct{}{}
				<-r.Context().Done()
				return
			}
			weak.ServeHTTP(w, r)
		}))
		o := open(t, d)
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		<-hanging
		until(t, "a finding", func() bool { return len(o.found(t, finding.Filter{})) > 0 })
		if err := o.scans.Stop(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		s, err := o.scans.Find(o.ctx, made.ID)
		if err != nil || s.Status != scan.Stopped || s.Results() == 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if err := o.scans.Stop(o.ctx, made.ID); !errs.Is(err, errs.Conflict) {
			t.Errorf("a second stop: %v", err)
		}
		if err := o.scans.Delete(o.ctx, []string{made.ID}); err != nil || len(o.found(t, finding.Filter{})) != 0 {
			t.Errorf("deleting: %v", err)
		}
	})
}

func TestDeniedTargetIsInTheCoverage(t *testing.T) {
	base, asked := site(t, weaksite.New(7))
	o := open(t, dbtest.Open(t, "sqlite"), netip.MustParsePrefix("127.0.0.0/8"))
	made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
	if err != nil {
		t.Fatal(err)
	}
	o.scanEnds(t, made.ID)
	c, err := o.scans.FindCoverage(o.ctx, made.ID, scan.CoverageFilter{State: engine.Denied}, page.Window{Limit: 5})
	if err != nil || len(asked()) != 0 || c.Counts[engine.Denied] == 0 || len(c.Cells) == 0 || c.Cells[0].Reason == "" {
		t.Errorf("%d requests; %+v, %v", len(asked()), c, err)
	}
}

// What a team excludes is not asked for by its name either, on an address that a scan may reach.
func TestExcludedNameIsNeverAskedFor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var asked atomic.Int64
		base, _ := site(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Host == "blog.example.se" {
				asked.Add(1)
			}
		}))
		o := open(t, d)
		own, err := o.catalog.Create(o.ctx, catalog.NewTemplate{Text: `id: other-site
info: {name: Other site, author: a, severity: low}
http:
  - raw: ["GET / HTTP/1.1\nHost: blog.example.se\n\n"]
    matchers: [{type: status, status: [200]}]
`})
		if err != nil {
			t.Fatal(err)
		}
		ends := func(want engine.State, requests int64) {
			t.Helper()
			made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, Templates: []string{own.ID}}})
			if err != nil {
				t.Fatal(err)
			}
			o.scanEnds(t, made.ID)
			c, err := o.scans.FindCoverage(o.ctx, made.ID, scan.CoverageFilter{}, page.Window{Limit: 5})
			if err != nil || c.Counts[want] != 1 || asked.Load() != requests {
				t.Errorf("%d requests; %+v, %v", asked.Load(), c, err)
			}
		}
		ends(engine.Tested, 1)
		if err := exclusion.New(d).Add(o.ctx, exclusion.Target, []string{"*.example.se"}, nil, nil); err != nil {
			t.Fatal(err)
		}
		ends(engine.Denied, 1)
	})
}

func TestRetestTellsFixedFromOpen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var mended atomic.Bool
		weak := weaksite.New(7)
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if mended.Load() {
				http.NotFound(w, r)
				return
			}
			weak.ServeHTTP(w, r)
		}))
		o := open(t, d)
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		f := o.found(t, finding.Filter{Severities: []string{"critical", "high"}})[0]
		look := func() (finding.Finding, finding.Retest) {
			if _, err := o.findings.QueueRetest(o.ctx, f.ID, nil); err != nil {
				t.Fatal(err)
			}
			var now finding.Finding
			var r finding.Retest
			until(t, "the retest", func() bool {
				now, r, err = o.findings.FindRetest(o.ctx, f.ID)
				return err != nil || r.State != finding.RetestQueued
			})
			if err != nil {
				t.Fatal(err)
			}
			return now, r
		}
		if now, r := look(); r.State != finding.Matched || now.Status != finding.Open {
			t.Errorf("it is there: %+v, %s", r, now.Status)
		}
		mended.Store(true)
		if now, r := look(); r.State != finding.NotMatched || now.Status != finding.Fixed {
			t.Errorf("it is gone: %+v, %s", r, now.Status)
		}
		mended.Store(false)
		if now, r := look(); r.State != finding.Matched || now.Status != finding.Open || !now.IsRegression {
			t.Errorf("it is back: %+v, %s", r, now.Status)
		}
		history, err := o.findings.History(o.ctx, []string{f.Hash}, 10)
		if err != nil || len(history[f.Hash]) != 4 {
			t.Errorf("%d looks, %v", len(history[f.Hash]), err)
		}
	})
}
