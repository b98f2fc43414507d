package author

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/scan"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// TestAdviceForEachReason: whatever is skipped, its reason says what to do.
func TestAdviceForEachReason(t *testing.T) {
	source, err := os.ReadFile("../../../internal/engine/templates/allow.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^\tSkipped\w+ +(?:Reason )?= "([^"]+)"`).FindAllSubmatch(source, -1)
	if len(reasons) < 10 {
		t.Fatalf("%d reasons", len(reasons))
	}
	if len(scan.Advice) != len(reasons) {
		t.Errorf("%d reasons, and advice for %d", len(reasons), len(scan.Advice))
	}
	for reason, text := range scan.Advice {
		if text == "" || reason == "" {
			t.Errorf("%q: %q", reason, text)
		}
	}
}

// TestCensusOfTheCorpus: every template of the public corpus is counted once, and what a scan does not run has a reason
// with advice.
func TestCensusOfTheCorpus(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = "../../../../shared/corpus/templates"
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no corpus beside the checkout")
	}
	c, err := takeCensus(t.Context(), templates.Options{Paths: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".yaml" && !strings.Contains(path, "/helpers/") &&
			!strings.Contains(path, "/profiles/") && !strings.HasPrefix(entry.Name(), ".") {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	total, left := 0, 0
	for _, p := range c.Protocols {
		total += p.Templates
		left += p.Flag + p.Unsupported + p.Wrong
		if p.Run+p.Flag+p.Unsupported+p.Wrong != p.Templates {
			t.Errorf("%+v", p)
		}
	}
	for _, r := range c.Reasons {
		left -= r.Templates
		if r.Reason == "" || r.Advice == "" || r.Example == "" {
			t.Errorf("%+v", r)
		}
	}
	if total != files || left != 0 {
		t.Errorf("%d of %d templates are counted; of %d there is no reason", total, files, left)
	}
}
