package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
)

func newTemplatesUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "update", Short: "Import the public templates from a folder, a zip or the URL of one", Args: cobra.NoArgs,
		Long: `Replaces the public templates of the database by those of a folder, a zip, or the URL of
a zip such as a release's. When the import fails or is interrupted, the old
templates stay. Templates that were there before keep their time of arrival. A template
that is not well-formed is left out and listed.`,
		Example: `  vedette templates update --from ./templates
  vedette templates update --from templates-10.2.0.zip --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  vedette templates update   # from where the last import came`,
	}
	output := cli.OutputFlag(cmd)
	var source app.TemplateSource
	cmd.Flags().StringVar(&source.From, "from", "",
		"folder, zip, or http or https URL of a zip (default: that of the last import)")
	cmd.Flags().StringVar(&source.SHA256, "sha256", "", "digest that the zip must have, in hex")
	cmd.Flags().StringVar(&source.Tag, "tag", "", "name of the release (default: taken from the URL or the zip's folder)")
	cmd.Flags().BoolVar(&source.Early, "early", false, "import the early templates instead, for teams whose plan has them")
	withConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		report, err := app.UpdateTemplates(cmd.Context(), c, source)
		for _, refused := range report.Refused {
			fmt.Fprintln(cmd.ErrOrStderr(), cli.Printable(cli.Plain(refused)))
		}
		if err != nil {
			return err
		}
		return printUpdate(cmd.OutOrStdout(), report, *output == "json")
	})
	return cmd
}

func printUpdate(w io.Writer, r app.TemplateReport, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{
			"set": r.Set, "release_tag": r.Tag, "digest": r.Digest, "total": r.Total, "new": r.New, "updated": r.Updated,
			"removed": r.Removed,
			"refused": len(r.Refused), "unchanged": r.Unchanged,
		})
	}
	if r.Unchanged {
		_, err := fmt.Fprintf(w, "The %s set has these %d templates already.\n", r.Set, r.Total)
		return err
	}
	_, err := fmt.Fprintf(w, "The %s set has %d templates: %d new, %d updated, %d removed, %d left out.\n", r.Set, r.Total,
		r.New, r.Updated, r.Removed, len(r.Refused))
	return err
}
