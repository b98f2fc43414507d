package engine_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// siteProcess makes the test binary a site of its own, so that a benchmark measures the
// CPU of the engine alone.
const siteProcess = "VEDETTE_BENCH_SITE"

func TestMain(m *testing.M) {
	if os.Getenv(siteProcess) != "" {
		site()
		return
	}
	os.Exit(m.Run())
}

// page is an ordinary page of 4 KiB.
var page = func() []byte {
	b := []byte("<html><head><title>Home</title></head><body>")
	for len(b) < 4096 {
		b = append(b, "<p>Some ordinary text of a page.</p>\n"...)
	}
	return b
}()

// site serves the page at the root and a 404 page elsewhere until its input ends.
func site() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "nginx/1.24.0")
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(page)
	}))
	io.Copy(io.Discard, os.Stdin)
}

// startSite starts a site in a process of its own.
func startSite(b *testing.B) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), siteProcess+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address)
}

// synthetic is 2,000 templates that each ask for their own path and judge it by a status,
// words and a regex.
func synthetic(b *testing.B) (programs []*program.Program) {
	for i := range 2000 {
		programs = append(programs, template(b, fmt.Sprintf("p%d", i), fmt.Sprintf(`  - path: ['{{BaseURL}}/path/%d']
    matchers-condition: and
    matchers:
      - {type: status, status: [200, 404]}
      - {type: word, words: ['phpMyAdmin %d', 'Adminer']}
      - {type: regex, regex: ['(?i)version ([0-9.]+)']}
`, i, i)))
	}
	return programs
}

// public is the HTTP templates of the public corpus that the engine runs.
func public(b *testing.B) (programs []*program.Program) {
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	filepath.WalkDir(filepath.Join(dir, "templates", "http"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if t, err := syntax.Parse(path, data); err == nil {
			if p, err := program.Compile(t); err == nil {
				programs = append(programs, p)
			}
		}
		return nil
	})
	if len(programs) == 0 {
		b.Skip("the template corpus is not here; VEDETTE_CORPUS names its folder")
	}
	return programs
}

// BenchmarkScan scans loopback sites in another process. requests/cpu-s is what the
// engine reaches, matching included; of-plain is that figure as a share of what a plain
// net/http client that only reads reaches in the same run.
func BenchmarkScan(b *testing.B) {
	const atATime = 10
	for name, load := range map[string]func(*testing.B) []*program.Program{"synthetic": synthetic, "public": public} {
		for _, hosts := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", name, hosts), func(b *testing.B) {
				programs := load(b)
				var targets []string
				for range hosts {
					targets = append(targets, startSite(b))
				}
				e := engine.New(engine.Config{PerHost: atATime})
				defer e.Close()
				scan := engine.Scan{Targets: targets, Programs: programs, OnEvent: func(engine.Event) {}}
				requests, events := 0, 0
				before := cpu()
				b.ReportAllocs()
				for b.Loop() {
					report, err := e.Run(b.Context(), scan)
					if err != nil {
						b.Fatal(err)
					}
					requests += report.Requests
					events = report.Events
				}
				ours := float64(requests) / (cpu() - before).Seconds()
				b.StopTimer()
				b.ReportMetric(ours, "requests/cpu-s")
				b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
				b.ReportMetric(float64(events), "events/op")
				b.ReportMetric(ours/plain(b, targets[0], 5000, atATime), "of-plain")
			})
		}
	}
}

// BenchmarkBind binds the public templates to the variables of a scan, as every scan
// does once.
func BenchmarkBind(b *testing.B) {
	programs := public(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range programs {
			p.Bind(program.Vars{Texts: map[string]string{"token": "x"}})
		}
	}
	b.ReportMetric(float64(len(programs)), "templates/op")
}

// plain is what a net/http client that only reads bodies reaches, in requests a
// CPU-second.
func plain(b *testing.B, url string, requests, atATime int) float64 {
	transport := &http.Transport{MaxIdleConnsPerHost: atATime, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	paths := make(chan string)
	var workers sync.WaitGroup
	before := cpu()
	for range atATime {
		workers.Go(func() {
			for path := range paths {
				res, err := client.Get(url + path)
				if err != nil {
					b.Error(err)
					continue
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	for i := range requests {
		paths <- fmt.Sprintf("/path/%d", i)
	}
	close(paths)
	workers.Wait()
	return float64(requests) / (cpu() - before).Seconds()
}

// cpu is the CPU time that the process has used.
func cpu() time.Duration {
	runtime.GC() // what was left over belongs to who left it
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
