package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the configuration"}
	show := &cobra.Command{
		Use: "show", Short: "Print every option with its value", Args: cobra.NoArgs,
		Example: `  vedette config show --origin
  VEDETTE_REGION=eu vedette config show -o json`,
	}
	load := local.ConfigFlags(show, false)
	output := cli.OutputFlag(show)
	origin := show.Flags().Bool("origin", false, "also say where each value comes from")
	show.RunE = func(cmd *cobra.Command, _ []string) error {
		_, settings, err := load()
		if err != nil {
			return err
		}
		if *output == "json" {
			type row struct {
				Value  any    `json:"value"`
				Origin string `json:"origin"`
			}
			doc := map[string]row{}
			for _, s := range settings {
				doc[s.Key] = row{shown(s), s.Origin}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(doc)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
		for _, s := range settings {
			fmt.Fprintf(w, "%s\t%v", s.Key, shown(s))
			if *origin {
				fmt.Fprintf(w, "\t%s", s.Origin)
			}
			fmt.Fprintln(w)
		}
		return w.Flush()
	}
	cmd.AddCommand(show)
	return cmd
}

// shown is a setting's value, or only whether it is set if it is a secret.
func shown(s app.Setting) any {
	if s.Secret && fmt.Sprint(s.Value) != fmt.Sprint(s.Default) {
		return "(set)"
	}
	return s.Value
}

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that this machine and configuration will work", Args: cobra.NoArgs,
		Example: `  vedette doctor
  vedette doctor --database postgres://vedette@db/vedette`,
	}
	local.WithConfig(cmd, false, func(cmd *cobra.Command, _ []string, c app.Config) error {
		failed := false
		check := func(what string, err error) {
			if err != nil {
				failed = true
				fmt.Fprintf(cmd.OutOrStdout(), "bad   %s: %s\n", what, cli.Plain(err))
				return
			}
			fmt.Fprintf(cmd.OutOrStdout(), "good  %s\n", what)
		}
		check("the configuration is usable", nil)
		if c.Database == "" {
			check("the data folder "+c.DataDir+" can be written", writable(c.DataDir))
		}
		err := app.WithAccounts(cmd.Context(), c, func(accounts *account.Accounts) error {
			has, err := accounts.HasUsers(cmd.Context())
			if err == nil && !has {
				fmt.Fprintln(cmd.OutOrStdout(), "note  there are no users: 'vedette serve' prints a setup link")
			}
			return err
		})
		if errors.Is(err, app.ErrOlderSchema) { // as it must be before an upgrade
			fmt.Fprintf(cmd.OutOrStdout(), "note  %s\n", err)
		} else {
			check("the database answers and its schema is current", err)
		}
		_, _, err = templates.Starter()
		check("the starter catalogue compiles", err)
		if failed {
			return cli.Silent(cli.ExitError)
		}
		return nil
	})
	return cmd
}

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func newOpenAPI() *cobra.Command {
	surfaces := []string{"agent", "platform"}
	cmd := &cobra.Command{
		Use: "openapi SURFACE", Hidden: true, Short: "Print the OpenAPI document of a surface, agent or platform", ValidArgs: surfaces,
		Args:    cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Example: `  vedette openapi agent > agent.openapi.yaml`,
	}
	local.WithConfig(cmd, false, func(cmd *cobra.Command, args []string, c app.Config) error {
		doc, err := app.Contract(c, args[0] == surfaces[0])
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(doc)
		return err
	})
	return cmd
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: `  vedette version --json`,
	}
	asJSON := cmd.Flags().Bool("json", false, "as JSON")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asJSON || *output == "json" {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]string{
				"version": version, "commit": commit, "date": date, "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "vedette %s (%s, %s, %s)\n", version, commit, date, runtime.Version())
		return err
	}
	return cmd
}
