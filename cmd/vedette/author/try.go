package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/engine/trial"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// tryFlags name the answers that templates are tried on.
type tryFlags struct {
	responses, negative, recorded, quiet, cases []string
	lenient                                     bool
}

func newTemplatesTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test TEMPLATE…", Short: "Try templates on recorded or written answers, offline", Args: cobra.MinimumNArgs(1),
		Long: `Runs http templates against servers on this machine that give the answers you name,
and nothing else. Without answers, each template is tried on the cases of the file
beside it with the same name and the ending .txtar: written answers, of which some
must match and some must not. The exit code is 1 when a case ended otherwise, or
when a template has no case.

A response is text: a status line, headers, an empty line and a body; its request
may precede it. A record is a HAR, or what 'vedette scan --jsonl' printed.`,
		Example: `  vedette templates test mine.yaml --response leaks.txt --negative harmless.txt
  vedette templates test mine.yaml --recorded session.har
  vedette templates test ./templates -o json        # mine.yaml is tried on mine.txtar
  vedette templates test ./templates --cases ./cases`,
	}
	output := cli.OutputFlag(cmd)
	var f tryFlags
	flags := cmd.Flags()
	flags.StringArrayVar(&f.responses, "response", nil, "file with a response that must match")
	flags.StringArrayVar(&f.negative, "negative", nil, "file with a response that must not match")
	flags.StringArrayVar(&f.recorded, "recorded", nil, "record of a site on which the template must match")
	flags.StringArrayVar(&f.quiet, "recorded-negative", nil, "record of a site on which it must not match")
	flags.StringArrayVar(&f.cases, "cases", nil, "file of cases, or folder of files NAME.txtar, by template files or ids")
	flags.BoolVar(&f.lenient, "no-strict-syntax", false, "ignore unknown keys in templates")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shared, err := f.shared()
		if err != nil {
			return err
		}
		rows, err := f.try(cmd.Context(), args, shared)
		if err != nil {
			return err
		}
		return printTried(cmd.OutOrStdout(), rows, *output == "json")
	}
	return cmd
}

// tried is how one case of a template ended.
type tried struct {
	Template  string   `json:"template"` // its file
	ID        string   `json:"id"`
	Case      string   `json:"case"`
	Want      string   `json:"want"` // match or no_match
	Passed    bool     `json:"passed"`
	Extracted []string `json:"extracted"`
	Reason    string   `json:"reason,omitempty"` // why it did not pass
}

// shared are the cases of the flags, for every template.
func (f *tryFlags) shared() (all []trial.Case, err error) {
	for _, one := range []struct {
		flag     string
		files    []string
		positive bool
		read     func(name string, positive bool, text []byte) (trial.Case, error)
	}{
		{"response", f.responses, true, trial.Answer}, {"negative", f.negative, false, trial.Answer},
		{"recorded", f.recorded, true, readSite}, {"recorded-negative", f.quiet, false, readSite},
	} {
		for _, name := range one.files {
			text, err := readInput(name)
			if err != nil {
				return nil, cli.Usagef("--%s: %w", one.flag, err)
			}
			c, err := one.read(name, one.positive, text)
			if err != nil {
				return nil, cli.Usagef("--%s: %s", one.flag, cli.Plain(err))
			}
			all = append(all, c)
		}
	}
	for _, name := range f.cases {
		info, err := os.Stat(name)
		if err != nil {
			return nil, cli.Usagef("--cases: %w", err)
		}
		if info.IsDir() {
			continue
		}
		cases, err := readCases(name)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

func readSite(name string, positive bool, text []byte) (trial.Case, error) {
	exchanges, err := recorded.ReadExchanges(text)
	if err != nil {
		return trial.Case{}, errs.Field("recorded", "%s: %v.", name, err)
	}
	return trial.Site(name, positive, exchanges)
}

// readInput reads a file of a bounded size.
func readInput(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, recorded.MaxFile+1))
	if err = errors.Join(err, file.Close()); err == nil && len(text) > recorded.MaxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, recorded.MaxFile)
	}
	return text, err
}

func readCases(name string) ([]trial.Case, error) {
	text, err := readInput(name)
	if err == nil {
		var cases []trial.Case
		if cases, err = trial.Read(name, text); err == nil {
			return cases, nil
		}
	}
	return nil, cli.Usagef("--cases: %s", cli.Plain(err))
}

// own are the cases of one template: of the folders of --cases, or without any cases, beside it.
func (f *tryFlags) own(t *syntax.Template, shared int) (all []trial.Case, err error) {
	base := strings.TrimSuffix(t.Path, filepath.Ext(t.Path))
	var candidates []string
	for _, folder := range f.cases {
		for _, name := range slices.Compact([]string{filepath.Base(base), t.ID}) {
			candidates = append(candidates, filepath.Join(folder, name+".txtar"))
		}
	}
	if shared == 0 && len(f.cases) == 0 {
		candidates = append(candidates, base+".txtar")
	}
	for _, name := range candidates {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		cases, err := readCases(name)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// try runs all templates on all their cases.
func (f *tryFlags) try(ctx context.Context, paths []string, shared []trial.Case) (rows []tried, err error) {
	loaded, err := templates.Load(ctx, templates.Options{Paths: paths, IncludeIgnored: true, Allow: templates.AllowAll(),
		Lenient: f.lenient})
	if err != nil {
		return nil, cli.Usage(err)
	}
	rows = []tried{}
	failed := func(path, id, name string, err error) {
		rows = append(rows, tried{Template: path, ID: id, Case: name, Extracted: []string{}, Reason: cli.Plain(err)})
	}
	for _, r := range loaded.Refused {
		failed(r.Path, "", "", r.Err)
	}
	for _, t := range loaded.Templates {
		own, err := f.own(t, len(shared))
		if err != nil {
			return nil, err
		}
		cases := slices.Concat(shared, own)
		p, err := compileToTry(t)
		switch {
		case err != nil:
			failed(t.Path, t.ID, "", err)
			continue
		case len(cases) == 0:
			failed(t.Path, t.ID, "", errors.New("it has no case: write one beside it, or name an answer with --response"))
		}
		for _, c := range cases {
			o, err := trial.Run(ctx, p, c)
			if err != nil {
				return nil, err
			}
			row := tried{t.Path, t.ID, c.Name, "no_match", o.Reason == "", o.Extracted, o.Reason}
			if c.Positive {
				row.Want = "match"
			}
			if row.Extracted == nil {
				row.Extracted = []string{}
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, cli.Usagef("there is no template in %s", strings.Join(paths, ", "))
	}
	return rows, nil
}

func compileToTry(t *syntax.Template) (*program.Program, error) {
	kinds := t.Protocols
	if len(t.Workflows) > 0 {
		kinds = []string{"workflows"}
	}
	if err := trial.Check(t.Path, kinds); err != nil {
		return nil, err
	}
	return program.Compile(t)
}

func printTried(w io.Writer, rows []tried, asJSON bool) error {
	failed := 0
	for _, r := range rows {
		if !r.Passed {
			failed++
		}
		if asJSON {
			continue
		}
		state, reason := "ok", ""
		if !r.Passed {
			state, reason = "FAIL", ": "+r.Reason
		}
		name := r.ID
		if name == "" {
			name = r.Template
		}
		fmt.Fprintln(w, cli.Printable(strings.TrimSpace(state+" "+name+" "+r.Case)+reason))
	}
	if asJSON {
		err := json.NewEncoder(w).Encode(map[string]any{"passed": len(rows) - failed, "failed": failed, "cases": rows})
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "%d passed, %d failed\n", len(rows)-failed, failed)
	}
	if failed > 0 {
		return cli.Silent(cli.ExitError)
	}
	return nil
}
