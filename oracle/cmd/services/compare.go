package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/oracle/event"
)

// noTemplate is in what vedette says when it has nothing to run.
const noTemplate = "there is no template to run"

// exitUsage is the exit code of vedette, and of a panic, for what it cannot run.
const exitUsage = 2

// patience is the time limit for one program on one family.
const patience = 9 * time.Minute

var identity = regexp.MustCompile(`(?m)^id: *["']?([^\s"'#]+)`)

// templates are the files of a family, by their ids.
func (f family) files() (map[string]string, error) {
	found := map[string]string{}
	for _, folder := range f.templates {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			text, err := os.ReadFile(path)
			if m := identity.FindSubmatch(text); m != nil {
				found[string(m[1])] = path
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// compare runs both programs on the templates of a family, prints the differences and counts the templates.
func (r *run) compare(ctx context.Context, f family) (all, same int, err error) {
	paths, err := f.files()
	if err != nil {
		return 0, 0, err
	}
	theirs, err := r.theirs(ctx, f, f.templates)
	if err != nil {
		return 0, 0, err
	}
	ours, err := r.ours(ctx, f, f.templates)
	if err != nil {
		return 0, 0, err
	}
	found, lines := 0, []string{}
	for id, path := range paths {
		a, b := of(theirs, id), of(ours, id)
		if len(a) > 0 {
			found++
		}
		if !equal(a, b) { // once more, alone: servers and the machine have moods
			again, err := r.theirs(ctx, f, []string{path})
			if err != nil {
				return 0, 0, err
			}
			mine, err := r.ours(ctx, f, []string{path})
			if err != nil {
				return 0, 0, err
			}
			a, b = of(again, id), of(mine, id)
		}
		if equal(a, b) {
			same++
			continue
		}
		for _, e := range a.Minus(b) {
			lines = append(lines, fmt.Sprintf("  %s: only nuclei: %s", id, text(e)))
		}
		for _, e := range b.Minus(a) {
			lines = append(lines, fmt.Sprintf("  %s: only vedette: %s", id, text(e)))
		}
	}
	fmt.Printf("%-10s %d of %d templates agree; nuclei found something with %d\n", f.name, same, len(paths), found)
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	return len(paths), same, nil
}

func equal(a, b event.Set) bool { return len(a.Minus(b)) == 0 && len(b.Minus(a)) == 0 }

func of(events []event.Event, id string) event.Set {
	set := event.Set{}
	for _, e := range events {
		if e.Template == id {
			set.Add(e)
		}
	}
	return set
}

func text(e event.Event) string {
	return fmt.Sprintf("%.300q", []string{e.Matcher, e.Extractor, strings.Join(e.Extracted, ","), e.At, e.Host, e.Port})
}

func (r *run) theirs(ctx context.Context, f family, templates []string) ([]event.Event, error) {
	args := []string{"-duc", "-ni", "-jsonl", "-silent", "-nmhe", "-rl", "100000", "-pc", "1", "-timeout", "5",
		"-retries", "1", "-lfa"}
	return r.execute(ctx, r.nuclei, f, append(append(args, f.theirs...), f.flags...), templates)
}

func (r *run) ours(ctx context.Context, f family, templates []string) ([]event.Event, error) {
	args := []string{"scan", "--jsonl", "--silent", "--rate-limit", "0", "--timeout", "5", "--retries", "1", "-lfa"}
	return r.execute(ctx, r.vedette, f, append(args, f.flags...), templates)
}

// arguments adds templates, targets and the resolver.
func (r *run) arguments(f family, args, templates []string) ([]string, error) {
	list, resolvers := filepath.Join(r.scratch, "targets"), filepath.Join(r.scratch, "resolvers")
	if err := errors.Join(os.WriteFile(list, []byte(strings.Join(f.targets, "\n")+"\n"), 0o644),
		os.WriteFile(resolvers, []byte("127.0.0.1:53\n"), 0o644)); err != nil {
		return nil, err
	}
	args = append(slices.Clone(args), "-l", list, "-resolvers", resolvers)
	for _, t := range templates {
		args = append(args, "-t", t)
	}
	return args, nil
}

func (r *run) execute(ctx context.Context, binary string, f family, args, templates []string) ([]event.Event, error) {
	args, err := r.arguments(f, args, templates)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdout, command.Stderr, command.WaitDelay = &stdout, &stderr, time.Second
	command.Dir = r.scratch                                   // screenshots are written into the working folder
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a browser may outlive the program that started it
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err = command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	if ctx.Err() != nil {
		fmt.Printf("%s was ended after %s; what it had not found is tried again, one template at a time\n",
			filepath.Base(binary), patience)
	}
	if r.say {
		fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(binary), stderr.String())
	}
	var found []event.Event
	err = event.Read(&stdout, func(e event.Event) { found = append(found, e) })
	isNone := strings.Contains(stderr.String(), noTemplate) // one that is run alone, and by its tags is not run unasked
	if err == nil && command.ProcessState.ExitCode() == exitUsage && !isNone {
		err = fmt.Errorf("%s: exit code %d: %.500s", binary, command.ProcessState.ExitCode(), stderr.String())
	}
	return found, err
}
