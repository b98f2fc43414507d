package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// accountCommand makes cmd print what run returns: as JSON, or with text.
func accountCommand[T any](
	cmd *cobra.Command, run func(context.Context, *account.Accounts) (T, error), text func(io.Writer, T) error,
) *cobra.Command {
	output := cli.OutputFlag(cmd)
	local.WithConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		return app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			v, err := run(cmd.Context(), accounts)
			if err != nil {
				return err
			}
			if *output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			return text(cmd.OutOrStdout(), v)
		})
	})
	return cmd
}

func newUser() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Manage users, in the database itself"}
	create := &cobra.Command{
		Use: "create", Short: "Make a user; the first one of a team is its admin", Args: cobra.NoArgs,
		Example: `  vedette user create --email ada@example.com --admin
  echo "$PASSWORD" | vedette user create --email bob@example.com --team blue --password-stdin`,
	}
	var n account.NewUser
	fs := create.Flags()
	fs.StringVar(&n.Email, "email", "", "the user's address (required)")
	fs.BoolVar(&n.Admin, "admin", false, "an operator: may change every team of this server, and is an admin of their own")
	fs.StringVar(&n.Team, "team", "", "team to join; made when there is none of this name (default: a team of their own)")
	fs.BoolVar(&n.Service, "service", false, "a program: no password and no sign-in, only API keys ('vedette user keys create')")
	fromStdin := fs.Bool("password-stdin", false, "read the password from standard input")
	spendingCap := fs.Float64("spending-cap", -1, "what they may spend in all teams, in US dollars; 0 blocks, below 0 is no cap")
	accountCommand(create, func(ctx context.Context, accounts *account.Accounts) (_ account.User, err error) {
		if *spendingCap >= 0 {
			n.CapCents = new(int64(math.Round(*spendingCap * 100)))
		}
		if *fromStdin {
			if n.Password, err = readPassword(create.InOrStdin(), "--password-stdin"); err != nil {
				return account.User{}, err
			}
		}
		return accounts.CreateUser(ctx, n)
	}, printUser)
	cmd.AddCommand(create, newUserList(), newUserRole(), newUserCap())
	cmd.AddCommand(newUserPassword(), newUserDisable(true), newUserDisable(false), newUserDelete(), newUserKeys(),
		newUserRemoveFactor(), newUserUnlink())
	return cmd
}

func newUserList() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List users, once for each team they are in", Args: cobra.NoArgs,
		Example: `  vedette user list
  vedette user list --team blue -o json`,
	}
	team := list.Flags().String("team", "", "only those of the team of this name or id")
	return accountCommand(list, func(ctx context.Context, accounts *account.Accounts) ([]account.User, error) {
		return accounts.FindUsers(ctx, *team)
	}, func(out io.Writer, users []account.User) error {
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		for _, u := range users {
			kind := ""
			if u.Service {
				kind = "service"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", u.Email, u.Role, u.Team, u.TeamID, kind)
		}
		return w.Flush()
	})
}

func newUserRole() *cobra.Command {
	set := &cobra.Command{
		Use: "role", Short: "Give a user another role in a team, or put them into it", Args: cobra.NoArgs,
		Example: `  vedette user role --email bob@example.com --role viewer
  vedette user role --email ada@example.com --role owner --team blue`,
	}
	email := set.Flags().String("email", "", "the user's address (required)")
	role := set.Flags().String("role", "",
		"owner (an admin whom the team belongs to), admin, member, viewer or guest (required)")
	cli.Values(set, "role", "owner", "admin", "member", "viewer", "guest")
	team := set.Flags().String("team", "", "the team's name or id; who is not in it joins (default: the only one they are in)")
	return accountCommand(set, func(ctx context.Context, accounts *account.Accounts) (account.User, error) {
		return accounts.AssignRole(ctx, *email, *team, *role)
	}, printUser)
}

func newUserCap() *cobra.Command {
	set := &cobra.Command{
		Use: "cap", Short: "Set what a user may spend in all teams together", Args: cobra.NoArgs,
		Example: `  vedette user cap --email bob@example.com --usd 20
  vedette user cap --email bob@example.com --usd=-1`,
	}
	type result struct {
		Email string   `json:"email"`
		Cap   *float64 `json:"spending_cap_usd"`
	}
	email := set.Flags().String("email", "", "the user's address (required)")
	usd := set.Flags().Float64("usd", -1, "the cap in US dollars; 0 blocks, below 0 is no cap (required)")
	_ = set.MarkFlagRequired("usd") // it exists
	return accountCommand(set, func(ctx context.Context, accounts *account.Accounts) (result, error) {
		if *usd < 0 {
			return result{Email: *email}, accounts.SetOperatorCap(ctx, *email, nil)
		}
		if !(*usd <= maxCap) { // written this way, NaN is refused too
			return result{}, cli.Usagef("--usd: must be at most %d", int64(maxCap))
		}
		return result{*email, usd}, accounts.SetOperatorCap(ctx, *email, new(int64(math.Round(*usd*100))))
	}, func(w io.Writer, r result) (err error) {
		if r.Cap == nil {
			_, err = fmt.Fprintf(w, "%s has no spending cap of yours; those of their teams stay.\n", r.Email)
		} else {
			_, err = fmt.Fprintf(w, "%s may spend %.2f USD in all teams together.\n", r.Email, *r.Cap)
		}
		return err
	})
}

// maxCap is the highest spending cap in US dollars, as over the API.
const maxCap = 1e9

func printUser(w io.Writer, u account.User) error {
	_, err := fmt.Fprintf(w, "%s is %s of team %s.\n", u.Email, u.Role, u.Team)
	return err
}

func readPassword(in io.Reader, what string) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", cli.Usagef("%s: there is no password on standard input", what)
	}
	return password, nil
}

func newToken() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make bearer tokens, from the database itself"}
	create := &cobra.Command{
		Use: "create", Short: "Print a bearer token for a user", Args: cobra.NoArgs,
		Example: `  TOKEN=$(vedette token create --email ada@example.com)`,
	}
	email := create.Flags().String("email", "", "the user's address (required)")
	cmd.AddCommand(accountCommand(create, func(ctx context.Context, accounts *account.Accounts) (account.Token, error) {
		return accounts.IssueToken(ctx, *email)
	}, func(out io.Writer, t account.Token) error {
		_, err := fmt.Fprintln(out, t.AccessToken)
		if cli.IsTerminal(out) {
			fmt.Fprintf(create.ErrOrStderr(), "It is valid for %d s. Send it as 'Authorization: Bearer …'.\n", t.ExpiresIn)
		}
		return err
	}))
	return cmd
}
