package names_test

import (
	"fmt"
	"net"
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
	for _, name := range z.Questions() {
		if t, is := z.Names[name]; !is || t.RCode == "NOERROR" && !strings.HasPrefix(name, "slow") &&
			!strings.HasPrefix(name, "large") {
			list = append(list, name)
		}
	}
	return list
}

// BenchmarkResolve looks names of the lab up, with wildcards filtered, and in the same
// run lets dnsperf send the same questions to the same server: the lab's own, which is in
// this process, and Debian's nsd with the lab's zone.
func BenchmarkResolve(b *testing.B) {
	z, s, cfg := lab(b)
	cfg.Timeout = 2 * time.Second
	list := benchNames(z)
	for _, server := range []string{"lab", "nsd"} {
		b.Run(server, func(b *testing.B) {
			cfg.Resolvers = []string{s.Addr}
			if server == "nsd" {
				cfg.Resolvers = []string{startNSD(b, z)}
			}
			var ours float64
			b.Run("vedette", func(b *testing.B) { ours = benchResolve(b, cfg, list, server == "nsd") })
			b.Run("dnsperf", func(b *testing.B) { benchDNSPerf(b, cfg.Resolvers[0], list, ours) })
		})
	}
}

// benchResolve returns questions a second.
func benchResolve(b *testing.B, cfg names.Config, list []string, alone bool) float64 {
	b.ReportAllocs()
	var questions int64
	used := cpu(b)
	for b.Loop() {
		report, err := names.Resolve(b.Context(), cfg, slices.Values(list), func(discover.Name) {})
		if err != nil || report.TimedOut > 0 {
			b.Fatalf("%+v %v", report, err)
		}
		questions += report.Questions
	}
	seconds, busy := b.Elapsed().Seconds(), cpu(b)-used
	b.ReportMetric(float64(b.N*len(list))/seconds, "names/s")
	b.ReportMetric(float64(questions)/seconds, "questions/s")
	if alone { // otherwise the server's part is in it
		b.ReportMetric(busy.Seconds()*1e6/float64(questions), "cpu-µs/question")
	}
	return float64(questions) / seconds
}

// benchDNSPerf lets dnsperf ask for 3 seconds.
func benchDNSPerf(b *testing.B, server string, list []string, ours float64) {
	program, err := exec.LookPath("dnsperf")
	if err != nil {
		b.Skip("dnsperf is not installed (Debian's package of that name)")
	}
	host, port, _ := strings.Cut(server, ":")
	file := filepath.Join(b.TempDir(), "questions")
	if err := os.WriteFile(file, []byte(strings.Join(list, " A\n")+" A\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	var rate, questions float64
	var busy time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "-s", host, "-p", port, "-d", file, "-l", "3", "-c", "4", "-q",
			"200")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("dnsperf: %v\n%s", err, out)
		}
		found := regexp.MustCompile(`(?s)Queries sent:\s+(\d+).*Queries per second:\s+([0-9.]+)`).FindSubmatch(out)
		if found == nil {
			b.Fatalf("dnsperf says no figure:\n%s", out)
		}
		sent, _ := strconv.ParseFloat(string(found[1]), 64)
		rate, _ = strconv.ParseFloat(string(found[2]), 64)
		questions += sent
		busy += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(rate, "questions/s")
	b.ReportMetric(ours/rate, "vedette/dnsperf")
	b.ReportMetric(busy.Seconds()*1e6/questions, "cpu-µs/question")
}

// startNSD serves a zone with Debian's nsd, and returns where.
func startNSD(b *testing.B, z *dnslab.Zone) (addr string) {
	b.Helper()
	program, err := exec.LookPath("nsd")
	if err != nil {
		b.Skip("nsd is not installed (Debian's package of that name)")
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = conn.LocalAddr().String()
	conn.Close()
	host, port, _ := strings.Cut(addr, ":")
	dir := b.TempDir()
	for file, text := range map[string]string{
		"zone": z.File(),
		"conf": fmt.Sprintf("server:\n ip-address: %[2]s@%[3]s\n server-count: 2\n reuseport: yes\n username: \"\"\n zonesdir: %[1]s\n xfrdir: %[1]s\n database: \"\"\n pidfile: \"\"\n"+
			" xfrdfile: \"\"\n zonelistfile: %[1]s/list\n logfile: %[1]s/log\n rrl-ratelimit: 0\nremote-control:\n control-enable: no\nzone:\n name: %[4]s\n zonefile: zone\n", dir, host, port, z.Domain),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-d", "-c", filepath.Join(dir, "conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	up := func() bool {
		report, err := names.Resolve(b.Context(),
			names.Config{Resolvers: []string{addr}, Retries: -1, Timeout: 50 * time.Millisecond},
			slices.Values([]string{"www." + z.Domain}), func(discover.Name) {})
		return err == nil && report.Found == 1
	}
	for deadline := time.Now().Add(10 * time.Second); !up(); {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(dir, "log"))
			b.Fatalf("nsd does not answer: %s", said)
		}
	}
	return addr
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
