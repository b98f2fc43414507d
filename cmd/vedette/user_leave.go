package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/core/account"
	"golang.org/x/term"
)

// userDone is what a command did to a user.
type userDone struct {
	Email string `json:"email"`
	Done  string `json:"done"`
}

// userCommand makes cmd do something to the user whose address is its argument; done says what it did.
func userCommand(
	cmd *cobra.Command, done string, do func(context.Context, *account.Accounts, string) error,
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	return accountCommand(cmd, func(ctx context.Context, accounts *account.Accounts) (userDone, error) {
		email := cmd.Flags().Arg(0)
		return userDone{email, done}, do(ctx, accounts, email)
	}, func(w io.Writer, d userDone) error {
		_, err := fmt.Fprintf(w, "%s: %s.\n", d.Email, d.Done)
		return err
	})
}

func newUserPassword() *cobra.Command {
	set := &cobra.Command{
		Use: "set-password EMAIL", Short: "Give a user another password, and end all their sessions",
		Long: "The password is asked for on a terminal, and otherwise the first line of standard input.",
		Example: `  vedette user set-password ada@example.com
  echo "$PASSWORD" | vedette user set-password bob@example.com`,
	}
	return userCommand(set, "the password is set, all sessions have ended",
		func(ctx context.Context, accounts *account.Accounts, email string) error {
			password, err := askPassword(set)
			if err != nil {
				return err
			}
			return accounts.SetPassword(ctx, email, password)
		})
}

// askPassword reads a password from the terminal, without showing it, or from standard input.
func askPassword(cmd *cobra.Command) (string, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return readPassword(cmd.InOrStdin(), "set-password")
	}
	fmt.Fprint(cmd.ErrOrStderr(), "New password: ")
	password, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(cmd.ErrOrStderr())
	return string(password), err
}

func newUserDisable(disable bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "enable EMAIL", Short: "Let a disabled user sign in again", Example: `  vedette user enable bob@example.com`,
	}
	done := "may sign in"
	if disable {
		cmd = &cobra.Command{
			Use:     "disable EMAIL",
			Short:   "Keep a user out: sessions end, keys are refused, tasks stop",
			Long:    "It takes effect with the user's next request. What they have scheduled for their teams goes on.",
			Example: `  vedette user disable bob@example.com`,
		}
		done = "disabled"
	}
	return userCommand(cmd, done, func(ctx context.Context, accounts *account.Accounts, email string) error {
		return accounts.SetDisabled(ctx, email, disable)
	})
}

func newUserRemoveFactor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove-second-factor EMAIL", Short: "Let a user who lost their authenticator app and security keys sign in by password",
		Example: `  vedette user remove-second-factor bob@example.com`,
	}
	return userCommand(cmd, "all second factors are removed",
		func(ctx context.Context, accounts *account.Accounts, email string) error {
			return accounts.RemoveFactor(ctx, email)
		})
}

func newUserUnlink() *cobra.Command {
	cmd := &cobra.Command{
		Use: "unlink EMAIL", Short: "Forget who a user is at the OpenID issuer, and end all their sessions",
		Long:    "Their next sign-in there is by e-mail address, as the first one was. Use it when the issuer has given a person a new account.",
		Example: `  vedette user unlink bob@example.com`,
	}
	return userCommand(cmd, "unlinked, all sessions have ended",
		func(ctx context.Context, accounts *account.Accounts, email string) error {
			return accounts.Unlink(ctx, email)
		})
}

func newUserDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete EMAIL", Short: "Delete a user, who leaves all teams; what they made there stays",
		Long: "Teams that would have no admin are named, and nothing is deleted: make another member an admin first.",
		Example: `  vedette user delete bob@example.com
  vedette user delete bob@example.com --with-teams`,
	}
	withTeams := cmd.Flags().Bool("with-teams", false, "delete the teams that nobody else is in, with everything in them")
	return userCommand(cmd, "deleted", func(ctx context.Context, accounts *account.Accounts, email string) error {
		return accounts.DeleteUser(ctx, email, *withTeams)
	})
}
