package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// reply is one scripted answer.
type reply struct {
	status int
	header [][2]string
	body   []byte
	gzip   bool
	drop   bool // close the connection without an answer
}

// script is a scripted site. Its text form is a list of replies:
//
//	> GET /path?query      the request; * for the method means any, * for the path all others
//	< 200                  the status; "< drop" closes the connection
//	< Name: value          a header; HOST stands for the site's host and port
//	the body, to the next line that begins with "> "; HOST as above,
//	!hex 00ff              a line of bytes
//	!gzip                  the body is sent compressed
type script struct {
	replies map[string]reply

	mu  sync.Mutex
	log []string // requests in order, canaries as "canary"
}

func parseScript(t *testing.T, text string) *script {
	t.Helper()
	s := &script{replies: map[string]reply{}}
	for _, part := range strings.Split("\n"+text, "\n> ")[1:] {
		lines := strings.Split(strings.TrimSuffix(part, "\n"), "\n")
		r := reply{status: 200}
		i := 1
		for ; i < len(lines) && strings.HasPrefix(lines[i], "< "); i++ {
			line := lines[i][2:]
			if n, err := strconv.Atoi(line); err == nil {
				r.status = n
			} else if line == "drop" {
				r.drop = true
			} else {
				name, value, _ := strings.Cut(line, ": ")
				r.header = append(r.header, [2]string{name, value})
			}
		}
		for j, line := range lines[i:] {
			if line == "!gzip" {
				r.gzip = true
				continue
			}
			if code, ok := strings.CutPrefix(line, "!hex "); ok {
				data, err := hex.DecodeString(code)
				if err != nil {
					t.Fatal(err)
				}
				r.body = append(r.body, data...)
				continue
			}
			if j > 0 && len(r.body) > 0 {
				r.body = append(r.body, '\n')
			}
			r.body = append(r.body, line...)
		}
		s.replies[lines[0]] = r
	}
	return s
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got reply
	found := false
	for _, key := range []string{r.Method + " " + r.RequestURI, "* " + r.RequestURI, r.Method + " *", "* *"} {
		if got, found = s.replies[key]; found {
			break
		}
	}
	if got.drop {
		panic(http.ErrAbortHandler) // not in the log: the transport may try it twice
	}
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.RequestURI)
	s.mu.Unlock()
	if !found {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	host := func(s string) string { return strings.ReplaceAll(s, "HOST", r.Host) }
	body := []byte(host(string(got.body)))
	for _, h := range got.header {
		w.Header().Add(h[0], host(h[1]))
	}
	if got.gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body)
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	w.WriteHeader(got.status)
	w.Write(body)
}

// case options, one a line in the comment of the archive; other lines are words.
type options struct {
	tls  bool
	path string
	vars map[string]string // and site, which is the site's host and port

	selfContained, globalMatchers, stopAtFirstMatch bool
}

func parseOptions(comment string) options {
	o := options{vars: map[string]string{}}
	for line := range strings.SplitSeq(comment, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "tls":
			o.tls = true
		case "path":
			o.path = value
		case "self-contained":
			o.selfContained = true
		case "global-matchers":
			o.globalMatchers = true
		case "stop-at-first-match":
			o.stopAtFirstMatch = true
		case "var":
			name, v, _ := strings.Cut(value, "=")
			o.vars[name] = v
		}
	}
	return o
}

// TestGolden runs every case of testdata: templates against a scripted site, and the
// events, cells and requests (or the refusal) that must come of it.
func TestGolden(t *testing.T) {
	eachCase(t, "testdata/*.txtar", golden)
}

// eachCase runs a test for each archive of testdata that a pattern names.
func eachCase(t *testing.T, pattern string, run func(t *testing.T, file string, archive *txtar.Archive)) {
	t.Helper()
	cases, err := filepath.Glob(pattern)
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run(t, file, archive)
		})
	}
}

func golden(t *testing.T, file string, archive *txtar.Archive) {
	t.Parallel()
	site := &script{}
	var scan engine.Scan
	var steps []*program.Program // that only workflows run; they come before those
	var refusals []string
	for _, f := range archive.Files {
		switch {
		case f.Name == "server":
			site = parseScript(t, string(f.Data))
		case strings.HasSuffix(f.Name, "-workflow.yaml"):
			scan.Workflows = append(scan.Workflows, compileWorkflow(t, f.Name, f.Data, steps))
		case strings.HasSuffix(f.Name, ".yaml"):
			p, err := compile(f.Name, f.Data)
			if err != nil {
				refusals = append(refusals, err.Error())
				continue
			}
			if strings.HasPrefix(f.Name, "steps/") {
				steps = append(steps, p)
			} else {
				scan.Programs = append(scan.Programs, p)
			}
		}
	}
	got := map[string][]string{"refused": refusals}
	if len(scan.Programs)+len(scan.Workflows) > 0 {
		runCase(t, parseOptions(string(archive.Comment)), site, scan, got)
	}
	checkCase(t, file, archive, got)
}

// compileWorkflow compiles a workflow over some programs, which it names by file or tag.
func compileWorkflow(t *testing.T, name string, data []byte, programs []*program.Program) *workflow.Workflow {
	t.Helper()
	template, err := syntax.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workflow.Compile(template, func(s syntax.Step) ([]*program.Program, error) {
		return slices.DeleteFunc(slices.Clone(programs), func(p *program.Program) bool {
			return p.Path != "steps/"+s.Template &&
				!slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(p.Info.Tags, tag) })
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func compile(name string, data []byte) (*program.Program, error) {
	template, err := syntax.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return program.Compile(template)
}

func runCase(t *testing.T, o options, site *script, scan engine.Scan, got map[string][]string) {
	server := httptest.NewUnstartedServer(site)
	server.Config.ErrorLog = quiet()
	if o.tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	host := strings.TrimPrefix(strings.TrimPrefix(server.URL, "https://"), "http://")
	e := engine.New(engine.Config{Timeout: time.Minute, PerHost: 2})
	defer e.Close()
	o.vars["site"] = host
	scan.Targets, scan.Vars = []string{server.URL + o.path}, o.vars
	scan.SelfContained, scan.GlobalMatchers, scan.StopAtFirstMatch = o.selfContained, o.globalMatchers, o.stopAtFirstMatch
	scan.OnEvent = func(ev engine.Event) { got["events"] = append(got["events"], steady(t, ev, host)) }
	report, err := e.Run(context.Background(), scan)
	if err != nil {
		t.Fatal(err)
	}
	for cell := range report.Cells() {
		got["cells"] = append(got["cells"],
			strings.TrimSpace(fmt.Sprintf("%s %s %s", cell.Template, cell.State, cell.Reason)))
	}
	canaries := map[string]bool{}
	for _, target := range report.Targets {
		for _, a := range target.Canary.Answers {
			canaries["GET "+a.Path] = true
		}
	}
	for _, line := range site.log {
		if !canaries[line] {
			got["requests"] = append(got["requests"], line)
		}
	}
	slices.Sort(got["events"])
	slices.Sort(got["requests"])
}

// steady is an event as JSON without what differs from run to run.
func steady(t *testing.T, ev engine.Event, host string) string {
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"timestamp", "ip", "port", "host", "info", "request", "response", "curl-command",
		"template-path", "type", "matcher-status"} {
		if _, ok := fields[name]; !ok && name != "curl-command" { // a request of bytes has no command
			t.Errorf("event without %s: %s", name, data)
		}
		delete(fields, name)
	}
	data, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), host, "HOST")
}

// checkCase compares each section of the archive with what came, or writes them.
func checkCase(t *testing.T, file string, archive *txtar.Archive, got map[string][]string) {
	sections := []string{"refused", "events", "cells", "requests"}
	if *update {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return slices.Contains(sections, f.Name) })
		for _, name := range sections {
			if len(got[name]) > 0 {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(strings.Join(got[name], "\n") + "\n")})
			}
		}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range sections {
		want := ""
		if i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name }); i >= 0 {
			want = string(archive.Files[i].Data)
		}
		have := strings.Join(got[name], "\n")
		if have != strings.TrimSuffix(want, "\n") {
			t.Errorf("%s\n got: %s\nwant: %s", name, have, want)
		}
	}
}
