package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/infra/backup"
	"golang.org/x/term"
)

const passphraseHelp = `The passphrase is the first line of --passphrase-file (- is standard input), or
VEDETTE_BACKUP_PASSPHRASE, or is asked for on a terminal. Without it nobody can read
the file: keep it elsewhere.`

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write all data into one encrypted file, while the server runs", Args: cobra.ExactArgs(1),
		Long: `Writes the database as it is at one moment, the files beside it and the key that
encrypts secrets into FILE, encrypted with a passphrase. The file is read back
before it gets its name, so that FILE is always whole. With PostgreSQL, run it
where the data folder is.

` + passphraseHelp,
		Example: `  vedette backup /backups/vedette.age --data-dir /var/lib/vedette --passphrase-file /etc/vedette/passphrase
  vedette backup today.age --database postgres://vedette@db/vedette -o json`,
	}
	backupCommand(cmd, "replace FILE if it exists", app.Backup, func(w io.Writer, r backup.Report) {
		fmt.Fprintf(w, "%s has the whole database and %s: %s. It was read back.\n", r.File,
			cli.Counted(int(r.Blobs), "file"), bytesText(r.Bytes))
	})
	return cmd
}

func newRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the data", Args: cobra.ExactArgs(1),
		Long: `Reads all of FILE and, if it is whole, puts its database, files and key where this
configuration has them. Stop all servers and workers first. A backup of an older
version is migrated; one of a newer version, or of the other kind of database, is
refused. After an interruption no server starts until it was run again.

` + passphraseHelp,
		Example: `  vedette restore /backups/vedette.age --data-dir /var/lib/vedette --passphrase-file /etc/vedette/passphrase
  vedette restore vedette.age --database postgres://vedette@db/new --data-dir /var/lib/vedette`,
	}
	backupCommand(cmd, "replace the data that are there", app.Restore, func(w io.Writer, r backup.Report) {
		fmt.Fprintf(w, "Restored the backup of %s: the whole database and %s.\n", r.Time.Format(time.RFC3339),
			cli.Counted(int(r.Blobs), "file"))
		if !r.Key {
			fmt.Fprintln(w, "It has no key for secrets: no server had run.")
		}
	})
	return cmd
}

func backupCommand(
	cmd *cobra.Command, forceHelp string,
	run func(ctx context.Context, c app.Config, file string, o backup.Options) (backup.Report, error),
	text func(w io.Writer, r backup.Report),
) {
	load := local.ConfigFlags(cmd, true, "secret_key_file")
	output := cli.OutputFlag(cmd)
	file := cmd.Flags().String("passphrase-file", "", "file with the passphrase in its first line; - is standard input")
	force := cmd.Flags().Bool("force", false, forceHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		passphrase, err := readPassphrase(cmd, *file, cmd.Name() == "backup")
		if err != nil {
			return err
		}
		stages := newStages(cmd.ErrOrStderr())
		report, err := run(cmd.Context(), c, args[0], backup.Options{
			Passphrase: passphrase, Replace: *force, Version: version, Progress: stages.show,
		})
		stages.bar.Close()
		if err != nil {
			return err
		}
		if *output == "json" {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
		}
		text(cmd.OutOrStdout(), report)
		return nil
	}
}

// minPassphrase is the length that a new passphrase must have: whoever has the file can try others.
const minPassphrase = 12

// readPassphrase takes the passphrase from a file, the environment or the terminal, but not from the arguments, which
// every process can read. A new one has a least length and is typed twice.
func readPassphrase(cmd *cobra.Command, file string, isNew bool) (passphrase string, err error) {
	in, isFile := cmd.InOrStdin().(*os.File)
	switch {
	case file == "-":
		passphrase, err = firstLine(cmd.InOrStdin())
	case file != "":
		f, oerr := os.Open(file)
		if oerr != nil {
			return "", cli.Usagef("--passphrase-file: %w", oerr)
		}
		defer f.Close()
		passphrase, err = firstLine(f)
	case os.Getenv("VEDETTE_BACKUP_PASSPHRASE") != "":
		passphrase = os.Getenv("VEDETTE_BACKUP_PASSPHRASE")
	case isFile && term.IsTerminal(int(in.Fd())):
		passphrase, err = askPassphrase(cmd, in, isNew)
	}
	switch {
	case err != nil:
		return "", err
	case passphrase == "":
		return "", cli.Usagef("there is no passphrase: see --passphrase-file")
	case isNew && len(passphrase) < minPassphrase:
		return "", cli.Usagef("the passphrase must have at least %d characters", minPassphrase)
	}
	return passphrase, nil
}

func firstLine(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, 4096))
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(line, "\r"), err
}

func askPassphrase(cmd *cobra.Command, in *os.File, twice bool) (string, error) {
	ask := func(question string) (string, error) {
		fmt.Fprint(cmd.ErrOrStderr(), question)
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return string(text), err
	}
	passphrase, err := ask("Passphrase: ")
	if err != nil || !twice {
		return passphrase, err
	}
	again, err := ask("Once more: ")
	if err == nil && again != passphrase {
		err = cli.Usagef("the two passphrases differ")
	}
	return passphrase, err
}

// stages show the progress of a backup: a line for each stage, and on a terminal a bar.
type stages struct {
	w    io.Writer
	bar  *cli.Bar
	last string
}

func newStages(w io.Writer) *stages {
	bar := cli.NewBar(w)
	return &stages{bar.Above(w), bar, ""}
}

func (s *stages) show(stage string, done, total int64) {
	if stage != s.last {
		s.bar.End()
		fmt.Fprintf(s.w, "%s…\n", stage)
		s.last = stage
	}
	s.bar.Show(stage, done>>20, max(total, done)>>20)
}

// bytesText is a number of bytes for people, such as 1.5 MB.
func bytesText(n int64) string {
	size := float64(n)
	for _, unit := range []string{"bytes", "kB", "MB", "GB"} {
		if size < 1000 {
			return fmt.Sprintf("%.0f %s", size, unit)
		}
		size /= 1000
	}
	return fmt.Sprintf("%.1f TB", size)
}
