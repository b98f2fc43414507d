package logic

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// quiz counts what its page counts: a visit begins at its first page, an answer leads to a result. field is the control
// of the number, and keep says what is kept of what was sent.
func quiz(field string, keep func(sent string) string, leads func(sent string) string) http.HandlerFunc {
	var mu sync.Mutex
	kept := map[string]string{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		visit := ""
		if k, err := r.Cookie("visit"); err == nil {
			visit = k.Value
		}
		switch {
		case r.URL.Path == "/":
			visit = strconv.Itoa(len(kept) + 1)
			kept[visit] = "0"
			http.SetCookie(w, &http.Cookie{Name: "visit", Value: visit, Path: "/"})
			fmt.Fprintf(w, `<form method=post action=/answer><input name=a0>%s</form>`, field)
		case kept[visit] == "":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.Method == http.MethodPost:
			kept[visit] = keep(r.PostFormValue("points"))
			http.Redirect(w, r, leads(kept[visit]), http.StatusSeeOther)
		default:
			fmt.Fprintf(w, `<input name=points value="%s"><p>%s of 3 points</p>`, r.FormValue("p"), html.EscapeString(kept[visit]))
		}
	}
}

// board is an interface whose script sends a score, and a list that shows the best.
func board(page string, keep func(sent int) int, atOnce bool) http.HandlerFunc {
	var mu sync.Mutex
	best := 7
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.Method == http.MethodPost:
			var sent struct{ Score int }
			body, _ := io.ReadAll(r.Body)
			if json.Unmarshal(body, &sent) != nil {
				http.Error(w, "a score, please", http.StatusBadRequest)
				return
			}
			best = keep(sent.Score)
			if atOnce {
				fmt.Fprintf(w, "<p>%d</p>", sent.Score)
			}
		case r.URL.Path == "/board":
			fmt.Fprintf(w, "<ol><li>alice <b>%d</b></li></ol>", best)
		default:
			fmt.Fprint(w, page)
		}
	}
}

// A number that the page counts is found where a later page shows what was sent; one that is counted, echoed, or typed
// is not.
func TestComputed(t *testing.T) {
	asSent := func(sent string) string { return sent }
	counts := func(string) string { return "0" }
	result := func(string) string { return "/result" }
	const hidden = `<input type="hidden" name="points" value="0">`
	const script = `<script src="/game.js"></script>`
	for name, c := range map[string]struct {
		app        http.HandlerFunc
		path, body string
		want       string
	}{
		"hidden":               {quiz(hidden, asSent, result), "/answer", "a0=x&points=0", "points"},
		"cannot be written to": {quiz(`<input readonly name=points value=0>`, asSent, result), "/answer", "a0=x&points=0", "points"},
		"a script":             {board(script, func(n int) int { return n }, false), "/scores", `{"score":7}`, "score"},
		"counted":              {quiz(hidden, counts, result), "/answer", "a0=x&points=0", ""},
		"counted, by a script": {board(script, func(int) int { return 7 }, true), "/scores", `{"score":7}`, ""},
		"typed":                {quiz(`<input type=number name=points>`, asSent, result), "/answer", "a0=x&points=0", ""},
		"typed, for a script":  {board(`<input id="score">`, func(n int) int { return n }, false), "/scores", `{"score":7}`, ""},
		"in the address":       {quiz(hidden, asSent, func(sent string) string { return "/result?p=" + sent }), "/answer", "a0=x&points=0", ""},
		"at most ten": {quiz(hidden, func(sent string) string {
			if len(sent) > 2 {
				return "10"
			}
			return sent
		}, result), "/answer", "a0=x&points=0", ""},
		"no such number": {quiz(`<input type="hidden" name="page" value="0">`, asSent, result), "/answer", "a0=x&page=0", ""},
	} {
		lab := kittest.New(t, c.app)
		var pages []*message.Request
		for _, path := range []string{"/", "/board"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, r)
		}
		lab.World.Pages = func() []*message.Request { return pages }
		target := lab.Target(t, http.MethodPost, c.path, c.body)
		target.From = lab.URL + "/"
		if c.body[0] == '{' {
			lab.World.Users = []*client.User{lab.As(t, "alice")}
			target.User = lab.World.Users[0]
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "counted-by-client"), target)
		if len(found) > 1 || len(found) == 0 && c.want != "" || len(found) == 1 && found[0].Place.Name != c.want {
			t.Errorf("%s: found %q, want %q", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			if f.Confidence != kit.Proved || target.User != nil && f.Proof == nil {
				t.Errorf("%s: it has no proof", name)
			}
			lab.Holds(t, f)
		}
	}
}
