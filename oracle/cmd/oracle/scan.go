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

// exitUsage is vedette's exit code for invalid input, such as a template that it cannot run.
const exitUsage = 2

// scan runs vedette scan on the targets. trouble is its message about an unusable template.
func scan(ctx context.Context, binary, path string, targets, vars []string) (found []event.Event, trouble string, err error) {
	args := []string{"scan", "--jsonl", "--rate-limit", "0", "--timeout", "10", "--retries", "1", "-t", path, "-it", path}
	for _, target := range targets {
		args = append(args, "-u", target)
	}
	for _, v := range vars {
		args = append(args, "-V", v)
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	for line := range strings.SplitSeq(stderr.String(), "\n") {
		if strings.HasPrefix(line, "not used: ") || strings.HasPrefix(line, "panic") || exit != nil && exit.ExitCode() == exitUsage && line != "" {
			trouble = line
			break
		}
	}
	if err := event.Read(&stdout, func(e event.Event) { found = append(found, e) }); err != nil {
		return nil, "", fmt.Errorf("%w; stderr: %.300s", err, stderr.String())
	}
	return found, trouble, nil
}

// command runs nuclei as a command.
func command(ctx context.Context, binary, path, target string, vars []string) (found []event.Event, err error) {
	args := []string{"-duc", "-ni", "-jsonl", "-silent", "-nmhe", "-rl", "100000", "-c", "2", "-bs", "2", "-pc", "1", "-timeout", "10", "-retries", "1", "-lfa", "-t", path, "-u", target}
	for _, v := range vars {
		args = append(args, "-V", v)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var stdout bytes.Buffer
	run := exec.CommandContext(ctx, binary, args...)
	run.Stdout = &stdout
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("nuclei: %w", err)
	}
	return found, event.Read(&stdout, func(e event.Event) { found = append(found, e) })
}
