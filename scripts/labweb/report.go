package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/lab/web"
)

// reported is a finding of a tester.
type reported struct {
	cwe   int
	class string // a word of web.Classes, "" for another
	path  string
	title string
	query string // of the address, without the "?"
}

// at is where a finding is, as cases of flows name it.
func (f *reported) at() string { return f.path + "?" + f.query }

// result is what a tester found on an application.
type result struct {
	tester, stack string
	flows         bool
	found, missed []web.Case
	wrong         []string // findings on cases that only look weak
	extra         []string // of another class, on weak cases and elsewhere
	classes       map[string]*tally
	written       []string // files, by commands of the application
	requests      int64
	took          time.Duration
	cpu           time.Duration
}

type tally struct{ weak, found, safe, wrong int }

// grace is how long a tester may take to end and to write its report after its time is over.
const grace = 4 * time.Minute

// test has a tester test an application from its front page.
func test(ctx context.Context, tester string, a *application, o *options, dir string) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.minutes)*time.Minute+grace)
	defer cancel()
	report := filepath.Join(dir, tester+"-"+a.name+".json")
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return nil, err
		}
		report = filepath.Join(o.out, tester+"-"+a.name+".json")
	}
	cmd := exec.CommandContext(ctx, o.vedette, "webtest", a.url+"/", "--jsonl", "--max-time", fmt.Sprintf("%dm", o.minutes))
	cmd.Args = append(cmd.Args, strings.Fields(o.args)...)
	if a.flow != nil {
		args, err := flowArgs(ctx, a, dir)
		if err != nil {
			return nil, err
		}
		cmd.Args = append(cmd.Args, args...)
	}
	if tester == "wapiti" {
		cmd = exec.CommandContext(ctx, filepath.Join(o.python, "wapiti"), "-u", a.url+"/", "-f", "json", "-o", report, "--flush-session", "--no-bugreport",
			"-m", "sql,timesql,xss,permanentxss,exec,file,redirect,ssrf,xxe,crlf", "--max-scan-time", fmt.Sprint(o.minutes*60),
			"--store-session", filepath.Join(dir, "wapiti"), "--external-endpoint", "http://127.0.0.1:9/",
			"--internal-endpoint", a.url+"/")
	}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	before, began := a.requests.Load(), time.Now()
	err := cmd.Run()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		return nil, err
	}
	r := &result{tester: tester, stack: a.name, flows: a.flow != nil, requests: a.requests.Load() - before, took: time.Since(began),
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), classes: map[string]*tally{}}
	text := out.Bytes()
	read := ofVedette
	if tester == "wapiti" {
		read = ofWapiti
		if text, err = os.ReadFile(report); err != nil {
			return nil, fmt.Errorf("it wrote no report: %w: %.500s", err, log.String())
		}
	} else if o.out != "" {
		err = errors.Join(os.WriteFile(report, text, 0o644), os.WriteFile(report+".log", log.Bytes(), 0o644))
		if err != nil {
			return nil, err
		}
	}
	findings, err := read(text)
	if err != nil {
		return nil, err
	}
	r.score(a.cases, findings)
	if a.flow != nil {
		r.others(a.cases, findings)
	} else if r.written, err = web.Written(a.place); err != nil {
		return nil, err
	}
	if o.out != "" {
		err = os.WriteFile(filepath.Join(o.out, tester+"-"+a.name+".missed"), []byte(r.details()), 0o644)
	}
	return r, err
}

// names of wapiti's categories.
var wapitiClasses = map[string]string{"SQL Injection": "sql", "Blind SQL Injection": "sql", "Cross Site Scripting": "xss",
	"Reflected Cross Site Scripting": "xss", "Stored Cross Site Scripting": "xss", "Command execution": "command",
	"Path Traversal": "path", "Open Redirect": "redirect", "XML External Entity": "xxe", "Server Side Request Forgery": "ssrf",
	"CRLF Injection": "crlf"}

func ofWapiti(text []byte) (all []reported, err error) {
	var in struct {
		Vulnerabilities map[string][]struct {
			Path, Info string
		} `json:"vulnerabilities"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	for category, list := range in.Vulnerabilities {
		for _, one := range list {
			all = append(all, reported{0, wapitiClasses[category], one.Path, category + ": " + one.Info, ""})
		}
	}
	return all, nil
}

// score compares findings with the labels. A finding is of a case when its path is that of the case or below it, and
// its class that of the case; what names code for a command, or a template for code, is of the case, too.
func (r *result) score(cases []web.Case, findings []reported) {
	near := map[string][]string{"command": {"code"}, "code": {"command", "template"}, "template": {"code"}, "xpath": {"sql"},
		"nosql": {"code"}}
	for i := range cases {
		c := &cases[i]
		t := r.classes[c.Class]
		if t == nil {
			t = &tally{}
			r.classes[c.Class] = t
		}
		hit := false
		if c.Source == "flow" {
			hit = r.ofFlow(c, t, findings)
		}
		for _, f := range findings {
			if c.Source == "flow" || f.path != c.Path && (c.Source != "path" && c.Later() == "" || !strings.HasPrefix(f.path, c.Path+"/")) || f.class == "" {
				continue
			}
			same := f.class == c.Class || slices.Contains(near[c.Class], f.class)
			switch {
			case same && c.True:
				hit = true
			case !c.True:
				t.wrong++
				r.wrong = append(r.wrong, fmt.Sprintf("%s (%s): %s", f.path, c.Class, f.title))
			default:
				r.extra = append(r.extra, fmt.Sprintf("%s (%s): %s", f.path, c.Class, f.title))
			}
		}
		switch {
		case !c.True:
			t.safe++
		case hit:
			t.weak++
			t.found++
			r.found = append(r.found, *c)
		default:
			t.weak++
			r.missed = append(r.missed, *c)
		}
	}
}

// ofFlow reports whether a weak case of a flow was found, and counts findings of its class where it only looks weak. Other
// findings say nothing of it: several cases of a flow may have one address.
func (r *result) ofFlow(c *web.Case, t *tally, findings []reported) (hit bool) {
	for _, f := range findings {
		if !c.At(f.at()) || !slices.Contains(web.FlowClasses[c.Class], f.cwe) && (f.cwe != 0 || f.class != c.Class) {
			continue
		}
		if hit = true; !c.True {
			t.wrong++
			r.wrong = append(r.wrong, fmt.Sprintf("%s (%s): %s", f.path, c.Class, f.title))
		}
	}
	return hit
}

// others are findings on a flow that are of none of its cases: to be judged by hand.
func (r *result) others(cases []web.Case, findings []reported) {
	for _, f := range findings {
		if !slices.ContainsFunc(cases, func(c web.Case) bool { return c.At(f.at()) && slices.Contains(web.FlowClasses[c.Class], f.cwe) }) {
			r.extra = append(r.extra, fmt.Sprintf("%s (CWE-%d): %s", f.path, f.cwe, f.title))
		}
	}
}

func (r *result) details() string {
	var b strings.Builder
	for _, c := range r.missed {
		fmt.Fprintf(&b, "missed\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Class, c.Sink, c.Filter, c.Source, c.Path, c.Proof)
	}
	for _, w := range r.wrong {
		fmt.Fprintf(&b, "false\t%s\n", w)
	}
	for _, w := range r.extra {
		fmt.Fprintf(&b, "extra\t%s\n", w)
	}
	return b.String()
}

func (r *result) print() {
	weak := len(r.found) + len(r.missed)
	if len(r.written) > 0 {
		fmt.Printf("%s on %s wrote %d files, such as %s\n", r.tester, r.stack, len(r.written), r.written[0])
	}
	fmt.Printf("%s on %s: %d of %d found, %d false, %d of other classes; %d requests, %.0f s, CPU %.1f s\n", r.tester, r.stack,
		len(r.found), weak, len(r.wrong), len(r.extra), r.requests, r.took.Seconds(), r.cpu.Seconds())
}

// table prints recall and false findings of each class, and what a weakness cost.
func table(kind string, all []*result) {
	var results []*result
	for _, r := range all {
		if r.flows == (kind == "flows") {
			results = append(results, r)
		}
	}
	testers, classes := []string{}, map[string]bool{}
	for _, r := range results {
		if !slices.Contains(testers, r.tester) {
			testers = append(testers, r.tester)
		}
		for class := range r.classes {
			classes[class] = true
		}
	}
	for _, tester := range testers {
		var sum tally
		var requests int64
		var cpu time.Duration
		fmt.Printf("\n%s, %s\n%-15s %6s %6s %7s %6s %6s\n", tester, kind, "class", "weak", "found", "recall", "safe", "false")
		line := func(name string, t tally) {
			fmt.Printf("%-15s %6d %6d %6.1f%% %6d %6d\n", name, t.weak, t.found, 100*float64(t.found)/float64(max(1, t.weak)), t.safe, t.wrong)
		}
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			var t tally
			for _, r := range results {
				if one := r.classes[class]; r.tester == tester && one != nil {
					t = tally{t.weak + one.weak, t.found + one.found, t.safe + one.safe, t.wrong + one.wrong}
				}
			}
			line(class, t)
			sum = tally{sum.weak + t.weak, sum.found + t.found, sum.safe + t.safe, sum.wrong + t.wrong}
		}
		for _, r := range results {
			if r.tester == tester {
				requests += r.requests
				cpu += r.cpu
			}
		}
		line("all", sum)
		fmt.Printf("%d requests, %.1f a weakness; CPU %.1f s, %.3f s a weakness\n", requests,
			float64(requests)/float64(max(1, sum.found)), cpu.Seconds(), cpu.Seconds()/float64(max(1, sum.found)))
	}
}

var address = regexp.MustCompile(`https?://[^\s,]+`)

// ofVedette reads findings as JSON lines.
func ofVedette(text []byte) (all []reported, err error) {
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var in struct {
			Title, Class, CWE, URL string
			Where                  []string
		}
		if err := json.Unmarshal(line, &in); err != nil {
			return nil, err
		}
		var cwe int
		_, _ = fmt.Sscanf(in.CWE, "CWE-%d", &cwe) // one without a number is of no class
		for _, text := range append(in.Where, in.URL) {
			if u, err := url.Parse(address.FindString(text)); err == nil && u.Host != "" {
				all = append(all, reported{cwe, classOf(cwe), plain(u.Path), cmp.Or(in.Title, in.Class), u.RawQuery})
			}
		}
	}
	return all, nil
}

// plain is a path as a server reads it: without parameters of its segments, and without segments that say nothing.
func plain(path string) string {
	return strings.ReplaceAll(parameters.ReplaceAllString(path, ""), "/./", "/")
}

var parameters = regexp.MustCompile(`;[^/]*`)

// classOf is the class of a CWE number.
func classOf(cwe int) string {
	for _, class := range slices.Sorted(maps.Keys(web.Classes)) {
		if slices.Contains(web.Classes[class], cwe) {
			return class
		}
	}
	return ""
}
