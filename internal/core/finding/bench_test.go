package finding

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// BenchmarkAdd stores findings of some 600 bytes, 1000 a transaction. The bar is 10,000
// a second (issue 4).
func BenchmarkAdd(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			const each = 1000
			n := 0
			for b.Loop() {
				r.add(b, "s", 1, sightings(n, n+each)...)
				n += each
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "findings/s")
		})
	}
}

// BenchmarkList lists 100 of 1,000,000 findings (VEDETTE_BENCH_FINDINGS) with each kind of
// filter and order. The bars are in docs/contribute/performance.md.
func BenchmarkList(b *testing.B) {
	total := 1_000_000
	if text := os.Getenv("VEDETTE_BENCH_FINDINGS"); text != "" {
		total, _ = strconv.Atoi(text)
	}
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			for n := 0; n < total; n += 5000 {
				r.add(b, "s"+strconv.Itoa(n/100_000), 1, sightings(n, n+5000)...)
			}
			for name, f := range filters() {
				for _, sorts := range [][]page.Sort{nil, {{Column: "severity", Desc: true}},
					{{Column: "host"}, {Column: "severity", Desc: true}}, {{Column: "updated_at", Desc: true}}} {
					label := name
					for _, s := range sorts {
						label += "-by-" + s.Column
					}
					b.Run(label, func(b *testing.B) { measure(b, r, f, sorts) })
				}
			}
		})
	}
}

func filters() map[string]Filter {
	yes := true
	return map[string]Filter{
		"all":      {},
		"severity": {Severities: []string{"critical", "high"}},
		"host":     {Hosts: []string{"h5.example5.com"}},
		"domain":   {Domains: []string{"example3.com", "com"}},
		"port":     {Ports: []int{8001, 8002}},
		"template": {Templates: []string{"CVE-2024-7"}},
		"search":   {Search: "2024-1"},
		"tag":      {Tags: []string{"t3"}},
		"label":    {Labels: []string{"none"}},
		"status":   {Statuses: []Status{Open}},
		"category": {Categories: []string{"cves"}},
		"time":     {Since: time.Now().Add(-time.Minute)},
		"internal": {Internal: &yes},
		"scan":     {ScanIDs: []string{"s1"}},
		"many": {Severities: []string{"low", "info", "medium"}, Tags: []string{"t1"}, Internal: &yes, Search: "h5",
			Domains: []string{"com"}},
		"nothing": {Severities: []string{"critical"}, Hosts: []string{"h1.example1.com"},
			Templates: []string{"CVE-2024-2"}},
		"ticket":    {Ticket: &yes},
		"regressed": {Regression: &yes},
	}
}

func measure(b *testing.B, r room, f Filter, sorts []page.Sort) {
	var took []time.Duration
	offset := 0
	for b.Loop() {
		began := time.Now()
		r.list(b, f, sorts, page.Window{Offset: offset, Limit: 100})
		took = append(took, time.Since(began))
		offset = (offset + 100) % 10_000
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
