package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// BenchmarkMillionCandidates runs vedette enumerate with a million words that do not exist, and reports
// the peak memory.
func BenchmarkMillionCandidates(b *testing.B) {
	const words = 1_000_000
	program := binary(b)
	resolver := dnslab.Start(b, dnslab.Generate("lab.example", 5000)).Addr
	var list strings.Builder
	for i := range words {
		fmt.Fprintf(&list, "candidate-%d\n", i)
	}
	file := filepath.Join(b.TempDir(), "words")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	var most int64
	for b.Loop() {
		cmd := exec.Command(program, "enumerate", "lab.example", "--wordlist", file, "--steps",
			"dns_bruteforce,dns_permute,dns_resolve", "--resolvers", resolver, "--no-sources", "--silent")
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"host":"www.lab.example"`) {
			b.Fatalf("%v: %.500s", err, out)
		}
		if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			most = max(most, used.Maxrss) // KiB
		}
	}
	b.ReportMetric(float64(most)/1024, "MiB")
	b.ReportMetric(words*float64(b.N)/b.Elapsed().Seconds(), "names/s")
}
