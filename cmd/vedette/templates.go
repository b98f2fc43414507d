package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/author"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/cmd/vedette/signers"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

func newTemplates() *cobra.Command {
	cmd := &cobra.Command{Use: "templates", Short: "Detection templates: list, update, write, check, try"}
	list := &cobra.Command{
		Use: "list [PATH…]", Short: "List the templates of files and folders, of the database, or the starter templates",
		Example: `  vedette templates list
  vedette templates list --installed --data-dir /var/lib/vedette
  vedette templates list ./templates -o json`,
	}
	load := local.ConfigFlags(list, true)
	output := cli.OutputFlag(list)
	installed := list.Flags().Bool("installed", false, "list the public templates of the database")
	list.RunE = func(cmd *cobra.Command, args []string) error {
		if *installed {
			c, _, err := load()
			if err != nil {
				return err
			}
			known, err := app.Installed(cmd.Context(), c)
			if err != nil {
				return err
			}
			rows := make([]templateRow, len(known))
			for i, k := range known {
				rows[i] = templateRow{k.ID, k.Name, k.Severity, k.Tags, k.Path}
			}
			return listTemplates(cmd.OutOrStdout(), rows, *output == "json")
		}
		o := templates.Options{Paths: args, IncludeIgnored: true, Allow: templates.AllowAll()}
		s, err := templates.Select(cmd.Context(), o, program.Options{})
		if err != nil {
			return err
		}
		for _, problem := range s.Problems() {
			fmt.Fprintln(cmd.ErrOrStderr(), cli.Printable(cli.Plain(problem)))
		}
		rows := make([]templateRow, len(s.Programs))
		for i, p := range s.Programs {
			rows[i] = templateRow{p.ID, p.Info.Name, string(p.Info.Severity), p.Info.Tags, p.Path}
		}
		return listTemplates(cmd.OutOrStdout(), rows, *output == "json")
	}
	cmd.AddCommand(list, newTemplatesUpdate())
	for _, one := range author.Commands() {
		if one.Name() == "keys" {
			one.AddCommand(signers.Commands()...)
		}
		cmd.AddCommand(one)
	}
	return cmd
}

type templateRow struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Severity string   `json:"severity"`
	Tags     []string `json:"tags"`
	Path     string   `json:"path"`
}

func listTemplates(out io.Writer, rows []templateRow, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(rows)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Severity, cli.Printable(r.Name), strings.Join(r.Tags, ","))
	}
	return w.Flush()
}
