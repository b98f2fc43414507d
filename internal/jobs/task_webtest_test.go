package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// members is an application that says something to members only, and repeats a name as it is.
func members(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	cookie, err := r.Cookie("sid")
	switch {
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		if r.PostFormValue("user") == "alice" && r.PostFormValue("pw") == "her secret" {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "in", Path: "/", HttpOnly: true})
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		fmt.Fprint(w, "<p>wrong</p>", loginForm)
	case r.URL.Path == "/login":
		fmt.Fprint(w, loginForm)
	case err != nil || cookie.Value != "in":
		http.Redirect(w, r, "/login", http.StatusFound)
	case r.URL.Path == "/":
		fmt.Fprint(w, `<h1>Members</h1><a href="/hello?name=you">h</a> <a href="/logout">Log out</a>`)
	case r.URL.Path == "/hello":
		fmt.Fprintf(w, "<p>Hello %s</p>", r.FormValue("name"))
	default:
		http.NotFound(w, r)
	}
}

const loginForm = `<form method="post" action="/login"><input name="user"><input type="password" name="pw"><button>Log in</button></form>`

// TestWebTestLogsInAsTheInstructionSays finds what only a member sees, and tells nobody the password.
func TestWebTestLogsInAsTheInstructionSays(t *testing.T) {
	base, asked := site(t, http.HandlerFunc(members))
	done, issues := open(t, dbtest.Open(t, "sqlite")).do(t,
		"Test the web application at "+base+". Log in as user alice with the password 'her secret'.", nil)
	if done.Status != task.Completed || !strings.Contains(done.Summary, "Logged in as alice") {
		t.Fatalf("%s: %s", done.Status, done.Summary)
	}
	found := slices.ContainsFunc(issues, func(i task.Issue) bool {
		return strings.Contains(i.MatchedAt, "/hello?name=") && strings.Contains(i.Title, "query parameter name") &&
			i.Verification == task.Verified && i.Evidence[len(i.Evidence)-1].Kind == "verification"
	})
	if !found {
		t.Errorf("of %d issues none is the one in name: %s", len(issues), done.Summary)
	}
	if slices.Contains(asked(), "/logout") || strings.Contains(string(done.Plan)+done.Summary, "her secret") {
		t.Errorf("it logged out, or told the password: %s %s", done.Plan, done.Summary)
	}
}

// TestWebTestSaysThatALoginFailed tests what anyone can see.
func TestWebTestSaysThatALoginFailed(t *testing.T) {
	base, _ := site(t, http.HandlerFunc(members))
	done, _ := open(t, dbtest.Open(t, "sqlite")).do(t,
		"Check "+base+" for XSS. Log in as user alice with the password wrong.", nil)
	if done.Status != task.Completed || !strings.Contains(done.Summary, "did not accept the user and the password") {
		t.Errorf("%s: %s", done.Status, done.Summary)
	}
}
