package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/vedette-sec/vedette/oracle/event"
	"github.com/vedette-sec/vedette/oracle/lab"
	"github.com/vedette-sec/vedette/oracle/original"
)

type row struct {
	name     string
	hosts    int
	requests int           // received by the server
	cpu      time.Duration // user and system, of the client
	memory   int64         // peak resident size, in bytes
	first    time.Duration // from the start to the first request
	wall     time.Duration
	findings event.Set
	lines    int // findings as printed, with repetitions
}

func (r row) rate() float64 { return float64(r.requests) / r.cpu.Seconds() }

func bench(ctx context.Context, flags *flag.FlagSet, args []string) error {
	b := &benchmark{}
	flags.StringVar(&b.ffuf, "ffuf", "ffuf", "ffuf's binary")
	repeat := flags.Int("repeat", 20, "runs of vedette on eight hosts")
	err := b.parse(flags, args)
	if err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp("", "oracle-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	if b.server, err = startNginx(ctx); err != nil {
		return err
	}
	defer b.server.stop()
	if err := b.choose(ctx, b.root); err != nil {
		return err
	}
	if err := b.scanners(ctx); err != nil {
		return err
	}
	if err := b.repeated(ctx, *repeat); err != nil {
		return err
	}
	return b.paths(ctx)
}

type benchmark struct {
	common
	ffuf    string
	server  *nginx
	scratch string
}

// unwanted are tags of templates that send very many requests or do harm; nuclei's ignore file excludes them too.
var unwanted = []string{"dos", "fuzz", "bruteforce", "local"}

// choose copies the HTTP templates that both programs load.
func (b *benchmark) choose(ctx context.Context, root string) error {
	engine, err := original.New(ctx, root)
	if err != nil {
		return err
	}
	paths, err := find(root, []string{""})
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, b.vedette, "templates", "validate", root).CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	bad := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\n") {
		name, _, _ := strings.Cut(line, ".yaml")
		bad[name+".yaml"] = true
	}
	count := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read, err := lab.Read(path)
		if err != nil || bad[path] || slices.ContainsFunc(unwanted, read.Tagged) {
			continue
		}
		if _, err := engine.Load(path, nil); err != nil {
			continue
		}
		if err := write(filepath.Join(b.scratch, "templates", strings.TrimPrefix(path, root)), text); err != nil {
			return err
		}
		count++
	}
	fmt.Printf("%d templates that both load, on nginx at 127.0.0.1 to 127.0.0.%d\n", count, maxHosts)
	return os.CopyFS(filepath.Join(b.scratch, "templates", "helpers"), os.DirFS(filepath.Join(root, "helpers")))
}

// run measures one command, which prints events as JSON lines.
func (b *benchmark) run(ctx context.Context, name string, hosts int, binary string, args ...string) (row, error) {
	r := row{name: name, hosts: hosts, findings: event.Set{}}
	if err := b.server.forget(); err != nil {
		return r, err
	}
	output, err := os.Create(filepath.Join(b.scratch, "output"))
	if err != nil {
		return r, err
	}
	defer output.Close()
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdout = output
	command.Env = append(os.Environ(), "HOME="+b.scratch, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=")
	started := time.Now()
	if err := command.Start(); err != nil {
		return r, err
	}
	peak := make(chan int64)
	ended := make(chan struct{})
	go func() { peak <- watch(command.Process.Pid, ended) }()
	err = command.Wait()
	r.wall = time.Since(started)
	close(ended)
	r.memory = <-peak
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	r.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	var first time.Time
	if r.requests, first, err = b.server.log(); err != nil {
		return r, err
	}
	r.first = first.Sub(started)
	if _, err := output.Seek(0, 0); err != nil {
		return r, err
	}
	if strings.Contains(name, "ffuf") {
		return r, nil
	}
	return r, event.Read(output, func(e event.Event) { r.findings.Add(e); r.lines++ })
}

// watch returns the peak resident size of a process, in bytes. The figure of wait4 would include the
// size of this program before exec.
func watch(pid int, ended <-chan struct{}) (peak int64) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			if m := highWater.FindSubmatch(status); m != nil {
				kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
				peak = max(peak, kib<<10)
			}
		}
		select {
		case <-ended:
			return peak
		case <-ticker.C:
		}
	}
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

func (b *benchmark) scan(ctx context.Context, name string, n int, binary string, args ...string) (row, error) {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "http://%s\n", b.server.host(i))
	}
	path := filepath.Join(b.scratch, fmt.Sprintf("hosts-%d", n))
	if err := os.WriteFile(path, []byte(list.String()), 0o644); err != nil {
		return row{}, err
	}
	return b.run(ctx, name, n, binary, append(args, "-silent", "-t", filepath.Join(b.scratch, "templates"), "-l", path)...)
}

func (b *benchmark) ours(ctx context.Context, name string, hosts int) (row, error) {
	return b.scan(ctx, name, hosts, b.vedette, "scan", "--jsonl", "--rate-limit", "0")
}

func (b *benchmark) theirs(ctx context.Context, hosts int) (row, error) {
	return b.scan(ctx, "nuclei", hosts, b.nuclei, "-duc", "-ni", "-jsonl", "-rl", "100000")
}

func (b *benchmark) scanners(ctx context.Context) error {
	cold, err := b.ours(ctx, "vedette, first start", 1)
	if err != nil {
		return err
	}
	rows := []row{cold}
	for _, hosts := range []int{1, maxHosts} {
		v, err := b.ours(ctx, "vedette", hosts)
		if err != nil {
			return err
		}
		n, err := b.theirs(ctx, hosts)
		if err != nil {
			return err
		}
		rows = append(rows, v, n)
	}
	table(rows)
	for i := 1; i+1 < len(rows); i += 2 {
		v, n := rows[i], rows[i+1]
		fmt.Printf("%d host(s): requests per CPU-second %.1f ×, memory 1/%.1f, time to the first request 1/%.1f, wall time 1/%.1f, findings %d to %d\n",
			v.hosts, v.rate()/n.rate(), float64(n.memory)/float64(v.memory), n.first.Seconds()/v.first.Seconds(),
			n.wall.Seconds()/v.wall.Seconds(), len(v.findings), len(n.findings))
	}
	fmt.Printf("eight hosts against eight times one: vedette %d of %d, nuclei %d of %d\n\n", rows[3].lines,
		maxHosts*rows[1].lines, rows[4].lines, maxHosts*rows[2].lines)
	return nil
}

// repeated runs vedette many times on eight hosts; every run must find eight times the findings of one host.
func (b *benchmark) repeated(ctx context.Context, times int) error {
	one, err := b.ours(ctx, "vedette", 1)
	if err != nil {
		return err
	}
	good := 0
	for range times {
		r, err := b.ours(ctx, "vedette", maxHosts)
		if err != nil {
			return err
		}
		if r.lines == maxHosts*one.lines && len(r.findings) == maxHosts*len(one.findings) {
			good++
		} else {
			fmt.Printf("a run found %d, eight times one is %d\n", r.lines, maxHosts*one.lines)
		}
	}
	fmt.Printf("%d of %d runs on eight hosts found eight times %d\n\n", good, times, one.lines)
	return nil
}

const manyPaths = 20000

func (b *benchmark) paths(ctx context.Context) error {
	var list strings.Builder
	for i := range manyPaths - len(files) {
		fmt.Fprintf(&list, "%s/%s%d.html\n", []string{"admin", "app", "static/js", "old"}[i%4],
			[]string{"page", "index", "backup", "x"}[i%3], i)
	}
	for name := range files {
		list.WriteString(name + "\n")
	}
	words := filepath.Join(b.scratch, "paths.txt")
	template := filepath.Join(b.scratch, "paths.yaml")
	err := errors.Join(write(words, []byte(list.String())), write(template, []byte(pathsTemplate)))
	if err != nil {
		return err
	}
	base := "http://" + b.server.host(0)
	f, err := b.run(ctx, "ffuf", 1, b.ffuf, "-w", words, "-u", base+"/FUZZ", "-mc", "200", "-t", "40", "-s")
	if err != nil {
		return err
	}
	v, err := b.run(ctx, "vedette, the same paths", 1, b.vedette, "scan", "--jsonl", "--silent", "--rate-limit", "0", "-t",
		template, "-u", base)
	if err != nil {
		return err
	}
	table([]row{v, f})
	fmt.Printf("requests per CPU-second against ffuf: %.2f ×\n", v.rate()/f.rate())
	return nil
}

const pathsTemplate = `id: paths
info: {name: A list of paths, author: oracle, severity: info}
http:
  - method: GET
    path: ["{{BaseURL}}/{{path}}"]
    payloads:
      path: paths.txt
    threads: 40
    matchers:
      - type: status
        status: [200]
`

func table(rows []row) {
	t := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "program\thosts\trequests\tCPU s\trequests/CPU s\tMiB\tfirst request s\twall s\tfindings\tdistinct\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t%d\t%d\t\n", r.name, r.hosts, r.requests, r.cpu.Seconds(),
			r.rate(),
			float64(r.memory)/(1<<20), r.first.Seconds(), r.wall.Seconds(), r.lines, len(r.findings))
	}
	_ = t.Flush() // a failed write to stdout is ignored
}
