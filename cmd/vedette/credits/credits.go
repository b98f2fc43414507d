// Package credits is the command about the credits of teams on a server: operators grant them, and a team's admins see
// what there is and what used it.
package credits

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

const (
	mine      = "/api/v1/billing/"
	operators = "/api/v1/operator/credits"
)

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "credits", Short: "Grant, list and account for the credits of teams on a server",
		Long: `A credit is a US dollar. From its first grant on, a team's calls of the server's models are
bounded by its credits. The API key is in VEDETTE_API_KEY.`,
		Example: `  vedette credits show
  vedette credits grant blue 500`,
	}
	cmd.AddCommand(newShow(), newUsed(), newStatement(), newGrant(), newList(), newRevoke())
	return cmd
}

// call is a command that asks a server once and shows the answer.
type call struct{ client.Flags }

func flags(cmd *cobra.Command) call { return call{client.AddFlags(cmd)} }

// answer has what the commands show of the server's answers.
type answer struct {
	Message   string
	Available float64 `json:"available_credits"`
	Issued    float64 `json:"issued_credits"`
	Used      float64 `json:"used_credits"`
	Grant     *grant
	Grants    []grant
	Data      []struct {
		ID, Name string
		Calls    int
		Credits  float64
	}
}

type grant struct {
	ID, Note  string
	Credits   float64
	Used      float64 `json:"used_credits"`
	ExpiresAt *string `json:"expires_at"`
	RevokedAt *string `json:"revoked_at"`
}

func (g grant) line() string {
	until := "never expires"
	switch {
	case g.RevokedAt != nil:
		until = "revoked " + *g.RevokedAt
	case g.ExpiresAt != nil:
		until = "expires " + *g.ExpiresAt
	}
	return fmt.Sprintf("%s  %10.2f  %10.2f used  %s  %s", g.ID, g.Credits, g.Used, until, g.Note)
}

func lines(grants []grant) (out []string) {
	for _, g := range grants {
		out = append(out, g.line())
	}
	return out
}

func (c call) run(cmd *cobra.Command, method, path string, body any, words func(answer) []string) error {
	return client.Show(c.Flags, cmd, method, path, body, words)
}

func newShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Show your team's credits", Args: cobra.NoArgs,
		Example: "  vedette credits show -o json"}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.run(cmd, http.MethodGet, mine+"credits", nil, func(a answer) []string {
			return []string{fmt.Sprintf("%.2f of %.2f credits are left; %.2f are used.", a.Available, a.Issued, a.Used)}
		})
	}
	return cmd
}

// span adds the flags of a range of time to a command, and gives them as a query.
func span(cmd *cobra.Command) func() url.Values {
	from := cmd.Flags().String("from", "", "from this time on, such as 2026-01-01T00:00:00Z (default: this month)")
	to := cmd.Flags().String("to", "", "before this time (default: now)")
	return func() url.Values {
		query := url.Values{}
		for name, value := range map[string]string{"from": *from, "to": *to} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return query
	}
}

func newUsed() *cobra.Command {
	cmd := &cobra.Command{Use: "used", Short: "Show what used your team's credits", Args: cobra.NoArgs,
		Example: "  vedette credits used --by member --from 2026-01-01T00:00:00Z"}
	c, query := flags(cmd), span(cmd)
	by := cmd.Flags().String("by", "task", "task, member, project or model")
	cli.Values(cmd, "by", "task", "member", "project", "model")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		values := query()
		values.Set("group_by", *by)
		return c.run(cmd, http.MethodGet, mine+"consumption?"+values.Encode(), nil, func(a answer) (out []string) {
			for _, p := range a.Data {
				out = append(out, fmt.Sprintf("%12.4f  %6d  %s  %s", p.Credits, p.Calls, p.ID, p.Name))
			}
			return out
		})
	}
	return cmd
}

func newStatement() *cobra.Command {
	cmd := &cobra.Command{Use: "statement", Short: "Write a statement of your team's credits as JSON, CSV or PDF", Args: cobra.NoArgs,
		Example: "  vedette credits statement --format csv --from 2026-01-01T00:00:00Z > credits.csv"}
	c, query := flags(cmd), span(cmd)
	format := cmd.Flags().String("format", "json", "json, csv or pdf")
	cli.Values(cmd, "format", "json", "csv", "pdf")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		to, err := c.Client()
		if err != nil {
			return err
		}
		values := query()
		values.Set("format", *format)
		resp, err := to.Request(cmd.Context(), http.MethodGet, mine+"statement?"+values.Encode(), "*/*", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(cmd.OutOrStdout(), resp.Body)
		return err
	}
	return cmd
}

func newGrant() *cobra.Command {
	cmd := &cobra.Command{Use: "grant TEAM CREDITS", Short: "Grant credits to a team, by name or id (operators)", Args: cobra.ExactArgs(2),
		Example: `  vedette credits grant blue 500 --expires 2099-12-31T00:00:00Z --note "order 17"`}
	c := flags(cmd)
	expires := cmd.Flags().String("expires", "", "when what is unused expires, such as 2099-12-31T00:00:00Z (default: never)")
	note := cmd.Flags().String("note", "", "for the team and for you")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		amount, err := strconv.ParseFloat(args[1], 64)
		if err != nil {
			return cli.Usagef("CREDITS must be a number, such as 500")
		}
		body := map[string]any{"team": args[0], "credits": amount}
		if *expires != "" {
			body["expires_at"] = *expires
		}
		if *note != "" {
			body["note"] = *note
		}
		return c.run(cmd, http.MethodPost, operators, body, func(a answer) []string {
			if a.Grant == nil {
				return nil
			}
			return []string{a.Grant.line()}
		})
	}
	return cmd
}

func newList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the grants of your team, or of any team (operators)", Args: cobra.NoArgs,
		Example: "  vedette credits list\n  vedette credits list --team blue -o json"}
	c := flags(cmd)
	team := cmd.Flags().String("team", "", "the team of this name or id, for operators (default: yours)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path := mine + "grants"
		if *team != "" {
			path = operators + "?" + url.Values{"team": {*team}}.Encode()
		}
		return c.run(cmd, http.MethodGet, path, nil, func(a answer) []string { return lines(a.Grants) })
	}
	return cmd
}

func newRevoke() *cobra.Command {
	cmd := &cobra.Command{Use: "revoke GRANT_ID", Short: "Take back what is unused of a grant (operators)",
		Args:    cobra.ExactArgs(1),
		Example: "  vedette credits revoke GRANT_ID"}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd, http.MethodDelete, operators+"?"+url.Values{"grant_id": {args[0]}}.Encode(), nil,
			func(a answer) []string { return []string{a.Message} })
	}
	return cmd
}
