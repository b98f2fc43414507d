package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func newTask() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task INSTRUCTION", Short: "Hand a task to a server and follow it to its end", Args: cobra.ExactArgs(1),
		Example: `  export VEDETTE_API_KEY=svc_sk_…
  vedette task "check the security headers of https://example.com"
  vedette task "find exposed panels on 10.0.0.0/28" --server https://vedette.internal -o json`,
	}
	server := cmd.Flags().String("server", cmp.Or(os.Getenv("VEDETTE_SERVER"), "http://127.0.0.1:8080"), "the server (VEDETTE_SERVER)")
	delivery := cmd.Flags().String("completion-delivery", "", "webhook or artifact")
	failOn := cmd.Flags().String("fail-on", "", "exit with 6 when there is a finding of this severity or worse")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkSeverity(*failOn); err != nil {
			return err
		}
		// The key comes from the environment only: a flag would show it to every process.
		c := client{base: *server, key: os.Getenv("VEDETTE_API_KEY"), jwt: os.Getenv("VEDETTE_TOKEN")}
		if c.key == "" && c.jwt == "" {
			return cli.Exit{Code: cli.ExitAuth, Err: errors.New("put your API key into VEDETTE_API_KEY")}
		}
		detail, err := follow(cmd.Context(), c, args[0], *delivery, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if err := printDetail(cmd.OutOrStdout(), *output, detail); err != nil {
			return err
		}
		return detail.verdict(*failOn)
	}
	return cmd
}

// detail is what the commands need of GET /api/v1/tasks/{id}.
type detail struct {
	raw    json.RawMessage
	budget bool // the time it was given was used up before everything was done
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

// verdict is the exit code of a task.
func (d detail) verdict(failOn string) error {
	if d.Task.Status != "completed" {
		return cli.Silent{Code: cli.ExitError}
	}
	for _, i := range d.Issues {
		if failOn != "" && cli.SeverityRank(i.Severity) <= cli.SeverityRank(failOn) {
			return cli.Silent{Code: cli.ExitFindings}
		}
	}
	switch {
	case d.budget:
		return cli.Silent{Code: cli.ExitBudget}
	case len(d.reach.refused) > 0 && len(d.reach.refused) >= d.reach.targets:
		return cli.Silent{Code: cli.ExitOutOfScope}
	case len(d.reach.refused) > 0:
		return cli.Silent{Code: cli.ExitPartial}
	}
	return nil
}

// reach is how many of the targets that the planner asks first the scope lets it ask.
type reach struct {
	asking  bool // they are being asked
	targets int
	refused map[string]bool // by host, with its port where it has one
}

// hear takes what an event says of that.
func (r *reach) hear(e event) {
	var said struct {
		Tool, Place string
		Total       int
	}
	_ = json.Unmarshal(e.Data, &said) // what is of another shape says nothing of targets
	switch {
	case said.Tool == "probe":
		r.asking, r.targets = e.Type != "step-finished", max(r.targets, said.Total)
	case e.Type == "denied" && r.asking:
		at := said.Place
		if u, err := url.Parse(at); err == nil && u.Host != "" {
			at = u.Host
		}
		if r.refused == nil {
			r.refused = map[string]bool{}
		}
		r.refused[at] = true
	}
}

// follow runs a task on a server, tells its progress, and returns it as it ended. When
// ctx ends, the task is stopped.
func follow(ctx context.Context, c client, instruction, delivery string, talk io.Writer) (detail, error) {
	var d detail
	events, err := c.createTask(ctx, instruction, delivery)
	if err != nil {
		return d, err
	}
	progress := newTeller(talk)
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
		d.budget = d.budget || usedUp(e)
		d.reach.hear(e)
		progress.tell(e)
	}
	progress.Close()
	err = c.call(ctx, "GET", "/api/v1/tasks/"+id, nil, &d.raw)
	if err == nil {
		err = json.Unmarshal(d.raw, &d)
	}
	return d, err
}

// usedUp reports whether an event says that a step had no time left, or was cut short.
func usedUp(e event) bool {
	var step struct{ Status string }
	return e.Type == "step-finished" && json.Unmarshal(e.Data, &step) == nil && (step.Status == "timeout" || step.Status == "skipped")
}

// stop stops a task whose caller is leaving.
func stop(c client, id string) {
	var answer json.RawMessage
	_ = c.call(context.Background(), "POST", "/api/v1/tasks/"+id+"/abort", nil, &answer) // what else could be done
}

func printDetail(w io.Writer, output string, d detail) error {
	if output == "json" {
		_, err := fmt.Fprintf(w, "%s\n", d.raw)
		return err
	}
	for _, i := range d.Issues {
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
