package templates

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Without a root, the folders above a template count, but not for hidden files.
func TestHelpersAbove(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a/b/t.yaml": "", "helpers/x.txt": "x", ".ssh/key": "k", "a/b/.own": "own"} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := newHelpers(nil, false)
	at := filepath.Join(root, "a/b/t.yaml")
	if f, err := h.open(at, "helpers/x.txt"); err != nil || !slices.Equal(f.lines, []string{"x"}) {
		t.Error(f, err)
	}
	if f, err := h.open(at, ".own"); err != nil || f.text != "own" {
		t.Error(f, err)
	}
	if f, err := h.open(at, ".ssh/key"); err == nil {
		t.Error(f.text)
	}
}
