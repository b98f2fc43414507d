package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func newTemplatesUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "update", Short: "Bring templates from a folder, an archive, a URL or a git remote", Args: cobra.NoArgs,
		Long: `Replaces the templates of a folder (--to), or without --to the public templates of the
database, by those of a folder, of a zip, tar or tar.gz, of the URL of one such as
a release's, or of a git remote: a URL that ends with .git or begins with
git+https://, ssh:// or file://, or user@host:path. When the update fails or is
interrupted, the old templates stay. What was added, changed and removed is
printed, as are the templates that cannot be used.

Downloads reach public addresses and those of --webhook-allow; over SSH, git
connects by itself. A folder is replaced as a whole: what others put into it
stops the update, unless --overwrite is given.`,
		Example: `  vedette templates update --to ./templates --from https://git.example/team/templates.git --ref v2
  vedette templates update --to ./templates   # from where the last update came
  vedette templates update --from set.zip --checksum 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  vedette templates update --from git@git.example:team/templates.git -o json`,
	}
	output := cli.OutputFlag(cmd)
	var source app.TemplateSource
	var to string
	var overwrite bool
	flags := cmd.Flags()
	flags.StringVar(&source.From, "from", "",
		"folder, archive, URL of one, or git remote (default: that of the last update)")
	flags.StringVar(&to, "to", "", "folder to replace, instead of the templates of the database")
	flags.StringVar(&source.Ref, "ref", "", "branch, tag or commit of the git remote (default: its HEAD)")
	flags.StringVar(&source.Checksum, "checksum", "", "SHA-256 that the archive must have, in hex")
	flags.StringVar(&source.Checksum, "sha256", "", "the old name of --checksum")
	flags.StringVar(&source.Tag, "tag", "",
		"name of the release (default: taken from the URL, the archive's folder or git)")
	flags.BoolVar(&source.Early, "early", false, "import the early templates instead, for teams whose plan has them")
	flags.BoolVar(&overwrite, "overwrite", false, "replace the folder although it holds what no update put there")
	if err := flags.MarkHidden("sha256"); err != nil {
		panic(err) // it is defined above
	}
	cmd.MarkFlagsMutuallyExclusive("to", "early")
	load := local.ConfigFlags(cmd, true, "webhook_allow")
	cli.MainFlags(cmd, "from", "to", "ref", "checksum", "overwrite", "output", "data-dir", "database")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		bring := updateDatabase
		if to != "" {
			bring = func(ctx context.Context, c app.Config, s app.TemplateSource) (updated, error) {
				return updateFolder(ctx, c, s, update.Folder{Path: to, Overwrite: overwrite})
			}
		} else if overwrite {
			return cli.Usagef("--overwrite is about the folder of --to")
		}
		u, err := bring(cmd.Context(), c, source)
		if *output != "json" {
			for _, refused := range u.Refused {
				fmt.Fprintln(cmd.ErrOrStderr(), cli.Printable(refused.Reason))
			}
		}
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); ok && e.Param != "" {
				err = cli.Usagef("--%s: %s", e.Param, cli.Plain(err))
			}
			return err
		}
		return u.print(cmd.OutOrStdout(), *output == "json")
	}
	return cmd
}

// updated is what an update did; its JSON is what -o json prints.
type updated struct {
	Set       string           `json:"set"` // public or early; a folder's path with --to
	Tag       string           `json:"release_tag"`
	Commit    string           `json:"commit,omitempty"`
	Digest    string           `json:"digest"`
	Total     int              `json:"total"`
	New       int              `json:"new"`
	Updated   int              `json:"updated"`
	Removed   int              `json:"removed"`
	Added     []string         `json:"added_ids"`
	Changed   []string         `json:"changed_ids"`
	Gone      []string         `json:"removed_ids"`
	Broken    []update.Broken  `json:"broken"` // were well-formed before
	Refused   []update.Refusal `json:"refused_templates"`
	NotUsed   int              `json:"refused"`
	Unchanged bool             `json:"unchanged"`

	name string
}

func (u *updated) take(c update.Changes) {
	u.New, u.Updated, u.Removed = len(c.Added), len(c.Changed), len(c.Removed)
	u.Added, u.Changed, u.Gone, u.Broken = c.Added, c.Changed, c.Removed, c.Broken
	u.NotUsed = len(u.Refused)
	if u.Refused == nil {
		u.Refused = []update.Refusal{}
	}
}

func updateDatabase(ctx context.Context, c app.Config, s app.TemplateSource) (updated, error) {
	r, err := app.UpdateTemplates(ctx, c, s)
	u := updated{Set: r.Set, Tag: r.Tag, Digest: r.Digest, Total: r.Total, Unchanged: r.Unchanged,
		name: "The " + r.Set + " set"}
	for _, refused := range r.Refused {
		path := ""
		if e, ok := errors.AsType[*errs.Error](refused); ok {
			path = e.Extra["file"]
		}
		u.Refused = append(u.Refused, update.Refusal{Path: path, Reason: cli.Plain(refused)})
	}
	u.take(r.Changes)
	return u, err
}

func updateFolder(ctx context.Context, c app.Config, s app.TemplateSource, f update.Folder) (updated, error) {
	guard, err := app.SourceGuard(c)
	if err != nil {
		return updated{}, err
	}
	f.Guard = guard
	r, err := f.Replace(ctx, s.Source)
	u := updated{Set: f.Path, Tag: r.Tag, Commit: r.Commit, Digest: r.Digest, Total: r.Total, Unchanged: r.Unchanged,
		Refused: r.Refused, name: f.Path}
	for _, left := range r.Left {
		name, _, _ := strings.Cut(left, ": ")
		u.Refused = append(u.Refused, update.Refusal{Path: name, Reason: left})
	}
	u.take(r.Changes)
	return u, err
}

// print prints the report. Of a first set only the numbers are news.
func (u *updated) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(u)
	}
	if u.Unchanged {
		_, err := fmt.Fprintf(w, "%s has these %d templates already.\n", u.name, u.Total)
		return err
	}
	if u.Total > u.New || u.Removed > 0 || len(u.Broken) > 0 {
		for _, one := range []struct {
			sign string
			ids  []string
		}{{"added", u.Added}, {"changed", u.Changed}, {"removed", u.Gone}} {
			for _, id := range one.ids {
				fmt.Fprintf(w, "%s %s\n", one.sign, cli.Printable(id))
			}
		}
		for _, b := range u.Broken {
			fmt.Fprintf(w, "broken %s: %s\n", cli.Printable(b.ID), cli.Printable(b.Reason))
		}
	}
	_, err := fmt.Fprintf(w, "%s has %d templates: %d new, %d updated, %d removed, %d left out.\n", u.name, u.Total,
		u.New, u.Updated, u.Removed, u.NotUsed)
	return err
}
