package webtest_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
)

// kept keeps what is typed on one page, for all or for a visitor, and other pages use it: in a statement whose errors
// nobody sees, in a page as it is, and in a page escaped. The last step of a form uses what the first one was given.
type kept struct {
	mu     sync.Mutex
	values map[string]string
	made   int
}

// found is what a database of three names says to a statement with a value in quotes.
func found(value string) string {
	switch v := strings.ReplaceAll(value, "''", ""); {
	case strings.Count(v, "'")%2 == 1:
		return "Nothing."
	case strings.Contains(v, "'AND("), strings.Contains(v, "'OR("):
		c := v[strings.IndexByte(v, '(')+1:]
		c, _, _ = strings.Cut(c, ")")
		var a, b, sum int
		if n, _ := fmt.Sscanf(c, "%d+%d=%d", &a, &b, &sum); n == 3 && a+b == sum {
			return "One found."
		}
		if n, _ := fmt.Sscanf(c, "%d-%d=%d", &a, &b, &sum); n == 3 && a-b == sum {
			return "One found."
		}
	case v == "test":
		return "One found."
	}
	return "Nothing."
}

func (a *kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	visit, err := r.Cookie("visit")
	if err != nil {
		a.made++
		visit = &http.Cookie{Name: "visit", Value: fmt.Sprint("v", a.made), Path: "/"}
		http.SetCookie(w, visit)
	}
	own := visit.Value + r.URL.Path
	form := func(to, field string) {
		fmt.Fprintf(w, `<form method="post" action="%s"><input name="%s"><button>Go</button></form>`, to, field)
	}
	w.Header().Set("Content-Type", "text/html")
	switch r.URL.Path {
	case "/":
		fmt.Fprint(w, `<a href="/town">town</a> <a href="/near">near</a> <a href="/far/away">away</a> <a href="/far/bound">bound</a>`)
		form("/quest/one", "what")
		form("/calm/one", "what")
	case "/town":
		form("/town/choice", "town")
	case "/town/choice":
		a.values["town"] = r.PostFormValue("town")
		fmt.Fprint(w, "<p>Thank you.</p>")
	case "/near": // shows it as it is
		fmt.Fprintf(w, "<p>Near %s</p>", a.values["town"])
	case "/far/away": // does not show it
		fmt.Fprintf(w, "<p>%s</p>", found(a.values["town"]))
	case "/far/bound": // has it bound, and shows it escaped
		fmt.Fprintf(w, "<p>In %s: nothing.</p>", html.EscapeString(a.values["town"]))
	case "/quest/one", "/calm/one":
		a.values[own] = r.PostFormValue("what")
		form(strings.TrimSuffix(r.URL.Path, "one")+"two", "sure")
	case "/quest/two":
		fmt.Fprintf(w, "<p>%s</p>", found(a.values[visit.Value+"/quest/one"]))
	case "/calm/two":
		fmt.Fprintf(w, "<p>%s: nothing.</p>", html.EscapeString(a.values[visit.Value+"/calm/one"]))
	default:
		http.NotFound(w, r)
	}
}

// TestLater finds what one request brings and another uses, by what the other answers, and nothing where that is safe.
func TestLater(t *testing.T) {
	got := map[string]bool{}
	cfg := serve(t, webtest.Config{Checks: check.All()}, (&kept{values: map[string]string{}}).ServeHTTP)
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Confidence == check.Proved && f.Place.Component != "" {
			got[f.Class+" "+f.Request.URL.Path+" "+f.Place.String()] = true
		}
	}
	for _, want := range []string{"sql-injection /far/away body parameter town of a request before",
		"sql-injection /quest/two body parameter what of a request before"} {
		if !got[want] {
			t.Errorf("not found: %s", want)
		}
	}
	script := false
	for one := range got {
		script = script || strings.Contains(one, "xss") && strings.Contains(one, "town")
		// The town stands in /near as it is, whichever page the request that brings it is seen before.
		isScript := strings.Contains(one, "xss") && strings.Contains(one, "town")
		if strings.Contains(one, "calm") || strings.Contains(one, "bound") && !isScript {
			t.Errorf("found: %s", one)
		}
	}
	if !script {
		t.Errorf("no script in /near: %v", got)
	}
}

// TestLaterPageThatIsMade: each request makes a page and leads to it, which uses what the request brought, in a
// statement or bound. The page that the map has seen stays as it was made.
func TestLaterPageThatIsMade(t *testing.T) {
	var mu sync.Mutex
	values := map[string]string{}
	cfg := serve(t, webtest.Config{Checks: check.All()}, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		kind, isOne := strings.CutPrefix(r.URL.Path, "/")
		kind, _, isMade := strings.Cut(kind, "/")
		value, known := values[r.URL.Path]
		switch {
		case r.Method == http.MethodPost && isOne && !isMade:
			at := fmt.Sprint("/", kind, "/", len(values)+1)
			values[at] = r.PostFormValue("term")
			http.Redirect(w, r, at, http.StatusSeeOther)
		case kind == "saved" && known:
			fmt.Fprintf(w, "<p>%s</p>", found(value))
		case kind == "bound" && known:
			fmt.Fprintf(w, "<p>%s: nothing.</p>", html.EscapeString(value))
		case r.URL.Path == "/":
			for _, to := range []string{"/saved", "/bound"} {
				fmt.Fprintf(w, `<form method="post" action="%s"><input name="term" value="test"><button>Go</button></form>`, to)
			}
		default:
			http.NotFound(w, r)
		}
	})
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range report.Findings {
		if f.Place.Component != "" {
			got += f.Class + " " + f.Request.URL.Path[:len("/saved")] + " " + f.Place.String() + "\n"
		}
	}
	if want := "sql-injection /saved body parameter term of a request before\n"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
