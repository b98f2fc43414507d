package main

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/app"
	"golang.org/x/term"
)

// configFlags gives a command the options of the configuration as flags: all of them,
// or those of a command that only opens the database. The function it returns loads the
// configuration once the flags are parsed.
func configFlags(cmd *cobra.Command, sharedOnly bool) func() (app.Config, []app.Setting, error) {
	file := cmd.Flags().String("config", "", "configuration file (YAML), also VEDETTE_CONFIG")
	var mine []app.Option
	for _, o := range app.Options() {
		if sharedOnly && !o.Shared {
			continue
		}
		mine = append(mine, o)
		help := o.Help + " (" + o.Env() + ")"
		switch d := o.Default.(type) {
		case string:
			cmd.Flags().String(o.Flag(), d, help)
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
			err = usage(err)
		}
		return c, settings, err
	}
}

// isTerminal reports whether w is a terminal a person looks at.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// outputFlag is -o of the nouns: text for people, json for programs.
func outputFlag(cmd *cobra.Command) *string {
	f := format("text")
	cmd.Flags().VarP(&f, "output", "o", "text or json")
	return (*string)(&f)
}

// format is the value of outputFlag.
type format string

func (f format) String() string { return string(f) }
func (f format) Type() string   { return "string" }

func (f *format) Set(s string) error {
	if s != "text" && s != "json" {
		return errors.New("must be text or json")
	}
	*f = format(s)
	return nil
}
