package bench

import (
	"html"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/lab/web"
)

// atLeast is how many weak cases, and how many that look so, an application has.
var atLeast = map[string][2]int{"range": {100, 25}, "suite": {20, 20}, "training": {15, 5}, "library": {10, 4}}

// Each case shows its weakness where it is labelled so, and not elsewhere; what takes seconds is left to labweb -prove.
func TestProofs(t *testing.T) {
	for _, f := range Flows("go", nil) {
		h, err := New(f.App, f.Variant, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		weak, safe, paths := 0, 0, map[string]bool{}
		for i := range f.Cases {
			c := &f.Cases[i]
			if paths[c.Path+" "+c.Class] {
				t.Errorf("%s %s (%s) is there twice", f.Name(), c.Path, c.Class)
			}
			if paths[c.Path+" "+c.Class] = true; c.True {
				weak++
			} else {
				safe++
			}
			if len(web.FlowClasses[c.Class]) == 0 {
				t.Errorf("%s has no CWE", c.Class)
			}
			if c.Expect == "slow" {
				continue
			}
			got, came, err := f.Prove(t.Context(), c, server.URL)
			if err != nil || got != c.True || c.Expect == "" {
				t.Errorf("%s %s: %q shows %v, want %v: %s %v", f.Name(), c.Path, c.Proof, got, c.True, came, err)
			}
		}
		server.Close()
		if least := atLeast[f.App]; f.Variant != "sound" && (weak < least[0] || safe < least[1]) {
			t.Errorf("%s: %d weak, %d that look so: want %v", f.Name(), weak, safe, least)
		}
		t.Logf("%s: %d weak, %d that look so", f.Name(), weak, safe)
	}
	if _, err := New("none", "weak", t.TempDir()); err == nil {
		t.Error("an application that there is not")
	}
}

// Links from the front page of the range lead to each page but the hidden ones, and none of them leads nowhere.
func TestRangeIsLinked(t *testing.T) {
	h, err := New("range", "all", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seen, next := map[string]bool{"/": true}, []string{"/"}
	reached := map[string]bool{}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		path, _, _ := strings.Cut(at, "?")
		reached[path] = true
		if strings.HasSuffix(path, ".jsp") && strings.Contains(at, "?") || strings.Contains(path, "browser") && strings.HasSuffix(path, ".jsp") {
			continue
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", at, nil))
		if w.Code != 200 {
			t.Errorf("%s answers %d", at, w.Code)
		}
		for _, m := range regexp.MustCompile(`<a href="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			if to := html.UnescapeString(m[1]); !seen[to] {
				seen[to], next = true, append(next, to)
			}
		}
	}
	for _, p := range rangePages() {
		if p.folder != hiddenFolder && !reached[p.path()] {
			t.Errorf("nothing leads to %s", p.path())
		}
		if p.folder == hiddenFolder && reached[p.path()] {
			t.Errorf("a link leads to %s", p.path())
		}
	}
}
