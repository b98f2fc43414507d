package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const maxProblems = 10

// choose loads and compiles the selected templates and reports the others.
func (f *scanFlags) choose(ctx context.Context, stderr io.Writer) (*templates.Selection, error) {
	var err error
	if f.load.Certificates, err = cli.ReadCertificates(f.certificates); err != nil {
		return nil, err
	}
	s, err := f.selectTemplates(ctx)
	if param := paramOf(err); param != "" {
		err = cli.Usagef("--%s: %s", param, cli.Plain(err))
	}
	if err != nil {
		return nil, err
	}
	printSelection(stderr, s)
	if len(s.Programs)+len(s.Workflows) == 0 {
		cannot := len(s.Refused) + len(s.Unsupported)
		return nil, cli.Usagef("there is no template to run: %d cannot run, %d were not asked for", cannot, len(s.Skipped))
	}
	return s, nil
}

// selectTemplates loads --templates and --workflows; workflows run only if named by the latter.
func (f *scanFlags) selectTemplates(ctx context.Context) (*templates.Selection, error) {
	o := f.load
	o.Paths, o.Roots = f.templates, f.roots()
	if len(f.templates)+len(f.workflows) == 0 && f.folder != "" {
		o.Paths = []string{f.folder}
	}
	s := new(templates.Selection)
	if len(f.workflows) == 0 || len(o.Paths) > 0 {
		if !slices.ContainsFunc(o.Filter.Type, func(kind string) bool { return strings.HasPrefix(kind, "workflow") }) {
			o.Filter.ExcludeType = append(slices.Clone(o.Filter.ExcludeType), "workflow")
		}
		var err error
		if s, err = templates.Select(ctx, o, f.program); err != nil {
			return nil, err
		}
	}
	if len(f.workflows) > 0 {
		o.Paths, o.Filter, o.IncludeIgnored = f.workflows, templates.Filter{Type: []string{"workflow"}}, true
		more, err := templates.Select(ctx, o, f.program)
		if err != nil {
			return nil, err
		}
		s.Add(more)
	}
	return s, nil
}

func printSelection(stderr io.Writer, s *templates.Selection) {
	for i, r := range s.Refused {
		if i == maxProblems {
			fmt.Fprintf(stderr, "… and %d more; see 'vedette templates validate'\n", len(s.Refused)-maxProblems)
			break
		}
		fmt.Fprintf(stderr, "not used: %s\n", cli.Printable(cli.Plain(r.Err)))
	}
	reasons := map[string]int{}
	var ignored []string
	for _, skip := range s.Skipped {
		if reasons[string(skip.Reason)]++; skip.Reason == templates.SkippedIgnored {
			ignored = append(ignored, strings.TrimSuffix(filepath.Base(skip.Path), filepath.Ext(skip.Path)))
		}
	}
	printCounts(stderr, "skipped", reasons)
	if len(ignored) > 0 {
		more := ""
		if n := len(ignored) - maxProblems; n > 0 {
			ignored, more = ignored[:maxProblems], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(stderr, "%s: %s%s\n", templates.SkippedIgnored, cli.Printable(strings.Join(ignored, ", ")), more)
	}
	lacks := map[string]int{}
	for _, r := range s.Unsupported {
		lacks[paramOf(r.Err)]++
	}
	printCounts(stderr, "not supported yet", lacks)
	if s.IndexErr != nil {
		fmt.Fprintf(stderr, "the next start will be no faster: %s\n", cli.Printable(s.IndexErr.Error()))
	}
}

// paramOf is the wrong key, or the part of the language that is not supported.
func paramOf(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Param
	}
	return ""
}

// printCounts prints counts by name, with the flag that would change each.
func printCounts(w io.Writer, what string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		part := fmt.Sprintf("%d %s", counts[name], name)
		if flag := Advice[templates.Reason(name)]; strings.HasPrefix(flag, "see ") && what == "skipped" {
			part += " (" + flag + ")"
		}
		parts = append(parts, part)
	}
	fmt.Fprintf(w, "%s: %s\n", what, strings.Join(parts, ", "))
}

// listTemplates prints the paths of the templates that a scan would run.
func (f *scanFlags) listTemplates(cmd *cobra.Command) error {
	remove, err := f.fetch(cmd.Context())
	if err != nil {
		return err
	}
	defer remove()
	s, err := f.choose(cmd.Context(), f.messages(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	paths := make([]string, 0, len(s.Programs)+len(s.Workflows))
	for _, p := range s.Programs {
		paths = append(paths, p.Path)
	}
	for _, w := range s.Workflows {
		paths = append(paths, w.Path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(path))
	}
	return nil
}

// Advice is what a user can do about templates that are skipped; every reason is here.
var Advice = map[templates.Reason]string{
	templates.SkippedByFilter:      "change the filters: --tags, --severity and their like",
	templates.SkippedIgnored:       "see --include-tags and --include-templates",
	templates.SkippedDuplicate:     "remove one of the two, or give it another id",
	templates.SkippedHeadless:      "see --headless",
	templates.SkippedCode:          "see --code",
	templates.SkippedFuzzing:       "see --dast",
	templates.SkippedNotFuzzing:    "run it without --dast",
	templates.SkippedSelfContained: "see --enable-self-contained",
	templates.SkippedFile:          "see --file",
	templates.SkippedGlobal:        "see --enable-global-matchers",
	templates.SkippedUnsigned:      "see --template-certificate to trust its signer, or 'vedette templates sign'",
	templates.SkippedActive:        "run it without --passive",
}
