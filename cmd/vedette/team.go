package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
)

func newTeam() *cobra.Command {
	cmd := &cobra.Command{Use: "team", Short: "Manage teams, in the database itself"}
	set := &cobra.Command{
		Use: "set-plan TEAM PLAN", Short: "Give a team, by name or id, another plan: FREE, PRO or ENT",
		Args: cobra.ExactArgs(2), Example: `  vedette team set-plan blue PRO`,
	}
	cmd.AddCommand(accountCommand(set, func(ctx context.Context, accounts *account.Accounts) (account.Team, error) {
		return accounts.SetPlan(ctx, set.Flags().Arg(0), account.Plan(strings.ToUpper(set.Flags().Arg(1))))
	}, func(w io.Writer, t account.Team) error {
		_, err := fmt.Fprintf(w, "%s is on the plan %s.\n", t.Name, t.Plan)
		return err
	}))
	cmd.AddCommand(newTeamLimits())
	return cmd
}

func newTeamLimits() *cobra.Command {
	set := &cobra.Command{
		Use: "set-limits TEAM", Short: "Set how many members a team, by name or id, may have", Args: cobra.ExactArgs(1),
		Example: `  vedette team set-limits blue --max-members 25
  vedette team set-limits blue --max-members 0`,
	}
	most := set.Flags().Int("max-members", 0, "members, with those invited; 0: as many as the plan says (required)")
	_ = set.MarkFlagRequired("max-members") // it exists
	output := cli.OutputFlag(set)
	local.WithConfig(set, true, func(cmd *cobra.Command, args []string, c app.Config) error {
		change := membership.Change{Set: true}
		if *most != 0 {
			change.MaxMembers = most
		}
		l, err := app.SetLimits(cmd.Context(), c, args[0], change)
		if err != nil {
			return err
		}
		w := cmd.OutOrStdout()
		if *output == "json" {
			return json.NewEncoder(w).Encode(l)
		}
		if l.MaxMembers == nil {
			_, err = fmt.Fprintf(w, "%s may have as many members as its plan, %s, says.\n", cli.Printable(l.Name), l.Plan)
		} else {
			_, err = fmt.Fprintf(w, "%s may have %s.\n", cli.Printable(l.Name), cli.Counted(*l.MaxMembers, "member"))
		}
		return err
	})
	return set
}
