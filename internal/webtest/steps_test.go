package webtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
)

// wizard is a form of three steps, whose state is in the session: a step that comes without the one before leads back to
// the first. The third shows what it is given. Each step has a token of its own.
type wizard struct {
	mu     sync.Mutex
	states map[string]int    // of sessions
	tokens map[string]string // that the next step must have
	made   int
}

func (a *wizard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	session, err := r.Cookie("sid")
	if err != nil {
		a.made++
		session = &http.Cookie{Name: "sid", Value: fmt.Sprint("s", a.made), Path: "/"}
		http.SetCookie(w, session)
	}
	id := session.Value
	w.Header().Set("Content-Type", "text/html")
	form := func(step int, fields string) {
		a.made++
		a.tokens[id] = fmt.Sprintf("token-%06d", a.made)
		fmt.Fprintf(w, `<h1>Step %d</h1><form method="post" action="/find/step%d"><input type="hidden" name="csrf" value="%s">%s</form>`,
			step, step, a.tokens[id], fields)
	}
	is := func(step int) bool {
		ok := r.Method == http.MethodPost && a.states[id] == step-1 && r.PostFormValue("csrf") == a.tokens[id]
		a.states[id] = 0
		if !ok {
			http.Redirect(w, r, "/find", http.StatusSeeOther)
			return false
		}
		a.states[id] = step
		return true
	}
	switch r.URL.Path {
	case "/":
		fmt.Fprint(w, `<a href="/find">Find a place</a>`)
	case "/find":
		a.states[id] = 0
		form(1, `<input name="town">`)
	case "/find/step1":
		if is(1) {
			form(2, `<input name="street">`)
		}
	case "/find/step2":
		if is(2) { // after which a page is shown, as after most forms
			http.Redirect(w, r, "/find/more", http.StatusSeeOther)
		}
	case "/find/more":
		if a.states[id] != 2 {
			http.Redirect(w, r, "/find", http.StatusSeeOther)
			return
		}
		form(3, `<input name="door">`)
	case "/find/step3":
		if is(3) {
			a.states[id] = 0
			fmt.Fprintf(w, "<p>Door %s</p>", r.PostFormValue("door"))
		}
	default:
		http.NotFound(w, r)
	}
}

// TestStepsInOrder finds what the last step of a form shows, as nobody: each test of it goes through those before.
func TestStepsInOrder(t *testing.T) {
	app := &wizard{states: map[string]int{}, tokens: map[string]string{}}
	report, err := webtest.Run(t.Context(), serve(t, webtest.Config{}, app.ServeHTTP))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(places(report), "\n"); !strings.Contains(got, "echo POST /find/step3 body parameter door") {
		t.Errorf("found %q", got)
	}
	if report.Requests > 400 {
		t.Errorf("it took %d requests", report.Requests)
	}
}
