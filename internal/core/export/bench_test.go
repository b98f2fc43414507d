package export

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// BenchmarkExport writes all of 1,000,000 findings (VEDETTE_BENCH_FINDINGS) in each
// format. The bars are 50,000 rows a second for JSON and CSV, in 150 MB of resident memory
// (issue 4).
func BenchmarkExport(b *testing.B) {
	total := 1_000_000
	if text := os.Getenv("VEDETTE_BENCH_FINDINGS"); text != "" {
		total, _ = strconv.Atoi(text)
	}
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			for n := 0; n < total; n += 5000 {
				r.add(b, "s"+strconv.Itoa(n/100_000), events(n, n+5000)...)
			}
			for _, format := range []Format{JSON, CSV, SARIF} {
				b.Run(string(format), func(b *testing.B) {
					forget(b)
					rows, size, before := 0, 0, processor(b)
					for b.Loop() {
						f, err := r.Open(r.alice, Request{Format: format})
						if err != nil {
							b.Fatal(err)
						}
						var out counter
						if err := f.Write(r.alice, &out, nil); err != nil {
							b.Fatal(err)
						}
						rows, size = rows+f.Total, size+int(out)
					}
					b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(float64(rows)/(processor(b)-before).Seconds(), "rows/cpu-s")
					b.ReportMetric(float64(size)/1e6/b.Elapsed().Seconds(), "MB/s")
					b.ReportMetric(resident(b), "MB-resident")
				})
			}
		})
	}
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// forget gives memory back, and makes the kernel forget how much this process had.
func forget(t testing.TB) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak of the memory is older than the export: %v", err)
	}
}

// processor is how long this process has had a processor; the database's own process is
// not in it.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is how many megabytes this process has had in memory at most since forget.
func resident(t testing.TB) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kB, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		t.Fatal(err)
	}
	return float64(kB) / 1024
}
