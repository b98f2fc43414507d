package list_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var things = list.Index{Name: "thing", Table: "thing", Searched: []string{"host", "severity", "port"}}

// thing is a row of the service under test.
type thing struct {
	no, port, seen int64
	severity, host string
	tags           []string
	internal       bool
}

func (o thing) row() list.Row {
	r := list.Row{No: o.no, Values: []list.Value{
		{"severity", o.severity}, {"host", o.host}, {"port", fmt.Sprintf("%05d", o.port)},
		{"internal", strconv.FormatBool(o.internal)},
	}}
	for _, tag := range o.tags {
		r.Values = append(r.Values, list.Value{Facet: "tag", Value: tag})
	}
	return r
}

func setUp(t testing.TB, d *db.DB) {
	t.Helper()
	for _, text := range []string{
		d.Dialect().ListTables("thing"),
		`CREATE TABLE thing (team_id TEXT NOT NULL, no BIGINT NOT NULL, host TEXT NOT NULL, port BIGINT NOT NULL,
			severity TEXT NOT NULL, seen BIGINT NOT NULL, PRIMARY KEY (team_id, no))`,
		`CREATE INDEX thing_host ON thing (team_id, host, no)`,
		`CREATE INDEX thing_seen ON thing (team_id, seen, no)`,
	} {
		if _, err := d.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// write stores things of a team: new ones by Add, the others by Put.
func write(ctx context.Context, d *db.DB, team string, fresh bool, all ...thing) error {
	return d.Tx(ctx, func(tx *db.Tx) error {
		var rows []list.Row
		var columns [][]any
		for _, o := range all {
			rows = append(rows, o.row())
			columns = append(columns, []any{team, o.no, o.host, o.port, o.severity, o.seen})
			if !fresh {
				if _, err := tx.Exec(ctx, `DELETE FROM thing WHERE team_id = ? AND no = ?`, team, o.no); err != nil {
					return err
				}
			}
		}
		if err := tx.Insert(ctx, `thing (team_id, no, host, port, severity, seen)`, columns); err != nil {
			return err
		}
		if fresh {
			return things.Add(ctx, tx, team, rows)
		}
		return things.Put(ctx, tx, team, rows)
	})
}

func remove(ctx context.Context, d *db.DB, team string, numbers ...int64) error {
	return d.Tx(ctx, func(tx *db.Tx) error {
		for _, no := range numbers {
			if _, err := tx.Exec(ctx, `DELETE FROM thing WHERE team_id = ? AND no = ?`, team, no); err != nil {
				return err
			}
		}
		return things.Delete(ctx, tx, team, numbers)
	})
}

// condition is a filter, and what it means for a thing.
type condition struct {
	list.Filter
	holds func(thing) bool
	text  string
}

var (
	severities = []string{"critical", "high", "low", "ünknown"}
	hosts      = []string{"a.example.com", "b.example.com", "xn--a.test", "käse.test", "a\"b.test",
		"long.name.of.a.host.example.org", "a b\nc"}
	tags  = []string{"xss", "sqli", "a=b", "xss,sqli", "", "\"", "'; --", strings.Repeat("käse ", 300)}
	texts = []string{"a", "ex", "exa", "example", "example.com", "käs", "a\"b", "none of it", "%", "_", "*", "test"}
)

func leaf(t *rapid.T) condition {
	some := func(from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 3, rapid.ID[string]).Draw(t, "values")
	}
	number := rapid.Int64Range(0, 30)
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		s := some(severities)
		return condition{list.Has("severity", s...), func(o thing) bool { return slices.Contains(s, o.severity) },
			fmt.Sprint("severity ", s)}
	case 1:
		s := some(tags)
		return condition{list.Has("tag", s...), func(o thing) bool {
			return slices.ContainsFunc(o.tags, func(tag string) bool { return slices.Contains(s, tag) })
		}, fmt.Sprintf("tag %q", s)}
	case 2:
		s := some(hosts)
		return condition{list.Has("host", s...), func(o thing) bool { return slices.Contains(s, o.host) },
			fmt.Sprintf("host %q", s)}
	case 3:
		part := rapid.SampledFrom(texts).Draw(t, "text")
		return condition{list.Contains(part, "host", "severity"), func(o thing) bool {
			return strings.Contains(o.host, part) || strings.Contains(o.severity, part)
		}, "contains " + part}
	case 4:
		low, high := number.Draw(t, "low"), number.Draw(t, "high")
		return condition{list.Match("port", "", func(v string) bool {
			n, err := strconv.ParseInt(v, 10, 64)
			return err == nil && n >= low && n < high
		}), func(o thing) bool { return o.port >= low && o.port < high }, fmt.Sprint("port ", low, high)}
	case 5:
		low := number.Draw(t, "low")
		return condition{list.Column("seen >= ?", low), func(o thing) bool { return o.seen >= low }, fmt.Sprint("seen ", low)}
	default:
		is := rapid.Bool().Draw(t, "internal")
		return condition{list.Has("internal", strconv.FormatBool(is)), func(o thing) bool { return o.internal == is },
			fmt.Sprint("internal ", is)}
	}
}

func tree(t *rapid.T, depth int) condition {
	kind := rapid.IntRange(0, 4).Draw(t, "join")
	if depth == 0 || kind < 2 {
		return leaf(t)
	}
	if kind == 2 {
		c := tree(t, depth-1)
		return condition{list.Not(c.Filter), func(o thing) bool { return !c.holds(o) }, "!(" + c.text + ")"}
	}
	var parts []condition
	var filters []list.Filter
	var text []string
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		c := tree(t, depth-1)
		parts, filters, text = append(parts, c), append(filters, c.Filter), append(text, c.text)
	}
	if kind == 3 {
		return condition{list.All(filters...), func(o thing) bool {
			return !slices.ContainsFunc(parts, func(c condition) bool { return !c.holds(o) })
		}, "(" + strings.Join(text, " && ") + ")"}
	}
	return condition{list.Any(filters...), func(o thing) bool {
		return slices.ContainsFunc(parts, func(c condition) bool { return c.holds(o) })
	}, "(" + strings.Join(text, " || ") + ")"}
}

func draw(t *rapid.T, no int64) thing {
	return thing{
		no: no, port: rapid.Int64Range(0, 30).Draw(t, "port"), seen: rapid.Int64Range(0, 30).Draw(t, "seen"),
		severity: rapid.SampledFrom(severities).Draw(t, "severity"), host: rapid.SampledFrom(hosts[:6]).Draw(t, "host"),
		tags: rapid.SliceOfN(rapid.SampledFrom(tags), 0, 3).Draw(t, "tags"), internal: rapid.Bool().Draw(t, "internal"),
	}
}

var orders = []list.Order{
	{Column: "severity", Facet: "severity"}, {Column: "host", Facet: "host"}, {Column: "host"}, {Column: "seen"},
	{Column: "port", Facet: "port"},
}

func compare(o list.Order, a, b thing) (c int) {
	switch o.Column {
	case "severity":
		c = strings.Compare(a.severity, b.severity)
	case "host":
		c = strings.Compare(a.host, b.host)
	case "seen":
		c = cmp.Compare(a.seen, b.seen)
	case "port":
		c = cmp.Compare(a.port, b.port)
	}
	if o.Desc {
		return -c
	}
	return c
}

// TestListsAreTrue compares lists after random changes with what a loop over all rows finds.
// It runs with the limits as they are, and so low that every way to fill a page is used.
func TestListsAreTrue(t *testing.T) {
	for _, limits := range []string{"as they are", "low"} {
		t.Run(limits, func(t *testing.T) {
			if limits == "low" {
				t.Cleanup(list.LowLimits())
			}
			t.Run("each", func(t *testing.T) {
				for _, engine := range dbtest.Engines {
					t.Run(engine, func(t *testing.T) { checkLists(t, dbtest.Open(t, engine), limits == "low") })
				}
			})
		})
	}
}

func checkLists(t *testing.T, d *db.DB, bounded bool) {
	setUp(t, d)
	ctx := t.Context()
	model := map[string]map[int64]thing{"one": {}, "two": {}}
	last := map[string]int64{}
	rapid.Check(t, func(rt *rapid.T) {
		team := rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "team")
		var fresh, changed []thing
		for range rapid.IntRange(0, 20).Draw(rt, "new") {
			last[team]++
			fresh = append(fresh, draw(rt, last[team]))
		}
		if err := write(ctx, d, team, true, fresh...); err != nil {
			rt.Fatal(err)
		}
		there := slices.Sorted(maps.Keys(model[team]))
		var gone []int64
		for i, no := range there {
			switch (int(no) + i + len(fresh)) % 11 {
			case 0:
				changed = append(changed, draw(rt, no))
			case 1:
				gone = append(gone, no)
			}
		}
		if err := write(ctx, d, team, false, changed...); err != nil {
			rt.Fatal(err)
		}
		if err := remove(ctx, d, team, gone...); err != nil {
			rt.Fatal(err)
		}
		for _, o := range append(fresh, changed...) {
			model[team][o.no] = o
		}
		for _, no := range gone {
			delete(model[team], no)
		}
		for range 4 {
			checkPage(rt, d, team, model[team], bounded)
		}
	})
}

func checkPage(t *rapid.T, d *db.DB, team string, model map[int64]thing, bounded bool) {
	c := tree(t, 2)
	q := list.Query{Filter: c.Filter, Limit: rapid.IntRange(1, 12).Draw(t, "limit"),
		Offset: rapid.SampledFrom([]int{0, 0, 1, 5, 40}).Draw(t, "offset")}
	if rapid.Bool().Draw(t, "bounds") {
		q.From, q.Before = rapid.Int64Range(0, 60).Draw(t, "from"), rapid.Int64Range(0, 90).Draw(t, "before")
	}
	if rapid.IntRange(0, 2).Draw(t, "ordered") > 0 {
		for range rapid.IntRange(1, 2).Draw(t, "orders") {
			o := rapid.SampledFrom(orders).Draw(t, "order")
			o.Desc = rapid.Bool().Draw(t, "desc")
			if !slices.ContainsFunc(q.Orders, func(other list.Order) bool { return other.Column == o.Column }) {
				q.Orders = append(q.Orders, o)
			}
		}
	} else {
		q.Oldest = rapid.Bool().Draw(t, "oldest")
	}
	var want []thing
	for _, o := range model {
		if c.holds(o) && o.no >= q.From && (q.Before <= 0 || o.no < q.Before) {
			want = append(want, o)
		}
	}
	slices.SortFunc(want, func(a, b thing) int {
		for _, o := range q.Orders {
			if c := compare(o, a, b); c != 0 {
				return c
			}
		}
		if q.Oldest {
			return cmp.Compare(a.no, b.no)
		}
		return cmp.Compare(b.no, a.no)
	})
	got, err := things.Page(t.Context(), d, team, q)
	if err != nil {
		t.Fatalf("%s: %v", c.text, err)
	}
	numbers := []int64{}
	for _, o := range want[min(q.Offset, len(want)):min(len(want), q.Offset+q.Limit)] {
		numbers = append(numbers, o.no)
	}
	if !slices.Equal(got.Numbers, numbers) {
		t.Fatalf("%s %+v: %v, want %v", c.text, q, got.Numbers, numbers)
	}
	if got.Total != len(want) && (!bounded || !got.TotalIsEstimate || got.Total > len(want)) || got.TotalIsEstimate &&
		!bounded {
		t.Fatalf("%s %+v: total %d (%v), want %d", c.text, q, got.Total, got.TotalIsEstimate, len(want))
	}
	more := len(want) > q.Offset+len(numbers) && len(numbers) > 0
	if len(q.Orders) == 0 && (got.Next != 0) != more {
		t.Fatalf("%s %+v: next %d with %d of %d", c.text, q, got.Next, q.Offset+len(numbers), len(want))
	}
	if !bounded {
		checkCounts(t, d, team, c, model)
	}
}

func checkCounts(t *rapid.T, d *db.DB, team string, c condition, model map[int64]thing) {
	want := map[string]int{}
	for _, o := range model {
		if c.holds(o) {
			want[o.severity]++
		}
	}
	got, err := things.Counts(t.Context(), d, team, c.Filter, "severity", 100)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, one := range got {
		counts[one.Value] = one.Count
	}
	if !maps.Equal(counts, want) {
		t.Fatalf("%s: %v, want %v", c.text, counts, want)
	}
}
