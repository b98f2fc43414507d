package review

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/review/program"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
)

// gitleaks looks at a change where it is installed: what it finds beside the rules is a finding, and the gate heeds it;
// when it fails, the summary says so.
func TestGitleaksLooksAtAChange(t *testing.T) {
	if err := isolate.Check(t.Context()); errors.Is(err, isolate.ErrNoBubblewrap) || errors.Is(err, isolate.ErrNoNamespaces) {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} { // nobody starts it, too
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := `#!/bin/sh
grep -q fails env.sh && exit 7
while [ $# -gt 0 ]; do [ "$1" = --report-path ] && out=$2; shift; done
echo '[{"Description": "A \u0060word\u0060", "StartLine": 2, "Secret": "hunter2hunter2", "File": "env.sh", "RuleID": "word"},
 {"Description": "AWS", "StartLine": 1, "Secret": "AKIAQ3ZL7TXWN5VKE2YD", "File": "env.sh", "RuleID": "aws"}]' >"$out"
`
	if err := os.WriteFile(filepath.Join(dir, "gitleaks"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, lab, c := connected(t, d)
		rs.Programs = program.New("")
		held := func(context.Context, *db.Tx) error { return nil }
		for number, body := range []string{"export A=AKIAQ3ZL7TXWN5VKE2YD\nword=hunter2hunter2", "export A=AKIAQ3ZL7TXWN5VKE2YD\nfails"} {
			lines := strings.Split(body, "\n")
			id := waiting(t, d, c, number, lab)
			lab.Put(gitlabtest.Merge{Number: number + 1, Head: headOf(number), Files: []gitlabtest.File{{Old: "env.sh", New: "env.sh", Text: body,
				Diff: "@@ -0,0 +1,2 @@\n+" + lines[0] + "\n+" + lines[1]}}})
			if err := rs.run(t.Context(), RunArgs{id}, held); err != nil {
				t.Fatal(err)
			}
		}
		s := lab.State()
		if len(s.Notes) != 2 || len(s.Discussions) != 3 || !strings.Contains(s.Notes[0].Body, "| high | `A 'word'` (gitleaks) | `env.sh:2` |") ||
			!strings.Contains(s.Notes[0].Body, "looked at the files, too: gitleaks.") ||
			!strings.Contains(s.Notes[1].Body, "`gitleaks failed with the exit code 7`") {
			t.Errorf("%+v", s)
		}
		for _, n := range append(s.Notes, s.Discussions...) {
			if strings.Contains(n.Body, "hunter2h") {
				t.Error(n.Body)
			}
		}
	})
}
