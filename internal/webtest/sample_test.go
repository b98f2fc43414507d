package webtest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
)

// wiki has one script with a parameter q on ten pages, of which the last alone shows it as it is, and a parameter id
// that a word chooses the handler of.
func wiki(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	q := r.URL.Query()
	switch r.URL.Path {
	case "/":
		for i := range 10 {
			fmt.Fprintf(w, `<a href="/wiki?q=1&n%c=1">x</a>`, 'a'+i)
		}
		for i := range 12 {
			fmt.Fprintf(w, `<a href="/app?page=users&id=1">x</a><a href="/app?page=files&id=1">x</a><a href="/tables?view=of-%c&id=1">x</a>`, 'a'+i)
		}
	case "/app", "/tables":
		fmt.Fprint(w, "<b>app</b>")
	default:
		for i := range 10 {
			if q.Has("n" + string(rune('a'+i))) { // each page is built in its own way
				fmt.Fprint(w, strings.Repeat("<div>", i), "</i>")
			}
		}
		shown := q.Get("q")
		if !q.Has("nj") {
			shown = strings.NewReplacer("<", "&lt;", `"`, "&#34;").Replace(shown)
		}
		fmt.Fprint(w, shown)
	}
}

// A parameter that one script has on many pages is tested on some of them, and on the one where it answers otherwise;
// what is left out is in the coverage and is no gap. Each handler that a word chooses is tested.
func TestParametersAreSampled(t *testing.T) {
	report, err := webtest.Run(t.Context(), serve(t, webtest.Config{}, wiki))
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]int{}
	for _, row := range report.Coverage.Rows() {
		if slices.Contains(row.Tested, "echo") {
			at, _ := url.Parse(row.URL)
			tested[at.Path+" "+row.Place]++
		}
	}
	if n := tested["/wiki query parameter q"]; n < 2 || n > 4 {
		t.Errorf("q was tested on %d pages of 10", n)
	}
	if n := tested["/app query parameter id"]; n != 2 {
		t.Errorf("id was tested in %d handlers of 2", n)
	}
	if n := tested["/tables query parameter id"]; n < 4 || n > 6 {
		t.Errorf("id was tested for %d tables of 12", n)
	}
	if got := places(report); !slices.Contains(got, "echo GET /wiki query parameter q") {
		t.Errorf("found %q", got)
	}
	_, why := report.Coverage.Reasons()
	if text := fmt.Sprint(why); !strings.Contains(text, "it was tested on other pages of its script") || report.Partial() {
		t.Errorf("partial %t, %s", report.Partial(), text)
	}
}
