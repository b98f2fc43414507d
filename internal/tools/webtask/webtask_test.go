package webtask

import (
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools/scope"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestChecksOfAPlan(t *testing.T) {
	classes := func(instruction string) string {
		plan := builtin.Plan(instruction)
		if !plan.TestsWeb() {
			return ""
		}
		var b strings.Builder
		for _, c := range (Step{Plan: plan}).checks() {
			b.WriteString(c.Class + " ")
		}
		return b.String()
	}
	const site = "http://shop.test/"
	if got := classes("Check " + site + " for SQL injection"); !strings.Contains(got, "sql-injection") || strings.Contains(got, "xss") {
		t.Errorf("SQL injection is tested by %q", got)
	}
	if got := classes("Full check of " + site); !strings.Contains(got, "sql-injection") || !strings.Contains(got, "xss") {
		t.Errorf("a full check has %q", got)
	}
	if got := classes("Full check of " + site + " but no XSS"); !strings.Contains(got, "sql-injection") || strings.Contains(got, "xss") {
		t.Errorf("without XSS there is %q", got)
	}
	if got := classes("Check the security headers of " + site); got != "" {
		t.Errorf("headers are tested by %q", got)
	}
}

func TestLevelOfATask(t *testing.T) {
	for _, c := range []struct {
		is     task.Intrusiveness
		writes bool // as the instruction says
		want   client.Level
	}{
		{"", false, client.Safe}, {task.Safe, false, client.Safe}, {task.Active, false, client.Active},
		{task.Intrusive, false, client.Active}, {"", true, client.Active}, {task.Safe, true, client.Safe},
	} {
		w := Step{Scope: &scope.Scope{Boundary: scope.Boundary{Doc: task.Scope{Intrusiveness: c.is}}}, Plan: agent.Plan{Writes: c.writes}}
		if got := w.level(); got != c.want {
			t.Errorf("%+v: tests at level %s", c, got)
		}
		r := &webtest.Report{Coverage: coverage.New()}
		r.Coverage.NotMapped("it may change data, which level safe does not allow", 1)
		said := w.words(&url.URL{}, r, nil, &Output{})
		if got := strings.Contains(said, "With active as its scope.intrusiveness"); got != (c.want == client.Safe) {
			t.Errorf("%+v: it says %q", c, said)
		}
	}
}

func TestRequestAt(t *testing.T) {
	site, _ := url.Parse("http://shop.test/a")
	for _, c := range []struct {
		r    agent.Request
		want string
	}{
		{agent.Request{Method: "POST", Body: "a=1", Type: "application/x-www-form-urlencoded"}, "POST http://shop.test/a a=1"},
		{agent.Request{Method: "PUT", URL: "http://shop.test/b"}, "PUT http://shop.test/b "},
		{agent.Request{Method: "POST", URL: "http://other.test/b"}, ""},
	} {
		got := ""
		if made := requestAt(site, c.r); made != nil {
			got = made.Method + " " + made.URL.String() + " " + string(made.Body)
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
}

func TestEventOfAFinding(t *testing.T) {
	request, err := message.New("GET", "https://shop.test/item?id=1%27")
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Key", "hunter2")
	f := webtest.Finding{Check: "sql", Title: "SQL injection", Class: "sql-injection", CWE: 89, Severity: kit.High, Request: request,
		Place: message.Place{Component: message.Query, Format: message.Form, Name: "id"},
		Evidence: []kit.Evidence{{Request: request, Response: &message.Response{Status: 200, Body: []byte("all is hunter2")}, Note: "it is true"},
			{Request: request, Response: &message.Response{Status: 500, Body: []byte("syntax")}, Match: "syntax"}}}
	e := EventOf(f, strings.NewReplacer("hunter2", "$key").Replace)
	if e.MatchedAt != "https://shop.test/item?id=1%27" || e.Port != "443" || e.FuzzingParameter != "id" ||
		e.Info.Classification.CWEID[0] != "cwe-89" || !strings.Contains(e.Response, "syntax") {
		t.Errorf("%+v", e)
	}
	if len(e.Compared) != 1 || e.Compared[0].Note != "it is true" || e.Compared[0].Request != e.Request ||
		!strings.HasSuffix(e.Compared[0].Response, "all is $key") {
		t.Errorf("compared with %+v", e.Compared)
	}
	if strings.Contains(e.Request, "hunter2") {
		t.Error("a secret is in the evidence")
	}
	if got := titleOf(f); got != "SQL injection (query parameter id)" {
		t.Error(got)
	}
	if knownKey(f) != "" {
		t.Error("what a template says of a site hides a finding of an input")
	}
}
