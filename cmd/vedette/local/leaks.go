package local

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/leak"
)

// Leaks are the commands about breach lists.
func Leaks() *cobra.Command {
	cmd := &cobra.Command{Use: "leaks", Short: "Manage the breach lists that teams are warned from, in the database itself"}
	cmd.AddCommand(newLeaksLoad(), newLeaksList(), newLeaksRemove())
	return cmd
}

func newLeaksLoad() *cobra.Command {
	cmd := &cobra.Command{
		Use: "load FILE", Short: "Load a breach list", Args: cobra.ExactArgs(1),
		Long: `Load a breach list: an object of JSON a line, CSV with a head, or lines of login:password or URL:login:password; plain or
compressed with gzip; - is standard input. A list that is loaded again adds only what is new. Addresses and passwords
are stored sealed, and teams see those of domains that they have proved to own.`,
		Example: `  vedette leaks load stealer-logs.jsonl.gz
  vedette leaks load combolist.txt --name "Combolist of May"`,
	}
	name := cmd.Flags().String("name", "", "what the list is called (default: the name of the file)")
	output := cli.OutputFlag(cmd)
	WithConfig(cmd, true, func(cmd *cobra.Command, args []string, c app.Config) error {
		in, called := cmd.InOrStdin(), *name
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			in = f
			if called == "" {
				called = filepath.Base(args[0])
			}
		}
		if called == "" {
			return cli.Usagef("--name says what a list from standard input is called")
		}
		var done leak.Loaded
		err := app.WithLeaks(cmd.Context(), c, func(leaks *leak.Leaks) (err error) {
			done, err = leaks.Load(cmd.Context(), called, in, loadProgress(cmd.ErrOrStderr()))
			return err
		})
		if err != nil {
			return err
		}
		if *output == "json" {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(done)
		}
		for _, why := range done.Reasons {
			fmt.Fprintln(cmd.ErrOrStderr(), "rejected:", cli.Printable(why))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d leaks, %d of them new; %d lines were rejected.\n", done.Lines, done.New, done.Rejected)
		return nil
	})
	return cmd
}

// loadProgress says every few seconds how far a list is loaded.
func loadProgress(w io.Writer) func(leak.Loaded) {
	const every = 5 * time.Second
	said := time.Now()
	return func(done leak.Loaded) {
		if time.Since(said) >= every {
			said = time.Now()
			fmt.Fprintf(w, "%d leaks, %d new, %d lines rejected\n", done.Lines, done.New, done.Rejected)
		}
	}
}

func newLeaksList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the breach lists that are loaded", Args: cobra.NoArgs,
		Example: `  vedette leaks list -o json`,
	}
	output := cli.OutputFlag(cmd)
	WithConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		return app.WithLeaks(cmd.Context(), c, func(leaks *leak.Leaks) error {
			lists, err := leaks.Lists(cmd.Context())
			if err != nil {
				return err
			}
			if *output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(append([]leak.List{}, lists...))
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tLEAKS\tLOADED")
			for _, l := range lists {
				fmt.Fprintf(w, "%s\t%d\t%s\n", cli.Printable(l.Name), l.Leaks, l.LoadedAt.Format(time.RFC3339))
			}
			return w.Flush()
		})
	})
	return cmd
}

func newLeaksRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Delete a breach list, and what no other list has", Args: cobra.ExactArgs(1),
		Example: `  vedette leaks remove stealer-logs.jsonl.gz`,
	}
	WithConfig(cmd, true, func(cmd *cobra.Command, args []string, c app.Config) error {
		return app.WithLeaks(cmd.Context(), c, func(leaks *leak.Leaks) error { return leaks.Remove(cmd.Context(), args[0]) })
	})
	return cmd
}
