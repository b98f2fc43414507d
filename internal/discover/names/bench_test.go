package names_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// benchNames are names of a zone that are answered at once: half are there, some are a
// wildcard's, the others are missing.
func benchNames(z *dnslab.Zone) (list []string) {
	for _, name := range z.Asked() {
		if t, is := z.Names[name]; !is || t.RCode == "NOERROR" && !strings.HasPrefix(name, "slow") && !strings.HasPrefix(name, "large") {
			list = append(list, name)
		}
	}
	return list
}

// BenchmarkResolve looks names of the lab up, with wildcards filtered, and in the same
// run lets dnsperf send the same questions to the same server.
func BenchmarkResolve(b *testing.B) {
	z, s, cfg := lab(b)
	list := benchNames(z)
	cfg.Timeout = 2 * time.Second
	b.Run("vedette", func(b *testing.B) {
		b.ReportAllocs()
		before, used := s.Asked(), cpu(b)
		for b.Loop() {
			if _, err := names.Resolve(b.Context(), cfg, slices.Values(list), func(discover.Name) {}); err != nil {
				b.Fatal(err)
			}
		}
		seconds, busy := b.Elapsed().Seconds(), cpu(b)-used
		b.ReportMetric(busy.Seconds()*1e6/float64(b.N*len(list)), "cpu-µs/name") // the server's part is in it
		b.ReportMetric(float64(b.N*len(list))/seconds, "names/s")
		b.ReportMetric(float64(s.Asked()-before)/seconds, "questions/s")
	})
	b.Run("dnsperf", func(b *testing.B) {
		program, err := exec.LookPath("dnsperf")
		if err != nil {
			b.Skip("dnsperf is not installed (Debian's package of that name)")
		}
		host, port, _ := strings.Cut(s.Addr, ":")
		var questions strings.Builder
		for _, name := range list {
			questions.WriteString(name + " A\n")
		}
		file := filepath.Join(b.TempDir(), "questions")
		if err := os.WriteFile(file, []byte(questions.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		var rate float64
		for b.Loop() {
			out, err := exec.CommandContext(b.Context(), program, "-s", host, "-p", port, "-d", file, "-l", "3", "-c", "4", "-q", "200").CombinedOutput()
			if err != nil {
				b.Fatalf("dnsperf: %v\n%s", err, out)
			}
			found := regexp.MustCompile(`Queries per second:\s+([0-9.]+)`).FindSubmatch(out)
			if found == nil {
				b.Fatalf("dnsperf says no figure:\n%s", out)
			}
			rate, _ = strconv.ParseFloat(string(found[1]), 64)
		}
		b.ReportMetric(rate, "questions/s")
	})
}

// cpu is the processor time that this process has had.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMillionCandidates asks about a million names that are not there, and reports
// the most memory that was in use.
func BenchmarkMillionCandidates(b *testing.B) {
	_, _, cfg := lab(b)
	cfg.Timeout = 2 * time.Second
	var most uint64
	for b.Loop() {
		told := 0
		report, err := names.Resolve(b.Context(), cfg, func(yield func(string) bool) {
			for i := 0; i < 1_000_000 && yield(fmt.Sprintf("candidate-%d.lab.test", i)); i++ {
			}
		}, func(discover.Name) {
			if told++; told%50_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse+m.StackInuse)
			}
		})
		if err != nil || report.Asked != 1_000_000 || report.Found != 0 {
			b.Fatalf("%+v %v", report, err)
		}
	}
	b.ReportMetric(float64(most)/1e6, "MB")
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "names/s")
}
