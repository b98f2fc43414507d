// Package weaksite is a small company web site with deliberate weaknesses, for the demo and for tests. Its data is
// fictitious; serve it on a loopback address only.
package weaksite

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// Kind is a kind of weakness, named by the tag of the templates that find it.
type Kind string

// The kinds of weakness of the site.
const (
	VCS        Kind = "vcs"
	Backup     Kind = "backup"
	Config     Kind = "config"
	Listing    Kind = "listing"
	StatusPage Kind = "status-page"
	Panel      Kind = "panel"
	Cookies    Kind = "cookies"
	Headers    Kind = "headers"
	CORS       Kind = "cors"
	Version    Kind = "version"
)

// Weakness is one real weakness of the site.
type Weakness struct {
	Path string // its location
	Kind Kind
}

// Weaknesses are all weaknesses of the site; other findings are false.
func Weaknesses() []Weakness {
	return []Weakness{
		{"/.git/HEAD", VCS},
		{"/.git/config", VCS},
		{"/backup.zip", Backup},
		{"/.env", Config},
		{"/files/", Listing},
		{"/server-status", StatusPage},
		{"/phpmyadmin/", Panel},
		{"/", Cookies},
		{"/", Headers},
		{"/", CORS},
		{"/", Version},
	}
}

// server is the Server header, which discloses the version; the status page repeats it.
const server = "Apache/2.4.41 (Ubuntu)"

//go:embed pages
var pages embed.FS

// New makes the site. The seed changes the values of cookies and keys, never the weaknesses.
func New(seed uint64) http.Handler {
	s := site(seed)
	mux := http.NewServeMux()
	for path, name := range map[string]string{
		"/{$}": "home", "/products.html": "products", "/contact.html": "contact",
		"/articles/securing-your-server.html": "article", "/phpmyadmin/{$}": "phpmyadmin",
	} {
		mux.HandleFunc("GET "+path, page(name))
	}
	mux.HandleFunc("GET /.git/HEAD", text("text/plain", "ref: refs/heads/main\n"))
	mux.HandleFunc("GET /.git/config", text("text/plain", gitConfig))
	mux.HandleFunc("GET /.env", text("text/plain", s.env()))
	mux.HandleFunc("GET /backup.zip", text("application/zip", s.backup()))
	mux.HandleFunc("GET /files/{$}", text("text/html", listing))
	mux.HandleFunc("GET /files/price-list-2024.txt",
		text("text/plain", "Deck oil, 1 l: 18.50\nMarine varnish, 1 l: 24.00\n"))
	mux.HandleFunc("GET /files/opening-hours.txt", text("text/plain", "Monday to Friday, 8 to 17\n"))
	mux.HandleFunc("GET /server-status", text("text/html", s.status()))
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /admin\n"))
	mux.HandleFunc("/admin", refuse(http.StatusForbidden, "Forbidden",
		"You don't have permission to access this resource."))
	mux.HandleFunc("/", refuse(http.StatusNotFound, "Not Found", "The requested URL was not found on this server."))
	return s.careless(mux)
}

// Wall is a site that answers every path with 200 and the same page. Findings about files or panels on it are false.
func Wall() http.Handler {
	return page("home")
}

type site uint64 // the seed

// careless adds the weaknesses of every response: the version header, a cookie without flags, and CORS with
// credentials for any origin.
func (s site) careless(next http.Handler) http.Handler {
	cookie := "session=" + s.fake("session", 32) + "; Path=/"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Server", server)
		if r.URL.Path == "/" {
			h.Set("Set-Cookie", cookie)
		}
		if origin := r.Header.Get("Origin"); origin != "" && !strings.ContainsAny(origin, "\r\n") {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Credentials", "true")
		}
		next.ServeHTTP(w, r)
	})
}

func page(name string) http.HandlerFunc {
	body, err := pages.ReadFile("pages/" + name + ".html")
	if err != nil {
		panic("weaksite: " + err.Error()) // the names are constants, tested
	}
	return text("text/html", string(body))
}

func text(mediaType, body string) http.HandlerFunc {
	if strings.HasPrefix(mediaType, "text/") {
		mediaType += "; charset=utf-8"
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body) // the client may have disconnected
	}
}

func refuse(status int, title, words string) http.HandlerFunc {
	body := fmt.Sprintf("<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>%d %s</title>\n</head><body>\n<h1>%s</h1>\n<p>%s</p>\n</body></html>\n",
		status, title, title, html.EscapeString(words))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have disconnected
	}
}

const gitConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = https://git.harbour-and-pine.example/web/site.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

const listing = "<html>\r\n<head><title>Index of /files/</title></head>\r\n<body>\r\n<h1>Index of /files/</h1><hr><pre><a href=\"../\">../</a>\r\n" +
	"<a href=\"opening-hours.txt\">opening-hours.txt</a>                                  12-Mar-2024 09:14                  26\r\n" +
	"<a href=\"price-list-2024.txt\">price-list-2024.txt</a>                                02-Jan-2024 11:40                  50\r\n" +
	"</pre><hr></body>\r\n</html>\r\n"

func (s site) env() string {
	return "APP_NAME=HarbourAndPine\nAPP_ENV=production\nAPP_DEBUG=false\nAPP_KEY=demo-not-a-real-key-" +
		s.fake("app", 16) +
		"\n\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=3306\nDB_DATABASE=harbour_demo\nDB_USERNAME=harbour_demo\nDB_PASSWORD=demo-not-a-real-password-" + s.fake("db", 8) + "\n"
}

// backup is a real archive with harmless contents.
func (s site) backup() string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, file := range [][2]string{
		{"site/index.html", "<h1>Harbour &amp; Pine Ltd</h1>\n"},
		{"site/dump.sql", "-- demo data, made up\nCREATE TABLE customers (id INT, name TEXT);\nINSERT INTO customers VALUES (1, 'Demo " + s.fake("customer", 6) + "');\n"},
	} {
		w, _ := z.Create(file[0]) // writing to memory never fails
		_, _ = io.WriteString(w, file[1])
	}
	_ = z.Close()
	return out.String()
}

func (s site) status() string {
	return `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html><head>
<title>Apache Status</title>
</head><body>
<h1>Apache Server Status for www.harbour-and-pine.example (via 127.0.1.1)</h1>

<dl><dt>Server Version: ` + server + `</dt>
<dt>Server MPM: event</dt>
<dt>Server Built: 2023-10-26T13:37:01
</dt></dl><hr /><dl>
<dt>Current Time: Tuesday, 12-Mar-2024 09:20:11 UTC</dt>
<dt>Restart Time: Monday, 11-Mar-2024 06:25:03 UTC</dt>
<dt>Server uptime:  1 day 2 hours 55 minutes 8 seconds</dt>
<dt>Total accesses: 18204 - Total Traffic: 212.4 MB - Total Duration: 60312</dt>
<dt>1 requests currently being processed, 49 idle workers</dt>
</dl><pre>_________________________W________________________
</pre>
<p>Scoreboard Key:<br />
"<b><code>_</code></b>" Waiting for Connection, "<b><code>W</code></b>" Sending Reply</p>
</body></html>
`
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// fake is n characters that depend on the seed and the label alone.
func (s site) fake(label string, n int) string {
	var mix uint64
	for _, c := range []byte(label) {
		mix = mix*131 + uint64(c)
	}
	r := rand.New(rand.NewPCG(uint64(s), mix))
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[r.IntN(len(letters))]
	}
	return string(out)
}
