package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

func newList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List entries of the audit log, the newest first", Args: cobra.NoArgs,
		Example: `  vedette audit list --email ada@example.com --from 2026-01-01T00:00:00Z
  vedette audit list --status 403 -o json`,
	}
	server, output := client.ServerFlag(cmd), cli.OutputFlag(cmd)
	query := map[string]*string{}
	for name, help := range map[string]string{
		"email": "of this address", "action": "of this operation, such as create-task",
		"source": "by api (a key) or platform (a person)",
		"method": "with this HTTP method", "status": "with this HTTP status", "search": "with this word",
		"from": "from this time on",
		"to":   "before this time",
	} {
		query[name] = cmd.Flags().String(name, "", "only those "+help)
	}
	query["object_id"] = cmd.Flags().String("object", "", "only those about this object")
	query["starting_after"] = cmd.Flags().String("after", "", "the number of the last entry of the page before")
	limit := cmd.Flags().Int("limit", 50, "how many, at most 500")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := client.Connect(*server)
		if err != nil {
			return err
		}
		values := url.Values{"limit": {strconv.Itoa(*limit)}}
		for name, value := range query {
			if *value != "" {
				values.Set(name, *value)
			}
		}
		var raw json.RawMessage
		if err := c.Call(cmd.Context(), http.MethodGet, path+"?"+values.Encode(), nil, &raw); err != nil {
			return err
		}
		if *output == "json" {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), string(raw))
			return err
		}
		return listPeople(cmd, raw)
	}
	return cmd
}

func listPeople(cmd *cobra.Command, raw json.RawMessage) error {
	var list struct {
		Events []struct {
			Seq       int64  `json:"sequence"`
			CreatedAt string `json:"created_at"`
			Object    string `json:"object_id"`
			Email     string
			Action    string
			Status    int
			IP        string
		}
		HasMore bool `json:"has_more"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, e := range list.Events {
		line := fmt.Sprintf("%6d  %-27s  %d  %s  %s  %s  %s", e.Seq, e.CreatedAt, e.Status, e.Email, e.Action, e.Object, e.IP)
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(line)); err != nil {
			return err
		}
	}
	if !list.HasMore {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "There are more: --after %d.\n", list.Events[len(list.Events)-1].Seq)
	return err
}
