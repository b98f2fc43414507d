package author

import (
	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/engine/schema"
)

func newTemplatesSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print a JSON Schema of the template language, for editors", Args: cobra.NoArgs,
		Long: `Prints a JSON Schema (draft 7) of templates and workflows. Editors complete and check
keys and words with it; see docs/use/templates.md. It is made of what this build reads.`,
		Example: `  vedette templates schema > template.schema.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schema.JSON()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(append(text, '\n'))
			}
			return err
		},
	}
}
