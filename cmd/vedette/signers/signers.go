// Package signers has the commands about the keys whose signed templates may run programs on a server.
package signers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

// answer has what the commands show of the server's answers.
type answer struct {
	Message string
	Allowed bool
	Key     key
	Results []key
}

type key struct{ ID, Name, Owner, Fragment string }

func (k key) line() string { return fmt.Sprintf("%s  %s  %s (%s)", k.ID, k.Fragment, k.Name, k.Owner) }

// Commands are those below 'vedette templates keys', which makes a key: the keys that a team's server trusts.
func Commands() []*cobra.Command { return []*cobra.Command{list(), add(), remove()} }

func list() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the keys that a server trusts for your team", Args: cobra.NoArgs,
		Example: "  vedette templates keys list\n  vedette templates keys list -o json"}
	flags := client.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return client.Show(flags, cmd, http.MethodGet, "/v1/template-keys", nil, func(a answer) []string {
			var lines []string
			for _, k := range a.Results {
				lines = append(lines, k.line())
			}
			if !a.Allowed {
				lines = append(lines, "The operator lets this server run no programs of templates.")
			}
			return append(lines, cli.Counted(len(a.Results), "key")+".")
		})
	}
	return cmd
}

// maxFile is how long a certificate may be, in bytes.
const maxFile = 16 << 10

func add() *cobra.Command {
	cmd := &cobra.Command{Use: "add FILE", Args: cobra.ExactArgs(1),
		Short: "Have a server trust a key, by its certificate",
		Long: `Programs of templates (code) that this key has signed are run by a server that was started
with --code, for your team. Only admins of a team may add keys. What is sent is the
certificate: the private key stays with who signs. The API key is in VEDETTE_API_KEY.`,
		Example: `  vedette templates keys add keys/vedette-certificate.pem
  vedette templates keys add keys/vedette-certificate.pem --name "red team"`}
	flags := client.AddFlags(cmd)
	name := cmd.Flags().String("name", "", "its name (default: that of the certificate's owner)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return cli.Usage(err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err == nil && len(text) > maxFile {
			err = errors.New(args[0] + " is too long for a certificate")
		}
		if err != nil {
			return cli.Usage(err)
		}
		body := map[string]string{"certificate": string(text)}
		if *name != "" {
			body["name"] = *name
		}
		return client.Show(flags, cmd, http.MethodPost, "/v1/template-keys", body, func(a answer) []string {
			return []string{a.Key.line(), a.Message}
		})
	}
	return cmd
}

func remove() *cobra.Command {
	cmd := &cobra.Command{Use: "delete ID", Short: "Have a server trust a key no more", Args: cobra.ExactArgs(1),
		Example: "  vedette templates keys delete 5f0c9d1e-7b51-4a6c-9f0e-2a1d0c7b6e55"}
	flags := client.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return client.Show(flags, cmd, http.MethodDelete, "/v1/template-keys/"+url.PathEscape(args[0]), nil,
			func(a answer) []string { return []string{a.Message} })
	}
	return cmd
}
