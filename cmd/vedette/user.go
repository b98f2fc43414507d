package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/account"
	"golang.org/x/term"
)

func newUser() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Manage users, in the database itself"}
	create := &cobra.Command{
		Use: "create", Short: "Make a user", Args: cobra.NoArgs,
		Example: `  vedette user create --email ada@example.com --admin
  echo "$PASSWORD" | vedette user create --email bob@example.com --team blue --password-stdin`,
	}
	load := configFlags(create, true)
	output := cli.OutputFlag(create)
	email := create.Flags().String("email", "", "the user's address (required)")
	admin := create.Flags().Bool("admin", false, "admin of their team, and of the server")
	team := create.Flags().String("team", "", "team to join; made when there is none of this name (default: a team of their own)")
	fromStdin := create.Flags().Bool("password-stdin", false, "read the password from standard input")
	spendingCap := create.Flags().Float64("spending-cap", -1, "spending cap in US dollars; 0 blocks, below 0 is none")
	create.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		n := account.NewUser{Email: *email, Admin: *admin, Team: *team}
		if *spendingCap >= 0 {
			cents := int64(math.Round(*spendingCap * 100))
			n.CapCents = &cents
		}
		if *fromStdin {
			if n.Password, err = readPassword(cmd.InOrStdin()); err != nil {
				return err
			}
		}
		return app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			u, err := accounts.CreateUser(cmd.Context(), n)
			if err != nil {
				return err
			}
			return printUser(cmd, *output, u)
		})
	}
	cmd.AddCommand(create, newUserList(), newUserRole())
	return cmd
}

func newUserList() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List users, once for each team they are in", Args: cobra.NoArgs,
		Example: `  vedette user list
  vedette user list --team blue -o json`,
	}
	load := configFlags(list, true)
	output := cli.OutputFlag(list)
	team := list.Flags().String("team", "", "only those of the team of this name or id")
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		return app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			users, err := accounts.FindUsers(cmd.Context(), *team)
			if err != nil {
				return err
			}
			if *output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(users)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			for _, u := range users {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", u.Email, u.Role, u.Team, u.TeamID)
			}
			return w.Flush()
		})
	}
	return list
}

func newUserRole() *cobra.Command {
	set := &cobra.Command{
		Use: "role", Short: "Give a user another role in a team", Args: cobra.NoArgs,
		Example: `  vedette user role --email bob@example.com --role viewer
  vedette user role --email ada@example.com --role owner --team blue`,
	}
	load := configFlags(set, true)
	output := cli.OutputFlag(set)
	email := set.Flags().String("email", "", "the user's address (required)")
	role := set.Flags().String("role", "", "owner (an admin whom the team belongs to), admin, member, viewer or guest (required)")
	team := set.Flags().String("team", "", "the team's name or id (default: the only one they are in)")
	set.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		return app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			u, err := accounts.AssignRole(cmd.Context(), *email, *team, *role)
			if err != nil {
				return err
			}
			return printUser(cmd, *output, u)
		})
	}
	return set
}

func printUser(cmd *cobra.Command, output string, u account.User) error {
	if output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(u)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is %s of team %s.\n", u.Email, u.Role, u.Team)
	return err
}

func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", cli.Usage(errors.New("--password-stdin: there is no password on standard input"))
	}
	return password, nil
}

func newToken() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make bearer tokens, from the database itself"}
	create := &cobra.Command{
		Use: "create", Short: "Print a bearer token for a user", Args: cobra.NoArgs,
		Example: `  TOKEN=$(vedette token create --email ada@example.com)`,
	}
	load := configFlags(create, true)
	output := cli.OutputFlag(create)
	email := create.Flags().String("email", "", "the user's address (required)")
	create.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		return app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			t, err := accounts.IssueToken(cmd.Context(), *email)
			if err != nil {
				return err
			}
			if *output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(t)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), t.AccessToken)
			if f, ok := cmd.OutOrStdout().(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
				fmt.Fprintf(cmd.ErrOrStderr(), "It is valid for %d s. Send it as 'Authorization: Bearer …'.\n", t.ExpiresIn)
			}
			return err
		})
	}
	cmd.AddCommand(create)
	return cmd
}
