//go:build linux

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// hostileCase is a template of testdata/hostile that tries to take time or memory from everybody else. The name of
// its file is NAME.KIND; its first line is "# TIME BYTES STATE": what it may take, and how it ends.
type hostileCase struct {
	name, kind, source string

	time  time.Duration
	late  time.Duration // after the end of its context
	bytes int64         // of the whole process
	state string
}

// hostileEnd is how a case ended in its process.
type hostileEnd struct {
	State, Reason string
	Took, Late    time.Duration // Late: after the end of its context
	Bytes         int64
}

const (
	hostileVar   = "VEDETTE_HOSTILE_CASE"
	hostileSpace = 4 << 30                // bytes of address space, of which the runtime reserves some
	hostileLate  = 600 * time.Millisecond // 100 ms on a quiet machine
)

func (c *hostileCase) template() string {
	indent := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n          ") }
	head := "id: hostile\ninfo: {name: N, author: a, severity: low}\n"
	get := "http:\n  - path: ['{{BaseURL}}/" + c.kind + "']\n"
	switch c.kind {
	case "yaml":
		return c.source
	case "flow":
		return head + "flow: |\n          " + indent(c.source) + "\n" + get
	case "text":
		return head + "http:\n  - raw:\n      - |\n          GET /text?a=" + indent(c.source) +
			" HTTP/1.1\n          Host: {{Hostname}}\n\n    matchers: [{type: status, status: [200]}]\n"
	case "dsl", "regex":
		return head + get + "    matchers:\n      - type: " + c.kind + "\n        " + c.kind + ":\n        - |-\n          " +
			indent(c.source) + "\n"
	case "jq":
		return head + get + "    extractors:\n      - type: json\n        json:\n        - |-\n          " + indent(c.source) + "\n"
	default:
		return head + get + "    extractors:\n      - type: " + c.kind + "\n        " + c.kind + ":\n        - |-\n          " +
			indent(c.source) + "\n"
	}
}

// hostileCases reads the cases of all files. In a source, ⟨N⟩(TEXT) at a line's begin repeats a text.
func hostileCases(t *testing.T) (all []hostileCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/hostile/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			first, source, _ := strings.Cut(string(f.Data), "\n")
			c := hostileCase{source: source}
			c.name, c.kind, _ = strings.Cut(f.Name, ".")
			var took string
			var mib int64
			c.late = hostileLate
			if line, late, found := strings.Cut(first, " late="); found { // what cannot be stopped within
				first = line
				if c.late, err = time.ParseDuration(late); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := fmt.Sscanf(first, "# %s %dMiB %s", &took, &mib, &c.state); err != nil {
				t.Fatalf("%s: %s: %q: %v", file, f.Name, first, err)
			}
			if c.time, err = time.ParseDuration(took); err != nil {
				t.Fatal(err)
			}
			c.bytes = mib << 20
			c.name = strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + c.name
			c.source = expand(c.source)
			all = append(all, c)
		}
	}
	return all
}

// expand writes out REPEAT{n|text}.
func expand(s string) string {
	for {
		before, rest, found := strings.Cut(s, "REPEAT{")
		if !found {
			return s
		}
		inner, after, _ := strings.Cut(rest, "}REPEAT")
		var n int
		count, text, _ := strings.Cut(inner, "|")
		fmt.Sscan(count, &n)
		s = before + strings.Repeat(text, n) + after
	}
}

// A hostile template ends in its time and its memory, and its cell says how. Each runs in a process of its own, so
// that one which ends the process fails alone.
func TestHostileTemplates(t *testing.T) {
	if name := os.Getenv(hostileVar); name != "" {
		hostileChild(t, name)
		return
	}
	cases := hostileCases(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			end, err := hostileRun(c)
			if err != nil {
				t.Fatal(err)
			}
			if c.state == "ended" && (end.State == "tested" || end.State == "failed") {
				c.state = end.State // how fast the machine is decides
			}
			if end.State != c.state || end.Took > c.time || end.Late > c.late || end.Bytes > c.bytes {
				t.Errorf("%s (%s) after %v, %v late, with %d MiB; want %s after %v with %d MiB", end.State, end.Reason,
					end.Took, end.Late, end.Bytes>>20, c.state, c.time, c.bytes>>20)
			}
		})
	}
}

func hostileRun(c hostileCase) (end hostileEnd, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*c.time+30*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestHostileTemplates$")
	child.Env = append(os.Environ(), hostileVar+"="+c.name)
	out, err := child.CombinedOutput()
	if _, line, found := strings.Cut(string(out), "\nEND "); found {
		line, _, _ = strings.Cut(line, "\n")
		return end, json.Unmarshal([]byte(line), &end)
	}
	return end, fmt.Errorf("the process ended: %w: %.600s", err, out)
}

// hostileChild runs a case and prints its end.
func hostileChild(t *testing.T, name string) {
	limit := syscall.Rlimit{Cur: hostileSpace, Max: hostileSpace}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	for _, c := range hostileCases(t) {
		if c.name != name {
			continue
		}
		var end hostileEnd
		begin := time.Now()
		end.State, end.Reason = hostileScan(t, t.Context(), c)
		end.Took = time.Since(begin)
		if end.Took > 300*time.Millisecond {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			stop := context.AfterFunc(ctx, func() { begin = time.Now() })
			hostileScan(t, ctx, c)
			if !stop() {
				end.Late = time.Since(begin)
			}
		}
		end.Bytes = peak(t)
		data, err := json.Marshal(end)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\nEND %s\n", data)
	}
}

// peak is the most memory that this process had.
func peak(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// hostileBodies are what the site answers, by the kind of the case.
var hostileBodies = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"xpath": "<html><body>" + strings.Repeat("<div><p class='a'>words</p><b>b</b></div>", 3000) + "</body></html>",
		"jq":    `{"list":[` + strings.Repeat(`{"a":"words","n":12345},`, 5000) + `{}],"s":"` + strings.Repeat("a", 10_000) + `"}`,
		"regex": strings.Repeat("a", 2<<20),
		"dsl":   strings.Repeat("abc ", 64<<10),
		"text":  "yes",
		"flow":  "yes",
	}
})

func hostileScan(t *testing.T, ctx context.Context, c hostileCase) (state, reason string) {
	p, err := compile("hostile.yaml", []byte(c.template()))
	if err != nil {
		return "invalid", fmt.Sprintf("%.200s", err)
	}
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, hostileBodies()[strings.Trim(r.URL.Path, "/")])
	})
	e := newEngine(t, engine.Config{})
	report, err := e.Run(ctx, engine.Scan{Targets: []string{site}, Programs: []*program.Program{p}})
	if err != nil {
		return "error", err.Error()
	}
	for cell := range report.Cells() {
		return string(cell.State), cell.Reason
	}
	return "none", ""
}
