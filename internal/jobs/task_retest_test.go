package jobs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// leaky is a site with a page for who has a token, a search that says back what it is asked
// and a page that is there whatever the path is; mended, it has none of them.
func leaky(t *testing.T) (url string, mended *atomic.Bool) {
	t.Helper()
	mended = new(atomic.Bool)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch {
		case mended.Load():
			http.NotFound(w, r)
		case r.URL.Path == "/admin" && r.Header.Get("Authorization") == "Bearer tok-en-{{7*7}}-value":
			fmt.Fprint(w, "<title>All the orders</title> of everybody: {{orders}}")
		case r.URL.Path == "/search":
			fmt.Fprint(w, "Results for "+r.FormValue("q"))
		case r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/any/"):
			fmt.Fprint(w, `The same for all. <form action="/search"><input name="q"></form>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site.URL, mended
}

// retested waits for the end of a look at an issue.
func (o office) retested(t *testing.T, id string) task.Issue {
	t.Helper()
	if _, err := o.tasks.QueueRetest(o.ctx, id); err != nil {
		t.Fatal(err)
	}
	var i task.Issue
	until(t, "the end of a look at issue "+id, func() bool {
		var err error
		if i, err = o.tasks.FindIssue(o.ctx, id); err != nil {
			t.Fatal(err)
		}
		return i.Retest != nil && i.Retest.State != task.RetestQueued
	})
	return i
}

func reports(turn int, title string, proof map[string]any) llm.Reply {
	return call(turn, "report_issue",
		map[string]any{"title": title, "severity": "high", "description": "d", "proof": proof})
}

// TestConfirmedFindingsBecomeTemplates holds that what a model reports is compiled where a
// control can tell it apart, with its secrets as references, and looked at again by the
// template alone.
func TestConfirmedFindingsBecomeTemplates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, mended := leaky(t)
		o := openWith(t, d, scripted(
			reports(1, "Orders in the open",
				map[string]any{"url": url + "/admin?verbose=1", "headers": map[string]string{"Authorization": "Bearer {{$TOKEN}}"},
					"contains": []string{"of everybody: {{orders}}"}}),
			reports(2, "It says back", map[string]any{"url": url + "/search?q=<b>x", "contains": []string{"<b>x"}}),
			reports(3, "No policy", map[string]any{"url": url, "absent": []string{"Content-Security-Policy"}}),
			reports(4, "The same for all", map[string]any{"url": url + "/any/page",
				"absent": []string{"Content-Security-Policy"}}),
			reports(5, "It deletes", map[string]any{"method": "DELETE", "url": url + "/search?q=gone",
				"contains": []string{"gone"}}),
		))
		if _, err := o.secrets.Create(o.ctx, secret.NewSecret{Name: "TOKEN", Value: "tok-en-{{7*7}}-value"}); err != nil {
			t.Fatal(err)
		}
		made, err := o.tasks.Create(o.ctx,
			task.NewTask{Instruction: "look at " + url,
				Options: task.Options{Secrets: []string{"TOKEN"}, Scope: &task.Scope{Intrusiveness: task.Intrusive}}})
		if err != nil {
			t.Fatal(err)
		}
		o.end(t, made)
		issues, _, err := o.tasks.FindIssues(o.ctx, task.IssueFilter{TaskID: made.ID, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]task.Issue{}
		for _, i := range issues {
			found[i.Title] = i
		}
		for title, want := range map[string]string{
			"Orders in the open": "", "It says back": "", "No policy": "", "It deletes": "may change something",
			"The same for all": "matches the control",
		} {
			m := found[title].RetestTemplate()
			if m == nil || m.Compiled != (want == "") || m.Compiled != (m.TemplateID != "") ||
				!strings.Contains(m.Reason, want) {
				t.Errorf("%s: %+v", title, m)
			}
		}
		if _, err := o.tasks.QueueRetest(o.ctx, found["It deletes"].ID); err == nil {
			t.Error("what has no template is looked at again")
		}
		orders := found["Orders in the open"]
		own, err := o.catalog.OwnByID(o.ctx, orders.RetestTemplate().TemplateID)
		if err != nil {
			t.Fatal(err)
		}
		text := string(own.Raw)
		for _, want := range []string{"GET /admin HTTP/1.1", "Authorization: Bearer {{$TOKEN}}", "findings",
			"status: [200]"} {
			if !strings.Contains(text+own.Path, want) {
				t.Errorf("the template has no %s:\n%s", want, text)
			}
		}
		if strings.Contains(text, "tok-en") {
			t.Errorf("the template has the secret:\n%s", text)
		}
		for _, want := range []struct {
			state  task.RetestState
			status task.IssueStatus
		}{{task.Matched, task.Open}, {task.NotMatched, task.Fixed}, {task.Matched, task.Open}} {
			mended.Store(want.state == task.NotMatched)
			for title := range map[string]bool{"Orders in the open": true, "It says back": true} {
				if i := o.retested(t, found[title].ID); i.Retest.State != want.state || i.Status != want.status ||
					i.Retest.EndedAt == nil {
					t.Errorf("%s: %+v, %s", title, i.Retest, i.Status)
				}
			}
		}
	})
}

// TestWhatAPersonChangedStays holds that a template that was made of a finding is the same
// row for the next task, and gets no secrets once somebody has changed it.
func TestWhatAPersonChangedStays(t *testing.T) {
	url, _ := leaky(t)
	report := reports(1, "It says back",
		map[string]any{"url": url + "/search?q=x{{$TOKEN}}", "contains": []string{"x{{$TOKEN}}"}})
	o := openWith(t, dbtest.Open(t, "sqlite"), scripted(report))
	if _, err := o.secrets.Create(o.ctx, secret.NewSecret{Name: "TOKEN", Value: "a-long-value"}); err != nil {
		t.Fatal(err)
	}
	find := func(options task.Options) task.Issue {
		options.Secrets = []string{"TOKEN"}
		made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + url, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		o.end(t, made)
		issues, _, err := o.tasks.FindIssues(o.ctx, task.IssueFilter{TaskID: made.ID, Limit: 10})
		if err != nil || len(issues) != 1 {
			t.Fatalf("%d issues, %v", len(issues), err)
		}
		return issues[0]
	}
	first, second := find(task.Options{}), find(task.Options{})
	m := first.RetestTemplate()
	if !m.Compiled || second.RetestTemplate().TemplateID != m.TemplateID {
		t.Errorf("%+v, then %+v", m, second.RetestTemplate())
	}
	if private := find(task.Options{Visibility: string(task.Private)}).RetestTemplate(); private.Compiled ||
		!strings.Contains(private.Reason, "private") {
		t.Errorf("of a private task: %+v", private)
	}
	if i := o.retested(t, first.ID); i.Retest.State != task.Matched {
		t.Errorf("%+v", i.Retest)
	}
	o.edit(t, m.TemplateID)
	if third := find(task.Options{}).RetestTemplate(); third.TemplateID != m.TemplateID || third.Digest == m.Digest {
		t.Errorf("%+v", third)
	}
	if i := o.retested(t, first.ID); i.Retest.State != task.RetestFailed || !strings.Contains(i.Retest.Note, "TOKEN") {
		t.Errorf("a template that a person changed is given a secret: %+v", i.Retest)
	}
}

// edit changes a template of the team as a person would.
func (o office) edit(t *testing.T, id string) {
	t.Helper()
	own, err := o.catalog.OwnByID(o.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.catalog.Update(o.ctx, id, catalog.NewTemplate{Text: string(own.Raw) + "# mine\n"}); err != nil {
		t.Fatal(err)
	}
}

// TestPlannersFindingsKeepTheirTemplates holds that what the built-in planner finds with a template is looked at again with
// it, and that what the tester of applications finds says that it has none.
func TestPlannersFindingsKeepTheirTemplates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := leaky(t)
		o := open(t, d)
		_, issues := o.do(t, "Run a full security check of "+url, nil)
		tested := 0
		for _, i := range issues {
			m := i.RetestTemplate()
			if strings.HasPrefix(i.TemplateID, "webtest-") {
				tested++
				if m == nil || m.TemplateID != "" || !strings.Contains(m.Reason, "the tester of web applications") {
					t.Errorf("%s: %+v", i.Title, m)
				}
				continue
			}
			if m == nil || m.TemplateID == "" {
				t.Errorf("%s: %+v", i.Title, m)
				continue
			}
			if got := o.retested(t, i.ID); got.Retest.State != task.Matched {
				t.Errorf("%s at %s: %+v", i.Title, i.MatchedAt, got.Retest)
			}
		}
		if tested == 0 || tested == len(issues) {
			t.Errorf("%d of %d were found by the tester", tested, len(issues))
		}
	})
}

// TestPlannerKeepsToTheBudgetOfRequests holds that no more leaves than was allowed, and
// that the summary says so.
func TestPlannerKeepsToTheBudgetOfRequests(t *testing.T) {
	var asked atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `<a href="/p%d?a=1">on</a>`, asked.Load())
	}))
	defer site.Close()
	o := open(t, dbtest.Open(t, "sqlite"))
	for _, most := range []int64{1, 60} {
		asked.Store(0)
		made, err := o.tasks.Create(o.ctx,
			task.NewTask{Instruction: "Run a full security check of " + site.URL,
				Options: task.Options{Budget: &task.Budget{Requests: most}}})
		if err != nil {
			t.Fatal(err)
		}
		if made = o.end(t, made); asked.Load() > most || asked.Load() < most/2 ||
			!strings.Contains(made.Summary, "The budget of requests was used up") {
			t.Errorf("%d of %d requests: %s", asked.Load(), most, made.Summary)
		}
	}
}
