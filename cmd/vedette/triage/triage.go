// Package triage has the commands that decide about findings of a server: issues, and queues, rules and suggestions of
// triage.
package triage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

// call is a command that asks a server once and shows the answer.
type call struct{ client.Flags }

func flags(cmd *cobra.Command) call { return call{client.AddFlags(cmd)} }

func (c call) run(cmd *cobra.Command, method, path string, body any, words func(answer) []string) error {
	return client.Show(c.Flags, cmd, method, path, body, words)
}

// answer has what the commands show of the server's answers.
type answer struct {
	ID, Message, Status, Severity, Title, Name, Target string
	VulnID                                             string `json:"vuln_id"`
	Total, Count, Changed                              int
	LookedAt                                           int   `json:"looked_at"`
	NextBefore                                         int64 `json:"next_before"`
	Issues, Queues, Rules, Suggestions                 []item
	Decisions                                          []item
}

// item is one thing of a list.
type item struct {
	ID, Status, Severity, Title, Name, Target string
	Field, Value, Reason, Source              string
	VulnID                                    string `json:"vuln_id"`
	RuleName                                  string `json:"rule_name"`
	Count                                     int
	Applied                                   int `json:"applied_count"`
	Enabled                                   bool
	Confidence                                float64
	Claimed                                   []struct{}
	Effects                                   []struct {
		Field, Kept string
		From        string `json:"old_value"`
		To          string `json:"new_value"`
	}
}

func each(items []item, line func(item) string) (out []string) {
	for _, i := range items {
		out = append(out, line(i))
	}
	return out
}

// group is a command that only has commands below it.
func group(use, short, long string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(below...)
	return cmd
}

// Issues is the command of issues.
func Issues() *cobra.Command {
	return group(
		"issues",
		"List, report and decide about issues of a server",
		"Issues are the findings of your team seen through its tasks, and those that people report.\nThe API key is in VEDETTE_API_KEY.",
		listIssues(),
		reportIssue(),
		setIssue(),
	)
}

func issueLine(i item) string {
	return fmt.Sprintf("%-8s  %-15s  %s  %s  %s", i.Severity, i.Status, i.ID, i.Title, i.Target)
}

func listIssues() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List issues, the newest first", Args: cobra.NoArgs,
		Example: "  vedette issues list --severity high --status open"}
	c := flags(cmd)
	query := map[string]*string{}
	for name, help := range map[string]string{"severity": "of this severity", "status": "with this decision",
		"source": "of task, or of person", "search": "with this in the title, the target or the template",
		"assignee": "of this member; none: of nobody"} {
		query[name] = cmd.Flags().String(name, "", "only those "+help)
	}
	query["task_id"] = cmd.Flags().String("task", "", "only those of this task")
	limit := cmd.Flags().Int("limit", 50, "how many, at most 200")
	cli.Values(cmd, "severity", cli.Severities...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		values := url.Values{"per_page": {strconv.Itoa(*limit)}}
		for name, value := range query {
			if *value != "" {
				values.Set(name, *value)
			}
		}
		return c.run(cmd, http.MethodGet, "/api/v1/issues?"+values.Encode(), nil, func(a answer) []string {
			return append(each(a.Issues, issueLine), cli.Counted(a.Total, "issue")+".")
		})
	}
	return cmd
}

func reportIssue() *cobra.Command {
	cmd := &cobra.Command{Use: "report TITLE", Short: "Report an issue", Args: cobra.ExactArgs(1),
		Example: `  vedette issues report "Password in a log" --target https://shop.example.com/log --severity high`}
	c := flags(cmd)
	body := map[string]*string{}
	for name, help := range map[string]string{"target": "where it is: a URL, a host, or host:port",
		"severity":    "its severity",
		"description": "what it is", "remediation": "how to fix it"} {
		body[name] = cmd.Flags().String(name, "", help)
	}
	body["task_id"] = cmd.Flags().String("task", "", "the task that it belongs to")
	cli.Values(cmd, "severity", cli.Severities...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd, http.MethodPost, "/api/v1/issues", filled(body, "title", args[0]), func(a answer) []string {
			return []string{fmt.Sprintf("%s  %s", a.ID, a.Title)}
		})
	}
	return cmd
}

// filled are the fields that were said, and one more.
func filled(fields map[string]*string, name, value string) map[string]any {
	out := map[string]any{}
	for field, said := range fields {
		if *said != "" {
			out[field] = *said
		}
	}
	if name != "" {
		out[name] = value
	}
	return out
}

func setIssue() *cobra.Command {
	cmd := &cobra.Command{Use: "set ISSUE_ID", Short: "Change the status, severity or assignee of an issue",
		Args: cobra.ExactArgs(1), Example: "  vedette issues set ISSUE_ID --status triaged --assignee ada@example.com"}
	c := flags(cmd)
	body := map[string]*string{
		"status": cmd.Flags().String(
			"status",
			"",
			"open, triaged, fix_in_progress, fixed, accepted_risk, false_positive or duplicate",
		),
		"severity": cmd.Flags().String("severity", "", "its severity"),
		"assignee": cmd.Flags().String("assignee", "", "the address of a member"),
	}
	cli.Values(cmd, "severity", cli.Severities...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change := filled(body, "", "")
		if len(change) == 0 {
			return cli.Usagef("say --status, --severity or --assignee")
		}
		return c.run(cmd, http.MethodPatch, "/api/v1/issues/"+url.PathEscape(args[0]), change, func(a answer) []string {
			return []string{fmt.Sprintf("%s  %s  %s  %s", a.Severity, a.Status, a.ID, a.Title)}
		})
	}
	return cmd
}

// New is the command of triage.
func New() *cobra.Command {
	return group(
		"triage",
		"Queues, rules and suggestions about findings of a server",
		"Queues say what is to be looked at, rules decide what is decided the same way each time,\nand suggestions change nothing until somebody accepts them. The API key is in VEDETTE_API_KEY.",
		queues(),
		rules(),
		runRules(true),
		runRules(false),
		suggest(),
	)
}

func queues() *cobra.Command {
	cmd := &cobra.Command{Use: "queues", Short: "List queues, with counts", Args: cobra.NoArgs,
		Example: "  vedette triage queues"}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.run(cmd, http.MethodGet, "/api/v1/triage/queues", nil, func(a answer) []string {
			return each(a.Queues, func(i item) string {
				return fmt.Sprintf("%6d  %3d claimed  %s  %s", i.Count, len(i.Claimed), i.ID, i.Name)
			})
		})
	}
	return cmd
}

func rules() *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "List rules, in their order", Args: cobra.NoArgs,
		Example: "  vedette triage rules -o json"}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.run(cmd, http.MethodGet, "/api/v1/triage/rules", nil, func(a answer) []string {
			return each(a.Rules, func(i item) string {
				state := "off"
				if i.Enabled {
					state = "on"
				}
				return fmt.Sprintf("%-3s  applied %d  %s  %s", state, i.Applied, i.ID, i.Name)
			})
		})
	}
	return cmd
}

// runRules is the command that lets rules look at findings, or says what they would do.
func runRules(dry bool) *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "Let rules look at the findings that are there", Args: cobra.NoArgs,
		Example: "  vedette triage run --limit 500"}
	if dry {
		cmd.Use, cmd.Short = "dry-run", "Say what rules would change, and change nothing"
		cmd.Example = "  vedette triage dry-run --rule rule.json"
	}
	c := flags(cmd)
	ids := cmd.Flags().StringSlice("rule-id", nil, "only these rules; default: all that are enabled")
	before := cmd.Flags().Int64("before", 0, "go on where the run before ended")
	limit := cmd.Flags().Int("limit", 100, "how many findings, at most 500")
	file := new(string)
	if dry {
		file = cmd.Flags().String("rule", "", "a JSON file with a rule that is not stored")
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body := map[string]any{"limit": *limit, "before": *before}
		if len(*ids) > 0 {
			body["rule_ids"] = *ids
		}
		if *file != "" {
			text, err := os.ReadFile(*file)
			if err != nil {
				return cli.Usage(err)
			}
			if !json.Valid(text) {
				return cli.Usagef("%s is no JSON", *file)
			}
			body["rule"] = json.RawMessage(text)
		}
		return c.run(cmd, http.MethodPost, "/api/v1/triage/"+cmd.Name(), body, func(a answer) []string {
			lines := each(a.Decisions, decision)
			lines = append(lines, fmt.Sprintf("%d of %s change.", a.Changed, cli.Counted(a.LookedAt, "finding")))
			if a.NextBefore > 0 {
				lines = append(lines, fmt.Sprintf("There are older ones: --before %d.", a.NextBefore))
			}
			return lines
		})
	}
	return cmd
}

func decision(i item) string {
	var parts []string
	for _, e := range i.Effects {
		text := e.Field + " " + cmp.Or(e.From, "none") + " -> " + e.To
		if e.Kept != "" {
			text = e.Field + " stays: " + e.Kept
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%s  %s  %s: %s", i.VulnID, i.Name, i.RuleName, strings.Join(parts, ", "))
}

func suggest() *cobra.Command {
	cmd := &cobra.Command{Use: "suggest VULN_ID…", Short: "Make suggestions for findings", Args: cobra.MinimumNArgs(1),
		Example: "  vedette triage suggest VULN_ID"}
	c := flags(cmd)
	model := cmd.Flags().Bool("model", false, "ask your language model, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := map[string]any{"vuln_ids": args, "model": *model}
		return c.run(cmd, http.MethodPost, "/api/v1/triage/suggestions", body, func(a answer) []string {
			return each(a.Suggestions, func(i item) string {
				return fmt.Sprintf("%s  %s: %s %s (%.0f %%, %s) %s", i.ID, i.VulnID, i.Field, i.Value, i.Confidence*100, i.Source,
					i.Reason)
			})
		})
	}
	return cmd
}
