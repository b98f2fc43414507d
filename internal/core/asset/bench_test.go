package asset

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// many is the i-th of many different assets: four ports a host, a thousand domains, some
// hundred technologies, titles of which half are their own.
func many(i int) discover.Asset {
	host := i / 4
	a := discover.Asset{
		Host: fmt.Sprintf("h%d.d%d.example%d.com", host, host%37, host%1000), Port: []int{80, 443, 8443, 22}[i%4],
		Domain: fmt.Sprintf("example%d.com", host%1000),
		IP:     []string{fmt.Sprintf("10.%d.%d.%d", host>>16&255, host>>8&255, host&255)}, Service: "ssh",
		Sources: []discover.SourceRef{{Source: "crtsh"}},
	}
	if host%3 == 0 {
		a.CNAME = []string{fmt.Sprintf("edge%d.cdn.example.net", host%50)}
	}
	if i%4 == 3 {
		return a
	}
	a.Service, a.URL = "https", "https://"+net.JoinHostPort(a.Host, strconv.Itoa(a.Port))+"/"
	a.StatusCode, a.ContentLength = []int{200, 200, 200, 301, 403, 404, 500}[host%7], int64(host%50_000)
	a.Title = []string{"Welcome to nginx!", fmt.Sprintf("Page %d of the shop", host)}[i%2]
	a.Technologies = []string{"Nginx:1.2" + strconv.Itoa(host%10), "PHP:8." + strconv.Itoa(host%4),
		"Tool" + strconv.Itoa(host%100)}
	a.Webserver, a.Favicon = "nginx/1.2"+strconv.Itoa(host%10), strconv.Itoa(host%500*7919)
	a.TLS = &discover.TLS{Serial: strconv.Itoa(host), SubjectCN: a.Host, SubjectAN: []string{a.Host},
		Expired: host%20 == 0}
	a.Headers = map[string]string{"Server": a.Webserver, "Content-Type": "text/html",
		"Date": "Mon, 02 Jan 2006 15:04:05 GMT"}
	return a
}

func manyOf(from, to int) (out []discover.Asset) {
	for i := from; i < to; i++ {
		out = append(out, many(i))
	}
	return out
}

// BenchmarkObserve stores assets of some 700 bytes, 500 a transaction, by four workers as an
// enumeration has them: its first run, and one that sees the same again.
func BenchmarkObserve(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			r.enroll(b, "e")
			const each = 500
			run := func(b *testing.B, run int64) {
				var next atomic.Int64
				used := cpuTime(b)
				b.ResetTimer()
				var workers sync.WaitGroup
				for range 4 {
					workers.Go(func() {
						for {
							n := int(next.Add(1)) - 1
							if n >= b.N {
								return
							}
							ready, err := r.Prepare(b.Context(),
								Seen{TeamID: r.team, EnumerationID: "e", Run: run, At: r.clock, Assets: manyOf(n*each, (n+1)*each)})
							if err == nil {
								err = r.db.Tx(b.Context(), func(tx *db.Tx) error {
									_, err := r.Store(b.Context(), tx, ready)
									return err
								})
							}
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				workers.Wait()
				b.ReportMetric(float64(b.N*each)/b.Elapsed().Seconds(), "assets/s")
				b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/float64(b.N*each), "cpu-us/asset")
			}
			b.Run("new", func(b *testing.B) { run(b, 1) })
			b.Run("again", func(b *testing.B) { run(b, 2) })
		})
	}
}

// BenchmarkList lists 100 of 1,000,000 assets of one enumeration (VEDETTE_BENCH_ASSETS)
// with each kind of filter and order.
func BenchmarkList(b *testing.B) {
	total := benchTotal()
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			r.enroll(b, "e")
			began := time.Now()
			for n := 0; n < total; n += 5000 {
				r.observe(b, "e", 1, manyOf(n, n+5000)...)
			}
			b.Logf("%d assets are stored in %s", total, time.Since(began))
			for name, q := range benchFilters() {
				f := r.filter(b, q)
				for _, sorts := range benchOrders {
					b.Run(titleOf(name, sorts), func(b *testing.B) { measure(b, r, f, sorts) })
				}
			}
		})
	}
}

// benchOrders are orders that lists are asked for in.
var benchOrders = [][]page.Sort{nil, {{Column: "host"}}, {{Column: "status"}, {Column: "title", Desc: true}},
	{{Column: "updated_at", Desc: true}}}

func titleOf(name string, sorts []page.Sort) string {
	for _, s := range sorts {
		name += "-by-" + s.Column
	}
	return name
}

// benchTotal is how many assets benchmarks list: VEDETTE_BENCH_ASSETS, or 1,000,000.
func benchTotal() int {
	if n, err := strconv.Atoi(os.Getenv("VEDETTE_BENCH_ASSETS")); err == nil {
		return n
	}
	return 1_000_000
}

func benchFilters() map[string]Filters {
	yes := true
	return map[string]Filters{
		"all":          {},
		"enumeration":  {EnumerationIDs: []string{"e"}},
		"host":         {Host: "h5.d5.example5.com"},
		"host-wild":    {Host: "*.d7.example*.com"},
		"domain":       {Domain: []string{"com"}},
		"port":         {Port: "443,8443"},
		"status":       {StatusCode: "403,404"},
		"length":       {ContentLength: "1000,2000"},
		"title":        {Title: "shop"},
		"technologies": {Technologies: "nginx,tool7"},
		"cname":        {CNAME: "edge7.cdn.example.net"},
		"cidr":         {IP: "10.0.0.0/8"},
		"favicon":      {Favicon: "7919"},
		"new":          {IsNew: &yes},
		"tech":         {IsTech: &yes},
		"internal":     {IsInternal: &yes},
		"search":       {Search: "example77"},
		"search-all":   {Search: "example"},
		"unseen":       {NotSeenForDays: 3},
		"time":         {Time: "last_week"},
		"custom":       {CustomFilter: `status_code >= 400 && !(host ~ "d7") || title ~ shop && tls = expired`},
		"several": {Port: "443", Technologies: "php", Domain: []string{"example5.com", "example77.com"}, IsNew: &yes,
			Search: "h1"},
		"no-such-thing":  {Title: "no such thing", Labels: "none"},
		"labels-nothing": {Labels: "staging"},
	}
}

func measure(b *testing.B, r *room, f Filter, sorts []page.Sort) {
	var took []time.Duration
	offset, used := 0, cpuTime(b)
	for b.Loop() {
		began := time.Now()
		r.list(b, Query{Filter: f, Sorts: sorts, Window: page.Window{Offset: offset, Limit: 100}})
		took = append(took, time.Since(began))
		offset = (offset + 100) % 10_000
	}
	cpu := float64((cpuTime(b) - used).Microseconds()) / 1000
	first := took[0]
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(cpu/float64(len(took)), "cpu-ms/op")
	b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
}

// cpuTime is what the process has used: beside other work on the machine, it says more
// than the clock.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPurge deletes an enumeration of 100,000 assets (VEDETTE_BENCH_ASSETS): what its
// deletion takes, and how long others wait for a part of what follows at most.
func BenchmarkPurge(b *testing.B) {
	total := 100_000
	if os.Getenv("VEDETTE_BENCH_ASSETS") != "" {
		total = benchTotal()
	}
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			r := setUp(b, dbtest.Open(b, engine))
			var deleted, longest, all time.Duration
			for i := range b.N {
				b.StopTimer()
				id := fmt.Sprint("e", i)
				r.enroll(b, id)
				for n := 0; n < total; n += 5000 {
					r.observe(b, id, 1, manyOf(n, n+5000)...)
				}
				b.StartTimer()
				began := time.Now()
				r.tx(b, func(tx *db.Tx) error { return r.DeleteEnumerations(b.Context(), tx, r.team, []string{id}) })
				deleted += time.Since(began)
				for last, more := int64(-1), true; more; {
					part := time.Now()
					var err error
					if last, more, err = r.purge(b.Context(), "asset", r.team, id, last); err != nil {
						b.Fatal(err)
					}
					longest = max(longest, time.Since(part))
				}
				all += time.Since(began)
			}
			b.ReportMetric(float64(deleted.Microseconds())/1000/float64(b.N), "delete-ms")
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-part-ms")
			b.ReportMetric(float64(b.N*total)/all.Seconds(), "assets/s")
		})
	}
}
