package webtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// lodge shows pages with an input to its members, and one to everybody. It ends sessions as ends says, given the number
// of the request in it, and lets nobody in from some request on.
type lodge struct {
	mu       sync.Mutex
	ends     func(n int) bool
	lock     int         // from this request on bob is not let in, and his session is over; 0: never
	odd      string      // a text in a parameter or in what the browser says that is answered as if nobody was logged in
	checks   []kit.Check // beside echo
	quiet    bool        // pages do not say that nobody is logged in
	sessions map[string]string
	inThis   map[string]int
	all      int
	logins   int
	odds     int
}

func (c *lodge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	isLocked := c.lock > 0 && c.all >= c.lock
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/open" {
		fmt.Fprint(w, "<h3>open</h3>"+r.FormValue("q"))
		return
	}
	if r.URL.Path == "/login" {
		name := r.FormValue("user")
		if r.Method == http.MethodPost && r.FormValue("pw") == "x" && (name != "bob" || !isLocked) {
			c.logins++
			id := fmt.Sprintf("session-%d", c.logins)
			c.sessions[id] = name
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: id, Path: "/"})
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		fmt.Fprint(w, `<form method="post"><input name="user"><input type="password" name="pw"></form>`)
		return
	}
	id, name := "", ""
	if k, err := r.Cookie("sid"); err == nil {
		id, name = k.Value, c.sessions[k.Value]
	}
	if c.inThis[id]++; name != "" && c.ends != nil && c.ends(c.inThis[id]) || name == "bob" && isLocked {
		delete(c.sessions, id)
		name = ""
	}
	isOdd := name != "" && c.odd != "" && strings.Contains(r.UserAgent()+r.URL.RawQuery, c.odd)
	if isOdd {
		c.odds++
	}
	if name == "" && c.quiet && r.URL.Path != "/" {
		fmt.Fprint(w, "<h2>closed</h2>")
		return
	}
	if name == "" || isOdd {
		http.Redirect(w, r, "/login", http.StatusFound)
		return
	}
	if !strings.HasSuffix(r.URL.Path, ".php") && r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, `<p>Hello %s</p><a href="/open?q=1">open</a>`, name)
	if r.URL.Path == "/" {
		for i := range 20 {
			fmt.Fprintf(w, `<a href="/page%d.php?q=1">page</a>`, i)
		}
		fmt.Fprintf(w, `<a href="/%s.php?q=1">own</a>`, name)
		return
	}
	fmt.Fprint(w, "<h2>"+r.URL.Path+"</h2>"+r.FormValue("q"))
}

// visit tests an application as bob, or as others.
func visit(t *testing.T, c *lodge, names ...string) *webtest.Report {
	t.Helper()
	c.sessions, c.inThis = map[string]string{}, map[string]int{}
	cfg := webtest.Config{Checks: append([]kit.Check{echo}, c.checks...)}
	for _, name := range names {
		cfg.Accounts = append(cfg.Accounts, session.Account{User: name, Password: "x"})
	}
	report, err := webtest.Run(t.Context(), serve(t, cfg, c.ServeHTTP))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// All is found in an application that ends sessions after some requests or by chance, as in one that does not, and
// nothing is left untested.
func TestSessionsThatEndInTheMiddle(t *testing.T) {
	want := places(visit(t, &lodge{}, "bob"))
	if len(want) != 22 {
		t.Fatalf("%d found: %q", len(want), want)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for name, ends := range map[string]func(n int) bool{
		"after 25":  func(n int) bool { return n > 25 },
		"after 60":  func(n int) bool { return n > 60 },
		"by chance": func(int) bool { return chance.IntN(40) == 0 },
	} {
		app := &lodge{ends: ends}
		report := visit(t, app, "bob")
		if got := places(report); !slices.Equal(got, want) || report.Partial() || len(report.Refused) > 0 {
			_, why := report.Coverage.Reasons()
			t.Errorf("%s: %d found, %v, refused %q", name, len(got), why, report.Refused)
		}
		if report.Logins < 3 || report.Logins > app.all/10 {
			t.Errorf("%s: %d logins for %d requests", name, report.Logins, app.all)
		}
	}
}

// once is a check that tests something once, however many pages have it, and finds it.
var once = kit.Check{ID: "once", Title: "Once", Class: "once", Severity: kit.High, Level: client.Safe,
	Request: func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.URL.Path == "/" || !w.Once("once") {
			return nil
		}
		answer, err := w.Send(ctx, t, t.Request)
		if err == nil {
			w.Report(kit.Finding{Check: "once", Class: "once", Title: "Once", Severity: kit.High, Request: answer.Request,
				Confidence: kit.Proved})
		}
		return err
	}}

// What is tested once is tested again when its findings were dropped as the session was over, and only then.
func TestOnceInSessionsThatEnd(t *testing.T) {
	for name, ends := range map[string]func(n int) bool{
		"never":    nil,
		"after 25": func(n int) bool { return n > 25 },
		"after 60": func(n int) bool { return n > 60 },
	} {
		report := visit(t, &lodge{ends: ends, quiet: true, checks: []kit.Check{once}}, "bob")
		found := 0
		for _, f := range report.Findings {
			if f.Check == "once" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d found, want 1", name, found)
		}
	}
}

// A test that is answered as if nobody was logged in is answered so, and nobody is logged in again.
func TestTestsThatLookLikeALogout(t *testing.T) {
	app := &lodge{odd: `'"<`}
	report := visit(t, app, "bob")
	if report.Logins != 0 || app.logins != 1 || app.odds < 20 || len(places(report)) != 22 {
		t.Errorf("%d logins, %d odd, found %q", app.logins, app.odds, places(report))
	}
}

// When a user cannot be logged in any more, what is found until then counts, and what others and nobody are shown is
// tested; the report says so.
func TestUsersWhoAreLocked(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		found func(got []string) bool
	}{
		"with another": {[]string{"bob", "eve"}, func(got []string) bool {
			return len(got) >= 22 && slices.Contains(got, "echo GET /eve.php query parameter q")
		}},
		"alone": {[]string{"bob"}, func(got []string) bool {
			return len(got) < 22 && slices.Contains(got, "echo GET /open query parameter q")
		}},
	} {
		app := &lodge{lock: 120}
		report := visit(t, app, c.names...)
		if got := places(report); !c.found(got) {
			t.Errorf("%s: %d found: %q", name, len(got), got)
		}
		if len(report.Refused) != 1 || !strings.HasPrefix(report.Refused[0], "bob is not logged in any more: ") ||
			!strings.Contains(strings.Join(report.Notes, "\n"), "What that user alone is shown is tested no further.") {
			t.Errorf("%s: %q, %q", name, report.Refused, report.Notes)
		}
		_, why := report.Coverage.Reasons()
		if !report.Partial() || !slices.ContainsFunc(why, func(r coverage.Reason) bool {
			return strings.HasPrefix(r.Why, "bob is not logged in any more: ")
		}) {
			t.Errorf("%s: the coverage is silent: %v", name, why)
		}
		if app.logins > 4 {
			t.Errorf("%s: %d logins", name, app.logins)
		}
	}
}
