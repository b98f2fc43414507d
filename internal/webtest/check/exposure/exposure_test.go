package exposure

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

func page(kind, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		fmt.Fprint(w, body)
	})
}

func TestTexts(t *testing.T) {
	for name, c := range map[string]struct {
		check, body string
		want        int
	}{
		"java":         {"verbose-error", "<pre>java.lang.NullPointerException: x\n\tat com.acme.Shop.buy(Shop.java:12)\n", 1},
		"java, module": {"verbose-error", "<!-- java.time.format.DateTimeParseException: Text &#39;x&#39;\n\tat java.base/java.time.LocalDate.parse(LocalDate.java:430)\n", 1},
		"java, loader": {"verbose-error", "java.lang.IllegalStateException: x\n\tat app//com.acme.Shop.buy(Shop.java:12)\n", 1},
		"java, named":  {"verbose-error", "<p>A java.lang.NullPointerException is thrown when it is null</p>", 0},
		"tomcat":       {"verbose-error", "<pre>java.lang.NumberFormatException: For input\n\tcom.acme.Shop.buy(Shop.java:12)\n", 1},
		"java, code":   {"verbose-error", "<pre>catch (java.io.IOException e)\n\tcom.acme.Log.write(e);\n", 0},
		"python":       {"verbose-error", "Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f", 1},
		"php":          {"verbose-error", "<b>Warning</b>: mysqli_query() failed in <b>/var/www/a.php</b> on line <b>3</b>", 1},
		"php, text":    {"verbose-error", "<p>Warning: the bridge is closed on line 3</p>", 0},
		"node":         {"verbose-error", "TypeError: x is not a function\n    at Object.<anonymous> (/app/index.js:3:5)", 1},
		"aws":          {"secret-exposure", "var key = 'AKIAIOSFODNN7QWERTYU'", 1},
		"aws, docs":    {"secret-exposure", "AKIAIOSFODNN7EXAMPLE", 0},
		"connection":   {"secret-exposure", "postgres://app:s3cr3tz@db.internal/app", 1},
		"placeholder":  {"secret-exposure", "postgres://user:password@localhost/app", 0},
		"public key":   {"secret-exposure", "-----BEGIN PUBLIC KEY-----\nMIIB", 0},
	} {
		lab := kittest.New(t, page("text/html", c.body))
		if found := lab.Run(t, kittest.Named(t, Checks(), c.check), lab.Target(t, http.MethodGet, "/", "")); len(found) != c.want {
			t.Errorf("%s: %d findings, want %d", name, len(found), c.want)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	lab := kittest.New(t, page("text/html", "AKIAIOSFODNN7QWERTYU"))
	found := lab.Run(t, kittest.Named(t, Checks(), "secret-exposure"), lab.Target(t, http.MethodGet, "/", ""))
	if len(found) != 1 || strings.Contains(found[0].Evidence[0].Match, "QWERTYU") {
		t.Errorf("found %+v", found)
	}
}

func TestCookiesAndFrames(t *testing.T) {
	for line, want := range map[string]kit.Severity{"PHPSESSID=abc; path=/": kit.Low, "PHPSESSID=abc; HttpOnly; SameSite=Lax": "",
		"PHPSESSID=abc; HttpOnly": "", "basket=17": kit.Info, "basket=17; SameSite=Lax": "", "basket=; path=/": "", "csrf=17": ""} {
		lab := kittest.New(t, page("text/html", "<form>", "Set-Cookie", line))
		got := kit.Severity("")
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "weak-cookie"), lab.Target(t, http.MethodGet, "/", "")) {
			got = f.Severity
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for want, policy := range map[int]string{1: "default-src 'self'", 0: "frame-ancestors 'none'"} {
		lab := kittest.New(t, page("text/html", "<form>", "Content-Security-Policy", policy))
		target := lab.Target(t, http.MethodGet, "/", "")
		target.User = client.NewUser("bob")
		if found := lab.Run(t, kittest.Named(t, Checks(), "clickjacking"), target); len(found) != want {
			t.Errorf("%s: %d findings", policy, len(found))
		}
	}
}

func TestOrigins(t *testing.T) {
	allow := func(decide func(origin string) bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if origin := r.Header.Get("Origin"); origin != "" && decide(origin) {
				w.Header().Set("Access-Control-Allow-Origin", origin)
				w.Header().Set("Access-Control-Allow-Credentials", "true")
			} else {
				w.Header().Set("Vary", "Origin")
			}
		})
	}
	for name, c := range map[string]struct {
		decide func(string) bool
		want   int
	}{
		"all":    {func(string) bool { return true }, 1},
		"suffix": {func(o string) bool { return strings.HasSuffix(o, "127.0.0.1") }, 1},
		"list":   {func(o string) bool { return o == "https://app.example.com" }, 0},
	} {
		lab := kittest.New(t, allow(c.decide))
		if found := lab.Run(t, kittest.Named(t, Checks(), "cors"), lab.Target(t, http.MethodGet, "/", "")); len(found) != c.want {
			t.Errorf("%s: %d findings", name, len(found))
		}
	}
	lab := kittest.New(t, page("application/json", "{}", "Access-Control-Allow-Origin", "*"))
	if found := lab.Run(t, kittest.Named(t, Checks(), "cors"), lab.Target(t, http.MethodGet, "/", "")); len(found) != 0 {
		t.Error("a public answer is reported")
	}
}

// Settings that a page for developers shows are reported where they are settings, and not where each address shows such.
func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		path, text string
		want       int
	}{
		"settings":   {"/debug", "DEBUG=True\nSECRET_KEY=abc-77\n", 1},
		"no secrets": {"/debug", "DEBUG=True\nLANG=en\n", 0},
		"a page":     {"/debug", "<html><p>DEBUG=True SECRET_KEY=abc</p></html>", 0},
		"everywhere": {"", "DEBUG=True\nSECRET_KEY=abc-77\n", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.path != "" && r.URL.Path != c.path {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, c.text)
		}))
		if found := lab.Run(t, files(), lab.Target(t, http.MethodGet, "/", "")); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// Data may be allowed to some forms of an origin alone, and others are answered without a word of it.
func TestOriginsOfData(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(origin, host string) bool
		want   int
	}{
		"null":           {func(o, _ string) bool { return o == "null" }, 1},
		"beginning":      {func(o, host string) bool { return strings.HasPrefix(o, "http://"+strings.Split(host, ":")[0]+".") }, 1},
		"end, with port": {func(o, host string) bool { return strings.HasSuffix(o, host) }, 1},
		"its own":        {func(o, host string) bool { return o == "http://"+host || o == "https://"+host }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o := r.Header.Get("Origin"); c.decide(o, r.Host) {
				w.Header().Set("Access-Control-Allow-Origin", o)
				w.Header().Set("Access-Control-Allow-Credentials", "true")
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"phone":"555"}`)
		}))
		if found := lab.Run(t, kittest.Named(t, Checks(), "cors"), lab.Target(t, http.MethodGet, "/card", "")); len(found) != c.want {
			t.Errorf("%s: %d findings", name, len(found))
		}
	}
}

// What everybody may read is no weakness, whoever's page reads it.
func TestOriginsOfWhatIsPublic(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Content-Type", "application/json")
		if _, err := r.Cookie("sid"); err == nil && r.URL.Path == "/me" {
			fmt.Fprint(w, `{"name":"bob","mail":"bob@example.com"}`)
			return
		}
		fmt.Fprint(w, `{"routes":["/me","/rooms"]}`)
	})
	for path, want := range map[string]kit.Severity{"/": kit.Info, "/rooms": kit.Info, "/me": kit.Medium} {
		lab := kittest.New(t, app)
		target := lab.Target(t, http.MethodGet, path, "")
		target.User = client.NewUser("bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "sid", Value: "1"}})
		found := lab.Run(t, kittest.Named(t, Checks(), "cors"), target)
		if len(found) != 1 || found[0].Severity != want {
			t.Errorf("%s: found %+v", path, found)
		}
	}
}

func TestFiles(t *testing.T) {
	real := map[string]string{
		"/shop/view.jsp": "<html><p>view</p></html>", "/shop/view.jsp.bak": "<%@ page import=\"java.util.*\" %><html><p>view</p></html>",
		"/.git/HEAD": "ref: refs/heads/main\n", "/shop/": "<title>Index of /shop</title><a href=view.jsp>view.jsp</a>",
	}
	has := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := real[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, text)
	})
	soft := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>ref: refs/heads there is no %s here, <?php</p>", r.URL.Path)
	})
	for _, id := range []string{"old-file", "exposed-file", "directory-listing"} {
		for name, app := range map[string]http.Handler{"there": has, "answers all": soft} {
			lab := kittest.New(t, app)
			target := lab.Target(t, http.MethodGet, "/shop/view.jsp", "")
			found := lab.Run(t, kittest.Named(t, Checks(), id), target)
			if want := map[string]int{"there": 1}[name]; len(found) != want {
				t.Errorf("%s, %s: found %s", id, name, kittest.Titles(found))
				continue
			}
			for _, f := range found {
				runner := proof.Runner{Send: lab.World.Client.Send}
				if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
					t.Errorf("%s: the proof does not hold: %s, %v", id, out.Failed, err)
				}
			}
		}
	}
}

// A copy that has no more than what its page shows tells nothing.
func TestCopyOfAPage(t *testing.T) {
	for copied, want := range map[string]int{"<h1>Shop</h1><p>Welcome to the shop.</p>": 0, "<h1>Shop</h1><p>Opens in May: Teal-7</p>": 1} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/home.html":
				fmt.Fprint(w, "<h1>Shop</h1><p>Welcome to the shop.</p>")
			case "/home.html.bak":
				fmt.Fprint(w, copied)
			default:
				http.NotFound(w, r)
			}
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "old-file"), lab.Target(t, http.MethodGet, "/home.html", ""))
		if len(found) != want || want > 0 && found[0].Severity != kit.Info {
			t.Errorf("%s: found %+v, want %d", copied, found, want)
		}
	}
}

// A page that has the number of another in its name is no copy, a static one no more than others.
func TestPagesWithNumbers(t *testing.T) {
	for _, ext := range []string{".html", ".php"} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/news" + ext:
				fmt.Fprint(w, "<h1>News</h1><p>The shop opens at nine.</p><p>There is tea.</p>")
			case "/news1" + ext, "/news2" + ext:
				fmt.Fprint(w, "<h2>Archive</h2><table><tr><td>March</td><td>Rain</td></tr></table>")
			default:
				http.NotFound(w, r)
			}
		}))
		if found := lab.Run(t, kittest.Named(t, Checks(), "old-file"), lab.Target(t, http.MethodGet, "/news"+ext, "")); len(found) > 0 {
			t.Errorf("%s: found %s at %s", ext, kittest.Titles(found), found[0].Request.URL)
		}
	}
}

// Files left in a folder are found, and copies of files beside whatever number of files other folders have.
func TestFilesOfFolders(t *testing.T) {
	left := map[string]string{"/shop/old/.env": "db_user=shop\ndb_password=Teal-7\n", "/members/dump.sql": "CREATE TABLE members (name text);",
		"/last/view.jsp.old": "<%@ page import=\"java.util.*\" %>"}
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := left[r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		if path.Ext(r.URL.Path) != ".jsp" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>view</p>")
	}))
	var paths []string
	for n := range 200 {
		paths = append(paths, fmt.Sprintf("/many/page%d.jsp", n))
	}
	found := map[string]bool{}
	for _, at := range append(paths, "/shop/old/view.jsp", "/members/list.jsp", "/last/view.jsp") {
		target := lab.Target(t, http.MethodGet, at, "")
		for _, id := range []string{"old-file", "exposed-file-of-folder"} {
			for _, f := range lab.Run(t, kittest.Named(t, Checks(), id), target) {
				found[f.Request.URL.Path] = true
				lab.Holds(t, f)
			}
		}
	}
	for at := range left {
		if !found[at] {
			t.Errorf("%s is not found", at)
		}
	}
	if len(found) != len(left) {
		t.Errorf("found %v", found)
	}
}

func TestIntrospection(t *testing.T) {
	for name, c := range map[string]struct {
		weak, members bool
		want          int
	}{"everybody": {true, false, 1}, "users": {true, true, 1}, "nobody": {false, false, 0}, "no user": {false, true, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			buffer := make([]byte, 200)
			n, _ := r.Body.Read(buffer)
			k, err := r.Cookie("user")
			if c.members && (err != nil || k.Value != "alice") {
				http.Error(w, `{"errors":[{"message":"log in"}]}`, http.StatusUnauthorized)
				return
			}
			if r.URL.Path == "/graphql" && c.weak && strings.Contains(string(buffer[:n]), "__schema") {
				fmt.Fprint(w, `{"data":{"__schema":{"queryType":{"name":"Query"},"types":[]}}}`)
				return
			}
			fmt.Fprint(w, `{"errors":[{"message":"no"}]}`)
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		found := lab.Run(t, introspection(), lab.Target(t, http.MethodGet, "/", ""))
		if len(found) != c.want {
			t.Errorf("%s: %d findings", name, len(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A dump that a listing leads to is found by its name and its text; a page about SQL, a script of a tutorial and an
// empty file are not.
func TestExposedByLink(t *testing.T) {
	dump := "-- MariaDB dump\nCREATE TABLE `users` (`id` int);\nINSERT INTO `users` VALUES (1);\n"
	for name, c := range map[string]struct {
		path, kind, text string
		want             int
	}{
		"dump":   {"/backup/shop-2026.sql", "application/octet-stream", dump, 1},
		"key":    {"/old/server.key", "text/plain", "-----BEGIN RSA PRIVATE KEY-----\nabc\n", 1},
		"page":   {"/learn.sql", "text/html", "<p>CREATE TABLE users</p>", 0},
		"lesson": {"/lesson.txt", "text/plain", dump, 0},
		"empty":  {"/a.sql", "text/plain", "nothing", 0},
	} {
		lab := kittest.New(t, page(c.kind, c.text))
		if found := lab.Run(t, kittest.Named(t, Checks(), "exposed-file-linked"), lab.Target(t, http.MethodGet, c.path, "")); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// The cookie of a session that a login has set for scripts to read is found; one that they do not get, and one of
// another purpose, is not.
func TestCookiesOfLogin(t *testing.T) {
	for name, c := range map[string]struct {
		cookie http.Cookie
		want   int
	}{
		"open":   {http.Cookie{Name: "sid", Value: "1"}, 1},
		"closed": {http.Cookie{Name: "sid", Value: "1", HttpOnly: true}, 0},
		"other":  {http.Cookie{Name: "colour", Value: "1"}, 0},
		"csrf":   {http.Cookie{Name: "csrf_token", Value: "1"}, 0},
	} {
		lab := kittest.New(t, page("text/html", "<p>hello</p>", "Set-Cookie", c.cookie.String()))
		root, err := url.Parse(lab.URL)
		if err != nil {
			t.Fatal(err)
		}
		u := client.NewUser("anna")
		u.SetCookies(root, []*http.Cookie{{Name: "given_session", Value: "1"}})
		if _, err := lab.World.Client.Send(t.Context(), message.From(http.MethodPost, root), client.Options{As: u}); err != nil {
			t.Fatal(err)
		}
		lab.World.Users = []*client.User{u}
		if err := loginCookies().Site(t.Context(), lab.World, root); err != nil {
			t.Fatal(err)
		}
		if found := lab.Findings(); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// What an article quotes is probable alone; on a page of an error it is one.
func TestQuotedTexts(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"/srv/app.py\", line 31, in days\nAKIA" + "ABCDEFGHIJKLMNOP\n"
	quote := "<h1>About errors</h1><pre>" + strings.ReplaceAll(trace, `"`, "&#34;") + "</pre>"
	for name, c := range map[string]struct {
		body   string
		status int
		want   kit.Confidence
	}{
		"an article": {quote, http.StatusOK, kit.Probable}, "an error": {quote, http.StatusInternalServerError, kit.Proved},
		"after a quote": {"<pre>x</pre>" + strings.ReplaceAll(trace, `"`, "&#34;"), http.StatusOK, kit.Proved},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		for _, id := range []string{"verbose-error", "secret-exposure"} {
			found := lab.Run(t, kittest.Named(t, Checks(), id), lab.Target(t, http.MethodGet, "/", ""))
			if len(found) != 1 || found[0].Confidence != c.want {
				t.Errorf("%s, %s: %+v", name, id, found)
			}
		}
	}
}

// Settings with a password, and logs, are found under their usual names; settings for everybody are not, nor a page.
func TestSettingsAndLogs(t *testing.T) {
	for name, c := range map[string]struct {
		path, text string
		want       int
	}{
		"yaml":         {"/config.yml", "app:\n  name: club\ndatabase:\n  host: db.example\n  password: Towing-Cable-12\n", 1},
		"properties":   {"/application.properties", "# shop\nserver.port=8080\nspring.datasource.password=Teal-Duck-7\n", 1},
		"ini":          {"/config.ini", "; web\n[database]\nuser = web\npass = \"Teal-Duck-7\"\n", 1},
		"rails":        {"/config/secrets.yml", "---\nproduction:\n  secret_key_base: 8f3a1c77d0e94b62\n", 1},
		"json":         {"/config.json", `{"db": {"host": "db.example", "user": "web", "password": "Teal-Duck-7"}}`, 1},
		"dotnet":       {"/appsettings.json", `{"ConnectionStrings": {"Shop": "Server=db;User Id=web;Password=Teal-7;"}}`, 1},
		"lines":        {"/logs/app.log", "2024-05-02 10:11:40 INFO login ok user=ann\n2024-05-02 10:14:55 WARN slow\n", 1},
		"python":       {"/debug.log", "2024-05-02 10:11:40,118 - shop.views - ERROR - no such article\n", 1},
		"php":          {"/error_log", "[02-May-2024 10:11:40 UTC] PHP Warning:  Undefined variable $a in /srv/a.php on line 3\n", 1},
		"apache":       {"/logs/error.log", "[Thu May 02 10:11:40.1 2024] [core:error] [pid 7] AH00126: Invalid URI\n", 1},
		"requests":     {"/access.log", "192.0.2.7 - ann [02/May/2024:10:11:40 +0000] \"GET /reset?t=77 HTTP/1.1\" 200 12\n", 1},
		"objects":      {"/logs/app.log", `{"level":"info","time":1714644700,"msg":"login"}` + "\n", 1},
		"public yaml":  {"/config.yml", "title: Club\nreset_password: true\npassword: ${DB_PASSWORD}\nsecret:\n", 0},
		"words":        {"/settings.yml", "en:\n  labels:\n    name: Name\n    new_password_hint: Eight letters or more\n", 0},
		"public json":  {"/config.json", `{"api": "/api/v1", "forgotPassword": "/forgot", "clientToken": "pub-77aa88bb"}`, 0},
		"page of logs": {"/logs/app.log", "<html><pre>2024-05-02 10:11:40 INFO login ok</pre></html>", 0},
		"a manual":     {"/config.yml", "<html><pre>database:\n  password: Towing-Cable-12\n</pre></html>", 0},
		"everywhere":   {"", "app: club\npassword: Towing-Cable-12\n", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.path != "" && r.URL.Path != c.path {
				http.Error(w, "Error: no such page", http.StatusNotFound)
				return
			}
			fmt.Fprint(w, c.text)
		}))
		found := lab.Run(t, files(), lab.Target(t, http.MethodGet, "/", ""))
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
