package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// path is where programs of an agent are found: in what it installed, then in the system.
const path = folderThere + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// there runs a command of a shell in the folder of an installation.
const there = `cd ` + folderThere + ` && exec /bin/sh -c "$1"`

// missing prints those of its arguments that are no programs.
const missing = `for name in "$@"; do command -v "$name" >/dev/null || echo "$name"; done`

// work is one installation.
type work struct {
	*Installs

	agent  customagent.Agent
	folder string
	env    map[string]string
	output []byte
}

var (
	errTooLarge = fmt.Errorf("the installation is larger than %d MB or has more than %d files", maxSize>>20, maxFiles)
	errClosed   = errors.New("the installation has a folder that cannot be read")
)

// do looks for prerequisites, which also shows whether programs can be run here, and runs the commands.
func (w *work) do(ctx context.Context) error {
	got, err := w.run(ctx, isolate.Command{Args: append([]string{"/bin/sh", "-c", missing, "sh"}, w.agent.Prereqs...)})
	if err != nil {
		return w.refusal(ctx, w.agent, err)
	}
	if names := strings.Fields(string(got.Stdout)); len(names) > 0 {
		return errs.New(errs.Conflict, "prerequisite_missing",
			"The agent %s requires programs that are not on this server: %s (prereq_packages).", w.agent.Name,
			strings.Join(names, ", "))
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.watch(inner, cancel)
	for i, text := range w.agent.Install {
		c := isolate.Command{Writable: map[string]string{folderThere: w.folder}, Dial: w.dial}
		if err := w.command(inner, c, "install_commands", i, text); err != nil {
			return err
		}
	}
	for i, text := range w.agent.Verify {
		c := isolate.Command{Folders: map[string]string{folderThere: w.folder}}
		if err := w.command(inner, c, "verify_commands", i, text); err != nil {
			return err
		}
	}
	return nil
}

// command runs one command. Conflict says how it failed, with the end of its output.
func (w *work) command(ctx context.Context, c isolate.Command, field string, i int, text string) error {
	c.Args = []string{"/bin/sh", "-c", there, "sh", text}
	fmt.Fprintf(w, "$ %s\n", text)
	got, err := w.run(ctx, c)
	if err == nil {
		_, _ = w.Write(got.Stdout)
		_, _ = w.Write(got.Stderr)
		err = measure(w.folder)
	}
	failed := func(how string) error {
		message := fmt.Sprintf("The agent %s could not be installed: %s[%d] %s.", w.agent.Name, field, i, how)
		if w.dial == nil && field == "install_commands" {
			message += " Installations have no network on this server: its operator has named no hosts for them (install_hosts)."
		}
		return errs.New(errs.Conflict, "installation_failed", "%s", message+"\n"+w.tail())
	}
	switch {
	case sandbox.IsLimit(err), errors.Is(err, errTooLarge), errors.Is(err, errClosed):
		return failed("was ended: " + err.Error())
	case err != nil:
		return err
	case got.Code != 0:
		return failed(fmt.Sprintf("ended with the code %d", got.Code))
	}
	return nil
}

// run runs a program with the agent's environment, when it is its turn.
func (w *work) run(ctx context.Context, c isolate.Command) (*isolate.Result, error) {
	c.Env = map[string]string{}
	maps.Copy(c.Env, w.env)
	c.Env["PATH"], c.Time = path, customagent.MostInstallTime
	return w.turn(ctx, c)
}

// turn runs a program when fewer than atOnce run.
func (s *Installs) turn(ctx context.Context, c isolate.Command) (*isolate.Result, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return isolate.Run(ctx, c)
}

// watch ends an installation that grows too large.
func (w *work) watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(sizeChecks)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := measure(w.folder); err != nil {
				end(err)
				return
			}
		}
	}
}

// measure fails when a folder is too large, or hides what it has.
func measure(folder string) error {
	size, files := int64(0), 0
	return filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it has gone meanwhile
		case err != nil:
			return errClosed
		}
		if info, err := e.Info(); err == nil {
			size += max(info.Size(), fileSize)
		}
		if files++; size > maxSize || files > maxFiles {
			return errTooLarge
		}
		return nil
	})
}

// Write keeps the end of what commands write.
func (w *work) Write(p []byte) (int, error) {
	w.output = append(w.output, p...)
	if over := len(w.output) - 4*maxOutput; over > 0 { // more than is shown, for a secret that lies across the cut
		w.output = bytes.Clone(w.output[over:])
	}
	return len(p), nil
}

// tail is the end of the output, without secrets.
func (w *work) tail() string {
	text := redact.New(w.env).Redact(strings.ToValidUTF8(strings.ReplaceAll(string(w.output), "\x00", "\uFFFD"), "\uFFFD"))
	if cut := len(text) - maxOutput; cut > 0 {
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		text = "…" + text[cut:]
	}
	return strings.TrimSpace(text)
}
