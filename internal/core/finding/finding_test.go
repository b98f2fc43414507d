package finding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a user of one team and a stranger.
type room struct {
	*Findings
	alice, stranger context.Context
	team            string
}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := room{Findings: New(d, nil)}
	for email, ctx := range map[string]*context.Context{"alice@example.com": &r.alice, "eve@example.com": &r.stranger} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
		if ctx == &r.alice {
			r.team = u.TeamID
		}
	}
	return r
}

func (r room) add(t rapid.TB, scan string, run int64, seen ...Sighting) (added Added) {
	t.Helper()
	err := r.db.Tx(context.Background(), func(tx *db.Tx) (err error) {
		added, err = r.Add(context.Background(), tx, Origin{TeamID: r.team, ScanID: scan, Run: run}, seen)
		return err
	})
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return added
}

// sighting is the i-th of many different ones.
func sighting(i int) Sighting { return Sighting{Event: findingtest.Event(i)} }

func sightings(from, to int) (out []Sighting) {
	for i := from; i < to; i++ {
		out = append(out, sighting(i))
	}
	return out
}

func (r room) list(t rapid.TB, f Filter, sorts []page.Sort, w page.Window) ([]Finding, int) {
	t.Helper()
	found, total, err := r.FindAll(r.alice, f, sorts, w)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return found, total
}

func TestSeenTwiceIsOneRow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		if got := r.add(t, "s1", 1, sightings(0, 600)...); got.New != 600 {
			t.Fatalf("%+v", got)
		}
		before, total := r.list(t, Filter{}, nil, page.Window{Limit: 1000})
		if got := r.add(t, "s1", 1, sightings(300, 700)...); got.New != 100 || got.Again != 300 {
			t.Errorf("a chunk that ran twice: %+v", got)
		}
		if got := r.add(t, "s2", 1, sighting(5)); got.New != 1 {
			t.Errorf("the same in another scan: %+v", got)
		}
		after, again := r.list(t, Filter{ScanIDs: []string{"s1"}}, nil, page.Window{Limit: 1000})
		if total != 600 || again != 700 || len(before) != 600 || after[100].ID != before[0].ID ||
			!after[100].UpdatedAt.Equal(before[0].UpdatedAt) {
			t.Errorf("%d, then %d findings", total, again)
		}
		tallies, err := r.CountsByScan(r.alice, d, []string{"s1", "s2", "none"})
		sum := 0
		for _, n := range tallies["s1"] {
			sum += n
		}
		if err != nil || sum != 700 || len(tallies) != 2 {
			t.Errorf("tallies %v, %v", tallies, err)
		}
		one, err := r.Find(r.alice, after[0].ID)
		if err != nil || one.Event.Request == "" || one.Event.Response == "" || after[0].Event.Request != "" ||
			one.Port == 0 || one.Scheme != "https" {
			t.Errorf("%+v, %v", one, err)
		}
		if _, err := r.Find(r.stranger, after[0].ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger finds it: %v", err)
		}
		if theirs, n, err := r.FindAll(r.stranger, Filter{}, nil, page.Window{Limit: 10}); err != nil || n != 0 ||
			len(theirs) != 0 {
			t.Errorf("a stranger lists %d, %v", n, err)
		}
	})
}

func TestFixedThatComesBackIsRegression(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		s := sighting(1)
		r.add(t, "s", 1, s)
		found, _ := r.list(t, Filter{}, nil, page.Window{Limit: 1})
		id := found[0].ID
		if n, err := r.SetStatus(r.alice, Filter{IDs: []string{id}}, Fixed); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		r.add(t, "s", 2, s) // seen before it was fixed, told late
		if f, err := r.Find(r.alice, id); err != nil || f.Status != Fixed || f.IsRegression {
			t.Errorf("an old sighting reopened it: %+v, %v", f.Status, err)
		}
		s.Event.Timestamp = time.Now().UTC().Add(time.Second)
		r.add(t, "s", 3, s)
		f, changes, err := r.Timeline(r.alice, id)
		var kinds []timeline.Kind
		for _, c := range changes {
			kinds = append(kinds, c.Type)
		}
		if err != nil || f.Status != Open || !f.IsRegression ||
			!slices.Equal(kinds, []timeline.Kind{timeline.Detected, timeline.Resolved, timeline.Reopened}) {
			t.Errorf("%s, regression %v, %v, %v", f.Status, f.IsRegression, kinds, err)
		}
		yes := true
		if _, n := r.list(t, Filter{Regression: &yes, Statuses: []Status{Open}}, nil, page.Window{Limit: 1}); n != 1 {
			t.Errorf("%d regressions", n)
		}
		logs, err := r.Changes(r.alice, ChangeFilter{Types: []timeline.Kind{timeline.Reopened}}, page.Window{Limit: 10})
		if err != nil || len(logs) != 1 || logs[0].ID != id || logs[0].Change.From != "fixed" || logs[0].Change.To != "open" {
			t.Errorf("%+v, %v", logs, err)
		}
		if _, err := r.Changes(r.stranger, ChangeFilter{FindingID: id}, page.Window{Limit: 10}); !errs.Is(err,
			errs.NotFound) {
			t.Errorf("a stranger reads the changes: %v", err)
		}
		history, err := r.History(r.alice, []string{f.Hash, "none"}, 5)
		if err != nil || len(history) != 1 || !history[f.Hash][0].Matched {
			t.Errorf("%+v, %v", history, err)
		}
	})
}

// TestListsAreTheDatabase holds lists against plain Go over all findings, while they come,
// change and go.
func TestListsAreTheDatabase(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range append([]string{"team", "user_account", "finding_tally"}, findingTables...) {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			other := New(d, nil) // another process
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				step(rt, r)
				all, total := r.list(rt, Filter{}, nil, page.Window{Limit: 1000})
				if total != len(all) {
					rt.Fatalf("%d of %d", len(all), total)
				}
				f := drawFilter(rt, all)
				sorts := rapid.SampledFrom([][]page.Sort{nil, {{Column: "severity", Desc: true}},
					{{Column: "severity"}, {Column: "host"}}, {{Column: "host"}},
					{{Column: "updated_at", Desc: true}}, {{Column: "updated_at"}},
					{{Column: "template", Desc: true}, {Column: "port"}}, {{Column: "created_at"}}, {{Column: "status"}}}).Draw(rt,
					"sorts")
				w := page.Window{Offset: rapid.IntRange(0, 20).Draw(rt, "offset"), Limit: rapid.IntRange(1, 20).Draw(rt, "limit")}
				want := plainly(all, f, sorts)
				for _, fs := range []*Findings{r.Findings, other} {
					got, total, err := fs.FindAll(r.alice, f, sorts, w)
					if err != nil || total != len(want) ||
						!slices.Equal(idsOf(got), idsOf(want[min(w.Offset, len(want)):min(w.Offset+w.Limit, len(want))])) {
						rt.Fatalf("%+v %+v %+v: %d of %d, want %d; %v", f, sorts, w, len(got), total, len(want), err)
					}
				}
				if got, want := r.encoded(rt, f), idsOf(plainly(all, f, nil)); !slices.Equal(got, want) {
					rt.Fatalf("%+v: a selection of %q, want %q", f, got, want)
				}
			}
		})
	})
}

func idsOf(fs []Finding) (out []string) {
	for _, f := range fs {
		out = append(out, f.ID)
	}
	return out
}

func step(t *rapid.T, r room) {
	from := rapid.IntRange(0, 200).Draw(t, "from")
	r.add(t, rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "scan"), 1,
		sightings(from, from+rapid.IntRange(1, 40).Draw(t, "n"))...)
	some := Filter{Severities: []string{rapid.SampledFrom(Severities).Draw(t, "whose")},
		Ports: []int{8000 + rapid.IntRange(0, 10).Draw(t, "port")}}
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		_, err = r.SetStatus(r.alice, some, rapid.SampledFrom(Statuses).Draw(t, "status"))
	case 1:
		_, err = r.SetLabels(r.alice, some, AppendLabels,
			[]string{rapid.SampledFrom([]string{"Prod", "dmz"}).Draw(t, "label")}, "")
	case 2:
		_, err = r.Delete(r.alice, some)
	case 3:
		err = r.db.Tx(r.alice, func(tx *db.Tx) error { return r.DeleteOfScan(r.alice, tx, r.team, "s2") })
	}
	if err != nil {
		t.Fatal(err)
	}
}

func drawFilter(t *rapid.T, all []Finding) (f Filter) {
	any := func() Finding {
		if len(all) == 0 {
			return Finding{}
		}
		return rapid.SampledFrom(all).Draw(t, "one")
	}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		switch rapid.IntRange(0, 9).Draw(t, "field") {
		case 0:
			f.Severities = []string{any().Severity, "LOW"}
		case 1:
			f.Statuses = []Status{any().Status}
		case 2:
			f.Hosts = []string{strings.ToUpper(any().Host)}
		case 3:
			f.Domains = []string{"example3.com", "h5.example5.com"}
		case 4:
			f.Search = rapid.SampledFrom([]string{"H5", "cve-2024-1", "kind", "example6", "zz"}).Draw(t, "search")
		case 5:
			f.Tags = []string{rapid.SampledFrom([]string{"t1", "all", "T5"}).Draw(t, "tag")}
		case 6:
			f.Labels = []string{"prod"}
		case 7:
			f.Internal = new(rapid.Bool().Draw(t, "internal"))
		case 8:
			f.IDs = []string{any().ID, any().ID}
		case 9:
			f.Since = any().CreatedAt
		}
	}
	return f
}

// plainly is what a filter and sorts mean.
func plainly(all []Finding, f Filter, sorts []page.Sort) (out []Finding) {
	has := func(values []string, value string) bool {
		return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, value) })
	}
	hasWord := func(values, of []string) bool {
		return len(values) == 0 || slices.ContainsFunc(of, func(w string) bool { return has(values, w) })
	}
	for _, x := range all {
		text := strings.ToLower(x.Host + "\n" + x.TemplateID + "\n" + x.Name)
		below := len(f.Domains) == 0 || slices.ContainsFunc(f.Domains,
			func(d string) bool { return x.Host == d || strings.HasSuffix(x.Host, "."+d) })
		if has(f.Severities, x.Severity) && has(listing.Words(f.Statuses), string(x.Status)) && has(f.Hosts, x.Host) && below &&
			strings.Contains(text, strings.ToLower(f.Search)) &&
			hasWord(f.Tags, x.Tags) && hasWord(f.Labels, x.Labels) && (f.Internal == nil || *f.Internal == x.IsInternal) &&
			has(f.IDs, x.ID) && !x.CreatedAt.Before(f.Since) {
			out = append(out, x)
		}
	}
	key := func(x Finding, column string) string {
		switch column {
		case "severity":
			return fmt.Sprint(9 - slices.Index(Severities, x.Severity))
		case "host":
			return x.Host
		case "template":
			return x.TemplateID
		case "port":
			return listing.PortText(x.Port)
		case "status":
			return string(x.Status)
		case "created_at":
			return fmt.Sprintf("%09d", x.no)
		case "updated_at":
			return fmt.Sprintf("%020d", x.UpdatedAt.UnixNano())
		}
		return ""
	}
	keys := make(map[int64][]string, len(out)) // by number, of each sort
	for _, x := range out {
		for _, s := range sorts {
			keys[x.no] = append(keys[x.no], key(x, s.Column))
		}
	}
	slices.SortFunc(out, func(a, b Finding) int {
		for i, s := range sorts {
			c := strings.Compare(keys[a.no][i], keys[b.no][i])
			if s.Column == "updated_at" && c == 0 {
				c = cmp.Compare(a.no, b.no)
			}
			if s.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(b.no, a.no)
	})
	return out
}

func TestStrangersIDChangesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", 1, sightings(0, 3)...)
		found, _ := r.list(t, Filter{}, nil, page.Window{Limit: 3})
		f := Filter{IDs: idsOf(found)}
		for name, change := range map[string]func(ctx context.Context) error{
			"status": func(ctx context.Context) error { _, err := r.SetStatus(ctx, f, Fixed); return err },
			"labels": func(ctx context.Context) error {
				_, err := r.SetLabels(ctx, f, AppendLabels, []string{"x"}, "")
				return err
			},
			"delete": func(ctx context.Context) error { _, err := r.Delete(ctx, f); return err },
		} {
			if err := change(r.stranger); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s by a stranger: %v", name, err)
			}
		}
		if after, n := r.list(t, Filter{Statuses: []Status{Open}}, nil, page.Window{Limit: 3}); n != 3 ||
			len(after[0].Labels) != 0 {
			t.Errorf("%d findings are as they were", n)
		}
	})
}

// TestLargeSorts holds orders of more findings than the list sorts at once against plain Go.
func TestLargeSorts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		const total = 6500
		for n := 0; n < total; n += 1300 {
			r.add(t, "s", 1, sightings(n, n+1300)...)
		}
		// changed later
		if _, err := r.SetStatus(r.alice, Filter{Ports: []int{8003}, Severities: []string{"low"}}, Triaged); err != nil {
			t.Fatal(err)
		}
		all := r.all(t)
		for _, f := range []Filter{{}, {Tags: []string{"all"}}} {
			for _, sorts := range [][]page.Sort{
				{{Column: "severity", Desc: true}}, {{Column: "severity"}, {Column: "host", Desc: true}}, {{Column: "host"}},
				{{Column: "port", Desc: true}, {Column: "severity"}}, {{Column: "updated_at"}},
				{{Column: "updated_at", Desc: true}},
				{{Column: "template"}}, {{Column: "template", Desc: true}, {Column: "host"}},
				{{Column: "severity"}, {Column: "template"}},
				{{Column: "status"}, {Column: "created_at"}}, {{Column: "created_at"}, {Column: "host"}},
			} {
				want := idsOf(plainly(all, f, sorts))
				for _, offset := range []int{0, 77, 4000, total - 10} {
					got, n := r.list(t, f, sorts, page.Window{Offset: offset, Limit: 30})
					if n != total || !slices.Equal(idsOf(got), want[offset:min(offset+30, total)]) {
						t.Errorf("%+v from %d of %d: %v, want %v", sorts, offset, n, idsOf(got), want[offset:min(offset+30, total)])
					}
				}
			}
		}
	})
}

// TestMigratedFindingsAreListed opens a database of before the list had its index.
func TestMigratedFindingsAreListed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", 1, sightings(0, 300)...)
		want := r.all(t)
		for _, up := range []bool{false, true} {
			if err := d.Migrate(t.Context(), 230, up); err != nil {
				t.Fatal(err)
			}
		}
		if _, n := r.list(t, Filter{}, nil, page.Window{Limit: 1}); n != 0 {
			t.Fatalf("%d findings are listed before the index is made", n)
		}
		for range 2 { // a second start has nothing to do
			if err := r.Backfill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got := r.all(t)
		if !slices.Equal(idsOf(got), idsOf(want)) {
			t.Errorf("%d findings, want %d", len(got), len(want))
		}
		f := Filter{Severities: []string{"critical"}, Search: "cve-2024-1"}
		if found, n := r.list(t, f, nil, page.Window{Limit: 100}); n == 0 ||
			!slices.Equal(idsOf(found), idsOf(plainly(want, f, nil))) {
			t.Errorf("%d findings with %+v", n, f)
		}
		r.add(t, "s", 1, sightings(300, 310)...)
		if _, n := r.list(t, Filter{}, nil, page.Window{Limit: 1}); n != 310 {
			t.Errorf("%d findings, want 310", n)
		}
	})
}

// TestManyAtOnce: more findings than one part are stored and recognized, and an entry of evidence is about few of them.
func TestManyAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, n := setUp(t, d), together+1
		for run, want := range []Added{{New: n}, {Again: n}} {
			if got := r.add(t, "s", int64(run+1), sightings(0, n)...); got != want {
				t.Errorf("run %d: %+v, want %+v", run+1, got, want)
			}
		}
		entries, err := db.Values[int](t.Context(), d, `SELECT length(leaves) / 40 FROM evidence_entry ORDER BY seq`)
		if err != nil || !slices.Equal(entries, []int{batch, batch, batch, batch, 1}) {
			t.Errorf("the entries are about %v findings, %v", entries, err)
		}
	})
}
