package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// BenchmarkImport uploads results of some 1.2 KB as nuclei writes them. The bar is 10,000 a
// second (issue 4).
func BenchmarkImport(b *testing.B) {
	const each = 10_000
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			y := setUp(b, dbtest.Open(b, engine))
			n := 0
			for b.Loop() {
				var body strings.Builder
				for range each {
					n++
					fmt.Fprintf(&body, `{"template":"http/cves/2021/CVE-2021-%d.yaml","template-id":"CVE-2021-%d","template-path":"/root/nuclei-templates/http/cves/2021/CVE-2021-%d.yaml","info":{"name":"Something","author":["a","b"],"tags":["cve","cve2021","rce"],"description":"%s","severity":"high","metadata":{"max-request":1},"classification":{"cve-id":["cve-2021-1"],"cvss-score":7.5}},"type":"http","host":"https://h%d.example.com","port":"443","scheme":"https","url":"https://h%d.example.com","matched-at":"https://h%d.example.com/p/%d","request":"GET /p HTTP/1.1\r\nHost: h\r\n\r\n","response":"%s","ip":"192.0.2.1","timestamp":"2026-01-02T03:04:05.678Z","matcher-status":true}`+"\n",
						n%500, n%500, n%500, strings.Repeat("words ", 20), n%1000, n%1000, n%1000, n, strings.Repeat("body ", 80))
				}
				b.SetBytes(int64(body.Len()))
				if got, err := y.Import(y.alice, "bench", strings.NewReader(body.String())); err != nil || got.Stored != each {
					b.Fatal(got, err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "findings/s")
		})
	}
}
