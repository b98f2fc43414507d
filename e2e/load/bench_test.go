package load

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/db/dbtest"
)

// clients ask at the same time, each as soon as it has its answer.
const clients = 50

// results are lists of findings with each filter that is offered, and in each kind of order.
var results = []string{
	"severity=critical,high,medium,low,info,unknown", "", "severity=critical,high", "search=h12", "search=kind", "host=h7.d7.example.com", "domain=d3.example.com", "domain=com", "port=8443,22",
	"templates=weakness-200", "time=last_day", "vuln_status=fixed,triaged", "tags=tag3", "labels=seen", "category=cves", "is_ticket=true", "is_regression=true", "is_internal=true",
	"severity=low,info&tags=tag1,tag2&is_internal=false&search=h1&domain=com", "sort_desc=severity", "sort_asc=host&sort_desc=severity", "sort_desc=updated_at", "sort_asc=port,template_id",
	"sort_desc=vuln_status,created_at", "domain=com&sort_asc=updated_at", "offset=500000&severity=critical,high,medium,low,info,unknown",
}

// scans are lists of scans with each filter, and in each order.
func scans() []string {
	out := []string{"", "search=team+3", "status=finished", "status=uploaded&search=1", "is_internal=false", "offset=9000"}
	for _, field := range []string{
		"created_at", "updated_at", "completed_at", "name", "status", "progress", "total_target", "total_template", "total_scan", "total_result", "rescan_count", "scan_time_elapsed", "scan_id",
	} {
		out = append(out, "sort_asc="+field, "sort_desc="+field)
	}
	return append(out, "status=uploaded&sort_desc=total_result", "sort_asc=status,total_target&sort_desc=created_at")
}

// BenchmarkPlatform measures, on each database, the first list after a start, every list,
// and uploads. The bars are a 99th percentile of 20 ms for 100 of a list, and 10,000
// findings a second (issue 4).
func BenchmarkPlatform(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			h := seeded(b, engine, "--findings", cmp.Or(os.Getenv("VEDETTE_BENCH_FINDINGS"), "1000000"))
			b.Run("start", func(b *testing.B) { h.measureStart(b, "/v1/scans/results?limit=100") })
			s := h.serve(b)
			for _, query := range results {
				b.Run("results?"+query, func(b *testing.B) { s.measure(b, clients, "/v1/scans/results?limit=100&"+query) })
			}
			for _, query := range scans() {
				b.Run("scans?"+query, func(b *testing.B) { s.measure(b, clients, "/v1/scans?limit=100&"+query) })
			}
			b.Run("import", func(b *testing.B) { s.measureImport(b) })
		})
	}
}

// measure lets so many clients ask for a path.
func (s *server) measure(b *testing.B, clients int, path string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}}
	defer client.CloseIdleConnections()
	size, err := s.ask(client, http.MethodGet, path, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	var mu sync.Mutex
	var took []time.Duration
	var asked atomic.Int64
	used := s.cpu(b)
	b.ResetTimer()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var mine []time.Duration
			for asked.Add(1) <= int64(b.N) {
				began := time.Now()
				if _, err := s.ask(client, http.MethodGet, path, nil); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	all.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		return
	}
	at := func(percent int) float64 { return float64(took[len(took)*percent/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "lists/s")
	b.ReportMetric((s.cpu(b)-used)*1000/float64(len(took)), "server-cpu-ms/op")
}

// measureStart starts a server and asks for a list, for which it must read all that there
// is.
func (h house) measureStart(b *testing.B, path string) {
	var first time.Duration
	var before, after float64
	n := 0
	for b.Loop() {
		s := h.serve(b)
		before += s.resident(b)
		began := time.Now()
		if _, err := s.ask(http.DefaultClient, http.MethodGet, path, nil); err != nil {
			b.Fatal(err)
		}
		first += time.Since(began)
		after += s.resident(b)
		n++
		s.stop()
	}
	b.ReportMetric(first.Seconds()/float64(n), "first-list-s")
	b.ReportMetric(before/float64(n), "MB-before")
	b.ReportMetric(after/float64(n), "MB-after")
}

// measureImport uploads results of some 1 KB, 20,000 at a time.
func (s *server) measureImport(b *testing.B) {
	const each = 20_000
	n := 0
	for b.Loop() {
		b.StopTimer()
		var body strings.Builder
		for range each {
			n++
			fmt.Fprintf(&body, `{"template-id":"CVE-2021-%d","template-path":"http/cves/2021/CVE-2021-%d.yaml","info":{"name":"Something","author":["a","b"],"tags":["cve","rce"],"description":"%s","severity":"high"},"type":"http","host":"h%d.example.com","port":"443","scheme":"https","matched-at":"https://h%d.example.com/p/%d","request":"GET /p HTTP/1.1\r\n\r\n","response":"%s","ip":"192.0.2.1","timestamp":"2026-01-02T03:04:05.678Z","matcher-status":true}`+"\n",
				n%500, n%500, strings.Repeat("words ", 20), n%1000, n%1000, n, strings.Repeat("body ", 80))
		}
		b.SetBytes(int64(body.Len()))
		b.StartTimer()
		if _, err := s.ask(http.DefaultClient, http.MethodPost, "/v1/scans/import?name=bench", strings.NewReader(body.String())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "findings/s")
}
