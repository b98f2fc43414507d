package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/app"
)

func newTemplates() *cobra.Command {
	cmd := &cobra.Command{Use: "templates", Short: "Look at detection templates"}
	list := &cobra.Command{
		Use: "list [PATH…]", Short: "List templates: those of the paths, or the starter catalogue",
		Example: `  vedette templates list
  vedette templates list ./templates -o json`,
	}
	output := outputFlag(list)
	list.RunE = func(cmd *cobra.Command, args []string) error {
		programs, problems, err := app.Templates(args...)
		for _, problem := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), printable(plain(problem)))
		}
		if err != nil {
			return err
		}
		if *output == "json" {
			type row struct {
				ID       string   `json:"id"`
				Name     string   `json:"name"`
				Severity string   `json:"severity"`
				Tags     []string `json:"tags"`
				Path     string   `json:"path"`
			}
			rows := make([]row, len(programs))
			for i, p := range programs {
				rows[i] = row{p.ID, p.Info.Name, string(p.Info.Severity), p.Info.Tags, p.Path}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(rows)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
		for _, p := range programs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, p.Info.Severity, printable(p.Info.Name), strings.Join(p.Info.Tags, ","))
		}
		return w.Flush()
	}
	validate := &cobra.Command{
		Use: "validate PATH…", Short: "Check that templates are well-formed and can run", Args: cobra.MinimumNArgs(1),
		Example: `  vedette templates validate ./templates`,
		RunE: func(cmd *cobra.Command, args []string) error {
			programs, problems, err := app.Templates(args...)
			if err != nil {
				return err
			}
			for _, problem := range problems {
				fmt.Fprintln(cmd.OutOrStdout(), printable(plain(problem)))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d good, %d bad\n", len(programs), len(problems))
			if len(problems) > 0 {
				return silent{exitError}
			}
			return nil
		},
	}
	cmd.AddCommand(list, validate)
	return cmd
}
