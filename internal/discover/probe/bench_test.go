package probe_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

// BenchmarkHTTPProbe probes hosts on loopback that are one Go server: "alike" shows every
// host the same page, "distinct" each a page of its own, so that its technologies are looked
// at anew. A host is a port tried, a start page and a favicon.
func BenchmarkHTTPProbe(b *testing.B) {
	page := "<html><head><title>%s</title><link rel=icon href=/i.png></head><body>" + strings.Repeat("<p>some text of a small page</p>", 50) + "</body></html>"
	for _, kind := range []string{"alike", "distinct"} {
		b.Run(kind, func(b *testing.B) {
			l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "0.0.0.0:0")
			if err != nil {
				b.Fatal(err)
			}
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Server", "nginx/1.22.1")
				if r.URL.Path != "/" {
					_, _ = w.Write([]byte("icon"))
					return
				}
				title := "Hello"
				if kind == "distinct" {
					title = r.Host
				}
				_, _ = fmt.Fprintf(w, page, title)
			})}
			go func() { _ = server.Serve(l) }()
			b.Cleanup(func() { server.Close() })
			to := l.Addr().(*net.TCPAddr).Port
			const hosts = 2000
			var names []discover.Name
			for i := range hosts {
				ip := netip.AddrFrom4([4]byte{127, 30, byte(i >> 8), byte(i)})
				names = append(names, discover.Name{Host: fmt.Sprintf("h%d.test", i), IP: []netip.Addr{ip}})
			}
			prints := &probe.Fingerprints{}
			b.ResetTimer()
			for range b.N {
				n := 0
				_, err := probe.Hosts(b.Context(), probe.Config{
					Steps: []discover.Step{discover.HTTPProbe}, Fingerprints: prints,
					Dial: func(ctx context.Context, network, addr string) (net.Conn, error) { // every host's port 80 is the server
						if !strings.HasSuffix(addr, ":80") {
							return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
						}
						host, _, _ := net.SplitHostPort(addr)
						var i int
						_, _ = fmt.Sscanf(host, "h%d.test", &i)
						return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.30.%d.%d:%d", i>>8, i&255, to))
					},
				}, names, func(a discover.Asset) {
					if a.StatusCode == 200 && a.Title != "" && a.Favicon != "" && len(a.Technologies) > 0 {
						n++
					}
				})
				if err != nil || n != hosts {
					b.Fatalf("%d of %d hosts: %v", n, hosts, err)
				}
			}
			b.ReportMetric(float64(b.N)*hosts/b.Elapsed().Seconds(), "hosts/s")
		})
	}
}
