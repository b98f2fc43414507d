package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// A scan that hands its targets' reports on frees what each of them needed: its memory does not grow with their number,
// whether they answer, match, or are closed.
func TestMemoryIsFlatInTargets(t *testing.T) {
	site, err := url.Parse(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path[1] != 'a' {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var programs []*program.Program
	for i := range 40 {
		programs = append(programs, found(t, fmt.Sprintf("t%d", i), fmt.Sprintf("/%c%d", 'a'+i%2, i)))
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); host[len(host)-1] == '7' {
			return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("no service at %s", addr)}
		}
		return new(net.Dialer).DialContext(ctx, network, site.Host)
	}
	// live is the memory in use when the last of n targets has ended.
	live := func(n int) int64 {
		var targets []string
		for i := range n {
			targets = append(targets, fmt.Sprintf("http://10.0.%d.%d", i/250, i%250))
		}
		ended, cells, used := 0, 0, int64(0)
		counted := map[engine.State]int{}
		e := engine.New(engine.Config{Dial: dial})
		defer e.Close()
		report, err := e.Run(t.Context(), engine.Scan{
			Targets: targets, Programs: programs, Parallel: 8,
			OnTarget: func(target *engine.TargetReport) {
				for state, n := range target.Counts() {
					counted[state] += n
					cells += n
				}
				if ended++; ended == n {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					used = int64(m.HeapAlloc)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Targets) != 0 || report.TargetCount != n || ended != n || cells != n*len(programs) ||
			fmt.Sprint(counted) != fmt.Sprint(report.Counts()) || counted[engine.Failed] == 0 {
			t.Fatalf("%d targets: %d reports kept, %d counted, %d ended, cells %v, report %v", n, len(report.Targets),
				report.TargetCount, ended, counted, report.Counts())
		}
		return used
	}
	const few, many = 200, 2200
	live(few) // makes what is made once
	base := live(few)
	if perTarget := (live(many) - base) / (many - few); perTarget > 1300 {
		t.Errorf("a target that has ended keeps %d bytes", perTarget)
	}
}
