package load

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// rounds is how often each list is asked for; distinct is how many different lists are
// asked for before the memory of the server is read.
const rounds, distinct = 20, 1000

// BenchmarkLists measures, on each database, lists of 100 of 1,000,000 findings in 10,000
// scans and of 1,000,000 assets in one enumeration: the first list after a start, every
// filter in order of arrival, every other order, and the memory of the server after 1,000
// different lists. Each answer has its total. The bars for one client (a page and its total
// together) are a 95th percentile of 200 ms in order of arrival and of 450 ms in another
// order, 1 s for the slowest, 0.5 s for the first, and 200 MB.
//
//	make bench BENCH=Lists
func BenchmarkLists(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := seeded(b, engine, "--findings", cmp.Or(os.Getenv("VEDETTE_BENCH_FINDINGS"), "1000000"),
				"--assets", cmp.Or(os.Getenv("VEDETTE_BENCH_ASSETS"), "1000000"))
			for _, l := range lists() {
				b.Run("start/"+l.name, func(b *testing.B) { h.measureStart(b, l.path+"limit=100") })
			}
			s := h.serve(b)
			for _, l := range lists() {
				b.Run(l.name, func(b *testing.B) { s.measureLists(b, l) })
			}
			b.Run("memory", s.measureMemory)
		})
	}
}

// list is one list of the platform API with its filters and orders.
type list struct {
	name, path string
	queries    []string
}

func lists() []list {
	return []list{
		{"findings", "/v1/scans/results?", results},
		{"scans", "/v1/scans?", scans()},
		{"assets", "/v1/asset/enumerate/seed/contents?", contents},
	}
}

// measureLists asks for each list rounds times, one after the other, and reports the times
// of those in order of arrival and of those in another order.
func (s *server) measureLists(b *testing.B, l list) {
	var arrival, ordered []time.Duration
	var worst time.Duration
	slowest := ""
	for b.Loop() {
		for _, query := range l.queries {
			var took []time.Duration
			for range rounds {
				began := time.Now()
				if _, err := s.ask(http.DefaultClient, http.MethodGet, l.path+"limit=100&"+query, nil); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.Logf("p50 %6.1f  p95 %6.1f  worst %6.1f ms  %s", ms(took, 50), ms(took, 95), ms(took, 100), query)
			if last := took[len(took)-1]; last > worst {
				worst, slowest = last, query
			}
			if strings.Contains(query, "sort_") {
				ordered = append(ordered, took...)
			} else {
				arrival = append(arrival, took...)
			}
		}
	}
	slices.Sort(arrival)
	slices.Sort(ordered)
	b.ReportMetric(ms(arrival, 50), "arrival-p50-ms")
	b.ReportMetric(ms(arrival, 95), "arrival-p95-ms")
	b.ReportMetric(ms(ordered, 50), "ordered-p50-ms")
	b.ReportMetric(ms(ordered, 95), "ordered-p95-ms")
	b.ReportMetric(worst.Seconds()*1000, "worst-ms")
	b.Logf("slowest: %s %s", l.name, slowest)
}

// ms is a percentile of sorted times, in milliseconds.
func ms(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	return float64(took[min(len(took)*percent/100, len(took)-1)].Microseconds()) / 1000
}

// measureMemory asks for many different lists and reports what the server holds then.
func (s *server) measureMemory(b *testing.B) {
	for b.Loop() {
		for i := range distinct {
			l := lists()[i%3]
			query := fmt.Sprintf("limit=100&offset=%d&search=%d&%s", i%7*100, i, l.queries[i/3%len(l.queries)])
			if strings.Count(query, "search=") > 1 || strings.Count(query, "offset=") > 1 {
				query = "limit=100&" + l.queries[i/3%len(l.queries)]
			}
			if _, err := s.ask(http.DefaultClient, http.MethodGet, l.path+query, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(s.memory(b, "VmRSS:"), "MB-resident")
	b.ReportMetric(s.memory(b, "VmHWM:"), "MB-peak")
}
