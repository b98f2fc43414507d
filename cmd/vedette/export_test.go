package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// asked is what a server was asked for.
type asked struct {
	path, query, body, key string
}

// exporter is a server that answers with a file; size is what it says of its length, to cut it short.
func exporter(t *testing.T, status int, name, content string, size int) (*httptest.Server, *asked) {
	t.Helper()
	got := new(asked)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*got = asked{r.Method + " " + r.URL.Path, r.URL.RawQuery, string(body), r.Header.Get("X-Api-Key")}
		w.Header().Set("Content-Disposition", "attachment; filename=\""+name+"\"")
		if size > 0 {
			w.Header().Set("Content-Length", "100000")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, content)
	}))
	t.Cleanup(server.Close)
	t.Setenv("VEDETTE_SERVER", server.URL)
	t.Setenv("VEDETTE_API_KEY", "svc_sk_test")
	t.Chdir(t.TempDir())
	return server, got
}

func vedette(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestExportWritesAFile(t *testing.T) {
	_, got := exporter(t, 200, "task-1.html", "<html>", 0)
	if err := os.WriteFile("style.json", []byte(`{"title": "T"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := vedette(t, "export", "--format", "html", "--task", "a/b", "--report", "style.json", "-o", "json")
	var summary struct {
		File, Format string
		Bytes        int
		Masked       bool
	}
	if err := json.Unmarshal([]byte(out), &summary); code != 0 || err != nil || summary.File != "task-1.html" || summary.Bytes != 6 ||
		!summary.Masked {
		t.Errorf("%d: %s %s", code, out, said)
	}
	if file, err := os.ReadFile("task-1.html"); err != nil || string(file) != "<html>" {
		t.Errorf("%q, %v", file, err)
	}
	if want := (asked{"POST /api/v1/tasks/a/b/export", "mask=secrets&type=html", `{"report":{"title":"T"}}`, "svc_sk_test"}); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	code, out, _ = vedette(t, "export", "--format", "csv", "--severity", "high,low", "--mask", "none", "--out", "-")
	if code != 0 || out != "<html>" || got.path != "POST /v1/scans/results/export" || got.query != "mask=none&type=csv" ||
		got.body != `{"severity":["high","low"]}` {
		t.Errorf("%d: %q, %+v", code, out, *got)
	}
	if code, _, _ = vedette(t, "export", "--format", "sarif", "--scan", "s", "--out", "x/../mine.sarif"); code != 1 {
		t.Errorf("a folder that is not there: %d", code)
	}
	if code, out, _ = vedette(t, "export", "--format", "sarif", "--scan", "s", "--out", "mine.sarif"); code != 0 ||
		out != "mine.sarif (6 bytes)\n" || got.path != "POST /v1/scans/s/export" {
		t.Errorf("%d: %q, %+v", code, out, *got)
	}
}

// TestExportIsWholeOrNothing: of an answer that breaks off there is no file, and a server names no folder.
func TestExportIsWholeOrNothing(t *testing.T) {
	exporter(t, 200, "../../evil.pdf", "%PDF", 1)
	code, _, said := vedette(t, "export", "--format", "pdf")
	if left, _ := filepath.Glob("*"); code != 1 || len(left) > 0 || !strings.Contains(said, "not complete") {
		t.Errorf("%d: %s, %q", code, said, left)
	}
	exporter(t, 200, "../../evil.pdf", "%PDF", 0)
	if code, out, _ := vedette(t, "export", "--format", "pdf"); code != 0 || out != "evil.pdf (4 bytes)\n" {
		t.Errorf("%d: %s", code, out)
	}
}

func TestExportRefusals(t *testing.T) {
	exporter(t, 404, "x", `{"code":"scan_not_found","message":"There is no such scan."}`, 0)
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, cli.ExitUsage}, {[]string{"--format", "json", "--scan", "a", "--task", "b"}, cli.ExitUsage},
		{[]string{"--format", "json", "--task", "b", "--severity", "low"}, cli.ExitUsage},
		{[]string{"--format", "json", "--out", "-", "-o", "json"}, cli.ExitUsage},
		{[]string{"--format", "json", "--report", "missing.json"}, cli.ExitUsage},
		{[]string{"--format", "json", "extra"}, cli.ExitUsage}, {[]string{"--format", "json", "--scan", "a"}, cli.ExitNotFound},
	} {
		if code, _, said := vedette(t, append([]string{"export"}, c.args...)...); code != c.want {
			t.Errorf("%q: %d, %s", c.args, code, said)
		}
	}
	t.Setenv("VEDETTE_API_KEY", "")
	if code, _, _ := vedette(t, "export", "--format", "json"); code != cli.ExitAuth {
		t.Errorf("without a key: %d", code)
	}
}
