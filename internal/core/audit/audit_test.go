package audit

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// clock is a time that a test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func open(d *db.DB, keep time.Duration) (*Log, *clock) {
	c := &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	return New(d, nil, keep, c.now, slog.New(slog.DiscardHandler)), c
}

// as is a context of somebody in a team.
func as(ctx context.Context, team string, role account.Role) context.Context {
	return account.WithCaller(ctx, account.Caller{UserID: "u", Email: "ada@example.com", TeamID: team, Role: role})
}

func add(t testing.TB, l *Log, e Entry) string {
	t.Helper()
	if e.ID == "" {
		e.ID = ids.New()
	}
	if err := l.Add(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

var all = page.Window{Limit: 100}

// actions are what entries were about, for comparing.
func actions(found []Entry) []string {
	out := []string{}
	for _, e := range found {
		out = append(out, e.Action)
	}
	return out
}

func TestEntryIsReadAsItWasWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 0)
		want := Entry{
			ID: ids.New(), TeamID: "blue", UserID: "u", Email: "ada@example.com", Action: "create-config", Object: "7",
			Method: "POST", Path: "/v1/x",
			Status: 201, IP: "2001:db8::1", Source: API, CreatedAt: c.Time,
		}
		add(t, l, want)
		want.Seq, want.Hash = 1, ""
		want.Hash = want.File().Sum("")
		found, err := l.Find(as(t.Context(), "blue", account.Viewer), Filter{}, all)
		if err != nil || !slices.Equal(found, []Entry{want}) {
			t.Errorf("%+v, %v", found, err)
		}
		for _, team := range []string{"red", ""} {
			if found, err := l.Find(as(t.Context(), team, account.Admin), Filter{}, all); err != nil || found == nil ||
				len(found) > 0 {
				t.Errorf("team %q sees %+v, %v", team, found, err)
			}
		}
		for what, kind := range map[context.Context]errs.Kind{as(t.Context(), "blue", account.Guest): errs.Forbidden,
			t.Context(): errs.Unauthenticated} {
			if _, err := l.Find(what, Filter{}, all); !errs.Is(err, kind) {
				t.Errorf("want %s: %v", kind, err)
			}
			if _, err := l.Search(what, "x", all); !errs.Is(err, kind) {
				t.Errorf("want %s: %v", kind, err)
			}
		}
	})
}

func TestTextOfRequestsIsBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := open(d, 0)
		add(t, l, Entry{TeamID: "blue", Path: "/\x00\xff" + strings.Repeat("ä", 40_000), Object: strings.Repeat("x", 70_000),
			IP: "::ffff:192.0.2.1%eth0"})
		found, err := l.Find(as(t.Context(), "blue", account.Admin), Filter{}, all)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if e := found[0]; len(e.Path) > maxText+8 || !utf8.ValidString(e.Path) || strings.Contains(e.Path, "\x00") ||
			len(e.Object) != maxText {
			t.Errorf("path of %d bytes, object of %d", len(e.Path), len(e.Object))
		}
	})
}

func TestFilter(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 0)
		noon := c.Time
		for i, e := range []Entry{
			{Action: "one", Email: "ada@example.com", Source: API},
			{Action: "two", Email: "bob@example.com", Source: API},
			{Action: "two", Email: "ada@example.com", Source: Platform},
		} {
			c.Time = noon.Add(time.Duration(i) * time.Hour)
			e.TeamID = "blue"
			add(t, l, e)
		}
		add(t, l, Entry{TeamID: "red", Action: "theirs", Email: "ada@example.com", Source: API})
		for _, test := range []struct {
			filter Filter
			window page.Window
			want   []string
		}{
			{Filter{}, all, []string{"two", "two", "one"}},
			{Filter{}, page.Window{Limit: 1, Offset: 2}, []string{"one"}},
			{Filter{Email: "ADA@example.com"}, all, []string{"two", "one"}},
			{Filter{Email: "ada"}, all, []string{}},
			{Filter{Action: "two"}, all, []string{"two", "two"}},
			{Filter{Source: API}, all, []string{"two", "one"}},
			{Filter{Source: Unknown}, all, []string{}},
			{Filter{Since: noon.Add(time.Hour)}, all, []string{"two", "two"}},
			{Filter{Until: noon.Add(time.Hour)}, all, []string{"one"}},
			{Filter{Since: noon, Until: noon}, all, []string{}},
			{Filter{Email: "ada@example.com", Action: "two", Source: Platform, Since: noon, Until: noon.Add(3 * time.Hour)}, all,
				[]string{"two"}},
		} {
			found, err := l.Find(as(t.Context(), "blue", account.Admin), test.filter, test.window)
			if err != nil || !slices.Equal(actions(found), test.want) {
				t.Errorf("%+v %+v: %q, %v, want %q", test.filter, test.window, actions(found), err, test.want)
			}
		}
	})
}

func TestSearchKnowsWhatAWordIs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 0)
		for _, e := range []Entry{
			{Action: "a", Status: 404, Path: "/v1/x/200", Method: "POST", IP: "192.0.2.1", Email: "ada@example.com",
				Source: API},
			{Action: "b", Status: 200, Path: "/v1/404/Post", Method: "PATCH", IP: "::ffff:192.0.2.7", Email: "bob@example.com",
				Source: Platform},
			{Action: "delete-api-key", Object: "Item_7", Status: 500, Path: "/v1/platform/192.0.2.1", Method: "DELETE",
				IP: "2001:DB8::0:1", Email: "a+b@example.org", Source: API},
		} {
			c.Time = c.Add(time.Second)
			e.TeamID = "blue"
			add(t, l, e)
		}
		for q, want := range map[string][]string{
			"404":             {"a"}, // a status, and not the path that has it
			"600":             {},    // no status of HTTP
			"4040":            {},    // nothing
			"api":             {"delete-api-key", "a"},
			"Platform":        {"b"},
			"unknown":         {},
			"192.0.2.1":       {"a"},
			"192.0.2.7":       {"b"},
			"2001:db8:0::1":   {"delete-api-key"},
			"192.0.2":         {"delete-api-key"}, // a part of an address is a word like others
			"ada@example.com": {"a"},
			"ADA@EXAMPLE.COM": {"a"},
			"@example.com":    {"b", "a"},
			"post":            {"a"},
			" DELETE ":        {"delete-api-key"},
			"/V1/x":           {"a"},
			"x/2":             {"a"},
			"api-key":         {"delete-api-key"},
			"item_":           {"delete-api-key"},
			"item%":           {},
			"%":               {},
			"_":               {"delete-api-key"},
			"v1":              {"delete-api-key", "b", "a"},
			`'; DROP TABLE`:   {},
		} {
			found, err := l.Search(as(t.Context(), "blue", account.Admin), q, all)
			if err != nil || !slices.Equal(actions(found), want) {
				t.Errorf("%q: %q, %v, want %q", q, actions(found), err, want)
			}
		}
		for _, q := range []string{"", "  ", strings.Repeat("x", 201), strings.Repeat("ä", 201)} {
			if _, err := l.Search(as(t.Context(), "blue", account.Admin), q, all); !errs.Is(err, errs.Invalid) {
				t.Errorf("%.10q: %v", q, err)
			}
		}
		if _, err := l.Search(as(t.Context(), "blue", account.Admin), strings.Repeat("ä", 200), all); err != nil {
			t.Errorf("200 characters: %v", err)
		}
	})
}

func TestOldEntriesGo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 24*time.Hour)
		noon := c.Time
		var entries []Entry
		for i := range sweepBatch + 5 {
			entries = append(entries, Entry{ID: ids.New(), TeamID: fmt.Sprint("team ", i%3),
				CreatedAt: noon.Add(time.Duration(i) * time.Millisecond)})
		}
		if err := l.write(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
		c.Time = noon.Add(24 * time.Hour)
		count := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM audit_entry`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, sweepBatch + 5}, {time.Millisecond, sweepBatch + 4}, {time.Hour, 0}} {
			c.Time = noon.Add(24*time.Hour + step.after)
			if err := l.Sweep(t.Context()); err != nil || count() != step.want {
				t.Errorf("after %s there are %d, %v; want %d", step.after, count(), err, step.want)
			}
		}
		forever, _ := open(d, 0)
		add(t, l, Entry{TeamID: "blue"})
		if err := forever.Sweep(t.Context()); err != nil || count() != 1 {
			t.Errorf("kept for ever: %d, %v", count(), err)
		}
		forever.Run(t.Context()) // has nothing to sweep, and returns
	})
}

// TestPagesHoldEachEntryOnce pages through the log while the clock stands still for some:
// every entry that was there at first is seen once, newest first.
func TestPagesHoldEachEntryOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 0)
		n := 0
		rapid.Check(t, func(r *rapid.T) {
			n++
			team := fmt.Sprint("team ", n)
			ctx := as(t.Context(), team, account.Member)
			count := rapid.IntRange(0, 20).Draw(r, "entries")
			var entries []Entry
			for range count {
				c.Time = c.Add(time.Duration(rapid.IntRange(0, 1).Draw(r, "tick")) * time.Second)
				entries = append(entries, Entry{ID: ids.New(), TeamID: team, CreatedAt: c.Time})
			}
			if err := l.write(t.Context(), entries); err != nil {
				r.Fatal(err)
			}
			limit := rapid.IntRange(1, 7).Draw(r, "limit")
			var seen []Entry
			for offset := 0; ; offset += limit {
				part, err := l.Find(ctx, Filter{}, page.Window{Offset: offset, Limit: limit})
				if err != nil {
					r.Fatal(err)
				}
				seen = append(seen, part...)
				if len(part) < limit {
					break
				}
			}
			if len(seen) != count || !slices.IsSortedFunc(seen, func(a, b Entry) int {
				if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
					return order
				}
				return strings.Compare(b.ID, a.ID)
			}) {
				r.Errorf("%d of %d entries, or out of order", len(seen), count)
			}
		})
	})
}

// TestCrowdIsWrittenTogether: of many at once each has its entry on disk when Add returns,
// and they wait for few transactions.
func TestCrowdIsWrittenTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := open(d, 0)
		const crowd = 200
		var wg sync.WaitGroup
		l.writing.Lock() // as if a batch was being written
		for i := range crowd {
			wg.Go(func() {
				if err := l.Add(t.Context(), Entry{ID: ids.New(), TeamID: "blue", Action: fmt.Sprint(i)}); err != nil {
					t.Error(err)
					return
				}
				var n int
				if err := d.QueryRow(t.Context(), `SELECT count(*) FROM audit_entry WHERE action = ?`,
					fmt.Sprint(i)).Scan(&n); err != nil || n != 1 {
					t.Errorf("entry %d is there %d times, %v", i, n, err)
				}
			})
		}
		for waiting := 0; waiting < crowd; runtime.Gosched() {
			l.mu.Lock()
			if l.next != nil {
				waiting = len(l.next.entries)
			}
			l.mu.Unlock()
		}
		l.writing.Unlock()
		wg.Wait()
	})
}

// TestFailureIsToldToAll: who waited for a batch that could not be written learns it, and
// the next batch is written.
func TestFailureIsToldToAll(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := open(d, 0)
		taken := add(t, l, Entry{TeamID: "blue"})
		failed := make(chan error, 2)
		l.writing.Lock()
		for range 2 {
			go func() { failed <- l.Add(context.WithoutCancel(t.Context()), Entry{ID: taken, TeamID: "blue"}) }()
		}
		for waiting := 0; waiting < 2; runtime.Gosched() {
			l.mu.Lock()
			if l.next != nil {
				waiting = len(l.next.entries)
			}
			l.mu.Unlock()
		}
		l.writing.Unlock()
		for range 2 {
			if err := <-failed; !db.IsDuplicate(err) {
				t.Errorf("an entry with an id that is taken: %v", err)
			}
		}
		add(t, l, Entry{TeamID: "blue"})
	})
}

func FuzzSearch(f *testing.F) {
	l, _ := open(dbtest.Open(f, "sqlite"), 0)
	for _, q := range []string{"404", "api", "::1", "a@b", "GET", "/v1", "x%_\\", "\x00", "\xff", "fe80::1%eth0"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := l.Search(as(t.Context(), "blue", account.Admin), q, all); err != nil && !errs.Is(err, errs.Invalid) {
			t.Fatalf("%q: %v", q, err)
		}
	})
}
