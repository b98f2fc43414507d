package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// measured is what one run cost.
type measured struct {
	cpu, wall time.Duration
	memory    int64 // peak resident size of the program and those that it started, in bytes
	lines     int
}

// groups are what is measured together: names of families, and the numbers of hosts.
var groups = []struct {
	name  string
	parts []string
	hosts []int
}{{"tcp,ssl,dns", []string{"tcp", "ssl", "dns"}, []int{1, 50}}, {"javascript", []string{"javascript"}, []int{1, 50}},
	{"headless", []string{"headless"}, []int{1, 8}}}

// bench measures our templates of each group on addresses of the loopback. A check is a template on a target.
func (r *run) bench(ctx context.Context, only string) error {
	fmt.Println("program templates hosts checks CPU-s checks/CPU-s MiB wall-s findings")
	for _, g := range groups {
		if only != "" && only != g.name {
			continue
		}
		for _, hosts := range g.hosts {
			if err := r.group(ctx, g.name, g.parts, hosts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) group(ctx context.Context, name string, parts []string, hosts int) error {
	f, checks := family{name: name}, 0
	for _, part := range parts {
		f.templates = append(f.templates, filepath.Join(r.own, part))
	}
	paths, err := f.files()
	if err != nil {
		return err
	}
	for i := range hosts {
		host := fmt.Sprintf("127.0.0.%d", i+1)
		if name == "headless" {
			host = "http://" + host + ":8088"
		}
		f.targets = append(f.targets, host)
	}
	if name == "headless" {
		f.flags, f.theirs = []string{"-headless"}, []string{"-system-chrome"}
	}
	checks = len(paths) * hosts
	theirs := append([]string{"-duc", "-ni", "-jsonl", "-silent", "-rl", "100000", "-timeout", "5", "-lfa"}, f.theirs...)
	ours := []string{"scan", "--jsonl", "--silent", "--rate-limit", "0", "--timeout", "5", "-lfa"}
	v, err := r.measure(ctx, r.vedette, f, append(ours, f.flags...))
	if err != nil {
		return err
	}
	n, err := r.measure(ctx, r.nuclei, f, append(theirs, f.flags...))
	if err != nil {
		return err
	}
	for program, m := range map[string]measured{"vedette": v, "nuclei": n} {
		fmt.Printf("%s %s %d %d %.2f %.0f %.0f %.1f %d\n", program, name, hosts, checks, m.cpu.Seconds(),
			float64(checks)/m.cpu.Seconds(), float64(m.memory)/(1<<20), m.wall.Seconds(), m.lines)
	}
	fmt.Printf("%s on %d host(s): checks per CPU-second %.1f ×, memory 1/%.1f\n", name, hosts,
		n.cpu.Seconds()/v.cpu.Seconds(), float64(n.memory)/float64(v.memory))
	return nil
}

func (r *run) measure(ctx context.Context, binary string, f family, args []string) (m measured, err error) {
	if args, err = r.arguments(f, args, f.templates); err != nil {
		return m, err
	}
	path := filepath.Join(r.scratch, "output")
	output, err := os.Create(path)
	if err != nil {
		return m, err
	}
	defer output.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdout = output
	started := time.Now()
	if err := command.Start(); err != nil {
		return m, err
	}
	ended, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watch(command.Process.Pid, ended) }()
	err = command.Wait()
	m.wall = time.Since(started)
	close(ended)
	m.memory = <-peak
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return m, err
	}
	m.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	text, err := os.ReadFile(path)
	m.lines = strings.Count(string(text), "\n")
	return m, err
}

// watch returns the peak of the resident size of a process and its descendants.
func watch(pid int, ended <-chan struct{}) (peak int64) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		peak = max(peak, resident(pid))
		select {
		case <-ended:
			return peak
		case <-ticker.C:
		}
	}
}

func resident(root int) (sum int64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	parents, sizes := map[int]int{}, map[int]int64{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name in brackets may have blanks
		if fields := strings.Fields(rest); len(fields) > 21 {
			parents[pid], _ = strconv.Atoi(fields[1])
			pages, _ := strconv.ParseInt(fields[21], 10, 64)
			sizes[pid] = pages * int64(os.Getpagesize())
		}
	}
	for pid, size := range sizes {
		for p := pid; p > 1; p = parents[p] {
			if p == root {
				sum += size
				break
			}
		}
	}
	return sum
}
