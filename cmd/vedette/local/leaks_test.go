package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/leak"
)

// TestLeaks loads a list from a file and from standard input, lists what there is, and removes one.
func TestLeaks(t *testing.T) {
	data := t.TempDir()
	run := func(in string, args ...string) string {
		t.Helper()
		cmd := Leaks()
		var out bytes.Buffer
		cmd.SetArgs(append(args, "--data-dir", data))
		cmd.SetIn(bytes.NewBufferString(in))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	file := filepath.Join(t.TempDir(), "combo.txt")
	if err := os.WriteFile(file, []byte("a@example.com:p\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var done leak.Loaded
	text := run("", "load", file, "-o", "json")
	if err := json.Unmarshal([]byte(text), &done); err != nil || done.New != 1 || done.Rejected != 1 {
		t.Errorf("%s, %v", text, err)
	}
	if got, want := run("b@example.com:p\n", "load", "-", "--name", "two"), "1 leaks, 1 of them new; 0 lines were rejected.\n"; got != want {
		t.Errorf("%q", got)
	}
	run("", "remove", "combo.txt")
	var lists []leak.List
	if text = run("", "list", "-o", "json"); json.Unmarshal([]byte(text), &lists) != nil || len(lists) != 1 || lists[0].Name != "two" {
		t.Error(text)
	}
}
