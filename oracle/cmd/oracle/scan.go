package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/vedette-sec/vedette/oracle/event"
)

// execute runs a scanner. An exit code other than 0 is no error.
func execute(
	ctx context.Context, binary string, args ...string,
) (found []event.Event, stderr string, exit int, err error) {
	var stdout, messages bytes.Buffer
	run := exec.CommandContext(ctx, binary, args...)
	run.Stdout, run.Stderr = &stdout, &messages
	if err = run.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, "", 0, err
	}
	if err = event.Read(&stdout, func(e event.Event) { found = append(found, e) }); err != nil {
		err = fmt.Errorf("%w; stderr: %.300s", err, messages.String())
	}
	return found, messages.String(), run.ProcessState.ExitCode(), err
}

func withVars(args, vars []string) []string {
	for _, v := range vars {
		args = append(args, "-V", v)
	}
	return args
}

// exitUsage is vedette's exit code for invalid input, such as a template that it cannot run.
const exitUsage = 2

// scan runs vedette scan on the targets. trouble is its message about an unusable template.
func scan(
	ctx context.Context, binary, path string, targets, vars []string,
) (found []event.Event, trouble string, err error) {
	args := []string{"scan", "--jsonl", "--rate-limit", "0", "--timeout", "10", "--retries", "1", "-t", path, "-it", path}
	for _, target := range targets {
		args = append(args, "-u", target)
	}
	found, stderr, exit, err := execute(ctx, binary, withVars(args, vars)...)
	for line := range strings.SplitSeq(stderr, "\n") {
		if strings.HasPrefix(line, "not used: ") || strings.HasPrefix(line, "panic") || exit == exitUsage && line != "" {
			return found, line, err
		}
	}
	return found, "", err
}

func command(ctx context.Context, binary, path, target string, vars []string) ([]event.Event, error) {
	args := []string{"-duc", "-ni", "-jsonl", "-silent", "-nmhe", "-rl", "100000", "-c", "2", "-bs", "2", "-pc", "1",
		"-timeout", "10", "-retries", "1", "-lfa", "-t", path, "-u", target}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	found, _, exit, err := execute(ctx, binary, withVars(args, vars)...)
	if err == nil && exit != 0 {
		err = fmt.Errorf("nuclei: exit code %d", exit)
	}
	return found, err
}
