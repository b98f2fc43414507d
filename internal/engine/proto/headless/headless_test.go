package headless

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestWithQuery(t *testing.T) {
	for _, c := range [][3]string{
		{"http://h/p", "", "http://h/p"},
		{"http://h/p", "a=1&b", "http://h/p?a=1&b"},
		{"http://h/p?x=1&a=0#f", "a=1", "http://h/p?x=1&a=1#f"},
		{"http://h/p?#f", "?a=%3C", "http://h/p?a=%3C#f"},
	} {
		if got := withQuery(c[0], c[1]); got != c[2] {
			t.Errorf("%s with %s: %s, not %s", c[0], c[1], got, c[2])
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for want, s := range map[string]syntax.Headless{
		"the argument url is missing":         {Steps: []syntax.Action{{Action: "navigate"}}},
		"neither request nor response":        {Steps: []syntax.Action{{Action: "setheader", Args: pairs("part", "x", "key", "k")}}},
		`there is no event "Page.x"`:          {Steps: []syntax.Action{{Action: "waitevent", Args: pairs("event", "Page.x")}}},
		"a user agent of one's own needs its": {UserAgent: "custom"},
	} {
		if _, err := Compile("t.yaml", &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	fine := syntax.Headless{Steps: []syntax.Action{{Action: "waitevent", Args: pairs("event", "Page.loadEventFired")},
		{Action: "setbody", Args: pairs("part", "request")}, {Action: "waitload"}}}
	if p, err := Compile("t.yaml", &fine); err != nil || len(p.steps) != 3 {
		t.Errorf("%v", err)
	}
}

func pairs(list ...string) (all []syntax.Pair) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, syntax.Pair{Name: list[i], Value: list[i+1]})
	}
	return all
}

// A screenshot goes nowhere but below the working folder, whatever links there are.
func TestWithinFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"a.png": true, "new/b/c.png": true, "../a.png": false, "link/a.png": false, "link/new/a.png": false, "/tmp/a.png": false,
	} {
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := withinFolder(full); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
