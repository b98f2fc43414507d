//go:build linux

package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
)

// hostileCase is a template of testdata/hostile that tries to take time or memory from everybody else. The name of
// its file is NAME.KIND; its first line is "# TIME BYTES STATE": what it may take, and how it ends. Behind that may
// stand late=TIME, target=SERVICE (of hostileServices; the site without it), requests=N of the scan, and compute=TIME
// of a script that uses all the time that it gets: a bound below that of servers costs less, and flow/endless has theirs.
type hostileCase struct {
	name, kind, source string

	time     time.Duration
	late     time.Duration // after the end of its context
	bytes    int64         // of the whole process
	state    string
	target   string
	requests int
	compute  time.Duration // 0: as on a server
}

// hostileEnd is how a case ended in its process.
type hostileEnd struct {
	State, Reason string
	Took, Late    time.Duration // Late: after the end of its context; both without what the machine kept it waiting
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
	case "http", "tcp", "ssl", "dns", "websocket", "whois", "file", "workflows":
		return head + c.kind + ":\n" + c.source
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
			first = expand(first)
			c := hostileCase{source: source}
			c.name, c.kind, _ = strings.Cut(f.Name, ".")
			var took string
			var mib int64
			c.late = hostileLate
			for i, field := range strings.Fields(first) {
				key, value, found := strings.Cut(field, "=")
				switch {
				case !found || i < 4:
				case key == "compute":
					if c.compute, err = time.ParseDuration(value); err != nil {
						t.Fatal(err)
					}
				case key == "late": // what cannot be stopped within
					if c.late, err = time.ParseDuration(value); err != nil {
						t.Fatal(err)
					}
				case key == "target":
					c.target = value
				case key == "requests":
					fmt.Sscan(value, &c.requests)
				default:
					t.Fatalf("%s: %s: %s", file, f.Name, field)
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

// hostileTries is how often a case may take too long, or too much before whoever watches its memory has had a processor:
// other packages are tested on the same ones. What it does is the same each time.
const hostileTries = 3

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
			t.Parallel()
			var end hostileEnd
			for range hostileTries {
				var err error
				if end, err = hostileRun(c); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				if end.Took <= c.time && end.Late <= c.late && end.Bytes <= c.bytes {
					break
				}
			}
			t.Logf("%s: %s (%s) after %v, %v late, with %d MiB", c.name, end.State, end.Reason, end.Took, end.Late, end.Bytes>>20)
			if c.state == "ended" && (end.State == "tested" || end.State == "failed") {
				c.state = end.State // how fast the machine is decides
			}
			if end.State != c.state || end.Took > c.time || end.Late > c.late || end.Bytes > c.bytes {
				t.Errorf("%s: %s (%s) after %v, %v late, with %d MiB; want %s after %v with %d MiB", c.name, end.State, end.Reason,
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
		c.source = expand(c.source)
		services := hostileServices(t, c)
		begin, before := time.Now(), kept(t)
		end.State, end.Reason = hostileScan(t, t.Context(), c, services)
		end.Took = since(begin, before, kept(t))
		if end.Took > 300*time.Millisecond {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			over := make(chan time.Time, 1)
			stop := context.AfterFunc(ctx, func() {
				before = kept(t)
				over <- time.Now()
			})
			hostileScan(t, ctx, c, services)
			if returned := time.Now(); !stop() {
				end.Late = max(returned.Sub(<-over)-waitedSince(before, kept(t)), 0)
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

// onCPU is how long a thread has run, and how long it has waited for a processor although it had work.
type onCPU struct{ ran, waited time.Duration }

// kept is that of each thread of this process.
func kept(t *testing.T) map[string]onCPU {
	threads, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]onCPU{}
	for _, file := range threads {
		var c onCPU
		if data, err := os.ReadFile(file); err == nil { // a thread may end, and not every system counts
			_, _ = fmt.Sscan(string(data), (*int64)(&c.ran), (*int64)(&c.waited))
			out[file] = c
		}
	}
	return out
}

// waitedSince is how long a busy machine has kept this process waiting: the most of any thread's.
func waitedSince(before, after map[string]onCPU) (most time.Duration) {
	for file, now := range after {
		most = max(most, now.waited-before[file].waited)
	}
	return most
}

// since is how long this process would have taken on a quiet machine: the time without what its threads have waited, as
// each of them may be the one that computes in turn. They may have waited at the same time, so that it is at least half
// of what they have run: two at a time, one of which collects garbage.
func since(begin time.Time, before, after map[string]onCPU) time.Duration {
	var ran, waited time.Duration
	for file, now := range after {
		ran, waited = ran+now.ran-before[file].ran, waited+now.waited-before[file].waited
	}
	return max(time.Since(begin)-waited, ran/2)
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

func hostileScan(
	t *testing.T, ctx context.Context, c hostileCase, services map[string]string,
) (state, reason string) {
	scan := engine.Scan{MaxRequests: c.requests}
	target := cmp.Or(c.target, "SITE")
	for name, address := range services {
		target = strings.ReplaceAll(target, name, address)
		c.source = strings.ReplaceAll(c.source, "http://"+name+"/", "http://"+address+"/")
	}
	scan.Vars, scan.Targets = services, []string{target}
	template, err := syntax.Parse("hostile.yaml", []byte(c.template()))
	if err != nil {
		return "invalid", fmt.Sprintf("%.200s", err)
	}
	if c.kind == "workflows" {
		step := found(t, "step", "/step")
		w, err := workflow.Compile(template, func(syntax.Step) ([]*program.Program, error) {
			return []*program.Program{step}, nil
		})
		if err != nil {
			return "invalid", fmt.Sprintf("%.200s", err)
		}
		scan.Workflows = []*workflow.Workflow{w}
	} else {
		p, err := program.Compile(template)
		if err != nil {
			return "invalid", fmt.Sprintf("%.200s", err)
		}
		scan.Programs = []*program.Program{p}
	}
	e := newEngine(t, engine.Config{Files: c.kind == "file", Timeout: 5 * time.Second, Compute: c.compute,
		Resolvers: []string{services["DNS"]}})
	report, err := e.Run(ctx, scan)
	if err != nil {
		return "error", err.Error()
	}
	for cell := range report.Cells() {
		return string(cell.State), cell.Reason
	}
	return "none", ""
}
