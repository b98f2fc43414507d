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

// measureStart starts a server and asks for a list, for which it must read all that there
// is.
func (d deployment) measureStart(b *testing.B, path string) {
	var first time.Duration
	var before, after float64
	n := 0
	for b.Loop() {
		s := d.serve(b)
		before += s.memory(b, "VmRSS:")
		began := time.Now()
		if _, err := s.ask(http.DefaultClient, http.MethodGet, path, nil); err != nil {
			b.Fatal(err)
		}
		first += time.Since(began)
		after += s.memory(b, "VmRSS:")
		n++
		s.stop()
	}
	b.ReportMetric(first.Seconds()/float64(n), "first-list-s")
	b.ReportMetric(before/float64(n), "MB-before")
	b.ReportMetric(after/float64(n), "MB-after")
}

// results are lists of findings with each filter that is offered, and in each kind of order.
var results = []string{
	"severity=critical,high,medium,low,info,unknown", "", "severity=critical,high", "search=h12", "search=kind",
	"host=h7.d7.example.com", "domain=d3.example.com", "domain=com", "port=8443,22",
	"templates=weakness-200", "time=last_day", "vuln_status=fixed,triaged", "tags=tag3", "labels=seen", "category=cves",
	"is_ticket=true", "is_regression=true", "is_internal=true",
	"severity=low,info&tags=tag1,tag2&is_internal=false&search=h1&domain=com", "sort_desc=severity",
	"sort_asc=host&sort_desc=severity", "sort_desc=updated_at", "sort_asc=port,template_id",
	"sort_desc=vuln_status,created_at", "domain=com&sort_asc=updated_at",
	"offset=500000&severity=critical,high,medium,low,info,unknown",
	"before=500000&severity=critical,high,medium,low,info,unknown",
	"offset=400000&severity=critical,high,medium,low,info,unknown&sort_asc=host",
	"offset=400000&severity=critical,high,medium,low,info,unknown&sort_desc=updated_at",
}

// scans are lists of scans with each filter, and in each order.
func scans() []string {
	out := []string{"", "search=team+3", "status=finished", "status=uploaded&search=1", "is_internal=false", "offset=9000"}
	for _, field := range []string{
		"created_at", "updated_at", "completed_at", "name", "status", "progress", "total_target", "total_template",
		"total_scan", "total_result", "rescan_count", "scan_time_elapsed", "scan_id",
	} {
		out = append(out, "sort_asc="+field, "sort_desc="+field)
	}
	return append(out, "status=uploaded&sort_desc=total_result", "sort_asc=status,total_target&sort_desc=created_at")
}

// contents are lists of assets with each filter that is offered, and in each kind of order.
var contents = []string{
	"", "host=h5.d5.example5.com", "host=*.d7.example*.com", "domain=com", "domain=example5.com", "port=443,8443",
	"status_code=403,404", "content_length=1000,2000", "title=shop", "technologies=nginx,tool7",
	"cname=edge7.cdn.example.net", "ip=10.0.0.0/8", "favicon=7919", "labels=staging", "is_new=true", "is_tech=true",
	"is_favicon=false", "is_screenshot=true", "is_internal=true", "only_dns=true", "only_ip=true",
	"search=example77", "search=example", "not_seen_for_days=3", "time=last_week",
	"start_date=2026-01-01&end_date=2030-01-01",
	"custom_filter=status_code+%3E%3D+400+%26%26+!(host+~+d7)+%7C%7C+title+~+shop+%26%26+tls+%3D+expired",
	"port=443&technologies=php&domain=com&is_new=true&search=h1",
	"sort_asc=host", "sort_desc=updated_at", "sort_desc=last_seen", "sort_asc=status_code&sort_desc=title", "sort_desc=ip",
	"sort_desc=port,technologies", "sort_desc=is_new&sort_asc=domain", "sort_asc=created_at",
	"domain=com&sort_desc=host", "ip=10.0.0.0/8&sort_desc=updated_at", "title=shop&sort_asc=content_length",
	"technologies=nginx&sort_asc=title", "offset=500000", "offset=500000&sort_asc=host",
}
