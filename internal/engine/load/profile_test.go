package load_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/load"
	"github.com/vedette-sec/vedette/internal/errs"
)

func TestProfile(t *testing.T) {
	root := tree(t, map[string]string{"profiles/mine.yml": `# comment
tags: [a, 2024]
severity: high,critical
template-condition: ["contains(tags, 'a')"]
templates:
  - http/cves/
code: true
var:
  - region=eu,us
header: "X-A: b, c"
rate-limit: 50
follow-redirects: true
attack-type: pitchfork
exclude-tags: ~
stats: true
`})
	got, err := load.ReadProfile("mine", []string{root})
	want := &load.Profile{
		Load: load.Options{
			Paths: []string{"http/cves/"}, Allow: load.Allow{Code: true},
			Filter: load.Filter{Tags: []string{"a", "2024"}, Severity: []string{"high", "critical"}, Conditions: []string{"contains(tags, 'a')"}},
		},
		Vars: []string{"region=eu,us"}, Headers: []string{"X-A: b, c"}, RateLimit: 50, FollowRedirects: true, Attack: "pitchfork",
		Notes: []string{"stats"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if _, err := load.ReadProfile(filepath.Join(root, "profiles/mine.yml"), nil); err != nil {
		t.Error(err)
	}
	if names := load.Profiles([]string{root, t.TempDir()}); !reflect.DeepEqual(names, []string{"mine"}) {
		t.Error(names)
	}
	for text, want := range map[string]string{
		"tagz: [a]":          "p.yml:1: tagz: there is no such option",
		"# x\nrate-limit: a": "p.yml:2: rate-limit: the value is of the wrong kind",
		"code: 1":            "p.yml:1: code: the value is of the wrong kind",
		"tags: [[a]]":        "p.yml:1: tags: the value is of the wrong kind",
		"tags: {a: b}":       "p.yml:1: tags: the value is of the wrong kind",
		"attack-type: [a]":   "p.yml:1: attack-type: the value is of the wrong kind",
		"- a":                "p.yml:1:1: must be a mapping",
		"timeout: -1":        "p.yml:1: timeout",
	} {
		at := filepath.Join(tree(t, map[string]string{"p.yml": text}), "p.yml")
		if _, err := load.ReadProfile(at, nil); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, name := range []string{"none", "../mine", root} {
		if _, err := load.ReadProfile(name, []string{root}); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The profiles of the public set hold options that are known, and those that choose
// among its templates find some.
func TestCorpusProfiles(t *testing.T) {
	root := corpus(t)
	names := load.Profiles([]string{root})
	if len(names) < 10 {
		t.Fatal(names)
	}
	for _, name := range names {
		p, err := load.ReadProfile(name, []string{root})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(p.Notes) > 0 {
			t.Logf("%s: noted only: %v", name, p.Notes)
		}
	}
	p, err := load.ReadProfile("wordpress", []string{root})
	if err != nil {
		t.Fatal(err)
	}
	o := p.Load
	o.Paths, o.Roots = []string{"http/vulnerabilities"}, []string{root}
	if got := loaded(t, o); len(got.Templates) == 0 || got.Counts()[load.SkippedByFilter] == 0 {
		t.Errorf("%d templates, skipped %v", len(got.Templates), got.Skipped)
	}
}
