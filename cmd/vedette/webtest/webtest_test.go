package webtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/webtest"
)

// app runs what it is asked in a shell of its own making: it knows echo and arithmetic, as a real one does.
func app(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	switch {
	case r.URL.Path == "/":
		fmt.Fprint(w, `<a href="/go?to=/">g</a><a href="/item?id=1">i</a>`)
	case r.URL.Path == "/item" && strings.Count(r.FormValue("id"), "'")%2 == 1:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '' at line 1`)
	case r.URL.Path == "/item":
		fmt.Fprint(w, "<p>item</p>")
	case r.URL.Path == "/go":
		http.Redirect(w, r, "/", http.StatusFound)
	default:
		http.NotFound(w, r)
	}
}

// run runs the command and returns its exit code.
func run(t *testing.T, args ...string) (out, stderr string, code int) {
	t.Helper()
	cmd := webtest.New()
	var o, e bytes.Buffer
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(append(args, "--no-browser"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	if silent, ok := errors.AsType[cli.Silent](err); ok {
		code = int(silent)
	} else if exit, ok := errors.AsType[cli.Exit](err); ok {
		code = exit.Code
		fmt.Fprintln(io.Writer(&e), exit.Err)
	} else if err != nil {
		code = cli.ExitError
		fmt.Fprintln(io.Writer(&e), err)
	}
	return o.String(), e.String(), code
}

func TestExitCodes(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(app))
	defer s.Close()
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"passive":      {[]string{s.URL, "--level", "passive"}, cli.ExitOK},
		"budget":       {[]string{s.URL, "--max-requests", "14"}, cli.ExitBudget},
		"out of scope": {[]string{s.URL, "--exclude-hosts", "127.0.0.1"}, cli.ExitOutOfScope},
		"no URL":       {[]string{"ftp://x"}, cli.ExitUsage},
		"level":        {[]string{s.URL, "--level", "reckless"}, cli.ExitUsage},
		"allow":        {[]string{s.URL, "--allow", "everything"}, cli.ExitUsage},
		"login":        {[]string{s.URL, "--login", "bob"}, cli.ExitUsage},
		"code alone":   {[]string{s.URL, "--oauth-authorize-url", s.URL}, cli.ExitUsage},
		"no redirect": {[]string{s.URL, "--login", "bob:x", "--oauth-token-url", s.URL, "--oauth-client", "a", "--oauth-authorize-url", s.URL},
			cli.ExitUsage},
		"code of nobody": {[]string{s.URL, "--oauth-token-url", s.URL, "--oauth-client", "a", "--oauth-authorize-url", s.URL,
			"--oauth-redirect-url", "app://back"}, cli.ExitUsage},
		"header":        {[]string{s.URL, "--header", "x"}, cli.ExitUsage},
		"cookie":        {[]string{s.URL, "--cookie", "x"}, cli.ExitUsage},
		"fail on":       {[]string{s.URL, "--fail-on", "bad"}, cli.ExitUsage},
		"spec":          {[]string{s.URL, "--spec", "/nowhere"}, cli.ExitUsage},
		"negative":      {[]string{s.URL, "--max-requests", "-1"}, cli.ExitUsage},
		"no login page": {[]string{s.URL, "--login", "bob:x", "--level", "passive"}, cli.ExitAuth},
	} {
		if out, stderr, code := run(t, c.args...); code != c.want {
			t.Errorf("%s: exit code %d, want %d\n%s%s", name, code, c.want, out, stderr)
		}
	}
}

// Where there is no login for a user, what needs none is tested; the first line of the summary and the exit code say so.
func TestNoLogin(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(app))
	defer s.Close()
	out, stderr, code := run(t, s.URL, "--login", "bob:x", "--max-requests", "3000")
	_, summary, _ := strings.Cut(stderr, "looking for late effects")
	_, summary, _ = strings.Cut(summary, "\n")
	if code != cli.ExitAuth || !strings.HasPrefix(summary, "the login failed, and what that user alone is shown was not tested, or no further: ") ||
		!strings.Contains(summary, " in 3 requests and ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, stderr)
	}
}

func TestFindingsAndCoverage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(app))
	defer s.Close()
	coverage := filepath.Join(t.TempDir(), "coverage.json")
	out, stderr, _ := run(t, s.URL, "--jsonl", "--coverage", coverage, "--max-requests", "3000")
	for line := range strings.Lines(out) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil || f["check"] == "" || f["confidence"] != "proved" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if !strings.Contains(stderr, "places of") || !strings.Contains(stderr, "testing: ") {
		t.Errorf("the summary is\n%s", stderr)
	}
	text, err := os.ReadFile(coverage)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Places []struct {
			URL, Place string
			Tested     []string
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range read.Places {
		found = found || strings.Contains(p.URL, "/item?id=1") && p.Place == "query parameter id" && len(p.Tested) > 5
	}
	if !found {
		t.Errorf("the parameter is not in the coverage: %s", text[:min(len(text), 2000)])
	}
}
