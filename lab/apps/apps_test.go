package apps

import (
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A proof is a request that shows a weakness and does no harm, with what its answer must
// say: a regular expression over the status line, the header and the body.
type proof struct {
	method, path, body string
	header             http.Header
	shows              string
	lacks              string  // what the answer must not say
	before             []proof // requests that prepare it
	contrast           *proof  // one whose answer differs, so that it is not what everybody gets
	over               func(*tls.ConnectionState) bool
}

func get(path, shows string) proof { return proof{method: "GET", path: path, shows: shows} }

func with(name, value string, p proof) proof {
	p.header = maps.Clone(p.header)
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

func post(path, mediaType, body, shows string) proof {
	return with("Content-Type", mediaType, proof{method: "POST", path: path, body: body, shows: shows})
}

const form, asJSON = "application/x-www-form-urlencoded", "application/json"

func bearerOf(name string, p proof) proof { return with("Authorization", "Bearer "+token(name), p) }

var noGuard = proof{method: "GET", path: "/", shows: `^200 `, lacks: `(?im)^(content-security-policy|x-frame-options|x-content-type-options|referrer-policy):`}

func openCookie(path, name string) proof {
	return proof{method: "GET", path: path, shows: `(?m)^Set-Cookie: ` + name + `=`, lacks: `(?im)^set-cookie:.*httponly`}
}

func payload(text string) string { return url.QueryEscape(text) }

// proofs show each weakness of the lab.
func proofs() map[string]proof {
	unequal := get("/item?id="+payload("1 AND 1=2"), `^404 `)
	none := encode(`{"alg":"none"}`) + "." + encode(`{"sub":"ben"}`) + "."
	forged := with("Authorization", "Bearer "+encode(`{"alg":"HS256"}`)+"."+encode(`{"sub":"ben"}`)+".x", get("/api/me", `^401 `))
	stranger := post("/api/login", asJSON, `{"user":"nobody","password":"x"}`, `no such user`)
	wrong := post("/api/login", asJSON, `{"user":"ada","password":"x"}`, `^401 .*[\s\S]*wrong password`)
	attribute, script := payload(`" onfocus="x`), payload(`";x("`)
	return map[string]proof{
		"shop-sqli-search": {method: "GET", path: "/search?q='", shows: `^500 [\s\S]*SQL logic error`, contrast: new(get("/search?q=''", `^200 `))},
		"shop-sqli-item":   {method: "GET", path: "/item?id=" + payload("1 AND 1=1"), shows: `^200 [\s\S]*tent`, contrast: &unequal},
		"shop-xss-search":  get("/search?q="+payload("<b>tent"), `<h1>Results for <b>tent</h1>`),
		"shop-price":       post("/cart", form, "item=1&price=-1", `You pay -1\.00`),
		"shop-cookie":      openCookie("/", "sid"),
		"shop-headers":     noGuard,

		"notes-idor":            bearerOf("ada", get("/api/notes/2", `Ben's`)),
		"notes-jwt-none":        {method: "GET", path: "/api/me", header: http.Header{"Authorization": {"Bearer " + none}}, shows: `"name":"ben"`, contrast: &forged},
		"notes-mass-assignment": bearerOf("eve", proof{method: "GET", path: "/api/me", shows: `"role":"admin"`, before: []proof{post("/api/register", asJSON, `{"user":"eve","password":"x","role":"admin"}`, `^201 `)}}),
		"notes-enumeration":     {method: "POST", path: wrong.path, header: wrong.header, body: wrong.body, shows: wrong.shows, contrast: &stranger},
		"notes-guessing":        {method: "POST", path: wrong.path, header: wrong.header, body: wrong.body, shows: wrong.shows, before: slices.Repeat([]proof{wrong}, 20)},
		"notes-cors":            with("Origin", "https://evil.example", get("/api/status", `(?m)^Access-Control-Allow-Origin: https://evil\.example\r?$[\s\S]*`)),
		"notes-openapi":         get("/openapi.json", `"openapi":"3`),

		"backoffice-default-login":  post("/login", form, "user=admin&password=admin", `Welcome, admin`),
		"backoffice-export":         get("/admin/export.csv", `^200 [\s\S]*mia@`),
		"backoffice-actuator":       get("/actuator", `"heapdump":`),
		"backoffice-environment":    get("/actuator/env", `"DB_PASSWORD"`),
		"backoffice-stack-trace":    {method: "GET", path: "/report?month=x", shows: `^500 [\s\S]*\n\tat example\.`, contrast: new(get("/report?month=2026-10", `^200 `))},
		"backoffice-cookie":         openCookie("/login", "JSESSIONID"),
		"backoffice-robots":         get("/robots.txt", `Disallow: /admin/`),
		"backoffice-plain-password": {method: "GET", path: "/login", shows: `type="password"`, over: func(c *tls.ConnectionState) bool { return c == nil }},

		"cms-git":            get("/.git/HEAD", `ref: refs/heads/`),
		"cms-env":            get("/.env", `DB_PASSWORD=`),
		"cms-source-backup":  get("/config.php.bak", `<\?php`),
		"cms-phpinfo":        get("/info.php", `phpinfo\(\)`),
		"cms-listing":        get("/uploads/", `Index of /uploads/`),
		"cms-redirect":       get("/out?to=https://evil.example/", `^302 [\s\S]*\nLocation: https://evil\.example/`),
		"cms-stored-xss":     {method: "GET", path: "/article?id=7", shows: `<li><b>hi</b></li>`, before: []proof{post("/article", form, "comment="+payload("<b>hi</b>"), `^303 `)}},
		"cms-forwarded-host": with("X-Forwarded-Host", "evil.example", get("/", `href="http://evil\.example/"`)),
		"cms-version":        get("/", `X-Powered-By: PHP/7\.4\.33[\s\S]*Quill CMS 2\.3\.1`),
		"cms-headers":        noGuard,

		"files-traversal":   get("/download?file=../../etc/os-release", `^200 [\s\S]*\nID=lab`),
		"files-listing":     get("/pub/", `<a href="old/">`),
		"files-private-key": get("/pub/old/id_ed25519", `BEGIN OPENSSH PRIVATE KEY`),
		"files-dump":        get("/dump.sql", `CREATE TABLE users`),
		"files-htpasswd":    get("/.htpasswd", `mia:\$apr1\$`),
		"files-upload": {method: "GET", path: "/uploads/x.html", shows: `text/html[\s\S]*<b>hi`, before: []proof{
			post("/upload", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.html\"\r\n\r\n<b>hi</b>\r\n--x--\r\n", `^201 `),
		}},

		"images-ssrf":       get("/fetch?url=http://127.0.0.1:9000/", `inner status: fine`),
		"images-ssrf-blind": {method: "GET", path: "/metrics", shows: `callbacks_answered_total 1`, before: []proof{get("/ping?callback=http://127.0.0.1:9000/", `^202 `)}},
		"images-traversal":  {method: "GET", path: "/thumb?src=....//....//etc/os-release", shows: `^200 [\s\S]*\nID=lab`, contrast: new(get("/thumb?src=../../etc/os-release", `^404 `))},
		"images-redirect":   get("/go?next=//evil.example/", `\nLocation: //evil\.example/`),
		"images-metrics":    get("/metrics", `callbacks_answered_total 0`),
		"images-pprof":      get("/debug/pprof/", `full goroutine stack dump`),

		"desk-xss-attribute":  get("/tickets?status="+attribute, `value="" onfocus="x"`),
		"desk-xss-script":     get("/board?tab="+script, `var tab = "";x\(""`),
		"desk-xss-not-found":  get("/help/"+url.PathEscape("<b>x"), `Nothing about <b>x</h1>`),
		"desk-csrf":           {method: "GET", path: "/settings", shows: `eve@evil\.example`, before: []proof{with("Cookie", "session=x", with("Origin", "https://evil.example", post("/settings", form, "mail=eve@evil.example", `^303 `)))}},
		"desk-cookie":         openCookie("/settings", "session"),
		"desk-login-over-get": get("/login", `<form action="/welcome">.*type="password"`),

		"ops-apache-status": get("/server-status", `Apache Server Status for`),
		"ops-nginx-status":  get("/nginx_status", `Active connections:`),
		"ops-prometheus":    get("/prometheus/api/v1/status/buildinfo", `"goVersion"`),
		"ops-registry":      get("/v2/_catalog", `"gate/api"`),
		"ops-panel":         get("/console/jobs", `^200 [\s\S]*name="run"`),
		"ops-logs":          get("/logs/access.log", `token=made-up`),
		"ops-version":       get("/", `\nServer: Apache/2\.4\.41`),
		"ops-headers":       noGuard,

		"legacy-expired": {method: "GET", path: "/", shows: `^200 `, over: func(c *tls.ConnectionState) bool {
			leaf := c.PeerCertificates[0]
			return leaf.NotAfter.Before(time.Now()) && leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
		}},
		"legacy-tls-version": {method: "GET", path: "/", shows: `^200 `, over: func(c *tls.ConnectionState) bool { return c.Version < tls.VersionTLS12 }},
		"legacy-hsts":        {method: "GET", path: "/", shows: `^200 `, lacks: `(?i)strict-transport`},
		"legacy-cookie":      {method: "GET", path: "/", shows: `\nSet-Cookie: ASP\.NET_SessionId=`, lacks: `(?im)^set-cookie:.*\bsecure`},
		"legacy-version":     get("/", `(?i)\nX-AspNet-Version: 4\.0`),
		"legacy-error":       get("/nothing.aspx", `^404 [\s\S]*Server Error in '/' Application`),
		"legacy-elmah":       get("/elmah.axd", `ELMAH`),
		"legacy-viewer":      get("/payslip.aspx?staff=18", `Made-up Max`),

		"forecast-console":   get("/console", `EVALEX = true`),
		"forecast-traceback": {method: "GET", path: "/days?n=x", shows: `^500 [\s\S]*Traceback \(most recent call last\)`, contrast: new(get("/days?n=3", `^200 `))},
		"forecast-template":  get("/greet?name="+payload("{{1201*1301}}"), `Hello, 1562501`),
		"forecast-graphql":   get("/graphql?query="+payload("{__schema{queryType{name}}}"), `"queryType"`),
		"forecast-command":   get("/station?host="+payload("x;echo marker"), `(?m)^marker$`),
		"forecast-key":       get("/app.js", `secretAccessKey`),
		"forecast-headers":   noGuard,
	}
}

// client is one that looks at everything and follows nothing.
func client() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}},
	}
}

// ask sends a proof's request and gives the answer: its status line, header and body.
func (p proof) ask(t *testing.T, c *http.Client, base string) (string, *tls.ConnectionState) {
	t.Helper()
	for _, first := range p.before {
		first.ask(t, c, base)
	}
	req, err := http.NewRequestWithContext(t.Context(), p.method, base+p.path, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, p.header)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var head strings.Builder
	if err := resp.Header.Write(&head); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(resp.Status+"\n"+head.String(), "\r\n", "\n") + "\n" + string(body), resp.TLS
}

// shown asks, and gives the answer when it does not show what it should.
func (p proof) shown(t *testing.T, c *http.Client, base string) (instead string) {
	t.Helper()
	answer, over := p.ask(t, c, base)
	if regexp.MustCompile(p.shows).MatchString(answer) && (p.lacks == "" || !regexp.MustCompile(p.lacks).MatchString(answer)) && (p.over == nil || p.over(over)) {
		return ""
	}
	return answer
}

func serve(t *testing.T, a App) *Server {
	t.Helper()
	s, err := a.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestEveryWeaknessIsThere shows each weakness on a fresh application.
func TestEveryWeaknessIsThere(t *testing.T) {
	left := proofs()
	for _, a := range All() {
		for _, w := range a.Weaknesses {
			t.Run(w.ID, func(t *testing.T) {
				p, ok := left[w.ID]
				if !ok {
					t.Fatal("nothing shows it")
				}
				c, s := client(), serve(t, a)
				for _, p := range []*proof{&p, p.contrast} {
					if p == nil {
						continue
					}
					if answer := p.shown(t, c, s.URL); answer != "" {
						t.Errorf("%s %s does not show %s:\n%s", p.method, p.path, p.shows, answer)
					}
				}
			})
			delete(left, w.ID)
		}
	}
	for id := range left {
		t.Errorf("%s is shown and on no list", id)
	}
}

// TestCleanHasNone tries everything that shows a weakness elsewhere on the clean one, and
// the same with its own parameters.
func TestCleanHasNone(t *testing.T) {
	all := All()
	if a := all[len(all)-1]; a.Name != "clean" || len(a.Weaknesses) != 0 || len(all) != 11 {
		t.Fatalf("%d applications, the last %s with %d weaknesses", len(all), a.Name, len(a.Weaknesses))
	}
	s := serve(t, all[len(all)-1])
	c := client()
	for id, p := range proofs() {
		if p.shown(t, c, s.URL) == "" && (p.contrast == nil || p.contrast.shown(t, c, s.URL) == "") {
			t.Errorf("the clean one shows %s", id)
		}
	}
	for path, never := range map[string]string{
		"/search?q=" + payload(`"><vdt>'`): `(?s)"><vdt>|value="[^"]*"><vdt`, "/quote?text=" + payload(`--></textarea><vdt>`): `<vdt>`,
		"/greet?name=" + payload("{{1201*1301}}"): `1562501`, "/download?file=../../etc/os-release": `(?m)^ID=`, "/preview?url=http://127.0.0.1:1/": `(?i)dial tcp|connect to`,
		"/go?next=//evil.example/": `(?m)^Location: (https?:)?//`, "/issue?id=" + payload("3 AND 1=1"): `^200 `, "/fragile?n='": `(?i)sql|traceback|\tat `, "/api/echo?q=" + payload("<vdt>"): `text/html`,
		"/blog/": `(?m)<[a-z]+>Index of`,
	} {
		if answer, _ := get(path, "").ask(t, c, s.URL); regexp.MustCompile(never).MatchString(answer) {
			t.Errorf("%s shows %s:\n%s", path, never, answer)
		}
	}
	if answer, _ := get("/nothing/at/all", "").ask(t, c, s.URL); !strings.HasPrefix(answer, "200 ") {
		t.Error("it does not answer everything with success, as it should to mislead")
	}
}
