// Package network is the command about network events: the HTTP requests that tasks and scans on a server sent, and
// what was answered.
package network

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

const path = "/api/v1/network"

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "network", Short: "Show, export and replay the requests that tasks and scans sent",
		Long: `A server captures the HTTP requests of tasks, and of scans that ask for it, with what was
answered, as the team's policy says. Secrets are masked. The API key is in VEDETTE_API_KEY.`,
		Example: `  vedette network list
  vedette network har
  vedette network replay EVENT_ID`,
	}
	cmd.AddCommand(newList(), newShow(), newStats(), newHAR(), newReplay(), newPolicy(), newDelete())
	return cmd
}

// subject adds the flags that name a task or a scan, and gives them as a query.
func subject(cmd *cobra.Command) func() url.Values {
	task := cmd.Flags().String("task", "", "the requests of this task")
	scan := cmd.Flags().String("scan", "", "the requests of this scan")
	cmd.MarkFlagsMutuallyExclusive("task", "scan")
	return func() url.Values {
		query := url.Values{}
		for name, value := range map[string]string{"task_id": *task, "scan_id": *scan} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return query
	}
}

// event has what the commands show of an event.
type event struct {
	ID, Tool, Method, URL, Request, Response, Error string
	Status                                          int
	SentAt                                          string  `json:"sent_at"`
	Duration                                        float64 `json:"duration_ms"`
}

func (e event) line() string {
	status := strconv.Itoa(e.Status)
	if e.Status == 0 {
		status = "---"
	}
	return fmt.Sprintf("%s  %s  %-9s %s %6.0f ms  %s %s", e.ID, e.SentAt, e.Tool, status, e.Duration, e.Method, e.URL)
}

func newList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List requests, the newest first", Args: cobra.NoArgs,
		Example: "  vedette network list --task TASK_ID --status 500\n  vedette network list --host app.example.com:443 -o json"}
	flags, of := client.AddFlags(cmd), subject(cmd)
	host := cmd.Flags().String("host", "", "only those to this host and port, such as app.example.com:443")
	method := cmd.Flags().String("method", "", "only those with this method")
	status := cmd.Flags().Int("status", 0, "only those with this HTTP status")
	limit := cmd.Flags().Int("limit", 50, "how many, at most 100")
	after := cmd.Flags().String("after", "", "go on after the request with this id")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := of()
		query.Set("limit", strconv.Itoa(*limit))
		for name, value := range map[string]string{"host": *host, "method": *method, "starting_after": *after} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if *status != 0 {
			query.Set("status", strconv.Itoa(*status))
		}
		return client.Show(flags, cmd, http.MethodGet, path+"/events?"+query.Encode(), nil, func(a struct{ Events []event }) (out []string) {
			for _, e := range a.Events {
				out = append(out, e.line())
			}
			return out
		})
	}
	return cmd
}

func newShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show EVENT_ID", Short: "Show a request and its answer", Args: cobra.ExactArgs(1),
		Example: "  vedette network show EVENT_ID"}
	flags := client.AddFlags(cmd)
	unmasked := cmd.Flags().Bool("unmasked", false, "show what looks like a secret; the team's secrets stay masked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := url.Values{"unmasked": {strconv.FormatBool(*unmasked)}}
		at := path + "/events/" + url.PathEscape(args[0]) + "?" + query.Encode()
		return client.Show(flags, cmd, http.MethodGet, at, nil, event.words)
	}
	return cmd
}

func (e event) words() []string {
	out := append([]string{e.line(), ""}, strings.Split(strings.ReplaceAll(e.Request, "\r\n", "\n"), "\n")...)
	if e.Error != "" {
		out = append(out, "", "Error: "+e.Error)
	}
	return append(append(out, ""), strings.Split(strings.ReplaceAll(e.Response, "\r\n", "\n"), "\n")...)
}

func newStats() *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count the requests that were captured, and those that were not", Args: cobra.NoArgs,
		Example: "  vedette network stats --task TASK_ID"}
	flags, of := client.AddFlags(cmd), subject(cmd)
	type count struct {
		Value string
		Count int64
	}
	type answer struct {
		Events, Captured, Dropped, Removed int64
		Hosts, Statuses, Tools             []count
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return client.Show(flags, cmd, http.MethodGet, path+"/stats?"+of().Encode(), nil, func(a answer) []string {
			out := []string{fmt.Sprintf("%d requests; %d were captured, %d dropped, %d removed since.", a.Events, a.Captured, a.Dropped,
				a.Removed)}
			for _, by := range []struct {
				name   string
				counts []count
			}{{"host", a.Hosts}, {"status", a.Statuses}, {"tool", a.Tools}} {
				for _, c := range by.counts {
					out = append(out, fmt.Sprintf("%-7s %8d  %s", by.name, c.Count, c.Value))
				}
			}
			return out
		})
	}
	return cmd
}

func newHAR() *cobra.Command {
	cmd := &cobra.Command{Use: "har", Short: "Write the requests of a task or a scan to a HAR file", Args: cobra.NoArgs,
		Example: "  vedette network har --task TASK_ID --out task.har\n  vedette network har --scan SCAN_ID > scan.har"}
	server := client.ServerFlag(cmd)
	of := subject(cmd)
	out := cmd.Flags().String("out", "", "the file (default: standard output)")
	unmasked := cmd.Flags().Bool("unmasked", false, "show what looks like a secret; the team's secrets stay masked")
	cmd.MarkFlagsOneRequired("task", "scan")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := client.Connect(*server)
		if err != nil {
			return err
		}
		query := of()
		query.Set("unmasked", strconv.FormatBool(*unmasked))
		resp, err := c.Request(cmd.Context(), http.MethodGet, path+"/har?"+query.Encode(), "*/*", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if *out == "" {
			_, err = io.Copy(cmd.OutOrStdout(), resp.Body)
			return err
		}
		return cli.SaveFile(*out, resp.Body, func(string) error { return nil })
	}
	return cmd
}

// askEvery is how often the state of a replay is asked for.
const askEvery = 300 * time.Millisecond

type replay struct {
	ID, State, Note string
	Result          string `json:"result_event_id"`
}

func newReplay() *cobra.Command {
	cmd := &cobra.Command{Use: "replay EVENT_ID", Short: "Send a request again, with edits, and show the answer", Args: cobra.ExactArgs(1),
		Long: `The request goes to the host that it went to, within the scope of its task or scan. Redirects are
not followed. A --json edit has a JSON pointer and a value, which is JSON or else text.`,
		Example: `  vedette network replay EVENT_ID --path '/orders?id=2' --header 'X-Role: admin'
  vedette network replay EVENT_ID --method PUT --json /role=admin --json /limit=10`}
	flags := client.AddFlags(cmd)
	method := cmd.Flags().String("method", "", "another method")
	to := cmd.Flags().String("path", "", "another path and query")
	headers := cmd.Flags().StringArray("header", nil, "set a header, 'Name: value'; 'Name:' removes it (repeat)")
	body := cmd.Flags().String("body", "", "another body")
	changes := cmd.Flags().StringArray("json", nil, "change a JSON body: /pointer=value (repeat)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		edits := map[string]any{}
		if *method != "" {
			edits["method"] = *method
		}
		if *to != "" {
			edits["path"] = *to
		}
		if cmd.Flags().Changed("body") {
			edits["body"] = *body
		}
		if err := addEdits(edits, *headers, *changes); err != nil {
			return err
		}
		return send(cmd, flags, args[0], edits)
	}
	return cmd
}

// addEdits reads the flags header and json.
func addEdits(edits map[string]any, headers, changes []string) error {
	set := map[string]any{}
	for _, text := range headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return cli.Usagef("--header must be 'Name: value', not %q", text)
		}
		set[strings.TrimSpace(name)] = strings.TrimSpace(value)
		if strings.TrimSpace(value) == "" {
			set[strings.TrimSpace(name)] = nil
		}
	}
	if len(set) > 0 {
		edits["headers"] = set
	}
	var mutations []map[string]any
	for _, text := range changes {
		pointer, value, ok := strings.Cut(text, "=")
		if !ok || !strings.HasPrefix(pointer, "/") {
			return cli.Usagef("--json must be /pointer=value, not %q", text)
		}
		var doc any = value
		if json.Valid([]byte(value)) {
			doc = json.RawMessage(value)
		}
		mutations = append(mutations, map[string]any{"path": pointer, "value": doc})
	}
	if len(mutations) > 0 {
		edits["json"] = mutations
	}
	return nil
}

// send has a request sent again, and waits for the answer.
func send(cmd *cobra.Command, flags client.Flags, eventID string, edits map[string]any) error {
	c, err := flags.Client()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	var r replay
	if err := c.Call(ctx, http.MethodPost, path+"/events/"+url.PathEscape(eventID)+"/replay", edits, &r); err != nil {
		return err
	}
	for r.State == "queued" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askEvery):
		}
		if err := c.Call(ctx, http.MethodGet, path+"/replays/"+url.PathEscape(r.ID), nil, &r); err != nil {
			return err
		}
	}
	if r.State != "sent" {
		return fmt.Errorf("it was not sent: %s", cli.Printable(r.Note))
	}
	return client.Show(flags, cmd, http.MethodGet, path+"/events/"+url.PathEscape(r.Result), nil, event.words)
}

func newPolicy() *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Show what is captured and how long it is kept, or change it (team admins)",
		Args:    cobra.NoArgs,
		Example: "  vedette network policy\n  vedette network policy --scans on --days 7 --megabytes 1024"}
	flags := client.AddFlags(cmd)
	tasks := cmd.Flags().Bool("tasks", true, "capture the requests of tasks")
	scans := cmd.Flags().String("scans", "on_request", "off, on_request (those that ask for it) or on")
	days := cmd.Flags().Int("days", 30, "how long events are kept")
	megabytes := cmd.Flags().Int("megabytes", 256, "how much is kept")
	cli.Values(cmd, "scans", "off", "on_request", "on")
	type answer struct {
		Tasks     bool
		Scans     string
		Days      int `json:"retention_days"`
		Megabytes int `json:"max_megabytes"`
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		change := map[string]any{}
		for flag, field := range map[string]struct {
			name  string
			value any
		}{
			"tasks": {"tasks", *tasks}, "scans": {"scans", *scans}, "days": {"retention_days", *days},
			"megabytes": {"max_megabytes", *megabytes},
		} {
			if cmd.Flags().Changed(flag) {
				change[field.name] = field.value
			}
		}
		verb, body := http.MethodGet, any(nil)
		if len(change) > 0 {
			verb, body = http.MethodPatch, change
		}
		return client.Show(flags, cmd, verb, path+"/policy", body, func(a answer) []string {
			return []string{fmt.Sprintf(
				"tasks: %t, scans: %s, kept for %s, at most %d MiB", a.Tasks, a.Scans, cli.Counted(a.Days, "day"),
				a.Megabytes)}
		})
	}
	return cmd
}

func newDelete() *cobra.Command {
	cmd := &cobra.Command{Use: "delete", Short: "Delete the captured requests of a task or a scan", Args: cobra.NoArgs,
		Example: "  vedette network delete --task TASK_ID"}
	flags, of := client.AddFlags(cmd), subject(cmd)
	cmd.MarkFlagsOneRequired("task", "scan")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return client.Show(flags, cmd, http.MethodDelete, path+"/events?"+of().Encode(), nil, func(a struct{ Deleted int }) []string {
			return []string{fmt.Sprintf("%d deleted", a.Deleted)}
		})
	}
	return cmd
}
