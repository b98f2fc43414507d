package install

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/provision"
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
	*provision.Work

	agent customagent.Agent
	env   map[string]string
}

// do looks for prerequisites, which also shows whether programs can be run here, and runs the commands.
func (w *work) do(ctx context.Context) error {
	look := append([]string{"/bin/sh", "-c", missing, "sh"}, w.agent.Prereqs...)
	got, err := w.Run(ctx, w.with(isolate.Command{Args: look}))
	if err != nil {
		return w.refusal(ctx, w.agent, err)
	}
	if names := strings.Fields(string(got.Stdout)); len(names) > 0 {
		return errs.New(errs.Conflict, "prerequisite_missing",
			"The agent %s requires programs that are not on this server: %s (prereq_packages).", w.agent.Name,
			strings.Join(names, ", "))
	}
	for i, text := range w.agent.Install {
		if err := w.command(ctx, w.Install, "install_commands", i, text); err != nil {
			return err
		}
	}
	for i, text := range w.agent.Verify {
		if err := w.command(ctx, w.Look, "verify_commands", i, text); err != nil {
			return err
		}
	}
	return nil
}

// command runs one command. Conflict says how it failed, with the end of its output.
func (w *work) command(
	ctx context.Context, run func(context.Context, isolate.Command, string) (*isolate.Result, error),
	field string, i int, text string,
) error {
	fmt.Fprintf(w, "$ %s\n", text)
	got, err := run(ctx, w.with(isolate.Command{Args: []string{"/bin/sh", "-c", there, "sh", text}}), folderThere)
	failed := func(how string) error {
		message := fmt.Sprintf("The agent %s could not be installed: %s[%d] %s.", w.agent.Name, field, i, how)
		if field == "install_commands" {
			message += w.Folders.NetworkNote()
		}
		return errs.New(errs.Conflict, "installation_failed", "%s", message+"\n"+w.tail())
	}
	switch {
	case provision.IsLimit(err):
		return failed("was ended: " + err.Error())
	case err != nil:
		return err
	case got.Code != 0:
		return failed(fmt.Sprintf("ended with the code %d", got.Code))
	}
	return nil
}

// with is a command with the agent's environment.
func (w *work) with(c isolate.Command) isolate.Command {
	c.Env = map[string]string{}
	maps.Copy(c.Env, w.env)
	c.Env["PATH"] = path
	return c
}

// tail is the end of the output, without secrets.
func (w *work) tail() string { return w.Tail(redact.New(w.env).Redact) }
