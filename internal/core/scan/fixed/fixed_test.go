package fixed

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/oast"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a team and no workers: the test does the jobs.
type room struct {
	*Fixes
	accounts      *account.Accounts
	alice, member context.Context
	team          string
}

// user makes a user with a team of their own, for whom the room is from then on.
func (r *room) user(t rapid.TB, email string) {
	t.Helper()
	u, err := r.accounts.CreateUser(context.Background(), account.NewUser{Email: email, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	c := account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role}
	r.team, r.alice = u.TeamID, account.WithCaller(context.Background(), c)
	c.Role = account.Member
	r.member = account.WithCaller(context.Background(), c)
}

var checks = []string{"one", "two", "three"}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	findings, templates := finding.New(d, q), catalog.New(d, catalog.Config{})
	dir := t.TempDir()
	for _, id := range checks {
		text := "id: " + id + "\ninfo: {name: " + id + ", author: a, severity: high}\n" +
			"http: [{path: [\"{{BaseURL}}/\"], matchers: [{type: word, words: [needle]}]}]\n"
		if err := os.WriteFile(filepath.Join(dir, id+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := templates.Import(t.Context(), catalog.Source{Source: update.Source{From: dir}}); err != nil {
		t.Fatal(err)
	}
	scans := scan.New(d, q, findings, asset.New(d, q, nil), templates, setting.New(d, nil, nil), nil)
	r := room{Fixes: New(d, findings, scans, templates), accounts: accounts}
	r.user(t, "alice@example.com")
	return r
}

// cell is how a check of a scan of a test ends.
type cell struct {
	state engine.State
	shows []string // paths
}

// event is what a check shows at a path of a target.
func event(check, target, path string) engine.Event {
	return engine.Event{
		TemplateID: check, Target: target, Host: "h-" + target[:1] + ".example.com", Type: "http", MatcherStatus: true,
		MatchedAt: "https://h-" + target[:1] + ".example.com" + path, Timestamp: time.Now().UTC(),
		Info: syntax.Info{Name: check, Severity: "high"},
	}
}

func urlOf(target string) string { return "https://h-" + target[:1] + ".example.com/" }

// launch runs a scan: as cells say, or all else is tested and shows nothing. It returns what its job has.
func (r room) launch(t rapid.TB, id string, c scan.Config, cells map[[2]string]cell) scan.CoveredArgs {
	t.Helper()
	ctx := r.alice
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if id == "" {
		s, err := r.scans.Create(ctx, scan.NewScan{Config: c})
		must(err)
		id = s.ID
	} else {
		_, err := r.scans.Rescan(ctx, id)
		must(err)
	}
	s, err := r.scans.Find(ctx, id)
	must(err)
	must(r.scans.Begin(ctx, scan.BeginArgs{ScanID: id, Run: s.Run}))
	chunk, err := r.scans.StartChunk(ctx, scan.ChunkArgs{ScanID: id, Run: s.Run, N: 0})
	must(err)
	l := scan.NewCells(chunk.Targets, chunk.Templates)
	for i, target := range chunk.Targets {
		for n, template := range chunk.Templates {
			short := strings.TrimPrefix(target, "https://h-")[:1]
			one, is := cells[[2]string{template, short}]
			if !is {
				one.state = engine.Tested
			}
			l.Set(i, n, one.state, map[bool]string{true: "it did not answer"}[one.state == engine.Failed])
			for _, path := range one.shows {
				e := event(template, short, path)
				must(chunk.Found(ctx, []finding.Sighting{{Event: e, Target: target, TemplateURL: "/v1/template/public/" + template}}))
				l.Match(i, n)
			}
		}
	}
	must(chunk.Finish(ctx, l, 1))
	return scan.CoveredArgs{ScanID: id, Run: s.Run}
}

func (r room) all(t rapid.TB) map[string]finding.Finding {
	t.Helper()
	all, _, err := r.findings.FindAll(r.alice, finding.Filter{}, nil, page.Window{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]finding.Finding{}
	for _, f := range all {
		out[f.TemplateID+" "+f.Event.MatchedAt] = f
	}
	return out
}

func config(targets ...string) scan.Config {
	c := scan.Config{Templates: checks}
	for _, one := range targets {
		c.Targets = append(c.Targets, urlOf(one))
	}
	return c
}

// A scan that tested the same and did not see it says fixed, with the reason; what it sees later is a regression.
func TestFixedAndBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		key := "one https://h-a.example.com/x"
		first := r.launch(t, "", config("a"), map[[2]string]cell{{"one", "a"}: {engine.Tested, []string{"/x"}}})
		if got, err := r.Judge(t.Context(), first); err != nil || got != (Result{}) {
			t.Fatal(got, err)
		}
		second := r.launch(t, "", scan.Config{Templates: []string{"one"}, Targets: []string{"https://h-a.example.com:443"}}, nil)
		if got, err := r.Judge(t.Context(), second); err != nil || got.Fixed != 1 {
			t.Fatal(got, err)
		}
		f := r.all(t)[key]
		_, changes, err := r.findings.Timeline(r.alice, f.ID)
		if err != nil || f.Status != finding.Fixed || len(changes) != 2 || changes[1].Type != timeline.Resolved ||
			!strings.Contains(changes[1].Reason, second.ScanID) || !strings.Contains(changes[1].Reason, "one at https://h-a.example.com:443") {
			t.Fatalf("%s %+v %v", f.Status, changes, err)
		}
		if got, err := r.Judge(t.Context(), second); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
		r.launch(t, first.ScanID, scan.Config{}, map[[2]string]cell{{"one", "a"}: {engine.Tested, []string{"/x"}}})
		if f = r.all(t)[key]; f.Status != finding.Open || !f.IsRegression {
			t.Errorf("%s %t", f.Status, f.IsRegression)
		}
		news, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM river_job WHERE kind = 'finding.news'`)
		if err == nil && news != 1 {
			t.Errorf("%d jobs tell of it", news)
		}
	})
}

// What is no proof changes nothing, and a host that was not reached is said to be not seen, once.
func TestNoProof(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		key := "one https://h-a.example.com/x"
		shown := map[[2]string]cell{{"one", "a"}: {engine.Tested, []string{"/x"}}}
		first := r.launch(t, "", config("a"), shown)
		for name, c := range map[string]struct {
			config scan.Config
			cells  map[[2]string]cell
		}{
			"skipped":        {config("a"), map[[2]string]cell{{"one", "a"}: {state: engine.Skipped}}},
			"denied":         {config("a"), map[[2]string]cell{{"one", "a"}: {state: engine.Denied}}},
			"budget":         {config("a"), map[[2]string]cell{{"one", "a"}: {state: engine.Budget}}},
			"failed":         {config("a"), map[[2]string]cell{{"one", "a"}: {state: engine.Failed}}},
			"not concerned":  {config("a"), map[[2]string]cell{{"one", "a"}: {state: engine.NotApplicable}}},
			"another match":  {config("a"), map[[2]string]cell{{"one", "a"}: {engine.Tested, []string{"/y"}}}},
			"another host":   {config("b"), nil},
			"another path":   {scan.Config{Templates: checks, Targets: []string{urlOf("a") + "shop"}}, nil},
			"another check":  {scan.Config{Templates: []string{"two"}, Targets: []string{urlOf("a")}}, nil},
			"other settings": {scan.Config{Templates: checks, Targets: []string{urlOf("a")}, NoGlobalSettings: true}, nil},
			"a check of the same name": {scan.Config{Targets: []string{urlOf("a")}, Inline: []scan.Inline{{Name: "one.yaml",
				Contents: "id: one\ninfo: {name: x, author: a, severity: low}\nhttp: [{path: [\"{{BaseURL}}/\"], matchers: [{type: word, words: [y]}]}]\n"}}}, nil},
		} {
			if got, err := r.Judge(t.Context(), r.launch(t, "", c.config, c.cells)); err != nil || got != (Result{}) {
				t.Errorf("%s: %+v %v", name, got, err)
			}
		}
		away := map[[2]string]cell{}
		for _, check := range checks {
			away[[2]string{check, "a"}] = cell{state: engine.Failed}
		}
		for i, want := range []int{1, 0} {
			// The match of another path above is a finding as well.
			if got, err := r.Judge(t.Context(), r.launch(t, first.ScanID, scan.Config{}, away)); err != nil || got.Fixed != 0 ||
				got.NotSeen != 2*want {
				t.Errorf("%d: %+v %v", i, got, err)
			}
		}
		f := r.all(t)[key]
		_, changes, err := r.findings.Timeline(r.alice, f.ID)
		if last := changes[len(changes)-1]; err != nil || f.Status != finding.Open || last.Type != timeline.NotSeen ||
			!strings.Contains(last.Reason, "did not reach https://h-a.example.com/: it did not answer") {
			t.Errorf("%+v %v", last, err)
		}
		seen := r.launch(t, first.ScanID, scan.Config{}, shown)
		if got, err := r.Judge(t.Context(), seen); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
		if got, err := r.Judge(t.Context(), r.launch(t, first.ScanID, scan.Config{}, away)); err != nil || got.NotSeen != 1 {
			t.Errorf("seen meanwhile: %+v %v", got, err)
		}
		for _, status := range []finding.Status{finding.FalsePositive, finding.AcceptedRisk, finding.Duplicate} {
			if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{f.ID}}, status); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Judge(t.Context(), r.launch(t, "", config("a"), nil)); err != nil || r.all(t)[key].Status != status {
				t.Errorf("%s became %s: %v", status, r.all(t)[key].Status, err)
			}
		}
	})
}

// The team decides, an old run says nothing, and an interaction is no match of the coverage.
func TestSettings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		first := r.launch(t, "", config("a"), map[[2]string]cell{{"one", "a"}: {engine.Tested, []string{"/x"}}})
		old := r.launch(t, first.ScanID, scan.Config{}, nil)
		now := r.launch(t, first.ScanID, scan.Config{}, nil)
		if got, err := r.Judge(t.Context(), old); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
		if err := r.SetByScans(r.member, false); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
		if err := r.SetByScans(r.alice, false); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Judge(t.Context(), now); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
		if is, err := r.ByScans(r.alice); is || err != nil {
			t.Error(is, err)
		}
		if err := r.SetByScans(r.alice, true); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Judge(t.Context(), now); err != nil || got.Fixed != 1 {
			t.Error(got, err)
		}
		blind := event("two", "a", "/")
		blind.Interaction = &oast.Interaction{}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := r.findings.Add(t.Context(), tx, finding.Origin{TeamID: r.team, ScanID: first.ScanID, Run: 1},
				[]finding.Sighting{{Event: blind, Target: urlOf("a"), TemplateURL: "/v1/x"}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Judge(t.Context(), r.launch(t, first.ScanID, scan.Config{}, nil)); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
		if got, err := r.Judge(t.Context(), scan.CoveredArgs{ScanID: "none", Run: 1}); err != nil || got != (Result{}) {
			t.Error(got, err)
		}
	})
}

// TestHistories makes random histories of scans, reports of other tools, decisions, joins and splits. Whatever a
// comparison calls fixed was tested by every check that ever showed it, in the run that is compared, and not shown;
// and what was, was open, and is of one check, is fixed.
func TestHistories(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, n := setUp(t, d), 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			r.user(rt, fmt.Sprintf("u%d@example.com", n))
			var launched []string
			for range rapid.IntRange(2, 8).Draw(rt, "steps") {
				r.step(rt, &launched)
			}
		})
	})
}

func (r room) step(rt *rapid.T, launched *[]string) {
	all := r.all(rt)
	keys := slices.Sorted(maps.Keys(all))
	what := rapid.SampledFrom([]string{"scan", "scan", "scan", "import", "decide", "join", "split"}).Draw(rt, "what")
	pick := func(name string) finding.Finding { return all[rapid.SampledFrom(keys).Draw(rt, name)] }
	var err error
	switch {
	case what == "scan" || len(keys) == 0:
		r.scanned(rt, launched)
	case what == "import":
		e := event(rapid.SampledFrom(checks).Draw(rt, "check"), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "target"), "/x")
		err = r.db.Tx(r.alice, func(tx *db.Tx) error {
			from := finding.Origin{TeamID: r.team, ScanID: fmt.Sprint("report", rapid.IntRange(1, 3).Draw(rt, "report")), Run: 1}
			_, err := r.findings.Add(r.alice, tx, from, []finding.Sighting{{Event: e}})
			return err
		})
	case what == "decide":
		_, err = r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{pick("decided").ID}},
			rapid.SampledFrom(finding.Statuses).Draw(rt, "status"))
	case what == "join":
		_, err = r.findings.Join(r.alice, []string{pick("one").ID, pick("other").ID})
	default:
		_, err = r.findings.Split(r.alice, pick("split").ID)
	}
	if err != nil && !errs.Is(err, errs.Conflict) && !errs.Is(err, errs.Invalid) {
		rt.Fatal(err)
	}
}

// scanned runs a scan and holds the comparison against what its cells say.
func (r room) scanned(rt *rapid.T, launched *[]string) {
	states := []engine.State{engine.Tested, engine.Tested, engine.Tested, engine.Failed, engine.Skipped, engine.Denied,
		engine.Budget, engine.NotApplicable}
	cells := map[[2]string]cell{}
	for _, check := range checks {
		for _, target := range []string{"a", "b"} {
			c := cell{state: rapid.SampledFrom(states).Draw(rt, "state")}
			if c.state == engine.Tested && rapid.IntRange(0, 2).Draw(rt, "shows") == 0 {
				c.shows = []string{rapid.SampledFrom([]string{"/x", "/y"}).Draw(rt, "path")}
			}
			cells[[2]string{check, target}] = c
		}
	}
	id, targets := "", []string{"a", "b"}
	if len(*launched) > 0 && rapid.Bool().Draw(rt, "again") {
		id = rapid.SampledFrom(*launched).Draw(rt, "scan")
	} else {
		targets = rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(rt, "targets")
	}
	args := r.launch(rt, id, config(targets...), cells)
	if id == "" {
		*launched = append(*launched, args.ScanID)
	}
	s, err := r.scans.Find(r.alice, args.ScanID)
	if err != nil {
		rt.Fatal(err)
	}
	before := r.all(rt)
	if _, err := r.Judge(r.alice, args); err != nil {
		rt.Fatal(err)
	}
	for key, f := range r.all(rt) {
		was := before[key]
		proven, single := r.proven(rt, f, cells, s.Config.Targets)
		isOpen := slices.Contains([]finding.Status{finding.Open, finding.Triaged, finding.FixInProgress}, was.Status)
		switch {
		case f.Status == was.Status && isOpen && proven && single:
			rt.Fatalf("%s was tested and not shown, and is %s", key, f.Status)
		case f.Status == was.Status:
		case f.Status != finding.Fixed || !isOpen || !proven:
			rt.Fatalf("%s was %s and became %s; proven %t", key, was.Status, f.Status, proven)
		}
	}
}

// proven says by the cells alone whether a scan showed that a weakness is gone.
func (r room) proven(
	rt *rapid.T, f finding.Finding, cells map[[2]string]cell, targets []string,
) (proven, single bool) {
	rows, err := db.Select(r.alice, r.db, func(row db.Row) (out [3]string, err error) {
		return out, row.Scan(&out[0], &out[1], &out[2])
	}, `SELECT DISTINCT template_id, host, hash FROM finding WHERE team_id = ? AND (CASE WHEN weakness = '' THEN hash ELSE weakness END) = ?`,
		r.team, f.Weakness)
	if err != nil {
		rt.Fatal(err)
	}
	for _, row := range rows {
		target := strings.TrimSuffix(strings.TrimPrefix(row[1], "h-"), ".example.com")
		c := cells[[2]string{row[0], target}]
		onlyImported, err := db.Value[int](r.alice, r.db, `SELECT count(*) FROM finding WHERE team_id = ? AND hash = ?
			AND scan_id NOT LIKE 'report%'`, r.team, row[2])
		if err != nil {
			rt.Fatal(err)
		}
		if c.state != engine.Tested || len(c.shows) > 0 || !slices.Contains(targets, urlOf(target)) || onlyImported == 0 {
			return false, len(rows) == 1
		}
	}
	return true, len(rows) == 1
}
