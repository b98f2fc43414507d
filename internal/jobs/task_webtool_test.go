package jobs

import (
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestModelUsesTheTester has a model log in, map, test, compare and decode. What the test proves is an issue, which is
// tested again by its proof, as the user of the instruction.
func TestModelUsesTheTester(t *testing.T) {
	var mended atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("sid"); r.URL.Path == "/hello" && err == nil && cookie.Value == "in" && mended.Load() {
			_, _ = w.Write([]byte("<p>Hello " + html.EscapeString(r.FormValue("name")) + "</p>"))
			return
		}
		members(w, r)
	}))
	t.Cleanup(s.Close)
	one := func(name string) map[string]any {
		return map[string]any{"url": s.URL + "/hello?name=" + name, "as": "alice"}
	}
	o := openWith(t, dbtest.Open(t, "sqlite"), scripted(
		call(1, "web_test", map[string]any{"url": s.URL + "/hello?name=you", "class": "xss", "as": "alice"}), // not yet
		call(2, "web_login", map[string]any{"url": s.URL, "user": "alice", "password": "her secret"}),
		call(3, "web_map", map[string]any{"url": s.URL, "as": "alice"}),
		call(4, "web_test", map[string]any{"url": s.URL + "/hello?name=you", "class": "xss", "as": "alice",
			"place": "query parameter name"}),
		call(5, "web_diff", map[string]any{"a": one("you"), "b": one("me")}),
		call(6, "web_codec", map[string]any{"do": "base64_decode", "text": "aGVsbG8gd29ybGQ"}),
		call(7, "web_test", map[string]any{"url": "http://192.0.2.1/?a=1", "class": "xss"}), // out of scope
	))
	var results []string
	done, issues := o.do(t, "Look at "+s.URL+". Log in as user alice with the password 'her secret'.",
		func(_ task.Task, e *task.Event) {
			if e.Type == "tool-output-available" {
				results = append(results, string(e.Data))
			}
		})
	if done.Status != task.Completed || len(issues) != 1 {
		t.Fatalf("%s, %d issues: %s\n%s", done.Status, len(issues), done.Summary, strings.Join(results, "\n"))
	}
	issue := issues[0]
	if issue.Verification != task.Verified || !strings.Contains(issue.Title, "query parameter name") ||
		!issue.RetestTemplate().Program {
		t.Errorf("%+v", issue)
	}
	all := strings.Join(results, "\n")
	for _, want := range []string{"nobody is logged in as", "Logged in as alice", "/hello?name=you", "query parameter name",
		"stored as a verified issue", "They differ", "hello world"} {
		if !strings.Contains(all, want) {
			t.Errorf("no result says %q:\n%s", want, all)
		}
	}
	for _, state := range []task.RetestState{task.Matched, task.NotMatched, task.Matched} {
		mended.Store(state == task.NotMatched)
		if i := o.retested(t, issue.ID); i.Retest.State != state {
			t.Errorf("%+v, want %s", i.Retest, state)
		}
	}
}
