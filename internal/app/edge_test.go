package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Every answer keeps a browser from running, framing or guessing it, also those to wrong paths.
func TestEveryAnswerIsHardened(t *testing.T) {
	h := serve(t, "sqlite")
	for _, path := range []string{"/", "/docs", "/healthz", "/metrics", "/api/openapi.json", "/v1/openapi.yaml", "/setup",
		"/api/v1/tasks", "/v1/scans", "/v1/none", "/none", "/api/v1/", "/mcp", "//"} {
		got := h.get(path)
		for _, name := range []string{"X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy"} {
			if got.header.Get(name) == "" {
				t.Errorf("GET %s answers %d without %s", path, got.status, name)
			}
		}
	}
}

func TestAnswersAreNotStored(t *testing.T) {
	h := serve(t, "sqlite")
	for _, path := range []string{"/api/v1/tasks", "/v1/scans", "/api/v1/none", "/v1/user", "/mcp", "/setup"} {
		if got := h.get(path).header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
			t.Errorf("GET %s may be stored: %q", path, got)
		}
	}
}

func TestBrowsersStayWithTLS(t *testing.T) {
	for address, want := range map[string]bool{"https://vedette.example": true, "http://vedette.example": false, "": false} {
		h := serve(t, "sqlite", "PUBLIC_URL="+address)
		got := h.get("/docs").header.Get("Strict-Transport-Security")
		if (got != "") != want {
			t.Errorf("with the public address %q a page has Strict-Transport-Security %q", address, got)
		}
	}
}

func TestMetricsAreForOperators(t *testing.T) {
	ask := func(h *testServer, name, value string) int {
		r := h.request(http.MethodGet, "/metrics", nil, "")
		if name != "" {
			r.Header.Set(name, value)
		}
		return h.do(r).status
	}
	h := serve(t, "sqlite")
	if got := ask(h, "", ""); got != 200 {
		t.Errorf("on this machine metrics answer %d", got)
	}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
		if got := ask(h, name, "192.0.2.1"); got != 403 {
			t.Errorf("a proxy's client with %s gets %d", name, got)
		}
	}
	h = serve(t, "sqlite", "METRICS_TOKEN=tell-me")
	for header, want := range map[string]int{"": 401, "Bearer tell": 401, "tell-me": 401, "Bearer tell-me": 200} {
		if got := ask(h, "Authorization", header); got != want {
			t.Errorf("with %q metrics answer %d", header, got)
		}
	}
}

// A remote client gets no metrics without a token, whatever address the server listens on.
func TestMetricsOfAnotherMachine(t *testing.T) {
	for peer, want := range map[string]bool{"192.0.2.7:999": false, "10.0.0.1:1": false, "[2001:db8::1]:1": false, "": false,
		"127.0.0.1:4": true, "[::1]:4": true, "[::ffff:127.0.0.1]:4": true} {
		if got := isLocal(&http.Request{RemoteAddr: peer, Header: http.Header{}}); got != want {
			t.Errorf("%q counts as this machine: %v", peer, got)
		}
	}
}

// The database is its owner's alone, in a new folder, in one that everybody may read, and where it was not.
func TestDatabaseFilesArePrivate(t *testing.T) {
	for name, before := range map[string]func(file string) error{
		"new":    func(string) error { return nil },
		"shared": func(file string) error { return os.WriteFile(file, nil, 0o664) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "vedette.db")
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := before(file); err != nil {
				t.Fatal(err)
			}
			d, err := db.Open(t.Context(), db.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			files, err := filepath.Glob(file + "*")
			if err != nil || len(files) < 3 {
				t.Fatalf("%q, %v", files, err)
			}
			for _, f := range files {
				info, err := os.Stat(f)
				if err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: %v, %v", filepath.Base(f), info.Mode(), err)
				}
			}
		})
	}
}
