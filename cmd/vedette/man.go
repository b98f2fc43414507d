package main

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

func newCompletion() *cobra.Command {
	shells := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print the script that completes commands, flags and their values in a shell",
		Long: `Prints the script for bash, zsh, fish or powershell. bash needs the package
bash-completion; zsh needs 'autoload -U compinit; compinit' in ~/.zshrc.`,
		Example: `  vedette completion bash > /etc/bash_completion.d/vedette
  vedette completion zsh > "$HOME/.zfunc/_vedette"
  vedette completion fish > ~/.config/fish/completions/vedette.fish`,
		ValidArgs: names, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := shells[args[0]]
			if write == nil {
				return cli.Usagef("there is no completion for %q: name %s", args[0], strings.Join(names, ", "))
			}
			return write(cmd.Root(), cmd.OutOrStdout())
		},
	}
}

func newMan() *cobra.Command {
	cmd := &cobra.Command{
		Use: "man [COMMAND…]", Hidden: true, Short: "Print a command's manual page, or write all of them to a folder",
		Example: `  vedette man | man -l -
  vedette man scan | man -l -
  vedette man --dir /usr/local/share/man/man1`,
	}
	dir := cmd.Flags().String("dir", "", "folder to write a page for every command to; it is created if missing")
	cli.Folders(cmd, "dir")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		header := &doc.GenManHeader{Section: "1", Source: "vedette " + version, Manual: "Vedette"}
		if built, err := time.Parse(time.RFC3339, date); err == nil {
			header.Date = &built // so that one commit has one text
		}
		root := cmd.Root()
		if *dir != "" {
			if len(args) > 0 {
				return cli.Usagef("--dir writes the pages of all commands: name none")
			}
			if err := os.MkdirAll(*dir, 0o755); err != nil { //nolint:gosec // everybody reads manuals
				return err
			}
			return doc.GenManTree(manual(root), header, *dir)
		}
		page, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = cli.UnknownCommand(page, rest[0])
		}
		if err != nil {
			return cli.Usage(err)
		}
		return doc.GenMan(manual(page), header, cmd.OutOrStdout())
	}
	return cmd
}

// manual leaves out the note that the page was generated, with the day of it, from the pages of a command and of those
// below it.
func manual(cmd *cobra.Command) *cobra.Command {
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		manual(sub)
	}
	return cmd
}
