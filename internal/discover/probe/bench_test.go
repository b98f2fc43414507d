package probe_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

// BenchmarkHTTPProbe probes hosts on loopback that are one Go server in this process:
// "alike" shows every host the same page, "distinct" each a page of its own. A host is a
// port tried, a start page, a favicon and the names of technologies. cpu-ms/host counts the
// server, too.
func BenchmarkHTTPProbe(b *testing.B) {
	page := "<html><head><title>%s</title><link rel=icon href=/i.png></head><body>" + strings.Repeat("<p>some text of a small page</p>", 50) + "</body></html>"
	for _, kind := range []string{"alike", "distinct"} {
		b.Run(kind, func(b *testing.B) {
			l := listenWeb(b)
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
			const hosts = 2000
			var names []discover.Name
			for i := range hosts {
				ip := netip.AddrFrom4([4]byte{127, 30, byte(i >> 8), byte(i)})
				names = append(names, discover.Name{Host: fmt.Sprintf("h%d.test", i), IP: []netip.Addr{ip}})
			}
			cfg := probe.Config{
				Steps: []discover.Step{discover.PortScan, discover.HTTPProbe}, Ports: strconv.Itoa(l.Addr().(*net.TCPAddr).Port),
				Fingerprints: &probe.Fingerprints{}, Dial: (&net.Dialer{}).DialContext, Admit: func(string, netip.AddrPort) error { return nil },
			}
			probeAll := func(names []discover.Name) {
				n := 0
				_, err := probe.Hosts(b.Context(), cfg, names, func(a discover.Asset) {
					if a.StatusCode == 200 && a.Title != "" && a.Favicon != "" && len(a.Technologies) > 0 {
						n++
					}
				})
				if err != nil || n != len(names) {
					b.Fatalf("%d of %d hosts: %v", n, len(names), err)
				}
			}
			probeAll(names[:1]) // fingerprints are read
			before := cpu(b)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				probeAll(names)
			}
			b.ReportMetric(float64(b.N)*hosts/b.Elapsed().Seconds(), "hosts/s")
			b.ReportMetric((cpu(b)-before).Seconds()*1e3/float64(b.N)/hosts, "cpu-ms/host")
		})
	}
}

// listenWeb listens on one of the ports that are taken for a web server's.
func listenWeb(b *testing.B) net.Listener {
	b.Helper()
	for _, port := range []int{8083, 8086, 8088, 8091, 8096, 8111, 8123, 8161, 9411} {
		if l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", fmt.Sprintf("0.0.0.0:%d", port)); err == nil {
			return l
		}
	}
	b.Skip("no web port is free")
	return nil
}

// cpu is the time that this process has had of all processors.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
