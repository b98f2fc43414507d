package apps

import (
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
)

func images() App {
	return App{
		Name: "images", About: "a service that fetches pictures and makes them small", handler: newImages,
		Weaknesses: []Weakness{
			{"images-ssrf", "918", "/fetch", "url", "The server fetches whatever address it is given",
				`ssrf|server.side request`},
			{"images-ssrf-blind", "918", "/ping", "callback",
				"The server calls back any address, without a word about it", `ssrf|server.side request`},
			{"images-traversal", "22 23 73 182", "/thumb", "src", "A filter for ../ that can be stepped over",
				`travers|lfi|file inclusion|arbitrary file|path`},
			{"images-redirect", "601", "/go", "next", "Open redirect behind a check for a leading slash", `redirect`},
			{"images-metrics", "497 200", "/metrics", "", "Metrics are public", `metrics|prometheus`},
			{"images-pprof", "489 200 215", "/debug/pprof/*", "", "The profiler is public", `pprof|profil`},
		},
	}
}

// inner simulates the network that the service can reach: itself on the loopback address, and an
// internal status page. All other addresses refuse connections.
type inner struct{ own http.Handler }

func (n *inner) RoundTrip(r *http.Request) (*http.Response, error) {
	var answerer http.Handler
	switch port := r.URL.Port(); {
	case r.URL.Hostname() == "inner.lab.example" || port == "9000":
		answerer = text("text/plain", "inner status: fine\n")
	case strings.HasPrefix(r.URL.Hostname(), "127.") && port != "1" && r.Header.Get("Via") == "":
		answerer = n.own
	default:
		if port == "" {
			port = "80"
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: innerAddr(net.JoinHostPort(r.URL.Hostname(), port)), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	w := httptest.NewRecorder()
	inside := r.Clone(r.Context())
	inside.Header.Set("Via", "images")
	inside.RequestURI = inside.URL.RequestURI()
	answerer.ServeHTTP(w, inside)
	return w.Result(), nil
}

type innerAddr string

func (innerAddr) Network() string  { return "tcp" }
func (a innerAddr) String() string { return string(a) }

func newImages() http.Handler {
	var answered atomic.Int64
	mux := http.NewServeMux()
	network := &inner{own: mux}
	client := &http.Client{Transport: network}
	tree := fileTree()
	tree["/srv/share/pier.svg"] = `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg>`
	mux.HandleFunc("GET /{$}", view("Images", `<h1>Images</h1><form action="/fetch"><input name="url" value="http://inner.lab.example/pier.png"><button>Fetch</button></form>
<p><a href="/thumb?src=pier.svg">The pier</a> <a href="/go?next=/help">Help</a></p><form action="/ping"><input name="callback" value="http://inner.lab.example/done"><button>Call me</button></form>`))
	mux.HandleFunc("GET /help", view("Help", "<h1>Help</h1><p>Give us an address.</p>"))
	mux.HandleFunc("GET /fetch", func(w http.ResponseWriter, r *http.Request) {
		got, err := fetch(r, client, r.FormValue("url"))
		if err != nil {
			answer(w, http.StatusBadGateway, "text/plain; charset=utf-8", "cannot fetch: "+err.Error()+"\n")
			return
		}
		send(w, "application/octet-stream", got)
	})
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, r *http.Request) {
		if _, err := fetch(r, client, r.FormValue("callback")); err == nil { // the error is not shown to the client
			answered.Add(1)
		}
		answer(w, http.StatusAccepted, "text/plain; charset=utf-8", "accepted\n")
	})
	mux.HandleFunc("GET /thumb", func(w http.ResponseWriter, r *http.Request) {
		name := strings.ReplaceAll(r.FormValue("src"), "../", "")
		body, ok := tree[path.Join("/srv/share", name)]
		if !ok {
			http.Error(w, "no such picture", http.StatusNotFound)
			return
		}
		send(w, "application/octet-stream", body)
	})
	mux.HandleFunc("GET /go", func(w http.ResponseWriter, r *http.Request) {
		next := r.FormValue("next")
		if !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\r\n") {
			next = "/"
		}
		w.Header().Set("Location", next)
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		send(w, "text/plain; version=0.0.4", fmt.Sprintf("# HELP callbacks_answered_total Callbacks that were answered.\n# TYPE callbacks_answered_total counter\ncallbacks_answered_total %d\n", answered.Load()))
	})
	mux.HandleFunc("GET /debug/pprof/", text("text/html; charset=utf-8", "<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n/debug/pprof/\n<p>Types of profiles available:</p>\n<a href='goroutine?debug=1'>goroutine</a>\n<br><a href=\"goroutine?debug=2\">full goroutine stack dump</a>\n</body>\n</html>\n"))
	return guarded(mux)
}

// maxFetched is the maximum size of a fetched response, in bytes.
const maxFetched = 1 << 16

func fetch(r *http.Request, client *http.Client, address string) (string, error) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", &url.Error{Op: "Get", URL: html.EscapeString(address), Err: http.ErrNotSupported}
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address, http.NoBody) //nolint:gosec // this is the weakness
	if err != nil {
		return "", err
	}
	if via := r.Header.Get("Via"); via != "" {
		req.Header.Set("Via", via) // prevents nested fetches
	}
	resp, err := client.Do(req) //nolint:gosec // this is the weakness; its transport dials nothing
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched))
	return string(body), err
}
