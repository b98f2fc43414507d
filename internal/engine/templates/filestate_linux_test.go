package templates

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An index that knows a file does not read it; one that was changed it reads, however
// much the new one looks like the old.
func TestAFileIsKnownUntilItChanges(t *testing.T) {
	text := func(id string) []byte {
		return []byte("id: " + id + "\ninfo: {name: n, author: a, severity: info}\nhttp: [{method: GET, path: ['{{BaseURL}}/']}]\n")
	}
	folder := t.TempDir()
	path, index := filepath.Join(folder, "t.yaml"), filepath.Join(t.TempDir(), "index")
	then := time.Now().Add(-time.Hour)
	write := func(to, id string) {
		t.Helper()
		if err := os.WriteFile(to, text(id), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(to, then, then); err != nil {
			t.Fatal(err)
		}
	}
	// load reads the template after a while, and says whether the index knew the file.
	load := func(want string, after time.Duration) (fileKnown bool) {
		t.Helper()
		l, err := newLoader(Options{Index: index})
		if err != nil {
			t.Fatal(err)
		}
		l.openIndex()
		l.now = func() time.Time { return time.Now().Add(after) }
		digest, fileKnown := l.digestOf(l.stat(path))
		if fileKnown && digest != sha256.Sum256(text(want)) {
			t.Errorf("the digest of another text is known where %s should be", want)
		}
		got, err := l.all(t.Context(), []string{path}, nil, nil)
		if err != nil || got[0].err != nil || got[0].template.ID != want {
			t.Fatalf("%v %+v; want %s", err, got, want)
		}
		if err := l.writeIndex(); err != nil {
			t.Fatal(err)
		}
		return fileKnown
	}
	write(path, "one")
	for range 2 {
		if load("one", 0) {
			t.Error("a file that was changed a moment ago is believed")
		}
	}
	load("one", time.Minute)
	if !load("one", time.Minute) {
		t.Error("an unchanged file is read again")
	}
	write(path, "two") // in place, with the same size and time
	if load("two", time.Minute) {
		t.Error("a changed file is believed")
	}
	if !load("two", time.Minute) {
		t.Error("an unchanged file is read again")
	}
	other := filepath.Join(folder, "other")
	write(other, "six")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if load("six", time.Minute) {
		t.Error("another file in its place is believed")
	}
}
