package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/netguard"
)

// scanFlags are the flags of vedette scan, under the names that users of nuclei know.
type scanFlags struct {
	targets, lists, templates []string
	tags, notTags, ids        []string
	severities                []string
	headers, vars, deny       []string
	jsonl, silent             bool
	rateLimit, concurrency    int
	timeout, retries          int
	coverage, out, fail       string
	resume                    string
}

func newScan() *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use: "scan", Short: "Run templates on targets, without a server", Args: cobra.NoArgs,
		Long: `Runs templates on targets and prints what matches: a line a finding on standard
output, or with --jsonl a JSON event a line. Progress and talk go to standard error.

Only what the targets name is contacted. Without --templates the starter catalogue
in the binary is used. The flags may be written with one dash too.`,
		Example: `  vedette scan --target http://127.0.0.1:8000
  vedette scan -u https://example.com -t ./templates --tags exposure,panel --severity high,critical
  vedette scan --list hosts.txt --jsonl --coverage coverage.json > findings.jsonl`,
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.targets, "target", "u", nil, "URL, host, host:port or address; repeatable")
	fs.StringArrayVarP(&f.lists, "list", "l", nil, "file with a target a line; - is standard input")
	fs.StringSliceVarP(&f.templates, "templates", "t", nil, "template file or folder; repeatable (default: the starter catalogue)")
	fs.StringSliceVar(&f.tags, "tags", nil, "only templates with one of these tags")
	fs.StringSliceVar(&f.notTags, "exclude-tags", nil, "no templates with one of these tags")
	fs.StringSliceVar(&f.ids, "id", nil, "only templates with one of these ids")
	fs.StringSliceVarP(&f.severities, "severity", "s", nil, "only templates of these severities")
	fs.StringArrayVarP(&f.headers, "header", "H", nil, "header for every request, as 'Name: value'; repeatable")
	fs.StringArrayVarP(&f.vars, "var", "V", nil, "variable for templates, as name=value; repeatable")
	fs.StringSliceVar(&f.deny, "deny-targets", nil, "network (CIDR) that is never contacted; repeatable")
	fs.BoolVarP(&f.jsonl, "jsonl", "j", false, "print events as JSON, one a line")
	fs.BoolVar(&f.silent, "silent", false, "print findings only")
	fs.IntVar(&f.rateLimit, "rate-limit", 150, "requests a second at most, -rl for short; 0: no limit")
	fs.IntVarP(&f.concurrency, "concurrency", "c", 50, "requests at once")
	fs.IntVar(&f.timeout, "timeout", 10, "seconds to wait for a connection, and for an answer")
	fs.IntVar(&f.retries, "retries", 1, "further tries of a request that failed")
	fs.StringVar(&f.coverage, "coverage", "", "write to this file what was tested and what was not, as JSON, or as a table when it ends with .txt")
	fs.StringVar(&f.resume, "resume", "", "keep in this file what is done, and go on from there when it is there already")
	fs.StringVarP(&f.out, "output", "o", "", "write findings to this file too; json prints events as --jsonl does")
	fs.StringVar(&f.fail, "fail-on", "", "exit with 6 when there is a finding of this severity or worse")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runScan(cmd, f) }
	return cmd
}

func runScan(cmd *cobra.Command, f scanFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	targets, err := f.readTargets(cmd.InOrStdin())
	if err != nil {
		return err
	}
	talk := io.Discard
	if !f.silent {
		talk = cmd.ErrOrStderr()
	}
	programs, unusable, err := f.choose(talk)
	if err != nil {
		return err
	}
	scope, err := f.scope(targets)
	if err != nil {
		return err
	}
	headers, err := f.parseHeaders()
	if err != nil {
		return err
	}
	sink, err := newSink(cmd.OutOrStdout(), f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.close()) }()
	fmt.Fprintf(talk, "%s on %s\n", counted(len(programs), "template"), counted(len(targets), "target"))

	e := engine.New(engine.Config{
		Dial: scope.Dial, Timeout: time.Duration(f.timeout) * time.Second, Retries: f.retries, RateLimit: f.rateLimit,
		Concurrency: f.concurrency, Headers: headers,
	})
	defer e.Close()
	meter := newBar(talk)
	scan := engine.Scan{
		Targets: targets, Programs: programs, OnEvent: sink.write,
		OnProgress: func(p engine.Progress) { meter.show("checks", int64(p.Done), int64(p.Total)) },
	}
	if scan.Vars, scan.Lists, err = f.readVars(); err != nil {
		return err
	}
	if f.resume != "" {
		file, ledger, err := openCheckpoint(f.resume)
		if err != nil {
			return err
		}
		defer file.Close()
		scan.Done, scan.Checkpoint = ledger, file
		sink.remember(ledger.Severities())
		fmt.Fprintf(talk, "%s done before\n", counted(ledger.Len(), "check"))
	}
	report, err := e.Run(cmd.Context(), scan)
	meter.close()
	if report == nil {
		return err
	}
	tellCoverage(talk, report)
	if f.coverage != "" {
		if werr := writeCoverage(f.coverage, report); werr != nil {
			return werr
		}
	}
	return f.verdict(cmd.Context(), report, sink, unusable > 0, err)
}

// verdict is the exit code of a scan: the first of interrupted, failed, out of scope,
// findings, partial coverage.
func (f scanFlags) verdict(ctx context.Context, r *engine.Report, s *sink, partial bool, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit{exitInterrupted, errors.New("interrupted")}
	case err != nil:
		return err
	case s.err != nil:
		return fmt.Errorf("writing findings: %w", s.err)
	}
	counts := r.Counts()
	total := 0
	for _, n := range counts {
		total += n
	}
	switch {
	case total > 0 && counts[engine.Denied] == total:
		return silent{exitOutOfScope}
	case f.fail != "" && s.worst <= severityRank(f.fail):
		return silent{exitFindings}
	case partial || r.Partial():
		return silent{exitPartial}
	}
	return nil
}

func (f scanFlags) check() error {
	if err := checkSeverity(f.fail); err != nil {
		return err
	}
	for _, s := range f.severities {
		if severityRank(s) == len(severities) {
			return usage(fmt.Errorf("--severity %q: must be one of %s", s, strings.Join(severities, ", ")))
		}
	}
	for name, n := range map[string]int{"rate-limit": f.rateLimit, "retries": f.retries} {
		if n < 0 {
			return usage(fmt.Errorf("--%s must not be negative", name))
		}
	}
	for name, n := range map[string]int{"concurrency": f.concurrency, "timeout": f.timeout} {
		if n < 1 {
			return usage(fmt.Errorf("--%s must be at least 1", name))
		}
	}
	return nil
}

// maxTargetLine is the longest line of a target list, in bytes.
const maxTargetLine = 64 << 10

func (f scanFlags) readTargets(in io.Reader) ([]string, error) {
	targets := append([]string{}, f.targets...)
	for _, name := range f.lists {
		list := in
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, usage(fmt.Errorf("--list: %w", err))
			}
			defer file.Close()
			list = file
		}
		lines := bufio.NewScanner(list)
		lines.Buffer(nil, maxTargetLine)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
				targets = append(targets, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("--list %s: %w", name, err)
		}
	}
	if len(targets) == 0 {
		return nil, usage(errors.New("there is no target: use --target or --list"))
	}
	return targets, nil
}

// maxProblems is how many unusable templates are told of one by one.
const maxProblems = 10

// choose loads and compiles the templates that the flags pick. A template that cannot
// run is told of and left out: the scan is then partial.
func (f scanFlags) choose(talk io.Writer) (chosen []*program.Program, unusable int, err error) {
	all, problems, err := app.Templates(f.templates...)
	if err != nil {
		return nil, 0, err
	}
	for i, problem := range problems {
		if i == maxProblems {
			fmt.Fprintf(talk, "… and %d more; see 'vedette templates validate'\n", len(problems)-maxProblems)
			break
		}
		fmt.Fprintf(talk, "not used: %s\n", printable(plain(problem)))
	}
	for _, p := range all {
		if f.picks(p) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, 0, usage(fmt.Errorf("the flags pick none of the %d templates that can run (%d cannot)", len(all), len(problems)))
	}
	return chosen, len(problems), nil
}

func (f scanFlags) picks(p *program.Program) bool {
	has := func(list []string, words ...string) bool {
		for _, want := range list {
			for _, word := range words {
				if strings.EqualFold(strings.TrimSpace(want), word) {
					return true
				}
			}
		}
		return false
	}
	return (len(f.tags) == 0 || has(f.tags, p.Info.Tags...)) && !has(f.notTags, p.Info.Tags...) &&
		(len(f.ids) == 0 || has(f.ids, p.ID)) && (len(f.severities) == 0 || has(f.severities, string(p.Info.Severity)))
}

// scope is what the targets name, less what is denied.
func (f scanFlags) scope(targets []string) (*netguard.Scope, error) {
	var named []netguard.Target
	for _, text := range targets {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, usage(err)
		}
		named = append(named, target)
	}
	var limits netguard.Limits
	for _, text := range f.deny {
		p, err := netguard.ParsePrefix(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--deny-targets %q: %w", text, err))
		}
		limits.Deny = append(limits.Deny, p)
	}
	return netguard.NewScope(named, limits)
}

func (f scanFlags) parseHeaders() ([]engine.Header, error) {
	var out []engine.Header
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(text, "\r\n\x00") {
			return nil, usage(fmt.Errorf("--header %q: write 'Name: value'", text))
		}
		out = append(out, engine.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return out, nil
}

// maxVarFile bounds a file that a variable names, in bytes.
const maxVarFile = 64 << 20

// readVars reads --var. A value that names a file is its lines, too: payloads of the
// requests that use the variable.
func (f scanFlags) readVars() (texts map[string]string, lists map[string][]string, err error) {
	if texts, err = pairs(f.vars, "=", "--var"); err != nil {
		return nil, nil, err
	}
	lists = map[string][]string{}
	for name, value := range texts {
		info, err := os.Stat(value)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxVarFile {
			continue
		}
		data, err := os.ReadFile(value)
		if err != nil {
			return nil, nil, usage(fmt.Errorf("--var %s: %w", name, err))
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				lists[name] = append(lists[name], line)
			}
		}
	}
	return texts, lists, nil
}

func pairs(texts []string, separator, flag string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, separator)
		if !ok || name == "" {
			return nil, usage(fmt.Errorf("%s %q: write name%svalue", flag, text, separator))
		}
		out[name] = value
	}
	return out, nil
}
