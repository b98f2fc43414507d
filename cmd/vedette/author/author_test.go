package author

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// run runs a command and returns what it prints, and its exit code.
func run(t *testing.T, name string, args ...string) (out string, code int) {
	t.Helper()
	for _, cmd := range Commands() {
		if cmd.Name() != name {
			continue
		}
		var stdout bytes.Buffer
		cmd.SetArgs(args)
		cmd.SetOut(&stdout)
		cmd.SetErr(&stdout)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		var silent cli.Silent
		var exit cli.Exit
		switch {
		case errors.As(err, &silent):
			code = int(silent)
		case errors.As(err, &exit):
			code = exit.Code
		case err != nil:
			code = cli.ExitError
		}
		return stdout.String(), code
	}
	t.Fatalf("there is no command %s", name)
	return "", 0
}

// TestCasesOfTemplates: cases are found beside a template and in folders, by its file and by its id; one without any
// fails, as does one that cannot be tried.
func TestCasesOfTemplates(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"set/beside.yaml":   written("beside", "http"),
		"set/beside.txtar":  "-- positive/a --\n* * → 200\n\nmagic\n-- negative/b --\n* * → 200\n\nplain\n",
		"set/no-case.yaml":  written("no-case", "http"),
		"set/resolver.yaml": "id: resolver\ninfo: {name: A, author: ada}\ndns:\n  - name: '{{FQDN}}'\n",
		"cases/odd.txtar":   "-- positive/c --\n* * → 200\n\nplain\n",
		"other/file.yaml":   written("odd", "http"),
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := run(t, "test", filepath.Join(dir, "set"), "-o", "json")
	var got struct {
		Passed, Failed int
		Cases          []tried
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.ExitError || got.Passed != 2 || got.Failed != 2 {
		t.Fatalf("%d %v %s", code, err, out)
	}
	for _, c := range got.Cases {
		reason := map[string]string{"no-case": "no case", "resolver": "only http"}[c.ID]
		if c.Passed != (reason == "") || !strings.Contains(c.Reason, reason) {
			t.Errorf("%+v", c)
		}
	}
	out, code = run(t, "test", filepath.Join(dir, "other"), "--cases", filepath.Join(dir, "cases"))
	if code != cli.ExitError || !strings.HasPrefix(out, "FAIL odd positive/c: it did not match") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := run(t, "test", filepath.Join(dir, "none")); code != cli.ExitUsage {
		t.Errorf("%d %s", code, out)
	}
}

func written(id, protocol string) string {
	return "id: " + id + "\ninfo: {name: A, author: ada}\n" + protocol +
		":\n  - path: ['{{BaseURL}}/']\n    matchers: [{type: word, words: [magic]}]\n"
}
