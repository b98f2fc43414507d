package seal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, path string) *Box {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealedIsUnreadableAndOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	plain := []byte("token: abc")
	sealed, err := open(t, path).Seal(plain, "row 1")
	if err != nil || bytes.Contains(sealed, []byte("abc")) {
		t.Fatalf("%q %v", sealed, err)
	}
	again := open(t, path) // as after a restart
	if got, err := again.Open(sealed, "row 1"); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%q %v", got, err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"another context": func() ([]byte, error) { return again.Open(sealed, "row 2") },
		"a changed byte": func() ([]byte, error) {
			changed := bytes.Clone(sealed)
			changed[len(changed)-1] ^= 1
			return again.Open(changed, "row 1")
		},
		"nothing":     func() ([]byte, error) { return again.Open(nil, "row 1") },
		"another key": func() ([]byte, error) { return open(t, filepath.Join(t.TempDir(), "k")).Open(sealed, "row 1") },
	} {
		if got, err := open(); !errors.Is(err, ErrKey) || got != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// Of processes that start at once, all end up with one key, which only its owner reads.
func TestFirstKeyStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	boxes := make([]*Box, 8)
	var group sync.WaitGroup
	for i := range boxes {
		group.Go(func() { boxes[i], _ = Open(path) })
	}
	group.Wait()
	sealed, err := boxes[0].Seal([]byte("x"), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range boxes {
		if _, err := b.Open(sealed, ""); err != nil {
			t.Errorf("box %d: %v", i, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDamagedKeyFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "folder")); err == nil {
		t.Error("a key in a folder that does not exist")
	}
}
