package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// readSettings sets flags from the files of --config and --profile. The command line comes first, then the
// configuration.
func (f *scanFlags) readSettings(fs *pflag.FlagSet) error {
	given := map[string]bool{}
	fs.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	if f.config != "" {
		if err := f.apply(fs, f.config, nil, given); err != nil {
			return err
		}
		fs.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	}
	if f.profile == "" {
		return nil
	}
	return f.apply(fs, f.profile, f.roots(), given)
}

// apply sets the flags of one file that are not given already.
func (f *scanFlags) apply(fs *pflag.FlagSet, name string, roots []string, given map[string]bool) error {
	path, settings, err := templates.ReadSettings(name, roots)
	if err != nil {
		return cli.Usage(err)
	}
	for _, s := range settings {
		wrong := func(err error) error { return cli.Usage(syntax.Fault(path, s.Line, 0, s.Name, "%v", err)) }
		flag := fs.Lookup(s.Name)
		if flag == nil || s.Name == "config" || s.Name == "profile" || s.Name == "help" {
			return wrong(errors.New("there is no such option"))
		}
		if given[s.Name] {
			continue
		}
		for _, text := range textsOf(s.Data) {
			err := fs.Set(s.Name, text)
			a, isUnsupported := errors.AsType[unsupported](err)
			switch {
			case isUnsupported:
				f.notes = append(f.notes, fmt.Sprintf("%s is passed over in %s: %s", a.name, path, a.why))
			case err != nil:
				return wrong(fmt.Errorf("%q: %w", text, errors.Unwrap(err)))
			}
		}
	}
	return nil
}

func textsOf(data any) (all []string) {
	list, isList := data.([]any)
	if !isList {
		list = []any{data}
	}
	for _, v := range list {
		if v != nil {
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

func (f *scanFlags) roots() []string {
	roots := templates.Roots(slices.Concat(f.templates, f.workflows))
	if f.folder != "" && !slices.Contains(roots, f.folder) {
		roots = append(roots, f.folder)
	}
	return roots
}

func (f *scanFlags) listProfiles() string {
	names := templates.Profiles(f.roots())
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, "\n") + "\n"
}
