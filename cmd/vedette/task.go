package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func newTask() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task INSTRUCTION", Short: "Hand a task to a server and follow it to its end", Args: cobra.ExactArgs(1),
		Example: `  export VEDETTE_API_KEY=svc_sk_…
  vedette task "check the security headers of https://example.com"
  vedette task "test https://staging.example.com, log in as ann with the password …" --level active
  vedette task "find exposed panels on 10.0.0.0/28" --server https://vedette.internal -o json`,
	}
	server := client.ServerFlag(cmd)
	delivery := cmd.Flags().String("completion-delivery", "", "webhook or artifact")
	level := cmd.Flags().String("level", "", "how far tests may go: passive, safe, active (web tests write test data) or "+
		"intrusive (nothing needs approval) (default safe)")
	failOn := cmd.Flags().String("fail-on", "", "exit with 6 when there is a finding of this severity or worse")
	output := cli.OutputFlag(cmd)
	cli.Values(cmd, "completion-delivery", "webhook", "artifact")
	cli.Values(cmd, "level", "passive", "safe", "active", "intrusive")
	cli.Values(cmd, "fail-on", cli.Severities...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkSeverity(*failOn); err != nil {
			return err
		}
		// Flags would show the key to every process.
		c := client.FromEnvironment(*server)
		if c.Key == "" && c.JWT == "" {
			return cli.Exit{Code: cli.ExitAuth, Err: errors.New("put your API key into VEDETTE_API_KEY")}
		}
		asked := client.Task{Instruction: args[0], Delivery: *delivery}
		if *level != "" {
			asked.Scope = &client.TaskScope{Intrusiveness: *level}
		}
		detail, err := follow(cmd.Context(), c, asked, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if err := printDetail(cmd.OutOrStdout(), *output, detail); err != nil {
			return err
		}
		return detail.exit(*failOn)
	}
	return cmd
}

// detail is the used part of GET /api/v1/tasks/{id}.
type detail struct {
	raw    json.RawMessage
	budget bool // a step ran out of time
	reach  reach
	Task   struct {
		ID, Status, Summary string
	}
	Issues []issue
}

type issue struct {
	ID, Title, Severity, Remediation string
	MatchedAt                        string `json:"matched_at"`
	TemplateID                       string `json:"template_id"`
	Evidence                         []struct{ Kind, Request, Response string }
}

// exit is the exit code of a task.
func (d detail) exit(failOn string) error {
	if d.Task.Status != "completed" {
		return cli.Silent(cli.ExitError)
	}
	for _, i := range d.Issues {
		if failOn != "" && cli.SeverityRank(i.Severity) <= cli.SeverityRank(failOn) {
			return cli.Silent(cli.ExitFindings)
		}
	}
	switch {
	case d.budget:
		return cli.Silent(cli.ExitBudget)
	case len(d.reach.refused) > 0 && len(d.reach.refused) >= d.reach.targets:
		return cli.Silent(cli.ExitOutOfScope)
	case len(d.reach.refused) > 0:
		return cli.Silent(cli.ExitPartial)
	}
	return nil
}

// reach counts the targets that the planner probes first, and those that the scope denies.
type reach struct {
	probing bool
	targets int
	refused map[string]bool // by host, with its port if it has one
}

func (r *reach) observe(e client.Event) {
	var data struct {
		Tool, Place string
		Total       int
	}
	_ = json.Unmarshal(e.Data, &data) // other data says nothing about targets
	switch {
	case data.Tool == "probe":
		r.probing, r.targets = e.Type != "step-finished", max(r.targets, data.Total)
	case e.Type == "denied" && r.probing:
		host := data.Place
		if u, err := url.Parse(host); err == nil && u.Host != "" {
			host = u.Host
		}
		if r.refused == nil {
			r.refused = map[string]bool{}
		}
		r.refused[host] = true
	}
}

// follow runs a task on a server, shows its progress, and returns the finished task. When ctx ends, it stops the task.
func follow(ctx context.Context, c client.Client, t client.Task, stderr io.Writer) (detail, error) {
	var d detail
	events, err := c.CreateTask(ctx, t)
	if err != nil {
		return d, err
	}
	progress := newProgress(stderr)
	defer progress.Close()
	id := ""
	for e, err := range events {
		if err != nil {
			if ctx.Err() != nil && id != "" {
				stop(c, id)
				err = cli.Exit{Code: cli.ExitInterrupted, Err: fmt.Errorf("interrupted; task %s is stopped", id)}
			}
			return d, err
		}
		id = e.TaskID
		d.budget = d.budget || outOfTime(e)
		d.reach.observe(e)
		progress.print(e)
	}
	progress.Close()
	err = c.Call(ctx, "GET", "/api/v1/tasks/"+id, nil, &d.raw)
	if err == nil {
		err = json.Unmarshal(d.raw, &d)
	}
	return d, err
}

// outOfTime reports whether a step was skipped or ended for lack of time.
func outOfTime(e client.Event) bool {
	var step struct{ Status string }
	return e.Type == "step-finished" && json.Unmarshal(e.Data, &step) == nil &&
		(step.Status == "timeout" || step.Status == "skipped")
}

func stop(c client.Client, id string) {
	var answer json.RawMessage
	_ = c.Call(context.Background(), "POST", "/api/v1/tasks/"+id+"/abort", nil, &answer) // the process ends in any case
}

func printDetail(w io.Writer, output string, d detail) error {
	if output == "json" {
		_, err := fmt.Fprintf(w, "%s\n", d.raw)
		return err
	}
	worst := slices.Clone(d.Issues) // the worst first; among equals, as they were found
	slices.SortStableFunc(worst, func(a, b issue) int {
		return cli.SeverityRank(a.Severity) - cli.SeverityRank(b.Severity)
	})
	for _, i := range worst {
		fmt.Fprintf(w, "%-8s  %s\n          %s\n", i.Severity, cli.Printable(i.Title), cli.Printable(i.MatchedAt))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", cli.Printable(d.Task.Summary))
	return err
}

func checkSeverity(s string) error {
	if s != "" && cli.SeverityRank(s) == len(cli.Severities) {
		return cli.Usage(errs.Field("fail-on", "--fail-on must be one of %s.", strings.Join(cli.Severities, ", ")))
	}
	return nil
}
