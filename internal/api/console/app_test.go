package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestTheConsoleIsOnePage: its addresses all answer with it, and nobody frames it or has it run what is not its own.
func TestTheConsoleIsOnePage(t *testing.T) {
	_, server, _ := open(t, dbtest.Open(t, "sqlite"))
	for path, status := range map[string]int{
		"/": 200, "/login": 200, "/tasks": 200, "/tasks/new": 200, "/tasks/01a2141d-4c37-7e84-b41f-52e53013fafd": 200,
		"/scans/dc3j50hkgh9ct6tnrghg?team_id=none": 200, "/findings": 200, "/findings/x": 200, "/assets": 200, "/assets/7": 200,
		"/enumerations/x": 200, "/templates/x": 200, "/cves": 200, "/cves/x": 200, "/agents": 200, "/network": 200, "/network/x": 200, "/knowledge": 200,
		"/reference": 200,
		"/reports":   200, "/settings/members": 200,
		"/nowhere": 404, "/tasks/a/b": 404, "/taskss": 404, "/console/": 404, "/console/index.html": 404, "/console/../x": 404,
		"/console/nothing.js": 404, "/index.html": 404, "/findings/" + strings.Repeat("x", 300): 404,
	} {
		resp, text := do(t, "GET", server.URL+path, "", "")
		if resp.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, status)
		}
		if status != 200 {
			continue
		}
		if !strings.Contains(text, `<div id="root">`) || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s is another page: %s", path, text)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'",
			"base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "connect-src 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
		for header, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-cache"} {
			if got := resp.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q", path, header, got)
			}
		}
	}
	if resp, _ := do(t, "POST", server.URL+"/findings", formType, ""); resp.StatusCode != 404 {
		t.Errorf("a form: %d", resp.StatusCode)
	}
}

// TestFilesOfTheConsole: all that the page names is there, with its type, and comes again only when it has changed.
func TestFilesOfTheConsole(t *testing.T) {
	_, server, _ := open(t, dbtest.Open(t, "sqlite"))
	_, page := do(t, "GET", server.URL+"/", "", "")
	named := regexp.MustCompile(`(?:src|href)="(/console/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(named) < 3 || strings.Contains(page, "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) {
		t.Fatalf("the page: %s", page)
	}
	for _, m := range named {
		resp, text := do(t, "GET", server.URL+m[1], "", "")
		if resp.StatusCode != 200 || text == "" || resp.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d, %q", m[1], resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+m[1], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		again, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		again.Body.Close()
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %d", m[1], again.StatusCode)
		}
	}
}

// TestTheConsoleIsSmall: the script that is loaded before anything is shown.
func TestTheConsoleIsSmall(t *testing.T) {
	files, err := appFiles()
	if err != nil {
		t.Fatal(err)
	}
	const most = 250 << 10
	size, seen := 0, map[string]bool{}
	imports := regexp.MustCompile(`(?:^|;)\s*import[^"'()]*["']\./([^"']+)["']`)
	var load func(name string)
	load = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		f, ok := files[name]
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		size += len(f.packed)
		for _, m := range imports.FindAllStringSubmatch(string(f.plain), -1) {
			load(m[1])
		}
	}
	load("index.js")
	if size == 0 || size > most {
		t.Errorf("%d bytes in %v, at most %d", size, seen, most)
	}
	for name, f := range files {
		for _, foreign := range []string{"fonts.googleapis", "cdn.", "unpkg.com", "sourceMappingURL"} {
			if strings.Contains(string(f.plain), foreign) {
				t.Errorf("%s has %s", name, foreign)
			}
		}
	}
}
