package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/core/account"
)

func newUserKeys() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Manage the API keys of users, in the database itself"}
	cmd.AddCommand(newUserKeysCreate(), newUserKeysList(), newUserKeysDelete())
	return cmd
}

func newUserKeysCreate() *cobra.Command {
	create := &cobra.Command{
		Use: "create EMAIL", Short: "Make an API key for a user, and print its value once", Args: cobra.ExactArgs(1),
		Long: "How many keys a user may have is set by the option api_keys_per_user.",
		Example: `  vedette user keys create ci@example.com
  vedette user keys create ci@example.com --name nightly --scope read --expires 2160h`,
	}
	type result struct {
		account.KeyInfo

		Value string `json:"key"`
	}
	name := create.Flags().String("name", account.DefaultKey, "what tells it from other keys of the user")
	scope := create.Flags().String("scope", string(account.ScopeFull), "read: it is refused wherever something would be changed; or full")
	cli.Values(create, "scope", string(account.ScopeRead), string(account.ScopeFull))
	expires := create.Flags().Duration("expires", 0, "how long it is valid, such as 2160h; 0: for ever")
	return accountCommand(create, func(ctx context.Context, accounts *account.Accounts) (result, error) {
		o := account.KeyOptions{Name: *name, Scope: account.Scope(*scope)}
		if *expires < 0 {
			return result{}, cli.Usagef("--expires: must be 0 or more")
		}
		if *expires > 0 {
			o.ExpiresAt = new(time.Now().Add(*expires))
		}
		k, info, err := accounts.CreateKeyOf(ctx, create.Flags().Arg(0), o)
		return result{info, k.Key}, err
	}, func(w io.Writer, r result) error {
		_, err := fmt.Fprintln(w, r.Value)
		if cli.IsTerminal(w) {
			fmt.Fprintln(create.ErrOrStderr(), "Keep it: it is not shown again. Send it as 'X-Api-Key: …'.")
		}
		return err
	})
}

func newUserKeysList() *cobra.Command {
	list := &cobra.Command{
		Use: "list EMAIL", Short: "List a user's API keys, without their values", Args: cobra.ExactArgs(1),
		Example: `  vedette user keys list ci@example.com`,
	}
	return accountCommand(list, func(ctx context.Context, accounts *account.Accounts) ([]account.KeyInfo, error) {
		return accounts.FindKeysOf(ctx, list.Flags().Arg(0))
	}, func(out io.Writer, keys []account.KeyInfo) error {
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		at := func(t *time.Time) string {
			if t == nil {
				return "never"
			}
			return t.UTC().Format(time.RFC3339)
		}
		for _, k := range keys {
			fmt.Fprintf(w, "%s\t%s…\t%s\texpires %s\tlast used %s\t%s\n", k.Name, k.Prefix, k.Scope, at(k.ExpiresAt),
				at(k.LastUsedAt), k.ID)
		}
		return w.Flush()
	})
}

func newUserKeysDelete() *cobra.Command {
	remove := &cobra.Command{
		Use: "delete EMAIL KEY", Short: "Revoke an API key of a user, given by name or id", Args: cobra.ExactArgs(2),
		Example: `  vedette user keys delete ci@example.com nightly`,
	}
	return accountCommand(remove, func(ctx context.Context, accounts *account.Accounts) (userDone, error) {
		email, key := remove.Flags().Arg(0), remove.Flags().Arg(1)
		return userDone{email, "the API key " + key + " is deleted"}, accounts.RevokeKeyOf(ctx, email, key)
	}, func(w io.Writer, d userDone) error {
		_, err := fmt.Fprintf(w, "%s: %s.\n", d.Email, d.Done)
		return err
	})
}
