// Package sla is the command about the policy of a team that says by when its findings are to be fixed.
package sla

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

const path = "/v1/team/sla"

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sla", Short: "Say by when findings of your team are to be fixed",
		Long: `The policy of a team has days by severity, and other days for findings at assets with a label.
The API key is in VEDETTE_API_KEY.`,
	}
	cmd.AddCommand(newShow(), newSet(), newClear())
	return cmd
}

// policy is the policy as the server has it.
type policy struct {
	Message   string  `json:"message,omitempty"`
	CountFrom string  `json:"count_from,omitempty"`
	WarnDays  int     `json:"warn_days"`
	Days      days    `json:"days"`
	Labels    []label `json:"labels"`
}

type label struct {
	Label string `json:"label"`
	Days  days   `json:"days"`
}

type days map[string]int

// text is for people, the worst severity first.
func (d days) text() string {
	var out []string
	for _, severity := range cli.Severities {
		if n := d[severity]; n > 0 {
			out = append(out, severity+" "+cli.Counted(n, "day"))
		}
	}
	if len(out) == 0 {
		return "never"
	}
	return strings.Join(out, ", ")
}

func (p policy) lines() []string {
	if p.Message != "" {
		return []string{p.Message}
	}
	out := []string{"Findings are to be fixed: " + p.Days.text()}
	for _, l := range p.Labels {
		out = append(out, fmt.Sprintf("at assets with the label %s: %s", l.Label, l.Days.text()))
	}
	if p.CountFrom == "reopened" {
		out = append(out, "counted from when a finding came back last")
	}
	if p.WarnDays > 0 {
		out = append(out, "people are told "+cli.Counted(p.WarnDays, "day")+" before")
	}
	return out
}

func newShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Show the policy", Args: cobra.NoArgs, Example: "  vedette sla show -o json"}
	return plain(cmd, http.MethodGet)
}

func newClear() *cobra.Command {
	cmd := &cobra.Command{Use: "clear", Short: "Take the policy and all due dates away", Args: cobra.NoArgs,
		Example: "  vedette sla clear"}
	return plain(cmd, http.MethodDelete)
}

// plain makes a command that asks once and shows the answer.
func plain(cmd *cobra.Command, method string) *cobra.Command {
	flags := client.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return client.Show(flags, cmd, method, path, nil, policy.lines)
	}
	return cmd
}

func newSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set", Short: "Change the policy", Args: cobra.NoArgs,
		Long: "What you do not name stays as it is. 0 days: never.",
		Example: `  vedette sla set --days critical=7,high=30,medium=90 --warn-days 3
  vedette sla set --label production:critical=2,high=14
  vedette sla set --days medium=0 --remove-label production`,
	}
	flags := client.AddFlags(cmd)
	all := cmd.Flags().StringToInt("days", nil, "SEVERITY=DAYS,…: after how many days findings are overdue")
	labels := cmd.Flags().StringArray("label", nil, "LABEL:SEVERITY=DAYS,…: other days at assets with a label")
	remove := cmd.Flags().StringArray("remove-label", nil, "the days of this label no longer hold")
	warn := cmd.Flags().Int("warn-days", 0, "tell people so many days before; 0: do not")
	from := cmd.Flags().String("count-from", "", "what days are counted from: first_seen or reopened")
	cli.Values(cmd, "count-from", "first_seen", "reopened")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.ContainsFunc([]string{"days", "label", "remove-label", "warn-days", "count-from"}, cmd.Flags().Changed) {
			return cli.Usagef("Name what changes: --days, --label, --remove-label, --warn-days or --count-from.")
		}
		server, err := flags.Client()
		if err != nil {
			return err
		}
		var p policy
		if err := server.Call(cmd.Context(), http.MethodGet, path, nil, &p); err != nil {
			return err
		}
		p.Days = merged(p.Days, *all)
		if err := p.relabel(*labels, *remove); err != nil {
			return err
		}
		if cmd.Flags().Changed("warn-days") {
			p.WarnDays = *warn
		}
		if *from != "" {
			p.CountFrom = *from
		}
		return client.Show(flags, cmd, http.MethodPut, path, p, policy.lines)
	}
	return cmd
}

// merged are days with some changed.
func merged(d days, changed map[string]int) days {
	out := days{}
	maps.Copy(out, d)
	maps.Copy(out, changed)
	return out
}

// relabel changes the days of labels, LABEL:SEVERITY=DAYS,…, and takes some away.
func (p *policy) relabel(changed, removed []string) error {
	for _, name := range removed {
		at := p.of(name)
		if at < 0 {
			return cli.Usagef("The policy has no label %q.", name)
		}
		p.Labels = slices.Delete(p.Labels, at, at+1)
	}
	for _, text := range changed {
		colon := strings.LastIndexByte(text, ':')
		if colon < 1 {
			return cli.Usagef("--label must be LABEL:SEVERITY=DAYS,…, not %q.", text)
		}
		set := map[string]int{}
		for one := range strings.SplitSeq(text[colon+1:], ",") {
			severity, number, _ := strings.Cut(one, "=")
			n, err := strconv.Atoi(number)
			if err != nil {
				return cli.Usagef("--label must be LABEL:SEVERITY=DAYS,…, not %q.", text)
			}
			set[strings.TrimSpace(severity)] = n
		}
		at := p.of(text[:colon])
		if at < 0 {
			p.Labels, at = append(p.Labels, label{Label: text[:colon]}), len(p.Labels)
		}
		p.Labels[at].Days = merged(p.Labels[at].Days, set)
	}
	return nil
}

// of is the index of a label, in any case; -1: the policy has none.
func (p *policy) of(name string) int {
	return slices.IndexFunc(p.Labels, func(l label) bool { return strings.EqualFold(l.Label, name) })
}
