package webtest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// echo is a check that finds places whose value comes back.
var echo = kit.Check{ID: "echo", Title: "Echo", Class: "echo", Severity: kit.High, Level: client.Safe,
	Place: func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		r := t.Request.Put(p, "<q1z9>")
		answer, err := w.Send(ctx, t, r)
		if err == nil && strings.Contains(string(answer.Body), "<q1z9>") {
			w.Report(kit.Finding{Check: "echo", Class: "echo", Title: "Echo", Severity: kit.High, Request: r, Place: p,
				Confidence: kit.Proved})
		}
		return err
	}}

// banner is a check that looks at answers only.
var banner = kit.Check{ID: "banner", Title: "Banner", Class: "banner", Severity: kit.Low,
	Passive: func(w *kit.World, t *kit.Target) {
		if t.Response.Header.Get("X-Powered-By") != "" {
			w.Report(kit.Finding{Check: "banner", Class: "banner", Title: "Banner", Severity: kit.Low, Request: t.Request,
				Confidence: kit.Proved})
		}
	}}

var writes = kit.Check{ID: "writes", Class: "writes", Level: client.Active,
	Request: func(context.Context, *kit.World, *kit.Target) error { panic("it is not allowed") }}

func serve(t *testing.T, cfg webtest.Config, h http.HandlerFunc) webtest.Config {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	target, err := netguard.ParseTarget(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Client.Dial, cfg.Client.Allow, cfg.Client.Level = scope.Dial, allow(scope), client.Safe
	u, _ := url.Parse(s.URL + "/")
	cfg.Starts = []*url.URL{u}
	if cfg.Checks == nil {
		cfg.Checks = []kit.Check{banner, writes, echo}
	}
	return cfg
}

// shop is an application with an echo in each kind of input, and places that do not matter.
func shop(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("X-Powered-By", "x")
	switch r.URL.Path {
	case "/":
		fmt.Fprint(w, `<a href="/find?q=1&lang=en">f</a><a href="/item/7">i</a><a href="/agent">a</a><a href="/cookie">c</a><a href="/tongue">t</a><a href="/texts">x</a>
			<form method=post action="/calc"><input name=n><input name=m></form>
			<form method=post action="/send"><textarea name=text></textarea><button>Post comment</button></form>`)
	case "/find":
		fmt.Fprint(w, "<p>"+r.FormValue("q")+"</p>")
	case "/calc":
		fmt.Fprint(w, "<b>"+r.PostFormValue("m")+"</b>")
	case "/agent":
		fmt.Fprint(w, "<i>"+r.UserAgent()+"</i>")
	case "/tongue":
		fmt.Fprint(w, "<em>"+r.Header.Get("Accept-Language")+"</em>")
	case "/texts": // an unknown language of the browser is named; the known ones have a text
		if tag, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ","); tag != "" && tag != "en" {
			fmt.Fprintf(w, "<html lang=\"%s\"><title>No text yet</title>", tag)
		}
	case "/cookie":
		http.SetCookie(w, &http.Cookie{Name: "colour", Value: "red", Path: "/cookie"})
		if c, err := r.Cookie("colour"); err == nil {
			value, _ := url.PathUnescape(c.Value)
			fmt.Fprint(w, "<u>"+value+"</u>")
		}
	default:
		if id, ok := strings.CutPrefix(r.URL.Path, "/item/"); ok {
			fmt.Fprint(w, "<s>"+id+"</s>")
			return
		}
		http.NotFound(w, r)
	}
}

func places(r *webtest.Report) (out []string) {
	for _, f := range r.Findings {
		out = append(out, f.Check+" "+f.Request.Method+" "+f.Request.URL.Path+" "+f.Place.String())
	}
	slices.Sort(out)
	return out
}

func TestRunTestsAllKindsOfPlaces(t *testing.T) {
	var told []string
	cfg := serve(t, webtest.Config{OnFinding: func(f webtest.Finding) { told = append(told, f.Check) }}, shop)
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(places(report), "\n")
	for _, want := range []string{"echo GET /find query parameter q", "echo POST /calc body parameter m",
		"echo GET /agent header User-Agent", "echo GET /tongue header Accept-Language", "echo GET /texts header Accept-Language",
		"echo GET /cookie cookie colour", "segment 2 of the path"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if len(told) != len(report.Findings) || strings.Count(got, "echo") != 7 || strings.Count(got, "banner") != 1 {
		t.Errorf("told %q of\n%s", told, got)
	}
	for _, f := range report.Findings {
		if f.Check == "banner" && len(f.Where) < 4 {
			t.Errorf("the places of one cause: %q", f.Where)
		}
	}
	ofMap, ofChecks := report.Coverage.Reasons()
	text := fmt.Sprint(ofMap, ofChecks)
	for _, want := range []string{"it may change data, which level safe does not allow", "it needs level active"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	if report.Partial() {
		t.Errorf("it is partial: %s", text)
	}
}

func TestBudgetIsInTheCoverage(t *testing.T) {
	report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Client: client.Config{Requests: 40}}, shop))
	if err != nil || report.Over != "requests" || !report.Partial() || report.Requests != 40 {
		t.Fatalf("%v %+v", err, report)
	}
	_, reasons := report.Coverage.Reasons()
	if !strings.Contains(fmt.Sprint(reasons), "the budget of requests is used up") {
		t.Error(reasons)
	}
}

// TestKilledRunGoesOn ends a run in its middle and starts it again with the journal.
func TestKilledRunGoesOn(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		mu.Lock()
		counts[r.URL.RequestURI()]++
		mu.Unlock()
		if r.URL.Path == "/" {
			for i := range 30 {
				fmt.Fprintf(w, `<a href="/page%c%c.php?q=1">p</a>`, 'a'+i/10, 'a'+i%10)
			}
			return
		}
		fmt.Fprintf(w, "<p>%s</p>", r.FormValue("q"))
	}
	ctx, kill := context.WithCancel(t.Context())
	found := 0
	journal := filepath.Join(t.TempDir(), "journal")
	cfg := serve(t, webtest.Config{Journal: journal, Targets: 1, OnFinding: func(webtest.Finding) {
		if found++; found == 10 {
			kill()
		}
	}}, handler)
	first, err := webtest.Run(ctx, cfg)
	if err == nil || found != 10 {
		t.Fatalf("%v after %d findings", err, found)
	}
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, `{"done":"cut sho`) // as a kill leaves it
	_ = file.Close()
	mu.Lock()
	before := counts["/pageaa.php?q=%3Cq1z9%3E"]
	mu.Unlock()
	cfg.OnFinding = func(webtest.Finding) { found++ }
	second, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(second.Findings) != 30 || found != 30 || !second.Resumed || second.Requests <= first.Requests {
		t.Errorf("%s\n%d findings, %d told, %d then %d requests", strings.Join(places(second), "\n"), len(second.Findings), found, first.Requests, second.Requests)
	}
	if after := counts["/pageaa.php?q=%3Cq1z9%3E"]; after-before > 1 {
		t.Errorf("what was tested was tested again: %d, then %d", before, after)
	}
	third, err := webtest.Run(t.Context(), cfg)
	if err != nil || len(third.Findings) != 30 || third.Requests-second.Requests > 3 {
		t.Errorf("%v: a run that had ended sends %d requests more", err, third.Requests-second.Requests)
	}
}

// TestKilledMapGoesOn ends a run while it maps: the next one asks for nothing that was answered, and has the same map.
func TestKilledMapGoesOn(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	ctx, kill := context.WithCancel(t.Context())
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		mu.Lock()
		defer mu.Unlock()
		counts[r.URL.Path]++
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/page%d.php", &n); err != nil && r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		if n == 5 && counts[r.URL.Path] == 1 {
			kill()
		}
		if n < 8 {
			fmt.Fprintf(w, `<a href="/page%d.php">next</a>`, n+1)
		}
	}
	cfg := serve(t, webtest.Config{Journal: filepath.Join(t.TempDir(), "journal"), Checks: []kit.Check{}}, handler)
	if _, err := webtest.Run(ctx, cfg); err == nil {
		t.Fatal("it was not ended")
	}
	mapped := map[string]int{}
	cfg.OnProgress = func(p webtest.Progress) {
		if p.Stage == "test" && len(mapped) == 0 {
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(mapped, counts)
		}
	}
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil || !report.Resumed || !strings.Contains(fmt.Sprint(report.Notes), "while it mapped") {
		t.Fatalf("%v, %v", err, report.Notes)
	}
	if len(report.Map.Entries) < 9 {
		t.Errorf("the map has %d requests", len(report.Map.Entries))
	}
	for path, n := range mapped {
		if n > 1 && path != "/page5.php" {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// TestLostSession has one page end the session, and pages that hide from who is not logged in: what these say meanwhile
// does not count.
func TestLostSession(t *testing.T) {
	var session1 atomic.Int32
	session1.Store(1)
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		cookie, err := r.Cookie("sid")
		in := err == nil && cookie.Value == fmt.Sprint(session1.Load())
		switch {
		case r.URL.Path == "/login" && r.Method == http.MethodPost:
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(session1.Load()), Path: "/"})
			http.Redirect(w, r, "/", http.StatusFound)
		case r.URL.Path == "/login":
			fmt.Fprint(w, `<form method=post><input name=user><input type=password name=pw></form>`+r.FormValue("q"))
		case !in && r.URL.Path == "/":
			http.Redirect(w, r, "/login?"+r.URL.RawQuery, http.StatusFound)
		case !in:
			http.NotFound(w, r)
		case r.URL.Path == "/killer.php":
			if r.FormValue("k") != "1" {
				session1.Add(1)
			}
			fmt.Fprint(w, "<h1>k</h1>"+r.FormValue("k"))
		case r.URL.Path == "/":
			fmt.Fprint(w, `<a href="/killer.php?k=1">k</a><a href="/good.php?q=1">g</a><a href="/logout">out</a>`)
		default:
			fmt.Fprint(w, "<h2>g</h2>"+r.FormValue("q"))
		}
	}
	var notes []string
	cfg := serve(t, webtest.Config{Checks: []kit.Check{echo}, Accounts: []session.Account{{User: "bob", Password: "x"}},
		OnNote: func(text string) { notes = append(notes, text) }}, handler)
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(places(report), "\n")
	if !strings.Contains(got, "/good.php query parameter q") || strings.Contains(got, "killer") || report.Logins < 2 {
		t.Errorf("%d logins, found\n%s", report.Logins, got)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "/killer.php?k=1 ends the session") {
		t.Errorf("%q", notes)
	}
}

func TestNothingAnswers(t *testing.T) {
	cfg := serve(t, webtest.Config{Client: client.Config{Until: time.Now().Add(time.Minute)}}, shop)
	cfg.Starts[0].Host = "127.0.0.1:1"
	report, err := webtest.Run(t.Context(), cfg)
	if err == nil || !report.Denied {
		t.Errorf("%v %+v", err, report)
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
