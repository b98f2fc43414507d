package probe_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

// benchPage is a page with a title.
var benchPage = "<html><head><title>%s</title><link rel=icon href=/i.png></head><body>" +
	strings.Repeat("<p>some text of a small page</p>", 50) + "</body></html>"

// BenchmarkHTTPProbe probes hosts on loopback. They are one Go server in this process, of
// which "alike" shows every host the same page and "distinct" each a page of its own, or
// one nginx. A host is a port tried, a start page, a favicon and the names of technologies.
// cpu-ms/host is of this process: with the server's where that is in it.
func BenchmarkHTTPProbe(b *testing.B) {
	for kind, serve := range map[string]func(*testing.B) int{
		"alike":    func(b *testing.B) int { return serveWeb(b, func(*http.Request) string { return "Hello" }) },
		"distinct": func(b *testing.B) int { return serveWeb(b, func(r *http.Request) string { return r.Host }) },
		"nginx":    serveNginx,
	} {
		b.Run(kind, func(b *testing.B) {
			port := serve(b)
			const hosts = 2000
			var names []discover.Name
			for i := range hosts {
				ip := netip.AddrFrom4([4]byte{127, 30, byte(i >> 8), byte(i)})
				names = append(names, discover.Name{Host: fmt.Sprintf("h%d.test", i), IP: []netip.Addr{ip}})
			}
			cfg := probe.Config{
				Steps: []discover.Step{discover.PortScan, discover.HTTPProbe}, Ports: strconv.Itoa(port),
				Fingerprints: &probe.Fingerprints{}, Dial: (&net.Dialer{}).DialContext,
				Admit: func(string, netip.AddrPort) error { return nil },
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

// serveWeb shows pages with a title from this process, and returns their port.
func serveWeb(b *testing.B, title func(*http.Request) string) int {
	l := listenWeb(b)
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "nginx/1.22.1")
			if r.URL.Path != "/" {
				_, _ = w.Write([]byte("icon"))
				return
			}
			_, _ = fmt.Fprintf(w, benchPage, title(r))
		})}
	go func() { _ = server.Serve(l) }()
	b.Cleanup(func() { server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// serveNginx shows each host a page of its own from Debian's nginx, and returns the port.
func serveNginx(b *testing.B) int {
	binary, dir := tool(b, "nginx"), b.TempDir()
	l := listenWeb(b)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr; events { worker_connections 4096; }
http { access_log off; default_type text/html; server { listen 0.0.0.0:%[2]d backlog=4096; location = / { return 200 '%[3]s'; } location / { return 200 icon; } } }`,
		dir, port, fmt.Sprintf(benchPage, "$host"))
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	start(b, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		exec.Command(binary, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr"))
	return port
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
