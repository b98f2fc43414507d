package templates_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestReadSettings(t *testing.T) {
	root := tree(t, map[string]string{"profiles/mine.yml": "# comment\ntags: [a, 2024]\nseverity: high,critical\n"})
	path, got, err := templates.ReadSettings("mine", []string{t.TempDir(), root})
	want := []syntax.Variable{
		{Name: "tags", Value: "[a 2024]", Data: []any{"a", 2024}, Line: 2},
		{Name: "severity", Value: "high,critical", Data: "high,critical", Line: 3},
	}
	for i := range got {
		got[i].Value = want[i].Value // how a list is written down is the reader's affair
	}
	if at := filepath.Join(root, "profiles/mine.yml"); err != nil || path != at || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v\n got %+v\nwant %+v", path, err, got, want)
	}
	if _, _, err := templates.ReadSettings(path, nil); err != nil {
		t.Error(err)
	}
	if names := templates.Profiles([]string{root, t.TempDir()}); !reflect.DeepEqual(names, []string{"mine"}) {
		t.Error(names)
	}
	wrong := filepath.Join(tree(t, map[string]string{"p.yml": "- a"}), "p.yml")
	if _, _, err := templates.ReadSettings(wrong, nil); !errs.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "p.yml:1:1: must be a mapping") {
		t.Error(err)
	}
	for _, name := range []string{"none", "../mine", root} {
		if _, _, err := templates.ReadSettings(name, []string{root}); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRoots looks for the ignore file above what was named.
func TestRoots(t *testing.T) {
	root := tree(t, map[string]string{".nuclei-ignore": "tags: [a]\n", "http/cves/x.yaml": "x"})
	other := tree(t, map[string]string{"http/x.yaml": "x"})
	for path, want := range map[string][]string{
		root:                                    {root},
		filepath.Join(root, "http"):             {root},
		filepath.Join(root, "http/cves/x.yaml"): {root},
		other:                                   {other},
		filepath.Join(other, "http/x.yaml"):     nil,
		filepath.Join(other, "none"):            nil,
	} {
		if got := templates.Roots([]string{path, path}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}

// The profiles of the public set are settings.
func TestCorpusProfiles(t *testing.T) {
	root := corpus(t)
	names := templates.Profiles([]string{root})
	if len(names) < 10 {
		t.Fatal(names)
	}
	for _, name := range names {
		if _, settings, err := templates.ReadSettings(name, []string{root}); err != nil || len(settings) == 0 {
			t.Error(name, err)
		}
	}
}
