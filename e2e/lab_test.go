package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/lab/apps"
)

var updateLab = flag.Bool("update-lab", false, "write testdata/lab.golden anew")

// labInstruction is the instruction of every task in the lab.
const labInstruction = "Run a full security check of %s and report every weakness that you find."

// cwesByTemplate are the CWE ids of our templates, by template.
func cwesByTemplate(t *testing.T) map[string][]string {
	t.Helper()
	_, programs, err := templates.Starter()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, tmpl := range programs {
		if c := tmpl.Info.Classification; c != nil {
			out[tmpl.ID] = c.CWEID
		}
	}
	return out
}

// runLabTask runs a task on one application and scores its findings.
func (c caller) runLabTask(a apps.App, cwes map[string][]string, within time.Duration) labResult {
	c.t.Helper()
	s, err := a.Serve(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	id := c.createTask(fmt.Sprintf(labInstruction, s.URL))
	d := c.waitForTask(id, within)
	took := time.Since(began)
	findings := make([]apps.Finding, len(d.Issues))
	for i, issue := range d.Issues {
		findings[i] = apps.Finding{URL: issue.MatchedAt, CWEs: cwes[issue.Template], Title: issue.Title}
	}
	r := score(a, findings)
	r.Templates = c.templates(id)
	r.Status, r.Summary, r.Requests, r.Seconds, r.Cost = d.Task.Status, d.Task.Summary, s.Requests(), took.Seconds(),
		c.cost(id)
	return r
}

// templates counts the findings of a task by what can reproduce them: a template of their own,
// the one that found them, or nothing, with the reason.
func (c caller) templates(id string) map[string]int {
	c.t.Helper()
	var list struct {
		Issues []struct {
			Evidence []struct {
				Means *struct {
					Template string `json:"template_id"`
					Compiled bool
					Reason   string
				}
			}
		}
	}
	c.call("GET", "/api/v1/issues?per_page=200&task_id="+id, nil, &list)
	counts := map[string]int{}
	for _, i := range list.Issues {
		m := i.Evidence[len(i.Evidence)-1].Means
		switch {
		case m == nil:
			counts["no evidence of a template"]++
		case m.Compiled:
			counts[compiled]++
		case m.Template != "":
			counts["not compiled: "+m.Reason]++
		default:
			counts["no template: "+m.Reason]++
		}
	}
	return counts
}

// compiled counts findings that became templates.
const compiled = "compiled"

// cost is the cost of a task's language model; a task without one has no usage entry.
func (c caller) cost(id string) float64 {
	c.t.Helper()
	resp, err := c.do(c.t.Context(), "GET", "/api/v1/usage/tasks/"+id, "application/json", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var used struct {
		Cost float64 `json:"llm_cost"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&used); err != nil || resp.StatusCode != http.StatusOK &&
		resp.StatusCode != http.StatusNotFound {
		c.t.Fatalf("the usage of task %s: %s (%v)", id, resp.Status, err)
	}
	return used.Cost
}

// TestLab runs the built-in planner on the lab: no false findings, and every weakness that was found
// before is still found. When it finds more, update the golden file with -update-lab.
func TestLab(t *testing.T) {
	t.Parallel()
	const golden = "testdata/lab.golden"
	c := newDeployment(t, "sqlite").serveWithUser()
	cwes := cwesByTemplate(t)
	var got bytes.Buffer
	shown := map[string]int{}
	for _, a := range apps.All() {
		r := c.runLabTask(a, cwes, 2*longWait) // a whole check of an application
		for why, n := range r.Templates {
			shown[why] += n
		}
		if r.Status != "completed" {
			t.Errorf("the task on %s is %s: %s", a.Name, r.Status, r.Summary)
		}
		for _, f := range r.False {
			t.Errorf("%s: false: %s at %s (%s)", a.Name, f.Title, f.URL, strings.Join(f.CWEs, ", "))
		}
		for _, w := range a.Weaknesses {
			word := "missed"
			if slices.Contains(r.Found, w.ID) {
				word = "found"
			}
			fmt.Fprintf(&got, "%-7s %-8s %s\n", word, w.CWE(), w.ID)
		}
	}
	for why, n := range shown {
		if !strings.HasPrefix(why, "not compiled: ") && !strings.HasPrefix(why, "no template: ") && why != compiled {
			t.Errorf("%d findings: %s", n, why)
		}
		t.Logf("%d findings: %s", n, why)
	}
	if shown[compiled] == 0 {
		t.Error("no finding became a template")
	}
	if *updateLab {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(readFile(t, golden)) {
		if !strings.Contains(got.String(), line) {
			t.Errorf("changed: %s", strings.TrimSpace(line))
		}
	}
	for line := range strings.Lines(got.String()) {
		if !strings.Contains(readFile(t, golden), line) {
			t.Errorf("not in the golden file (run with -update-lab): %s", strings.TrimSpace(line))
		}
	}
}

// TestLabReport is `make lab`: it prints a table and writes it as JSON to the file $LAB. The other
// variables are described in docs/contribute/lab.md.
func TestLabReport(t *testing.T) {
	file := os.Getenv("LAB")
	if file == "" {
		t.Skip("make lab runs it")
	}
	dep := newDeployment(t, "sqlite")
	planner := "the built-in planner"
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "VEDETTE_LLM_") {
			dep.env = append(dep.env, variable)
		}
	}
	if provider := os.Getenv("VEDETTE_LLM_PROVIDER"); provider != "" {
		planner = strings.TrimSpace(provider + " " + os.Getenv("VEDETTE_LLM_MODEL"))
	}
	chosen := apps.All()
	if names := os.Getenv("LAB_APPS"); names != "" {
		chosen = slices.DeleteFunc(chosen,
			func(a apps.App) bool { return !slices.Contains(strings.Split(names, ","), a.Name) })
	}
	if len(chosen) == 0 {
		t.Fatal("LAB_APPS names no application")
	}
	c, cwes := dep.serveWithUser(), cwesByTemplate(t)
	within := time.Duration(number(t, "LAB_MINUTES", 15)) * time.Minute
	var runs []labRun
	for i := range number(t, "LAB_REPEATS", 1) {
		var run labRun
		for _, a := range chosen {
			r := c.runLabTask(a, cwes, within)
			fmt.Fprintf(os.Stderr, "run %d: %s is %s, %d of %d found, %d false, %.1f s\n", i+1, a.Name, r.Status, len(r.Found),
				len(a.Weaknesses), len(r.False), r.Seconds)
			run = append(run, r)
		}
		runs = append(runs, run)
	}
	report := newReport(planner, runs)
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Println()
	if err := report.print(os.Stdout); err != nil {
		t.Fatal(err)
	}
}

// number reads a positive number from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, and no positive number", name, text)
	}
	return n
}

// TestLabScore tests how findings are matched to weaknesses.
func TestLabScore(t *testing.T) {
	a := apps.App{Name: "a", Weaknesses: []apps.Weakness{
		{ID: "a-xss", CWEs: "79", Path: "/search", Param: "q", Words: "xss"},
		{ID: "a-sqli", CWEs: "89 209", Path: "/search", Param: "q", Words: "sql"},
		{ID: "a-files", CWEs: "538", Path: "/.git/*", Words: "git"}, {ID: "a-headers", CWEs: "693", Words: "header"},
	}}
	at := func(path, title string, cwes ...string) apps.Finding {
		u := url.URL{Scheme: "http", Host: "a.example"}
		return apps.Finding{URL: u.String() + path, Title: title, CWEs: cwes}
	}
	for name, c := range map[string]struct {
		finding apps.Finding
		want    []string
	}{
		"class and place":         {at("/search?q=x", "", "cwe-79"), []string{"a-xss"}},
		"a second class":          {at("/search?q=x", "", "cwe-209"), []string{"a-sqli"}},
		"another parameter":       {at("/search?p=x", "", "cwe-79"), nil},
		"no parameter named":      {at("/search", "", "cwe-79"), []string{"a-xss"}},
		"another place":           {at("/", "", "cwe-79"), nil},
		"another class":           {at("/search?q=x", "xss", "cwe-22"), nil},
		"beneath":                 {at("/.git/config", "", "CWE-538"), []string{"a-files"}},
		"anywhere":                {at("/x", "", "CWE-693"), []string{"a-headers"}},
		"words where no class is": {at("/search?q=x", "Reflected XSS in q"), []string{"a-xss"}},
		"words of something else": {at("/search?q=x", "Missing rate limit"), nil},
		"a whole server":          {apps.Finding{URL: "a.example:443", CWEs: []string{"CWE-693"}}, []string{"a-headers"}},
		"an address that is none": {apps.Finding{URL: "http://%zz", Title: "xss"}, nil},
	} {
		r := score(a, []apps.Finding{c.finding, c.finding})
		if !slices.Equal(r.Found, append([]string{}, c.want...)) || (len(r.False) == 2) != (c.want == nil) ||
			len(r.Found)+len(r.Missed) != len(a.Weaknesses) {
			t.Errorf("%s: found %q, %d false", name, r.Found, len(r.False))
		}
	}
	right, wrong := score(a, []apps.Finding{at("/", "", "CWE-693")}),
		score(a, []apps.Finding{at("/", "", "CWE-693"), at("/", "", "CWE-1")})
	l := newReport("x", []labRun{{right}, {wrong}})
	if l.Recall != (spread{0.25, 0.25, 0.25}) || l.Precision != (spread{0.75, 0.5, 1}) {
		t.Errorf("recall %+v, precision %+v", l.Recall, l.Precision)
	}
}
