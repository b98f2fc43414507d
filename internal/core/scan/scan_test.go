package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// yard is the service with a user of one team and a stranger; nothing runs by itself.
type yard struct {
	*Scans
	alice, stranger context.Context
}

// templateText is a template that sends so many requests.
func templateText(id, tag, severity string, requests int) string {
	return fmt.Sprintf(`id: %s
info: {name: %[1]s, author: a, severity: %s, tags: %s}
http:
  - path: ["{{BaseURL}}/{{n}}"]
    payloads: {n: [%s]}
    matchers: [{type: word, words: [needle]}]
`, id, severity, tag, strings.TrimSuffix(strings.Repeat("x, ", requests), ", "))
}

// importTemplates fills the public set of a database.
func importTemplates(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"vcs/git-config.yaml":   templateText("git-config", "vcs", "high", 1),
		"http/fuzz/big.yaml":    templateText("big", "fuzz", "low", 7000),
		"http/fuzz/bigger.yaml": templateText("bigger", "fuzz", "low", 9000),
		"tech/banner.yaml":      templateText("banner", "tech", "info", 2),
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := c.Import(t.Context(), catalog.Source{Source: update.Source{From: dir}})
	if err != nil || report.Total != 4 {
		t.Fatalf("%v; %+v", err, report)
	}
}

func setUp(t testing.TB, d *db.DB) yard {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	y := yard{Scans: node(t, d)}
	importTemplates(t, y.catalog)
	for email, ctx := range map[string]*context.Context{"alice@example.com": &y.alice, "eve@example.com": &y.stranger} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
	}
	return y
}

// node is one more process on the database.
func node(t testing.TB, d *db.DB) *Scans {
	t.Helper()
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return New(d, q, finding.New(d, q), asset.New(d, q, nil), catalog.New(d, catalog.Config{}), setting.New(d, nil, nil), nil)
}

func (y yard) create(t testing.TB, c Config) Scan {
	t.Helper()
	s, err := y.Create(y.alice, NewScan{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (y yard) begin(t testing.TB, id string) {
	t.Helper()
	s, err := y.Find(y.alice, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Begin(t.Context(), BeginArgs{id, s.Run}); err != nil {
		t.Fatal(err)
	}
}

func (y yard) now(t testing.TB, id string) Scan {
	t.Helper()
	s, err := y.Find(y.alice, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seen(at string) []finding.Sighting {
	return []finding.Sighting{{Event: engine.Event{TemplateID: "git-config", MatchedAt: at, Host: "h", MatcherStatus: true,
		Timestamp: time.Now().UTC()}}}
}

// ledger is a chunk's, all tested.
func ledger(c *Chunk) *Cells {
	l := NewCells(c.Targets, c.Templates)
	for i := range c.Targets {
		for j := range c.Templates {
			l.Set(i, j, engine.Tested, "")
		}
	}
	return l
}

func TestCutCoversEachCellOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var targets []string
		for i := range rapid.IntRange(1, 300).Draw(t, "targets") {
			targets = append(targets, fmt.Sprint("t", i))
		}
		var templates []catalog.ScanTemplate
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 6000), 1, 20).Draw(t, "requests") {
			templates = append(templates, catalog.ScanTemplate{ID: fmt.Sprint(i), Requests: n})
		}
		cells := map[string]int{}
		for _, p := range cut(targets, templates) {
			requests := 0
			for _, target := range p.targets {
				for j := p.first; j < p.last; j++ {
					cells[fmt.Sprint(target, "/", j)]++
					requests += max(1, templates[j].Requests)
				}
			}
			if requests != p.requests || requests >= chunkRequests+6000 || len(p.targets) > chunkTargets || p.first >= p.last {
				t.Fatalf("a chunk of %d requests (said %d), %d targets, templates %d to %d", requests, p.requests, len(p.targets),
					p.first, p.last)
			}
		}
		if len(cells) != len(targets)*len(templates) {
			t.Fatalf("%d cells of %d", len(cells), len(targets)*len(templates))
		}
		for cell, n := range cells {
			if n != 1 {
				t.Fatalf("%s is in %d chunks", cell, n)
			}
		}
	})
}

func TestOnlyTheLastHolderOfAChunkWrites(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"a.example.com", "b.example.com"}, Templates: []string{"big", "bigger"}})
		y.begin(t, s.ID)
		y.begin(t, s.ID) // the planner's job runs twice
		if got := y.now(t, s.ID); got.Status != Running || got.Numbers.Cells != 4 || got.Progress() != 0 {
			t.Fatalf("%+v", got)
		}
		ctx := t.Context()
		start := func(n int) *Chunk {
			c, err := y.StartChunk(ctx, ChunkArgs{s.ID, 1, n})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		late := start(0)
		if err := errors.Join(late.Progress(ctx, 1, 2), late.Found(ctx, seen("http://h/1"))); err != nil {
			t.Fatal(err)
		}
		now := start(0) // the first worker went silent
		for name, err := range map[string]error{"Found": late.Found(ctx, seen("http://h/2")),
			"Progress": late.Progress(ctx, 2, 2), "Finish": late.Finish(ctx, ledger(late), 9)} {
			if !errors.Is(err, ErrLate) {
				t.Errorf("%s of a late worker: %v", name, err)
			}
		}
		if err := errors.Join(now.Found(ctx, seen("http://h/1")), now.Finish(ctx, ledger(now), 9)); err != nil {
			t.Fatal(err)
		}
		if _, err := y.StartChunk(ctx, ChunkArgs{s.ID, 1, 0}); !errors.Is(err, ErrLate) {
			t.Errorf("a chunk that has ended starts again: %v", err)
		}
		for n := 1; y.now(t, s.ID).Status == Running; n++ {
			if p := y.now(t, s.ID); p.Results() != 1 || p.Progress() > 99 ||
				p.Numbers.DoneCells != n*len(now.Targets)*len(now.Templates) {
				t.Errorf("after %d chunks: %+v", n, p.Numbers)
			}
			c := start(n)
			if err := c.Finish(ctx, ledger(c), 1); err != nil {
				t.Fatal(err)
			}
		}
		end := y.now(t, s.ID)
		if end.Status != Finished || end.Progress() != 100 || end.Numbers.DoneCells != 4 || end.Numbers.EndedAt.IsZero() {
			t.Errorf("%+v", end)
		}
	})
}

// TestEndedScanHasItsTraffic: who sees that a scan has ended finds each of its requests.
func TestEndedScanHasItsTraffic(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"a.example.com"}, Templates: []string{"big"}})
		y.begin(t, s.ID)
		c, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 1, 0})
		if err != nil {
			t.Fatal(err)
		}
		var then []Status
		c.Stored = func() { then = append(then, y.now(t, s.ID).Status) }
		if err := c.Finish(t.Context(), ledger(c), 1); err != nil || y.now(t, s.ID).Status != Finished {
			t.Fatalf("%+v, %v", y.now(t, s.ID), err)
		}
		if !slices.Equal(then, []Status{Running}) {
			t.Errorf("what waits was stored when the scan was %q", then)
		}
	})
}

func TestGivenUpChunkIsFailedInTheCoverage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"a.example.com"}, Templates: []string{"big", "bigger"}})
		y.begin(t, s.ID)
		c, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 1, 0})
		if err == nil {
			err = c.Finish(t.Context(), ledger(c), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 1
		for ; y.now(t, s.ID).Status == Running; n++ {
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return y.GiveUpChunk(t.Context(), tx,
					ChunkArgs{s.ID, 1, n})
			}); err != nil {
				t.Fatal(err)
			}
		}
		end := y.now(t, s.ID)
		cover, err := y.FindCoverage(y.alice, s.ID, CoverageFilter{}, page.Window{Limit: 10})
		if n == 1 {
			if end.Status != Finished {
				t.Errorf("%+v", end)
			}
			return
		}
		if err != nil || end.Status != Finished || end.FailureReason == "" || cover.Counts[engine.Failed] == 0 ||
			len(cover.Cells) == 0 || cover.Cells[0].Reason == "" {
			t.Errorf("%+v: %+v, %v", end, cover, err)
		}
	})
}

func TestStopRefusesWhatComesLate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"a.example.com"}, Templates: []string{"vcs"}})
		y.begin(t, s.ID)
		c, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 1, 0})
		if err != nil {
			t.Fatal(err)
		}
		if err := y.Stop(y.stranger, s.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's stop: %v", err)
		}
		if err := y.Stop(y.alice, s.ID); err != nil {
			t.Fatal(err)
		}
		if err := c.Found(t.Context(), seen("http://h/")); !errors.Is(err, ErrLate) {
			t.Errorf("a finding after the stop: %v", err)
		}
		if _, err := y.Rescan(y.alice, s.ID); err != nil {
			t.Fatal(err)
		}
		y.begin(t, s.ID)
		if _, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 1, 0}); !errors.Is(err, ErrLate) {
			t.Errorf("a chunk of the first run starts in the second: %v", err)
		}
		if err := y.Delete(y.alice, []string{s.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 2, 0}); !errors.Is(err, ErrLate) {
			t.Errorf("a chunk of a deleted scan starts: %v", err)
		}
	})
}

func TestStatesAreTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom([]Status{Scheduled, Queued, Uploaded}).Draw(t, "first")
		for _, next := range rapid.SliceOf(rapid.SampledFrom(Statuses)).Draw(t, "moves") {
			if !at.To(next) {
				continue
			}
			if at == Uploaded || next == Uploaded || next == Scheduled || next == Running && at != Starting ||
				next == Finished && at != Running {
				t.Fatalf("%s may become %s", at, next)
			}
			at = next
		}
	})
}

func TestDueScanIsLaunchedOnceOnAnyNumberOfNodes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s, err := y.Create(y.alice, NewScan{ScheduleOnly: true,
			Config: Config{Targets: []string{"a.example.com"}, Templates: []string{"vcs"}}})
		if err != nil {
			t.Fatal(err)
		}
		set, err := y.Schedules().Set(y.alice,
			schedule.Schedule{Subject: s.ID, Rule: schedule.Rule{Frequency: schedule.Hourly, Hours: 2}})
		if err != nil {
			t.Fatal(err)
		}
		later := set.NextRun.Add(5 * time.Hour) // two more were missed
		var nodes sync.WaitGroup
		for range 6 {
			n := node(t, d)
			n.now = func() time.Time { return later }
			nodes.Go(func() {
				if err := n.Schedules().Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		got := y.now(t, s.ID)
		if got.Run != 1 || got.Status != Queued || !got.Schedule.NextRun.After(later) ||
			!got.Schedule.LastRun.Equal(db.At(later).Time) {
			t.Errorf("run %d, %s, %+v", got.Run, got.Status, got.Schedule)
		}
	})
}

// TestExclusionsShapeThePlan: exclusions take targets and templates from the plan.
func TestExclusionsShapeThePlan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y, rules := setUp(t, d), exclusion.New(d)
		if err := errors.Join(rules.Add(y.alice, exclusion.Target, []string{"192.0.2.0/30", "b.*"}, nil, nil),
			rules.Add(y.alice, exclusion.Template, []string{"banner"}, nil, nil)); err != nil {
			t.Fatal(err)
		}
		s := y.create(t, Config{Targets: []string{"192.0.2.0/29", "b.example.com", "a.example.com", "a.example.com"},
			Templates: []string{"banner", "git-config"}})
		y.begin(t, s.ID)
		if got := y.now(t, s.ID).Numbers; got.Targets != 5 || got.Templates != 1 {
			t.Errorf("%+v", got)
		}
		all := y.create(t, Config{Targets: []string{"b.example.com"}, Templates: []string{"vcs"}})
		y.begin(t, all.ID)
		if got := y.now(t, all.ID); got.Status != Failed || got.FailureReason == "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestChoose(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		for want, c := range map[string]Config{
			"git-config":                   {},
			"banner":                       {Templates: []string{"tech"}},
			"big bigger":                   {Templates: []string{"fuzz"}},
			"big":                          {Templates: []string{"big"}},
			"big bigger git-config":        {Templates: []string{"http/fuzz/"}, Recommended: true},
			"banner big bigger git-config": {All: true},
			"bigger":                       {TemplateURLs: []string{"https://example.com/public/bigger"}},
			"mine":                         {Inline: []Inline{{Name: "mine", Contents: templateText("mine", "own", "low", 1)}}},
		} {
			got, err := y.choose(t.Context(), "", c)
			var ids []string
			for _, x := range got {
				ids = append(ids, x.ID)
			}
			if err != nil || strings.Join(ids, " ") != want {
				t.Errorf("%+v: %v, want %s; %v", c, ids, want, err)
			}
		}
	})
}

func TestCellsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets, templates := []string{"a", "b", "c"}, []string{"x", "y"}
		l := NewCells(targets, templates)
		var want []Cell
		for i, target := range targets {
			for j, template := range templates {
				c := Cell{Target: target, Template: template, State: rapid.SampledFrom(States).Draw(t, "state"),
					Reason: rapid.String().Draw(t, "reason"), Matched: rapid.Bool().Draw(t, "matched")}
				l.Set(i, j, c.State, c.Reason)
				if c.Matched {
					l.Match(i, j)
				}
				c.Reason = errs.Clip(engine.Clean(c.Reason), maxReason)
				want = append(want, c)
			}
		}
		doc, err := l.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeCells(doc, targets, templates)
		if err != nil {
			t.Fatal(err)
		}
		var got []Cell
		back.Each(func(c Cell) bool { got = append(got, c); return true })
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"template-id":"x","host":"h","info":{"name":"n","severity":"low"}}`))
	f.Add([]byte(`{"template-id":"x","matched-at":"http://[::1]:99999/","port":"-1","timestamp":"2026-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, ok, err := parseResult(line, 1)
		if err != nil && !errs.Is(err, errs.Invalid) {
			t.Errorf("%v", err)
		}
		if ok && len(finding.Fingerprint(s.Event, s.Scheme)) != 32 {
			t.Error("a result without a hash")
		}
	})
}
