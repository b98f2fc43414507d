package program

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/review/diff"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

// leaks is a report as gitleaks 8 writes it, about a line that is added, one that was there, and another file.
const leaks = `[{"Description": "AWS", "StartLine": 2, "EndLine": 2, "Match": "k=AKIAQ3ZL7TXWN5VKE2YD", "Secret": "AKIAQ3ZL7TXWN5VKE2YD",
"File": "conf/aws.tf", "Entropy": 3.1, "Tags": [], "RuleID": "aws-access-token", "Fingerprint": "conf/aws.tf:aws-access-token:2"},
{"Description": "AWS", "StartLine": 1, "EndLine": 1, "Match": "x", "Secret": "AKIAQ3ZL7TXWN5VKE3YD", "File": "conf/aws.tf", "RuleID": "aws-access-token"},
{"Description": "AWS", "StartLine": 2, "EndLine": 2, "Match": "x", "Secret": "AKIAQ3ZL7TXWN5VKE3YD", "File": "other.tf", "RuleID": "aws-access-token"}]`

// scanned is a report of semgrep.
const scanned = `{"version": "1.30.0", "errors": [], "paths": {"scanned": ["conf/aws.tf"]}, "results": [{"check_id": "go.lang.security.audit.template",
"path": "conf/aws.tf", "start": {"line": 1, "col": 2}, "end": {"line": 3, "col": 31}, "extra": {"severity": "ERROR", "is_ignored": false, "lines": "requires login",
"message": "Found a formatted\ntemplate string", "fingerprint": "requires login", "metadata": {"cwe": ["CWE-79: x"]}}}]}`

var files = []File{
	{Path: "conf/aws.tf", Text: []byte("old\nk=AKIAQ3ZL7TXWN5VKE2YD\nnew\n"), Lines: []diff.Line{{Number: 1, Text: "old"},
		{Number: 2, Text: "k=AKIAQ3ZL7TXWN5VKE2YD", Added: true}, {Number: 3, Text: "new", Added: true}}},
	{Path: ".gitleaksignore", Text: []byte("*")}, {Path: "../../etc/passwd", Text: []byte("x")}, {Path: "/abs", Text: []byte("x")},
}

// install puts a program of a shell's text on the PATH.
func install(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} { // nobody starts it, too
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// writes is a program that writes a report where its option says.
func writes(option, text string) string {
	return `while [ $# -gt 0 ]; do [ "$1" = ` + option + ` ] && out=$2; shift; done
cat > "$out" <<'END'
` + text + "\nEND\n"
}

func needSandbox(t *testing.T) {
	t.Helper()
	if err := isolate.Check(t.Context()); errors.Is(err, isolate.ErrNoBubblewrap) || errors.Is(err, isolate.ErrNoNamespaces) {
		t.Skip(err)
	}
}

// The programs see the files of the change alone, and what they find on added lines becomes findings.
func TestFindings(t *testing.T) {
	needSandbox(t)
	install(t, "gitleaks", `[ "$(cat conf/aws.tf)" = "old
k=AKIAQ3ZL7TXWN5VKE2YD
new" ] && [ ! -e .gitleaksignore ] && [ ! -e /abs ] || exit 9
`+writes("--report-path", leaks))
	install(t, "semgrep", `[ -e /rules/a.yaml ] || exit 9
`+writes("--output", scanned))
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("rules: []"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := New(dir).Run(t.Context(), files, rule.Secret, rule.Code)
	want := []rule.Finding{
		{Rule: "aws-access-token", FoundBy: rule.ByGitleaks, Kind: rule.Secret, Severity: rule.High, Path: "conf/aws.tf", Line: 2, Title: "AWS",
			Why: rule.WhySecret, Shown: "AKIA********"},
		{Rule: "go.lang.security.audit.template", FoundBy: rule.BySemgrep, Kind: rule.Code, Severity: rule.High, Path: "conf/aws.tf", Line: 2,
			Title: "template", Why: "Found a formatted template string"},
	}
	if err != nil || !slices.Equal(out.Findings, want) || len(out.Problems) != 0 || !slices.Equal(out.Ran, []string{"gitleaks", "semgrep"}) {
		t.Errorf("%+v %v", out, err)
	}
	r := New("")
	if !r.Wanted(rule.Secret) || r.Wanted(rule.Code) || r.Wanted(rule.Config) {
		t.Error("what is wanted")
	}
}

// A program that fails, hangs or writes nonsense is named, and finds nothing.
func TestFailures(t *testing.T) {
	needSandbox(t)
	for name, c := range map[string][2]string{
		"an exit code": {"exit 3", "gitleaks failed with the exit code 3"},
		"no report":    {"exit 0", "gitleaks wrote a report that cannot be read"},
		"nonsense":     {writes("--report-path", "[{"), "gitleaks wrote a report that cannot be read"},
		"too long":     {"while :; do sleep 9; done", "gitleaks was ended: the program ran for too long"},
	} {
		t.Run(name, func(t *testing.T) {
			install(t, "gitleaks", c[0])
			r := New("")
			if name == "too long" {
				r.time = 100 * time.Millisecond
			}
			out, err := r.Run(t.Context(), files, rule.Secret)
			if err != nil || len(out.Findings) != 0 || len(out.Ran) != 0 || len(out.Problems) != 1 || out.Problems[0] != c[1] {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
	install(t, "gitleaks", writes("--report-path", "[]"))
	if out, err := New("").Run(t.Context(), files, rule.Secret); err != nil || len(out.Findings)+len(out.Problems) != 0 || len(out.Ran) != 1 {
		t.Errorf("no leaks: %+v %v", out, err)
	}
}

func TestPack(t *testing.T) {
	text, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
	}
	if strings.Join(names, " ") != "./conf/aws.tf" {
		t.Error(names)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(leaks, true)
	f.Add(scanned, false)
	f.Fuzz(func(t *testing.T, text string, secrets bool) {
		k := kinds[1]
		if secrets {
			k = kinds[0]
		}
		found, _ := read(t.Context(), k, []byte(text), files)
		for _, x := range found {
			if x.Path != "conf/aws.tf" || x.Line < 2 || x.Line > 3 || !slices.Contains(rule.Severities, x.Severity) {
				t.Errorf("%+v", x)
			}
		}
	})
}
