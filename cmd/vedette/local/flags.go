// Package local has commands that open the database of a server themselves, on its machine, and the flags of the
// configuration that all such commands share.
package local

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
)

// WithConfig makes the RunE of a command with ConfigFlags.
func WithConfig(cmd *cobra.Command, sharedOnly bool, run func(cmd *cobra.Command, args []string, c app.Config) error) {
	load := ConfigFlags(cmd, sharedOnly)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		return run(cmd, args, c)
	}
}

// ConfigFlags defines the options of the configuration as flags: all, or those of commands that only open the
// database, with more by their keys. The returned function loads the configuration after the flags are parsed.
func ConfigFlags(cmd *cobra.Command, sharedOnly bool, more ...string) func() (app.Config, []app.Setting, error) {
	file := cmd.Flags().String("config", "", "configuration file (YAML), also VEDETTE_CONFIG")
	var mine []app.Option
	for _, o := range app.Options() {
		if sharedOnly && !o.Shared && !slices.Contains(more, o.Key) {
			continue
		}
		mine = append(mine, o)
		help := o.Help + " (" + o.Env() + ")"
		switch d := o.Default.(type) {
		case string:
			cmd.Flags().String(o.Flag(), d, help)
		case bool:
			cmd.Flags().Bool(o.Flag(), d, help)
		case int:
			cmd.Flags().Int(o.Flag(), d, help)
		case int64:
			cmd.Flags().Int64(o.Flag(), d, help)
		case float64:
			cmd.Flags().Float64(o.Flag(), d, help)
		case time.Duration:
			cmd.Flags().Duration(o.Flag(), d, help)
		case []string:
			cmd.Flags().StringSlice(o.Flag(), d, help)
		}
	}
	cli.Folders(cmd, "data-dir")
	if !sharedOnly {
		cli.Values(cmd, "role", "all", "server", "worker")
		cli.Values(cmd, "log-level", "debug", "info", "warn", "error")
		cli.Values(cmd, "log-format", "text", "json")
		cli.MainFlags(cmd, "config", "listen", "data-dir", "database", "role", "workers", "public-url", "webhook-allow",
			"deny-targets", "llm-provider", "output", "origin")
	}
	return func() (app.Config, []app.Setting, error) {
		given := map[string]any{}
		for _, o := range mine {
			if f := cmd.Flags().Lookup(o.Flag()); f.Changed {
				given[o.Key] = f.Value.String()
				if _, list := o.Default.([]string); list {
					given[o.Key], _ = cmd.Flags().GetStringSlice(o.Flag()) // it is one: made above
				}
			}
		}
		if *file == "" {
			*file = os.Getenv("VEDETTE_CONFIG")
		}
		c, settings, err := app.Load(given, os.Environ(), *file)
		if err != nil {
			err = cli.Usage(err)
		}
		return c, settings, err
	}
}
