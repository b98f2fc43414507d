package author

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"golang.org/x/term"
)

func newTemplatesSign() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sign PATH…", Short: "Sign templates, so that those who trust the key may run their programs",
		Args: cobra.MinimumNArgs(1),
		Long: `Writes a digest line at the end of each template of files and folders, as nuclei does.
What the signature is about is the template and the files of its scripts and programs.
Workflows and JSON are not signed. The private key comes from --key, or from the
environment variable ` + cli.KeyVariables + `,
as PEM or the name of a file. The passphrase of an encrypted one is asked for, or
comes from ` + cli.PassphraseVariable + `.`,
		Example: `  vedette templates sign ./templates --key keys/vedette-key.pem
  vedette templates sign ./templates/mine.yaml -o json   # with the key of the environment`,
	}
	key := cmd.Flags().String("key", "", "PEM file of the private key")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := cli.ReadSigningKey(*key)
		if err != nil {
			return err
		}
		var passphrase []byte
		if templates.IsEncrypted(text) {
			passphrase, err = signingPassphrase(cmd.InOrStdin(), cmd.ErrOrStderr(), "Passphrase of the private key: ")
			if err != nil {
				return err
			}
		}
		signer, err := templates.NewSigner(text, passphrase)
		if err != nil {
			return cli.Usage(err)
		}
		files, err := templateFiles(args)
		if err != nil {
			return err
		}
		return signAll(cmd.OutOrStdout(), signer, files, *output == "json")
	}
	return cmd
}

type signedRow struct {
	Path   string `json:"path"`
	Result string `json:"result"` // signed, "signed already", or why not
	failed bool
}

func signAll(out io.Writer, signer *templates.Signer, files []string, asJSON bool) error {
	rows, failed := make([]signedRow, 0, len(files)), 0
	for _, file := range files {
		done, err := signer.Sign(file)
		row := signedRow{Path: file, Result: string(done)}
		if err != nil {
			row.Result, row.failed = cli.Plain(err), true
			failed++
		}
		rows = append(rows, row)
	}
	if asJSON {
		if err := json.NewEncoder(out).Encode(rows); err != nil {
			return err
		}
	} else {
		for _, row := range rows {
			text := row.Path + ": " + row.Result
			if row.failed && strings.HasPrefix(row.Result, row.Path) {
				text = row.Result
			}
			fmt.Fprintln(out, cli.Printable(text))
		}
	}
	if failed > 0 {
		return cli.Silent(cli.ExitError)
	}
	return nil
}

// templateFiles are the files that paths name, and the templates in folders.
func templateFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			extension := strings.ToLower(filepath.Ext(name))
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case entry.Type().IsRegular() && (name == path || slices.Contains([]string{".yaml", ".yml"}, extension)):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, cli.Usage(err)
		}
	}
	return files, nil
}

// signingPassphrase is the passphrase of the environment, or what is typed on a terminal.
func signingPassphrase(in io.Reader, out io.Writer, question string) ([]byte, error) {
	if text, ok := os.LookupEnv(cli.PassphraseVariable); ok {
		return []byte(text), nil
	}
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, cli.Usagef("the private key needs a passphrase: set %s", cli.PassphraseVariable)
	}
	fmt.Fprint(out, question)
	text, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(out)
	return text, err
}

func newTemplatesKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make a key to sign templates with", Args: cobra.NoArgs,
		Long: `Makes a private key and its certificate, in the form of nuclei. The key signs templates;
whoever trusts the certificate may run the programs in them. The passphrase that
encrypts the key is asked for, or comes from ` + cli.PassphraseVariable + `.
Files that are there already are not replaced.`,
		Example: `  vedette templates keys --name "Ada Example" --folder keys`,
	}
	name := cmd.Flags().String("name", "", "whose key it is")
	folder := cmd.Flags().String("folder", ".", "where the two files go")
	plain := cmd.Flags().Bool("no-passphrase", false, "do not encrypt the private key")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var passphrase []byte
		var err error
		if !*plain {
			passphrase, err = signingPassphrase(cmd.InOrStdin(), cmd.ErrOrStderr(), "Passphrase for the new key: ")
			if err == nil && len(passphrase) == 0 {
				err = cli.Usagef("the passphrase is empty: use --no-passphrase to have none")
			}
		}
		if err != nil {
			return err
		}
		certificate, key, err := templates.NewKeys(*name, passphrase, time.Now())
		if err != nil {
			return cli.Usagef("--name: %s", cli.Plain(err))
		}
		if err := os.MkdirAll(*folder, 0o700); err != nil {
			return err
		}
		for file, text := range map[string][]byte{"vedette-certificate.pem": certificate, "vedette-key.pem": key} {
			if err := writeNew(filepath.Join(*folder, file), text); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", filepath.Join(*folder, "vedette-certificate.pem"),
			filepath.Join(*folder, "vedette-key.pem"))
		return err
	}
	return cmd
}

// writeNew writes a file that must not be there yet.
func writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
