// Package program has gitleaks and semgrep look at the files of a change, where they are installed, and makes findings
// of their reports on the lines that the change adds.
//
// The files go into the sandbox of package isolate as an archive, which is unpacked there: strangers wrote them, and
// their names. A program has no network, nothing of the machine but itself and what all programs see, and bounds of
// time and memory; one runs at a time. What would configure a program is left out of the archive. Its report is read by
// package importer. Whatever goes wrong is in the result, in words for the summary.
package program

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/review/diff"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// File is a file as the change leaves it, and the lines of it that the change shows.
type File struct {
	Path  string
	Text  []byte
	Lines []diff.Line
}

// Runner runs the programs.
type Runner struct {
	rules string // of semgrep; "": it is not run
	slot  chan struct{}
	time  time.Duration // of one program
}

// New makes a runner; semgrepRules is a file or a folder of rules of semgrep, without which it is not run.
func New(semgrepRules string) *Runner {
	return &Runner{semgrepRules, make(chan struct{}, 1), 3 * time.Minute}
}

// Bounds of a result.
const (
	maxFindings = 200 // of a program
	maxTitle    = 120 // bytes
	maxWhy      = 600 // bytes
)

// kind is a program.
type kind struct {
	by    rule.By
	finds rule.Kind
	args  []string
	good  []int // exit codes of a run that looked at all
}

// Where things are in the sandbox.
const (
	report  = isolate.Work + "/report.json"
	archive = "change.tar"
	rules   = "/rules"
)

var kinds = []kind{
	{rule.ByGitleaks, rule.Secret, []string{"gitleaks", "detect", "--no-git", "--no-banner", "--source", ".",
		"--report-format", "json",
		"--report-path", report, "--exit-code", "0"}, []int{0}},
	{rule.BySemgrep, rule.Code, []string{"semgrep", "scan", "--json", "--output", report, "--quiet", "--metrics", "off",
		"--disable-version-check", "--no-git-ignore", "--config", rules, "."}, []int{0, 1}},
}

// Wanted reports whether a program would be run that finds one of these kinds.
func (r *Runner) Wanted(finds ...rule.Kind) bool { return len(r.installed(finds)) > 0 }

func (r *Runner) installed(finds []rule.Kind) (out []kind) {
	for _, k := range kinds {
		if _, err := sandbox.LookPath(k.args[0]); err == nil && slices.Contains(finds, k.finds) &&
			(k.by != rule.BySemgrep || r.rules != "") {
			out = append(out, k)
		}
	}
	return out
}

// Result is what the programs found.
type Result struct {
	Findings []rule.Finding
	Ran      []string // programs that looked at all files
	Problems []string // of others, why not
}

// Run runs the programs that find one of these kinds over files. The error is that of the context.
func (r *Runner) Run(ctx context.Context, files []File, finds ...rule.Kind) (out Result, err error) {
	select {
	case r.slot <- struct{}{}:
		defer func() { <-r.slot }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	text, err := pack(files)
	if err != nil {
		return out, err
	}
	for _, k := range r.installed(finds) {
		found, problem := r.one(ctx, k, text, files)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Findings = append(out.Findings, found...)
		if problem != "" {
			out.Problems = append(out.Problems, k.args[0]+" "+problem)
			continue
		}
		out.Ran = append(out.Ran, k.args[0])
	}
	return out, nil
}

// script unpacks the archive, runs a program and prints its report.
const script = `mkdir change && cd change && tar -xf "$1" || exit 125
shift
"$@" >&2
code=$?
[ -f ` + report + ` ] && cat ` + report + `
exit $code`

func (r *Runner) one(ctx context.Context, k kind, text []byte, files []File) (found []rule.Finding, problem string) {
	where, err := sandbox.LookPath(k.args[0])
	if err != nil {
		return nil, "is not installed any more"
	}
	folders := map[string]string{}
	args := slices.Clone(k.args)
	if args[0], err = see(where, folders); err != nil {
		return nil, "cannot be found"
	}
	if k.by == rule.BySemgrep {
		folders[rules] = r.rules
	}
	got, err := isolate.Run(ctx, isolate.Command{
		Args:  append([]string{"sh", "-c", script, "sh", isolate.Files + "/" + archive}, args...),
		Files: map[string][]byte{archive: text}, Folders: folders, Time: r.time,
	})
	switch {
	case sandbox.IsLimit(err):
		return nil, "was ended: " + err.Error()
	case err != nil:
		return nil, "could not be run in the sandbox"
	case !slices.Contains(k.good, got.Code):
		return nil, fmt.Sprintf("failed with the exit code %d", got.Code)
	}
	found, err = read(ctx, k, got.Stdout, files)
	if err != nil {
		return nil, "wrote a report that cannot be read"
	}
	return found, ""
}

// see makes a program outside of the system's folders visible in the sandbox, with its folder, or the environment of
// Python that it is in, and gives the path to start it by.
func see(at string, folders map[string]string) (string, error) {
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", err
	}
	for _, seen := range []string{"/usr/", "/bin/", "/sbin/", "/lib/"} {
		if strings.HasPrefix(target, seen) {
			return target, nil
		}
	}
	folder := filepath.Dir(target)
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "pyvenv.cfg")); err == nil {
		folder = filepath.Dir(folder)
	}
	folders[folder] = folder
	return target, nil
}

// configuring are files by which a change could tell a program what to leave out.
var configuring = []string{".gitleaks.toml", ".gitleaksignore", ".semgrepignore", ".semgrep.yml", ".semgrep.yaml",
	".semgrep", ".gitignore"}

// pack makes an archive of files, less those whose path leads elsewhere or that would configure a program.
func pack(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || strings.ContainsRune(f.Path, 0) ||
			slices.ContainsFunc(strings.Split(f.Path, "/"), func(part string) bool { return slices.Contains(configuring, part) }) {
			continue
		}
		head := &tar.Header{Name: "./" + f.Path, Mode: 0o644, Size: int64(len(f.Text)), Format: tar.FormatPAX}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// read makes findings of a report, of what is on a line that the change adds.
func read(ctx context.Context, k kind, text []byte, files []File) (out []rule.Finding, err error) {
	switch string(bytes.TrimSpace(text)) {
	case "":
		return nil, errors.New("no report")
	case "[]", "null": // gitleaks found nothing
		return nil, nil
	}
	_, err = importer.Read(ctx, bytes.NewReader(text), importer.Options{Format: k.args[0]}, func(i importer.Item) error {
		if i.Record == nil || len(out) == maxFindings {
			return nil
		}
		r := i.Record
		name := strings.TrimPrefix(strings.TrimPrefix(r.Place.File, isolate.Work+"/change/"), "./")
		number := added(files, name, r.Place.StartLine, max(r.Place.StartLine, r.Place.EndLine))
		if number == 0 {
			return nil
		}
		f := rule.Finding{Rule: line(r.Check, maxTitle), FoundBy: k.by, Kind: k.finds, Severity: rule.Severity(r.Severity),
			Path: name,
			Line: number, Title: line(r.Title, maxTitle), Why: line(r.Description, maxWhy)}
		if k.finds == rule.Secret {
			f.Why, f.Shown = rule.WhySecret, rule.Shown(r.Evidence.Matched)
		}
		if !slices.Contains(rule.Severities, f.Severity) {
			f.Severity = rule.Medium
		}
		out = append(out, f)
		return nil
	})
	return out, err
}

func line(text string, most int) string {
	return errs.Clip(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?"), most)
}

// added is the first line within a range that the change adds; 0: none.
func added(files []File, name string, from, to int) int {
	for _, f := range files {
		if f.Path != name {
			continue
		}
		for _, l := range f.Lines {
			if l.Added && l.Number >= from && l.Number <= to {
				return l.Number
			}
		}
	}
	return 0
}
