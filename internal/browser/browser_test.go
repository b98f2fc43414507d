package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
)

// long is a time that no test needs.
const long = 2 * time.Minute

// lab is a pool and a site whose name is inside.test; nothing else can be dialled.
type lab struct {
	pool *browser.Pool
	temp string

	mu    sync.Mutex
	asked []string // addresses that were dialled
}

func newLab(t *testing.T, cfg browser.Config) *lab {
	t.Helper()
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	temp, err := os.MkdirTemp("", "lab") //nolint:usetesting // t.TempDir is closed to the user nobody, as whom browsers run
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	l := &lab{temp: temp}
	cfg.Temp = l.temp
	l.pool = browser.New(cfg)
	t.Cleanup(l.pool.Close)
	return l
}

// open opens a page on a site of its own.
func (l *lab) open(t *testing.T, o browser.Options, page http.HandlerFunc) *browser.Page {
	t.Helper()
	typed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		page(w, r)
	})
	site := httptest.NewServer(typed)
	t.Cleanup(site.Close)
	secure := httptest.NewTLSServer(typed)
	t.Cleanup(secure.Close)
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.mu.Lock()
		l.asked = append(l.asked, addr)
		l.mu.Unlock()
		to := map[string]string{"inside.test:80": site.Listener.Addr().String(),
			"inside.test:443": secure.Listener.Addr().String()}[addr]
		if to == "" {
			return nil, fmt.Errorf("%s is out of scope", addr)
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	if o.Timeout == 0 {
		o.Timeout = long
	}
	p, err := l.pool.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func html(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(text))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPage(t *testing.T) {
	l := newLab(t, browser.Config{})
	for _, scheme := range []string{"http", "https"} {
		p := l.open(t, browser.Options{Bodies: true, Headers: []browser.Header{{"X-Mine", "yes"}}},
			func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					http.Redirect(w, r, "/a?b=1", http.StatusFound)
				case "/a":
					w.Header().Set("Server", "lab")
					_, _ = fmt.Fprintf(w, `<p id=p>%s</p><script>document.title = "made";
						document.cookie = "c=1; SameSite=Lax"</script>`,
						r.Header.Get("X-Mine"))
				}
			})
		must(t, p.Navigate(scheme+"://inside.test/"))
		must(t, p.Wait("load", long))
		text, err := p.HTML()
		must(t, err)
		if !strings.Contains(text, `<p id="p">yes</p>`) || !strings.Contains(text, "<title>made</title>") {
			t.Errorf("%s", text)
		}
		if got := p.URL(); got != scheme+"://inside.test/a?b=1" {
			t.Errorf("at %s", got)
		}
		value, err := p.Eval(`() => ({a: [1, "x", null], t: document.title})`)
		must(t, err)
		if got := fmt.Sprint(value); got != "map[a:[1 x <nil>] t:made]" {
			t.Errorf("%s", got)
		}
		if _, err = p.Eval(`() => { throw new Error("no") }`); err == nil || err.Error() != "the script threw: Error: no" {
			t.Errorf("%v", err)
		}
		all := p.Exchanges()
		if len(all) < 2 || all[0].Status != 302 || all[1].Status != 200 || !strings.Contains(all[1].Response, "Server: lab\n") ||
			!strings.Contains(all[1].Response, "<p id=p>") || !strings.HasPrefix(all[0].Request, "GET "+scheme+"://inside.test/ HTTP/1.1\n") {
			t.Errorf("%+v", all)
		}
		cookies, err := p.Cookies(p.URL())
		must(t, err)
		if fmt.Sprint(cookies) != "[c=1; Path=/; SameSite=Lax]" {
			t.Errorf("%v", cookies)
		}
		p.Close()
	}
}

func TestElements(t *testing.T) {
	l := newLab(t, browser.Config{})
	p := l.open(t, browser.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_ = r.ParseForm()
			_, _ = fmt.Fprint(w, "<pre>"+r.Form.Encode())
			return
		}
		_, _ = fmt.Fprint(w, `<form method=post><input name=t><input name=d type=date><input type=file id=f onchange="form.elements.title.value = files[0].name">
			<select name=s><option>one<option>two</select><input name=title><a href=/x title=tip>The Link</a>
			<button oncontextmenu="form.elements.title.value += 'right'" id=b type=button>Right</button><input type=submit></form>
			<script>setTimeout(() => document.body.append(Object.assign(document.createElement("i"), {id: "late", innerText: "here"})), 50)</script>`)
	})
	must(t, p.Navigate("http://inside.test/"))
	find := func(s browser.Selector) *browser.Element {
		t.Helper()
		e, err := p.Element(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		return e
	}
	must(t, find(browser.Selector{CSS: "[name=t]"}).Input("some text"))
	must(t, find(browser.Selector{CSS: "[name=t]"}).Click(false))
	must(t, p.Keys("!"))
	must(t, find(browser.Selector{By: "xpath", XPath: "//input[@type='date']"}).Time(time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)))
	must(t, find(browser.Selector{By: "js", JS: "() => document.querySelector('select')"}).Select("two", "", true))
	file := t.TempDir() + "/note.txt"
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, find(browser.Selector{CSS: "#f"}).Files([]string{file}))
	must(t, find(browser.Selector{CSS: "#b"}).Click(true))
	link := find(browser.Selector{By: "regex", CSS: "a", Regex: "/the l/i"})
	if text, err := link.Text(); err != nil || text != "The Link" {
		t.Errorf("%q %v", text, err)
	}
	if tip, ok, err := link.Attribute("title"); err != nil || !ok || tip != "tip" {
		t.Errorf("%q %v %v", tip, ok, err)
	}
	if _, ok, err := link.Attribute("none"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	must(t, p.WaitVisible(browser.Selector{CSS: "#late"}, 10*time.Millisecond, long))
	find(browser.Selector{By: "search", Query: "The Link"})
	if _, err := p.Element(browser.Selector{CSS: "#none"}); !errors.Is(err, browser.ErrNoElement) {
		t.Errorf("%v", err)
	}
	must(t, find(browser.Selector{CSS: "[type=submit]"}).Click(false))
	text, err := p.HTML()
	must(t, err)
	if want := "d=2024-05-06&amp;s=two&amp;t=some+text%21&amp;title=note.txtright"; !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}

func TestDialogs(t *testing.T) {
	l := newLab(t, browser.Config{})
	p := l.open(t, browser.Options{}, html(`<script>alert(1); n = prompt("name"); done = confirm("sure?")</script><p>after`))
	must(t, p.Navigate("http://inside.test/"))
	for _, want := range []browser.Dialog{{"alert", "1"}, {"prompt", "name"}, {"confirm", "sure?"}} {
		if got, ok, err := p.Dialog(long); !ok || err != nil || got != want {
			t.Errorf("%+v %v %v", got, ok, err)
		}
	}
	if _, ok, err := p.Dialog(time.Millisecond); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	value, err := p.Eval("() => [n, done]")
	must(t, err)
	if fmt.Sprint(value) != "[ true]" {
		t.Errorf("%v", value)
	}
}

func TestHooksRulesAndEvents(t *testing.T) {
	l := newLab(t, browser.Config{})
	var mu sync.Mutex
	var methods []string
	p := l.open(t, browser.Options{}, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		methods = append(methods, r.Method+" "+r.Header.Get("Test"))
		mu.Unlock()
		w.Header().Set("Content-Security-Policy", "script-src 'none'")
		w.Header().Set("X-Gone", "1")
		_, _ = fmt.Fprint(w, `<script>ran = 1</script>`)
	})
	p.AddRule(browser.Rule{Kind: browser.SetHeader, Name: "Test", Value: "v"})
	p.AddRule(browser.Rule{Kind: browser.SetMethod, Value: "PUT"})
	p.AddRule(browser.Rule{Kind: browser.SetHeader, Response: true, Name: "Content-Security-Policy", Value: "script-src 'unsafe-inline'"})
	p.AddRule(browser.Rule{Kind: browser.DeleteHeader, Response: true, Name: "X-Gone"})
	must(t, p.Hook("() => { window.hooked = 1 }"))
	must(t, p.Hook("window.plain = 2"))
	p.Arm("Page.loadEventFired")
	must(t, p.Navigate("http://inside.test/"))
	must(t, p.Event("Page.loadEventFired", long))
	value, err := p.Eval("() => [window.hooked, window.plain, window.ran]")
	must(t, err)
	if fmt.Sprint(value) != "[1 2 1]" {
		t.Errorf("%v", value)
	}
	if !slices.Contains(methods, "PUT v") {
		t.Errorf("%q", methods)
	}
	if head := fmt.Sprint(p.Exchanges()[0].Head); strings.Contains(head, "Gone") {
		t.Errorf("%s", head)
	}
	p.AddRule(browser.Rule{Kind: browser.SetBody, Response: true, Value: "<b>changed</b>"})
	must(t, p.Navigate("http://inside.test/"))
	if text, err := p.HTML(); err != nil || !strings.Contains(text, "<b>changed</b>") {
		t.Errorf("%s %v", text, err)
	}
	for name, want := range map[string]bool{"Page.loadEventFired": true, "Network.requestWillBeSent": true, "Page.navigate": false,
		"Page.none": false, "": false} {
		if browser.KnowsEvent(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// Whatever a page tries, it reaches nothing but what its dial function lets it reach.
func TestScope(t *testing.T) {
	l := newLab(t, browser.Config{})
	var outside sync.Map
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { outside.Store(r.URL.Path, true) }))
	defer stranger.Close()
	p := l.open(t, browser.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, stranger.URL+"/redirect", http.StatusFound)
			return
		}
		_, _ = fmt.Fprintf(w, `<img src="%[1]s/img"><iframe src="%[1]s/frame"></iframe><link rel=stylesheet href="%[1]s/css">
			<iframe src="file:///etc/passwd"></iframe><link rel=dns-prefetch href="%[1]s"><link rel=preconnect href="%[1]s"><script>
			fetch("%[1]s/fetch", {method: "POST", mode: "no-cors"}).catch(() => 0)
			new WebSocket("ws" + "%[1]s/ws".slice(4)); navigator.sendBeacon("%[1]s/beacon")
			new Worker(URL.createObjectURL(new Blob(["fetch('%[1]s/worker', {mode: 'no-cors'}).catch(() => 0)"])))
			new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:3478"}]}).createDataChannel("x")
			for (let i = 0; i < 20; i++) window.open("%[1]s/window" + i)
			</script>`, stranger.URL)
	})
	must(t, p.Navigate("http://inside.test/"))
	must(t, p.Wait("networkIdle", long))
	if err := p.Navigate("http://inside.test/away"); err == nil || !strings.Contains(err.Error(), "out of scope") {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"file:///etc/passwd", "chrome://version", "javascript:alert(1)", "view-source:http://inside.test/"} {
		if err := p.Navigate(bad); !errors.Is(err, browser.ErrScheme) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	address := strings.TrimPrefix(stranger.URL, "http://")
	if !slices.ContainsFunc(p.Refused(), func(r browser.Refusal) bool { return r.Host == address }) {
		t.Errorf("%v", p.Refused())
	}
	outside.Range(func(path, _ any) bool { t.Errorf("%v reached a host out of scope", path); return true })
	if !slices.Contains(l.asked, address) {
		t.Error("the page's dial function was not asked: the page did not try, or went another way")
	}
}

func TestBefore(t *testing.T) {
	l := newLab(t, browser.Config{})
	refusal := errors.New("not this one")
	p := l.open(t, browser.Options{ReadOnly: true, Before: func(_ context.Context, u *url.URL) error {
		if u.Path == "/no" {
			return refusal
		}
		return nil
	}}, html("<p>"))
	must(t, p.Navigate("http://inside.test/"))
	if err := p.Navigate("http://inside.test/no"); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	if value, err := p.Eval(`() => fetch("/", {method: "POST"}).then(r => r.status, e => "refused")`); err != nil || value != "refused" {
		t.Errorf("%v %v", value, err)
	}
}

func TestScreenshot(t *testing.T) {
	l := newLab(t, browser.Config{})
	p := l.open(t, browser.Options{}, html("<body style='background:#f00;height:3000px'>"))
	must(t, p.Navigate("http://inside.test/"))
	for _, full := range []bool{false, true} {
		picture, err := p.Screenshot(full)
		if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
			t.Errorf("%.10q %v", picture, err)
		}
	}
}

// TestCrashesAtTheStart: a browser that ends while it starts is started again, and one that always does is not tried for
// ever; the error has what it printed first.
func TestCrashesAtTheStart(t *testing.T) {
	chromium, err := browser.Find("")
	if err != nil {
		t.Skip(err)
	}
	for crashes, works := range map[int]bool{4: true, 5: false} {
		tries := filepath.Join(t.TempDir(), "tries")
		path := filepath.Join(t.TempDir(), "chromium")
		script := fmt.Sprintf("#!/bin/sh\necho >>%[1]s\n[ $(wc -l <%[1]s) -gt %[2]d ] || { echo \"$0: 9: [: 1: unexpected operator\"; echo boom; exit 1; }\nexec %[3]s \"$@\"\n",
			tries, crashes, chromium)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		l := newLab(t, browser.Config{Path: path})
		page, err := l.pool.Open(t.Context(), browser.Options{Timeout: long})
		if err == nil {
			page.Close()
		}
		if (err == nil) != works || err != nil && !strings.Contains(err.Error(), "(exit status 1): boom") {
			t.Errorf("after %d crashes: %v", crashes, err)
		}
		if left, err := os.ReadDir(l.temp); err != nil || !works && len(left) > 0 {
			t.Errorf("after %d crashes, %v are left, %v", crashes, left, err)
		}
	}
}

// The path of Chromium's socket has a bound, which the path of our folder must not use up.
func TestALongFolder(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	temp := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	pool := browser.New(browser.Config{Temp: temp})
	defer pool.Close()
	page, err := pool.Open(t.Context(), browser.Options{Timeout: long})
	if err != nil {
		t.Fatal(err)
	}
	page.Close()
}
