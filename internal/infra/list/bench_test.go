package list_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// BenchmarkLists writes VEDETTE_BENCH_ROWS rows (a million unless it says otherwise), and asks
// for pages of each kind. It reports what half of them, 95 of 100 and the slowest took, in ms.
//
//	go test ./internal/infra/list -run '^$' -bench Lists -benchtime 1x -timeout 30m
func BenchmarkLists(b *testing.B) {
	rows := 1_000_000
	if text := os.Getenv("VEDETTE_BENCH_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			setUp(b, d)
			random := rand.New(rand.NewPCG(1, 2))
			fill(b, d, random, rows)
			for _, kind := range kinds {
				b.Run(kind.name, func(b *testing.B) { measure(b, d, random, kind.query) })
			}
		})
	}
}

func host(n int) string { return fmt.Sprintf("host-%d.zone%d.example.com", n, n%50) }

func fill(b *testing.B, d *db.DB, random *rand.Rand, rows int) {
	b.Helper()
	const part = 2000
	began := time.Now()
	for from := 0; from < rows; from += part {
		all := make([]thing, part)
		for i := range all {
			all[i] = thing{
				no: int64(from + i + 1), port: int64(random.IntN(30)), seen: int64(from + random.IntN(100_000)),
				severity: []string{"critical", "high", "low", "low", "info", "info", "info"}[random.IntN(7)],
				host:     host(random.IntN(max(rows/20, 10))), internal: random.IntN(5) == 0,
			}
			for range 4 {
				all[i].tags = append(all[i].tags, "tag"+strconv.Itoa(int(random.ExpFloat64()*40)))
			}
			all[i].tags = append(all[i].tags, "scan"+strconv.Itoa((from+i)/100), "template"+strconv.Itoa(random.IntN(10_000)))
			if from+i < rows/10 {
				all[i].tags = append(all[i].tags, "old") // a tenth, at the far end
			}
		}
		if err := write(b.Context(), d, "one", true, all...); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%.0f rows/s, with the service's own", float64(rows)/time.Since(began).Seconds())
	if _, err := d.Exec(b.Context(), `ANALYZE`); err != nil {
		b.Fatal(err)
	}
}

func some(random *rand.Rand, values ...string) string { return values[random.IntN(len(values))] }

// filterAt draws a filter of one to three facets.
func filterAt(random *rand.Rand) list.Filter {
	draws := []func() list.Filter{
		func() list.Filter {
			return list.Has("severity", some(random, "critical", "high", "low", "info"), "high")
		},
		func() list.Filter { return list.Has("tag", "tag"+strconv.Itoa(random.IntN(300))) },
		func() list.Filter { return list.Has("tag", "scan"+strconv.Itoa(random.IntN(10_000))) },
		func() list.Filter { return list.Has("tag", "template"+strconv.Itoa(random.IntN(10_000))) },
		func() list.Filter { return list.Has("host", host(random.IntN(50_000))) },
		func() list.Filter { return list.Not(list.Has("severity", "info")) },
		func() list.Filter { return list.Has("internal", "true") },
	}
	var out []list.Filter
	for range 1 + random.IntN(3) {
		out = append(out, draws[random.IntN(len(draws))]())
	}
	return list.All(out...)
}

func ordered(o list.Order) func(*rand.Rand) list.Query {
	return func(random *rand.Rand) list.Query {
		o.Desc = random.IntN(2) == 0
		return list.Query{Filter: filterAt(random), Orders: []list.Order{o}, WithoutTotal: true}
	}
}

var kinds = []struct {
	name  string
	query func(*rand.Rand) list.Query
}{
	{"arrival", func(r *rand.Rand) list.Query { return list.Query{Filter: filterAt(r), WithoutTotal: true} }},
	{"arrival-total", func(r *rand.Rand) list.Query { return list.Query{Filter: filterAt(r)} }},
	{"everything", func(r *rand.Rand) list.Query { return list.Query{} }},
	{"deep-cursor", func(r *rand.Rand) list.Query {
		return list.Query{Filter: filterAt(r), Before: 1 + r.Int64N(900_000), WithoutTotal: true}
	}},
	{"old", func(r *rand.Rand) list.Query { return list.Query{Filter: list.Has("tag", "old"), WithoutTotal: true} }},
	{"disjoint", func(r *rand.Rand) list.Query {
		return list.Query{Filter: list.All(list.Has("severity", "low"), list.Not(list.Has("severity", "low", "high"))),
			WithoutTotal: true}
	}},
	{"search", func(r *rand.Rand) list.Query {
		text := some(r, "host-"+strconv.Itoa(r.IntN(50_000)), "zone"+strconv.Itoa(r.IntN(60)),
			"-"+strconv.Itoa(r.IntN(500))+".", "none of it")
		return list.Query{Filter: list.All(list.Contains(text, "host"), filterAt(r)), WithoutTotal: true}
	}},
	{"search-total", func(r *rand.Rand) list.Query {
		return list.Query{Filter: list.Contains(some(r, "host-"+strconv.Itoa(r.IntN(50_000)), "zone7."), "host")}
	}},
	{"column", func(r *rand.Rand) list.Query {
		return list.Query{Filter: list.All(list.Column("seen < ?", r.IntN(1_000_000)), filterAt(r)), WithoutTotal: true}
	}},
	{"by-severity", ordered(list.Order{Column: "severity", Facet: "severity"})},
	{"by-host", ordered(list.Order{Column: "host"})},
	{"by-seen", ordered(list.Order{Column: "seen"})},
}

func measure(b *testing.B, d *db.DB, random *rand.Rand, query func(*rand.Rand) list.Query) {
	b.Helper()
	var took []time.Duration
	var worst list.Query
	for b.Loop() {
		for range 60 {
			q := query(random)
			q.Limit = 100
			began := time.Now()
			if _, err := things.Page(b.Context(), d, "one", q); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
			if took[len(took)-1] == slices.Max(took) {
				worst = q
			}
		}
	}
	slices.Sort(took)
	for name, at := range map[string]int{"p50": len(took) / 2, "p95": len(took) * 95 / 100, "worst": len(took) - 1} {
		b.ReportMetric(float64(took[at].Microseconds())/1000, name+"-ms")
	}
	b.Logf("the slowest: %s", strings.ReplaceAll(fmt.Sprintf("%v", worst), "\n", " "))
}
