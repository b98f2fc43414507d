package load

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// BenchmarkPlatform measures exports and uploads on each database. The bars are 50,000 rows a
// second in 150 MB, and 10,000 findings a second. The PostgreSQL that a run starts for itself
// does not wait for the disk: for figures of uploads give it one that does.
func BenchmarkPlatform(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := seeded(b, engine, "--findings", cmp.Or(os.Getenv("VEDETTE_BENCH_FINDINGS"), "1000000"))
			for _, format := range []string{"json", "csv"} {
				b.Run("export-"+format, func(b *testing.B) { d.measureExport(b, format) })
			}
			s := d.serve(b)
			b.Run("import", func(b *testing.B) { s.measureImport(b) })
		})
	}
}

// measureExport has a server that has just started write all findings into a file.
func (d deployment) measureExport(b *testing.B, format string) {
	s := d.serve(b)
	defer s.stop()
	rows, used := 0, s.cpu(b)
	for b.Loop() {
		out := &lines{}
		body := strings.NewReader(`{"severity":["critical","high","medium","low","info","unknown"]}`)
		size, err := s.send(http.DefaultClient, http.MethodPost, "/v1/scans/results/export?type="+format, "application/json",
			body, out)
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
		if _, err := s.ask(http.DefaultClient, http.MethodPost, "/v1/scans/import?name=bench",
			strings.NewReader(body.String())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "findings/s")
}
