// Package author has the commands for those who write templates: validate, new, test, schema, sign and keys. None
// needs a server or a network.
package author

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/draft"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// Commands are the commands, below 'vedette templates'.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newTemplatesValidate(), newTemplatesNew(), newTemplatesTest(), newTemplatesSchema(), newTemplatesSign(),
		newTemplatesKeys(),
	}
}

func newTemplatesNew() *cobra.Command {
	cmd := &cobra.Command{
		Use: "new --from-request FILE", Args: cobra.NoArgs,
		Short: "Write a template from a request and its response, offline",
		Long: `Writes a template that sends a request, with matchers that its response suggests: the
status, the type of the content, and texts of the body that do not look as if they
changed. The template was tried on the response before it is printed. It describes
the answer; which part of it shows a weakness is yours to say.

The file (- for standard input) is a request as text, which its response may follow;
a curl command; a HAR or an entry of one; or an event of 'vedette scan --jsonl'.
Cookies and other credentials are left out.`,
		Example: `  vedette templates new --from-request exchange.txt --id acme-export > acme-export.yaml
  vedette templates new --from-request session.har --severity low -o json`,
	}
	var from string
	var d draft.Details
	severity := string(syntax.SeverityInfo)
	output := cli.OutputFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&from, "from-request", "", "file with the request")
	flags.StringVar(&d.ID, "id", "", "id of the template (default: made of the path)")
	flags.StringVar(&d.Name, "name", "", "name of what it finds")
	flags.StringVar(&d.Author, "author", "", "who writes it")
	flags.StringVar(&severity, "severity", severity, "info, low, medium, high or critical")
	cli.Values(cmd, "severity", cli.Severities...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" {
			return cli.Usagef("--from-request is required: name the file with the request")
		}
		if cli.SeverityRank(severity) == len(cli.Severities) {
			return cli.Usagef("--severity: %q is no severity", severity)
		}
		d.Severity = syntax.Severity(severity)
		text, err := readRequest(cmd.InOrStdin(), from)
		if err != nil {
			return cli.Usagef("--from-request: %w", err)
		}
		x, err := recorded.ReadExchange(text)
		if err != nil {
			return cli.Usagef("--from-request %s: %w", cli.Printable(from), err)
		}
		made, err := draft.Write(cmd.Context(), x, d)
		if err != nil {
			return cli.Usage(err)
		}
		if *output == "json" {
			notes := made.Notes
			if notes == nil {
				notes = []string{}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
				"id": made.ID, "template": made.Text, "notes": notes})
		}
		for _, note := range made.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", cli.Printable(note))
		}
		_, err = io.WriteString(cmd.OutOrStdout(), made.Text)
		return err
	}
	return cmd
}

func readRequest(in io.Reader, name string) ([]byte, error) {
	if name != "-" {
		return readInput(name)
	}
	return io.ReadAll(io.LimitReader(in, recorded.MaxFile+1))
}
