// Package knowledge is the command about knowledge bases on a server: notes, pages and repositories that people and
// their tasks search.
package knowledge

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

const (
	base    = "/api/v1/knowledge"
	sources = base + "/sources"
)

// maxText is how many bytes of a file the server takes.
const maxText = 1 << 20

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "knowledge", Short: "Add, list, search and remove what tasks on a server can look up",
		Long: `Tasks with a language model search what you add, and cite it. The API key is in VEDETTE_API_KEY.`,
		Example: `  vedette knowledge add notes.md
  vedette knowledge search "staging gateway"`,
	}
	cmd.AddCommand(newAdd(), newList(), newSearch(), newRemove())
	return cmd
}

type source struct {
	ID, Name, Kind, Status, Error string
	Shared                        bool
	Chunks                        int
}

func (s source) line() string {
	whose := "yours"
	if s.Shared {
		whose = "team"
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %-5s  %-5s  %-7s  %6d  %s  %s", s.ID, whose, s.Kind, s.Status, s.Chunks, s.Name, s.Error))
}

type list struct{ Sources []source }

func (l list) lines() (out []string) {
	for _, s := range l.Sources {
		out = append(out, s.line())
	}
	return out
}

func newAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add FILE|URL", Args: cobra.ExactArgs(1),
		Short: "Add a text file, a page, or a git repository",
		Long: "Add a text file (- is standard input), the page at a URL, or with --git the text files of a git remote. The server\n" +
			"indexes it in the background; vedette knowledge list shows when it is ready.",
		Example: `  vedette knowledge add notes.md --shared
  vedette knowledge add https://store.example.com/runbook
  vedette knowledge add --git https://git.example.com/docs.git --ref main`}
	flags := client.AddFlags(cmd)
	name := cmd.Flags().String("name", "", "what to call it (default: the file's name, or the URL)")
	shared := cmd.Flags().Bool("shared", false, "for the whole team; admins alone may")
	git := cmd.Flags().Bool("git", false, "the URL is that of a git remote")
	ref := cmd.Flags().String("ref", "", "a branch, tag or commit, with --git")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := map[string]any{"shared": *shared}
		isURL := strings.HasPrefix(args[0], "https://") || strings.HasPrefix(args[0], "http://")
		switch {
		case *ref != "" && !*git:
			return cli.Usagef("--ref is for --git")
		case *git && !isURL:
			return cli.Usagef("--git needs an https or http URL")
		case *git:
			body["git_url"], body["ref"] = args[0], *ref
		case isURL:
			body["urls"] = []string{args[0]}
		default:
			text, err := read(cmd, args[0])
			if err != nil {
				return err
			}
			body["content"] = text
			if *name == "" && args[0] != "-" {
				*name = filepath.Base(args[0])
			}
		}
		body["name"] = *name
		return client.Show(flags, cmd, http.MethodPost, base+"/index", body, list.lines)
	}
	return cmd
}

func read(cmd *cobra.Command, name string) (string, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err == nil && len(text) > maxText {
		err = errors.New(name + " has more than 1 MiB: cut it into several files")
	}
	return string(text), err
}

func newList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List what there is", Args: cobra.NoArgs,
		Example: "  vedette knowledge list -o json"}
	flags := client.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return client.Show(flags, cmd, http.MethodGet, sources, nil, list.lines)
	}
	return cmd
}

func newSearch() *cobra.Command {
	cmd := &cobra.Command{Use: "search QUERY", Short: "Search it", Args: cobra.ExactArgs(1),
		Example: `  vedette knowledge search "who owns the staging gateway"`}
	flags := client.AddFlags(cmd)
	limit := cmd.Flags().Int("limit", 5, "how many results at most, up to 50")
	type found struct {
		Results []struct {
			Source, Place, Text string
			Line                int
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return client.Show(flags, cmd, http.MethodPost, base+"/search", map[string]any{"query": args[0], "limit": *limit},
			func(f found) (out []string) {
				for _, r := range f.Results {
					at := fmt.Sprintf("%s, line %d", r.Place, r.Line)
					if r.Place != r.Source {
						at = r.Source + ": " + at
					}
					out = append(append(out, at), strings.Split(r.Text, "\n")...)
					out = append(out, "")
				}
				return out
			})
	}
	return cmd
}

func newRemove() *cobra.Command {
	cmd := &cobra.Command{Use: "remove ID", Short: "Remove a source", Args: cobra.ExactArgs(1),
		Example: "  vedette knowledge remove 01a215d7-3ca7-71b4-89ee-1daa3fcca155"}
	flags := client.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return client.Show(flags, cmd, http.MethodDelete, sources+"/"+url.PathEscape(args[0]), nil,
			func(a struct{ Message string }) []string { return []string{a.Message} })
	}
	return cmd
}
