package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// page is an ordinary page of 4 KiB.
var page = func() []byte {
	b := []byte("<html><head><title>Home</title></head><body>")
	for len(b) < 4096 {
		b = append(b, "<p>Some ordinary text of a page.</p>\n"...)
	}
	return b
}()

// BenchmarkRun scans one loopback site with 500 templates that each ask for their own
// path. requests/cpu-s counts the CPU of the whole process, the site's included;
// of-plain is that figure as a share of what a plain net/http client, with the same
// site and as many requests at a time, reaches in the same run.
func BenchmarkRun(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(page) }))
	defer s.Close()
	const templates, atATime = 500, 10
	var programs []*program.Program
	for i := range templates {
		programs = append(programs, template(b, fmt.Sprintf("p%d", i), fmt.Sprintf(`  - path: ['{{BaseURL}}/path/%d']
    matchers-condition: and
    matchers:
      - {type: status, status: [200]}
      - {type: word, words: ['phpMyAdmin', 'Adminer']}
      - {type: regex, regex: ['(?i)version ([0-9.]+)']}
`, i)))
	}
	e := engine.New(engine.Config{PerHost: atATime, Concurrency: atATime})
	defer e.Close()
	requests := 0
	before := cpu()
	b.ReportAllocs()
	for b.Loop() {
		report, err := e.Run(b.Context(), engine.Scan{Targets: []string{s.URL}, Programs: programs})
		if err != nil || report.Partial() {
			b.Fatal(err, report.Counts())
		}
		requests += report.Requests
	}
	ours := float64(requests) / (cpu() - before).Seconds()
	b.StopTimer()
	b.ReportMetric(ours, "requests/cpu-s")
	b.ReportMetric(ours/plain(b, s.URL, 10*templates, atATime), "of-plain")
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
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
