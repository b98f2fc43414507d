package load

import (
	"bytes"
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

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// clients ask at the same time, each as soon as it has its answer.
const clients = 50

// results are lists of findings with each filter that is offered, and in each kind of order.
var results = []string{
	"severity=critical,high,medium,low,info,unknown", "", "severity=critical,high", "search=h12", "search=kind", "host=h7.d7.example.com", "domain=d3.example.com", "domain=com", "port=8443,22",
	"templates=weakness-200", "time=last_day", "vuln_status=fixed,triaged", "tags=tag3", "labels=seen", "category=cves", "is_ticket=true", "is_regression=true", "is_internal=true",
	"severity=low,info&tags=tag1,tag2&is_internal=false&search=h1&domain=com", "sort_desc=severity", "sort_asc=host&sort_desc=severity", "sort_desc=updated_at", "sort_asc=port,template_id",
	"sort_desc=vuln_status,created_at", "domain=com&sort_asc=updated_at", "offset=500000&severity=critical,high,medium,low,info,unknown", "before=500000&severity=critical,high,medium,low,info,unknown",
	"offset=400000&severity=critical,high,medium,low,info,unknown&sort_asc=host", "offset=400000&severity=critical,high,medium,low,info,unknown&sort_desc=updated_at",
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

// rates are lists a second in all, for clients that ask at a pace.
var rates = []int{200, 500, 1000, 2000}

// BenchmarkPlatform measures, on each database, the first list after a start, every list,
// lists at a pace, exports and uploads. The bars are a 99th percentile of 20 ms for 100 of
// a list, 50,000 rows a second in 150 MB, and 10,000 findings a second (issue 4). The
// PostgreSQL that a run starts for itself does not wait for the disk: for figures of uploads
// give it one that does.
func BenchmarkPlatform(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := seeded(b, engine, "--findings", cmp.Or(os.Getenv("VEDETTE_BENCH_FINDINGS"), "1000000"))
			for _, format := range []string{"json", "csv"} {
				b.Run("export-"+format, func(b *testing.B) { d.measureExport(b, format) })
			}
			b.Run("start", func(b *testing.B) { d.measureStart(b, "/v1/scans/results?limit=100") })
			s := d.serve(b)
			for _, list := range []struct {
				name, path string
				queries    []string
			}{{"results", "/v1/scans/results", results}, {"scans", "/v1/scans", scans()}} {
				var all []string
				for _, query := range list.queries {
					path := list.path + "?limit=100&" + query
					all = append(all, path)
					b.Run(list.name+"?"+query, func(b *testing.B) { s.measure(b, clients, 0, path) })
				}
				for _, rate := range rates {
					b.Run(fmt.Sprintf("%s-at-%d-a-second", list.name, rate), func(b *testing.B) { s.measure(b, clients, rate, all...) })
				}
			}
			b.Run("import", func(b *testing.B) { s.measureImport(b) })
		})
	}
}

// measure lets so many clients ask for paths in turn: each as soon as it has its answer, or
// all together so many a second. A list that is late has waited since it was due.
func (s *server) measure(b *testing.B, clients, rate int, paths ...string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}}
	defer client.CloseIdleConnections()
	size := int64(0)
	for _, path := range paths {
		n, err := s.ask(client, http.MethodGet, path, nil)
		if err != nil {
			b.Fatal(err)
		}
		size += n
	}
	b.SetBytes(size / int64(len(paths)))
	var mu sync.Mutex
	var took []time.Duration
	var asked atomic.Int64
	used := s.cpu(b)
	b.ResetTimer()
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var mine []time.Duration
			for i := asked.Add(1); i <= int64(b.N); i = asked.Add(1) {
				due := time.Now()
				if rate > 0 {
					due = began.Add(time.Duration(i) * time.Second / time.Duration(rate))
					time.Sleep(time.Until(due))
				}
				if _, err := s.ask(client, http.MethodGet, paths[i%int64(len(paths))], nil); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(due))
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

// measureExport has a server that has just started write all findings into a file.
func (d deployment) measureExport(b *testing.B, format string) {
	s := d.serve(b)
	defer s.stop()
	rows, used := 0, s.cpu(b)
	for b.Loop() {
		out := &lines{}
		body := strings.NewReader(`{"severity":["critical","high","medium","low","info","unknown"]}`)
		size, err := s.send(http.DefaultClient, http.MethodPost, "/v1/scans/results/export?type="+format, "application/json", body, out)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(size)
		rows += out.n
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric((s.cpu(b)-used)*1e6/float64(max(rows, 1)), "server-cpu-µs/row")
	b.ReportMetric(s.memory(b, "VmHWM:"), "MB-resident")
}

// lines counts the lines that are written to it.
type lines struct{ n int }

func (l *lines) Write(p []byte) (int, error) {
	l.n += bytes.Count(p, []byte{'\n'})
	return len(p), nil
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
