package sitemap_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// crawl maps what a handler serves. asked are the requests that it got.
func crawl(t *testing.T, with client.Config, cfg sitemap.Config, h http.Handler) (m *sitemap.Map, asked []string) {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		mu.Lock()
		line := r.Method + " " + r.URL.RequestURI()
		if r.Method == http.MethodPost {
			line += " " + r.PostForm.Encode()
		}
		asked = append(asked, line)
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	target, err := netguard.ParseTarget(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	with.Dial, with.Allow = scope.Dial, allow(scope)
	if with.Level == client.Passive {
		with.Level = client.Safe
	}
	cfg.Client = client.New(with)
	t.Cleanup(cfg.Client.Close)
	u, _ := url.Parse(s.URL + "/")
	cfg.Starts = []*url.URL{u}
	m, err = sitemap.Crawl(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, asked
}

// pages serves texts by path; those that begin with { are JSON.
func pages(texts map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case strings.HasSuffix(r.URL.Path, ".txt"):
			w.Header().Set("Content-Type", "text/plain")
		case strings.HasSuffix(r.URL.Path, ".xml"):
			w.Header().Set("Content-Type", "application/xml")
		case strings.HasPrefix(text, "{"):
			w.Header().Set("Content-Type", "application/json")
		default:
			w.Header().Set("Content-Type", "text/html")
		}
		fmt.Fprint(w, text)
	})
}

// lines are the entries of a map: method, path and query, body.
func lines(m *sitemap.Map) (out []string) {
	for _, e := range m.Entries {
		out = append(out, strings.TrimSpace(e.Request.Method+" "+e.Request.URL.RequestURI()+" "+string(e.Request.Body)))
	}
	return out
}

func has(t *testing.T, got []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s is missing in\n%s", w, strings.Join(got, "\n"))
		}
	}
}

func hasNot(t *testing.T, got []string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("%s is in\n%s", w, strings.Join(got, "\n"))
		}
	}
}

func TestCrawlFindsWhatPagesLeadTo(t *testing.T) {
	m, asked := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/": `<a href="a?x=1&amp;y=<z>">a</a><a href="/logout">out</a><a href="//other.example/">o</a><img src="/p.png">
			<!-- <a href="/old/">old</a> see /hidden/page.php?id=2 -->
			<script src="/static/app.js"></script><a href="#top">t</a><a href=" /sp ace">s</a>`,
		"/a": `<base href="/deep/"><a href="b">b</a><meta http-equiv="refresh" content="0; url='/refreshed'">
			<div onclick="location='/clicked?n=1'">c</div>`,
		"/deep/b": `<h1>b</h1>`, "/old/": `<h2>old</h2>`, "/hidden/page.php": `<h3>x</h3>`, "/refreshed": `<h4>r</h4>`,
		"/clicked": `<h5>c</h5>`, "/in-robots/": `<h6>r</h6>`, "/in-map": `<p>m</p>`, "/sp ace": `<i></i>`,
		"/robots.txt":  "User-agent: *\nDisallow: /in-robots/*\nSitemap: /map.xml\n",
		"/map.xml":     `<urlset><url><loc>/in-map?k=1&amp;l=2</loc></url></urlset>`,
		"/users":       `{"next": "/users?page=2", "items": []}`,
		"/api/items/1": `{"id": 1}`, "/api/kinds": `{"kinds": 1}`, "/api/feed": `<f/>`, "/api/find": `{"id": 1}`, "/api/save": `{"ok": 1}`, "/src": `<b>s</b>`,
		"/static/app.js": "fetch(`/api/items/${id}`); axios.post('/api/find', {term: t, limit: 5});" +
			"$.ajax({url: '/users', type: 'GET'}); xhr.open('POST','/api/find'); xhr.setRequestHeader('X-Trace', 'a');" +
			"document.cookie='lang=en'; fetch('/api/kinds', {headers: {'X-Kind': 'k1', Accept: 'text/html'}});" +
			"fetch('/api/feed', {method: 'POST', headers: {'Content-Type': 'application/xml'}, body: '<a b=\\'c\\'>d</a>'}); const nope = '/not/there'; fetch('/api/save', {method: 'POST', body: JSON.stringify({name: n})})\n" +
			"//# sourceMappingURL=app.js.map",
		"/static/app.js.map": `{"sources":["a.ts"],"sourcesContent":["go('/src')"]}`,
	}))
	has(t, lines(m), "GET /a?x=1&y=%3Cz%3E", "GET /deep/b", "GET /old/", "GET /hidden/page.php?id=2", "GET /refreshed",
		"GET /clicked?n=1", "GET /in-robots/", "GET /in-map?k=1&l=2", "GET /api/items/1", "GET /users", "GET /src", "GET /api/kinds", "POST /api/feed <a b='c'>d</a>",
		`POST /api/find {"limit":"5","term":"test"}`)
	hasNot(t, asked, "logout", "p.png", "POST /api/save")
	hasNot(t, lines(m), "/not/there")
	for _, e := range m.Entries {
		if e.Request.URL.Path == "/api/kinds" && e.Request.Header.Get("X-Kind") != "k1" {
			t.Errorf("the headers of /api/kinds are %v", e.Request.Header)
		}
		if e.Request.URL.Path == "/api/feed" && (string(e.Request.Body) != "<a b='c'>d</a>" ||
			e.Request.Header.Get("Content-Type") != "application/xml") {
			t.Errorf("/api/feed gets %s %q", e.Request.Header, e.Request.Body)
		}
	}
	if m.Headers["X-Kind"] == "" || m.Headers["X-Trace"] == "" || m.Cookies["lang"] == "" {
		t.Errorf("headers %v, cookies %v", m.Headers, m.Cookies)
	}
}

func TestFormsBecomeRequests(t *testing.T) {
	m, asked := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/": `<form action="/find"><input name="q"><select name="in"><option value="">-<option value="b" selected>B</select>
				<input type="checkbox" name="all" value="1"><input type=radio name=r value=x><input type=radio name=r value=y checked>
				<button name="go" value="1">Go</button><button name="go" value="2">Lucky</button></form>
			<form method="post" action="/calc"><input name="number" type="number" min="3"><textarea name="note">hi</textarea><input type="submit" value="Calculate"></form>
			<form method="post" action="/comment"><textarea name="text"></textarea><button>Post comment</button></form>
			<form method="post" enctype="multipart/form-data" action="/up"><input type="file" name="f"></form>
			<form method="post" action="/login"><input name="user"><input type="password" name="pw"></form>
			<form method="post" action="/token"><input type="hidden" name="csrf_token" value="abcdefgh"><input name="a"></form>
			<table><form method="post" action="/table"><tr><td><input name="cell"></td></tr></form></table>`,
		"/find": "<b>f</b>", "/calc": "<i>c</i>", "/login": "<u>l</u>", "/token": "<s>t</s>", "/table": "<em>t</em>",
	}))
	has(t, lines(m), "GET /find?q=test&in=b&all=1&r=y&go=1", "POST /calc number=3&note=hi", "POST /login user=tester&pw=Vedette-1x",
		"POST /comment text=test", "POST /token csrf_token=abcdefgh&a=test", "POST /table cell=test")
	has(t, asked, "GET /find?q=test&in=b&all=1&r=y&go=2", "POST /login pw=Vedette-1x&user=tester")
	hasNot(t, asked, "POST /comment", "POST /up", "POST /token")
	for _, e := range m.Entries {
		sent := e.Response != nil
		if path := e.Request.URL.Path; sent == (path == "/comment" || path == "/up" || path == "/token") || sent != (e.Why == "") {
			t.Errorf("%s: sent %v, %q", path, sent, e.Why)
		}
	}
}

func TestLoginForms(t *testing.T) {
	for text, want := range map[string]string{
		`<input name="user"><input type="password" name="pw">`:                                                                       "user",
		`<input name="name"><input name="mail"><input name="city"><input type="password" name="pw">`:                                 "",
		`<input name="name"><input type="password" name="pw"><input type="password" name="again">`:                                   "",
		`<input name="server"><input name="user"><input type="password" name="pw" autocomplete="current-password"><input name="db">`: "user",
		`<input name="firm"><input name="site"><input name="mail"><input type=password name=pw autocomplete=Current-Password>`:       "mail",
		`<input name="a"><input name="b"><input name="c"><input type="password" name="pw" autocomplete="new-password">`:              "",
	} {
		r, err := message.New(http.MethodGet, "http://h.test/")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range sitemap.LoginForms(&message.Response{Request: r, Body: []byte(`<form method="post">` + text + `</form>`)}) {
			got = f.User.Name
			if body := string(f.Request.Body); strings.Contains(body, "db=test") || strings.Contains(body, "firm=test") {
				t.Errorf("%s: a value is made up: %s", text, body)
			}
		}
		if got != want {
			t.Errorf("%s: the user is %q, want %q", text, got, want)
		}
	}
}

func TestActiveLevelSendsWhatWrites(t *testing.T) {
	_, asked := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<form method="post" action="/comment"><textarea name="text"></textarea><button>Post comment</button></form>
			<form method="post" action="/drop"><button>Delete account</button><input name="delete"></form>`, "/comment": "x", "/drop": "x",
	}))
	has(t, asked, "POST /comment text=test")
	hasNot(t, asked, "/drop")
}

// TestTokensAreRenewed takes a token once only.
// Of forms that differ in a value alone, each of which uses something up, some are left for tests; forms that do something
// else by a word are not of the same kind.
func TestFormsOfOneShapeAreNotAllSent(t *testing.T) {
	var wallet strings.Builder
	for i := range 12 {
		fmt.Fprintf(&wallet, `<form method=post action="/redeem"><input type=hidden name=voucher value="GIFT-%d"></form>`, i)
		fmt.Fprintf(&wallet, `<form method=post action="/list/%d/close"><input name=why value=a></form>`, 100+i)
	}
	for _, do := range []string{"open", "copy", "send", "print", "share", "close"} {
		fmt.Fprintf(&wallet, `<form method=post action="/desk"><input type=hidden name=action value="%s"></form>`, do)
	}
	_, asked := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{"/": wallet.String(),
		"/redeem": "done", "/desk": "done"}))
	if text := strings.Join(asked, "\n"); strings.Count(text, "POST /redeem") != 4 || strings.Count(text, "POST /list/") != 4 ||
		strings.Count(text, "POST /desk") != 6 {
		t.Errorf("asked:\n%s", text)
	}
}

func TestTokensAreRenewed(t *testing.T) {
	var mu sync.Mutex
	given, accepted, refused := 0, 0, 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/":
			given++
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<form method=post action="/search"><input type=hidden name=csrf_token value=token-%d><input name=q><button>Search</button></form>`, given)
		case r.Method == http.MethodPost && r.FormValue("csrf_token") == fmt.Sprintf("token-%d", given):
			accepted++
			given++
			fmt.Fprint(w, "<b>"+r.FormValue("q")+"</b>")
		case r.Method == http.MethodPost:
			refused++
		default:
			http.NotFound(w, r)
		}
	})
	var c *client.Client
	s := httptest.NewServer(h)
	defer s.Close()
	target, _ := netguard.ParseTarget(s.URL)
	scope, _ := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	c = client.New(client.Config{Dial: scope.Dial, Level: client.Safe})
	defer c.Close()
	u, _ := url.Parse(s.URL + "/")
	m, err := sitemap.Crawl(t.Context(), sitemap.Config{Client: c, Starts: []*url.URL{u}})
	if err != nil {
		t.Fatal(err)
	}
	var post *message.Request
	for _, e := range m.Entries {
		if e.Request.Method == http.MethodPost {
			post = e.Request
		}
	}
	if post == nil {
		t.Fatal(lines(m))
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			test := post.Put(message.Place{Component: message.Body, Format: message.Form, Name: "q"}, fmt.Sprint("x", i))
			if answer, err := c.Send(t.Context(), test, client.Options{}); err != nil || string(answer.Body) != fmt.Sprintf("<b>x%d</b>", i) {
				t.Errorf("%v, %s", err, answer.Body)
			}
		})
	}
	group.Wait()
	forged := post.Put(post.Token.Place, "forged")
	if answer, err := c.Send(t.Context(), forged, client.Options{}); err != nil || len(answer.Body) > 0 {
		t.Error("a tested token was replaced", err)
	}
	if accepted != 9 || refused != 1 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

func TestTrapsEnd(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		n := len(r.URL.String())
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, `<a href="/cal/2024/1">c</a><a href="/grow/a/">g</a><a href="/s/aaa;jsessionid=1">s</a><a href="/end">e</a>`)
			for i := range 1000 {
				fmt.Fprintf(w, `<a href="/product/%d">p</a>`, i)
			}
		case strings.HasPrefix(r.URL.Path, "/product/"):
			fmt.Fprint(w, `<div class=p><p>text</p></div><a href="/product/`, n*7919, `">next</a>`)
		case strings.HasPrefix(r.URL.Path, "/cal/"):
			fmt.Fprintf(w, `<table><a href="/cal/%d/%d">next</a><a href="/cal/%d/2">n</a></table>`, n*31, n, n*77)
		case strings.HasPrefix(r.URL.Path, "/grow/"):
			fmt.Fprintf(w, `<a href="%sa/">g</a>`, r.URL.Path)
		case strings.HasPrefix(r.URL.Path, "/s/"):
			fmt.Fprintf(w, `<a href="/s/aaa;jsessionid=%d">g</a>`, n)
		case r.URL.Path == "/end":
			fmt.Fprint(w, `<h1>end</h1><form><input name=last></form>`)
		default:
			http.NotFound(w, r)
		}
	})
	m, asked := crawl(t, client.Config{}, sitemap.Config{}, h)
	if len(asked) > 150 {
		t.Errorf("%d requests", len(asked))
	}
	has(t, lines(m), "GET /end", "GET /end?last=test")
	products := 0
	for _, e := range m.Entries {
		if len(e.Request.URL.Path) > len("/product/") && strings.HasPrefix(e.Request.URL.Path, "/product/") {
			products++
		}
	}
	if products != 1 || m.Skipped["pages like it were fetched"] < 900 {
		t.Errorf("%d products, skipped %v", products, m.Skipped)
	}
}

// A box of a search that keeps something with a token is not ticked; other boxes are.
func TestBoxesWithTokensAreNotTicked(t *testing.T) {
	_, asked := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/": `<form action=/find><input name=q value=a><input type=checkbox name=all value=1>
			<input type=checkbox name=remember value="0b2c5e9d8f7a6b5c4d3e2f1a0b9c8d7e6928a1b3+\\"></form>
			<form action=/search method=post><input name=search value=a><input type=checkbox name=remember value="0b2c5e9d8f7a6b5c4d3e2f1a0b9c8d7e6928a1b3+\\"></form>`,
		"/find": "found", "/search": "found",
	}))
	has(t, asked, "GET /find?q=a&all=1", "POST /search search=a")
	hasNot(t, asked, "remember")
}

// A page for all addresses that are not there, with a form and a link that leads astray, is kept a few times.
func TestPagesThatAreNotThere(t *testing.T) {
	m, _ := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			for i := range 12 {
				fmt.Fprintf(w, "<a href='/docs/%c/'>x</a>", 'a'+i)
			}
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<p>It is not there</p><form method=post><input name=search></form>")
	}))
	if n := len(m.Entries); n > 8 || m.Skipped["it is not there, as pages that are built like it"] < 12 {
		t.Errorf("%d entries, %v", n, m.Skipped)
	}
}

// Pages for something new, at one address, are opened one after the other, and no more once one has made something.
func TestDraftsAreMadeOnce(t *testing.T) {
	_, asked := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/":             `<a href="/post-new.php">n</a><a href="/post-new.php?type=page">p</a><a href="/post-new.php?type=link">l</a>`,
		"/post-new.php": `<input type=hidden name=auto_draft value=1><input type=hidden name=post_ID value=7>`,
	}))
	n := 0
	for _, line := range asked {
		if strings.Contains(line, "/post-new.php") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d drafts: %q", n, asked)
	}
}

// A list with switches, each page of which links to more combinations of them, is followed in some; what a word in the
// same script chooses is another page, and so is a link that only one combination has.
func TestCombinationsEnd(t *testing.T) {
	m, asked := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		q := r.URL.Query()
		kind := q.Get("kind")
		fmt.Fprint(w, "<h1>", kind, "</h1><a href='/list?kind=red&a=0'>r</a><a href='/list?kind=blue&a=0'>b</a>")
		if kind == "blue" {
			fmt.Fprint(w, "<table><tr><td>b</table>")
		}
		for name := range strings.SplitSeq("abcdefgh", "") {
			more := r.URL.Query()
			more.Set(name, strconv.Itoa(1-min(1, len(q.Get(name)))))
			fmt.Fprintf(w, "<a href='/list?%s'>x</a>", more.Encode())
		}
	}))
	if len(asked) > 120 || m.Skipped["other combinations of its parameters were fetched"] == 0 {
		t.Errorf("%d requests, %v", len(asked), m.Skipped)
	}
	has(t, lines(m), "GET /list?kind=red&a=0", "GET /list?kind=blue&a=0")
}

// Of articles of one layout some are read; of pages of one layout that have a form each, all.
func TestPagesOfOneFolder(t *testing.T) {
	for _, form := range []string{"", "<form action=/do/%s><input name=q></form>"} {
		_, asked := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if name, ok := strings.CutPrefix(r.URL.Path, "/pages/"); ok {
				fmt.Fprint(w, "<h1>A page</h1>"+strings.ReplaceAll(form, "%s", name))
				return
			}
			for i := range 80 {
				fmt.Fprintf(w, `<a href="/pages/page-%c%c">p</a>`, 'a'+i/26, 'a'+i%26)
			}
		}))
		read := 0
		for _, line := range asked {
			if strings.HasPrefix(line, "GET /pages/") {
				read++
			}
		}
		if all := form != ""; all != (read >= 80) {
			t.Errorf("with the form %q: %d of 80 were read", form, read)
		}
	}
}

// A page that is refused is kept beside one that is built like it: others may be let in. A second such page is not.
func TestRefusedPagesOfOneShape(t *testing.T) {
	for refused, want := range map[int]int{http.StatusForbidden: 2, http.StatusNotFound: 1, http.StatusOK: 1} {
		m, _ := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Query().Get("v") {
			case "":
				fmt.Fprint(w, `<a href="/club?v=home">h</a> <a href="/club?v=rooms">r</a> <a href="/club?v=safe">s</a> <a href="/club?v=keys">k</a>`)
				return
			case "safe", "keys":
				w.WriteHeader(refused)
			}
			fmt.Fprint(w, "<h1>The club</h1><p>A page.</p>")
		}))
		kept := 0
		for _, e := range m.Entries {
			if e.Request.URL.Path == "/club" {
				kept++
			}
		}
		if kept != want {
			t.Errorf("status %d: %d kept, want %d", refused, kept, want)
		}
	}
}

// TestEveryHandlerIsRead has many pages of one structure that are handlers of their own.
func TestEveryHandlerIsRead(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			for i := range 300 {
				fmt.Fprintf(w, `<a href="/Case%d-In-Page.jsp?v=1">c</a>`, i)
			}
			return
		}
		fmt.Fprint(w, `<p>same</p>`)
	})
	m, _ := crawl(t, client.Config{}, sitemap.Config{}, h)
	if n := len(m.Entries); n < 300 {
		t.Errorf("%d entries, skipped %v", n, m.Skipped)
	}
}

func TestBudgetsEndACrawl(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 20 {
			fmt.Fprintf(w, `<a href="%s%c/">x</a>`, r.URL.Path, 'a'+i)
		}
	})
	m, asked := crawl(t, client.Config{Requests: 100}, sitemap.Config{}, endless)
	if len(asked) > 100 || m.Skipped["the budget of requests is used up"] == 0 {
		t.Errorf("%d requests, skipped %v", len(asked), m.Skipped)
	}
	m, asked = crawl(t, client.Config{}, sitemap.Config{Depth: 1}, endless)
	if len(asked) > 40 || m.Skipped["it is deeper than 1 links"] == 0 {
		t.Errorf("%d requests, skipped %v", len(asked), m.Skipped)
	}
}

func allow(scope *netguard.Scope) func(string, *url.URL) error {
	return func(_ string, u *url.URL) error {
		if !scope.AllowsURL(u) {
			return errors.New("it is out of scope")
		}
		return nil
	}
}

// When its part of the time is over, the crawl ends, and says how much it did not ask for.
func TestCrawlEndsWithItsTime(t *testing.T) {
	m, asked := crawl(t, client.Config{}, sitemap.Config{Until: time.Now().Add(-time.Second)},
		pages(map[string]string{"/": `<a href="/a">a</a>`}))
	left := 0
	for _, e := range m.Entries {
		if strings.Contains(e.Why, "part of the budget") {
			left++
		}
	}
	for why, n := range m.Skipped {
		if strings.Contains(why, "part of the budget") {
			left += n
		}
	}
	if len(asked) > 0 || left == 0 {
		t.Errorf("asked %q, left out %d: %v", asked, left, m.Skipped)
	}
}
