package scan

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// inputFlags say what the files of --list hold.
type inputFlags struct {
	mode         string // list, or a format of recorded requests
	requiredOnly bool
	lenient      bool
}

// maxLeftOut are the entries left out of a file that are named, one by one.
const maxLeftOut = 20

// readRecorded makes targets of the recorded requests in the files of --list, and has fuzzing templates run, as nuclei
// does. What is left out becomes a note.
func (f *scanFlags) readRecorded(a *scanTargets, in io.Reader) (err error) {
	switch {
	case len(f.targets) > 0:
		return cli.Usagef("--target: the targets of --input-mode %s are in the files of --list", f.inputs.mode)
	case len(f.lists) == 0:
		return cli.Usagef("--input-mode %s: name the file with --list", f.inputs.mode)
	case f.load.Allow.Passive:
		return cli.Usagef("--passive: it reads responses, and --input-mode %s requests", f.inputs.mode)
	}
	f.load.Allow.DAST = true
	if a.excluded, err = cli.NewExclusion(f.exclude); err != nil {
		return err
	}
	values, _, err := f.readVars()
	if err != nil {
		return err
	}
	o := recorded.Options{Vars: values, RequiredOnly: f.inputs.requiredOnly, Lenient: f.inputs.lenient}
	a.requests, a.hosts = map[string]*recorded.Request{}, map[string]bool{}
	var missing []string
	for _, name := range f.lists {
		got, err := readRecordedFile(f.inputs.mode, name, in, o)
		if err != nil {
			return cli.Usagef("--list: %s", cli.Printable(err.Error()))
		}
		missing = append(missing, got.Missing...)
		f.noteLeftOut(got.LeftOut)
		for i := range got.Requests {
			err := a.addRecorded(&got.Requests[i])
			switch {
			case err != nil && !f.inputs.lenient:
				return cli.Usagef("--list: %s: %v", name, err)
			case err != nil:
				f.noteLeftOut([]string{name + ": " + err.Error()})
			}
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		names := cli.Printable(strings.Join(slices.Compact(missing), ", "))
		if !f.inputs.lenient {
			return cli.Usagef("--list: there is no value for %s: give each with --var NAME=VALUE, or use --skip-format-validation",
				names)
		}
		f.notes = append(f.notes, "there is no value for "+names+"; requests go without, or are left out")
	}
	if len(a.targets) == 0 {
		return cli.Usagef("--list: there is no request to test; --exclude-hosts may leave none")
	}
	return nil
}

func readRecordedFile(format, name string, in io.Reader, o recorded.Options) (*recorded.Result, error) {
	if name == "-" {
		return recorded.Read(format, "standard input", in, o)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return recorded.Read(format, name, file, o)
}

func (f *scanFlags) noteLeftOut(reasons []string) {
	for i, why := range reasons {
		if i == maxLeftOut {
			f.notes = append(f.notes, fmt.Sprintf("%d more requests are left out", len(reasons)-i))
			break
		}
		f.notes = append(f.notes, "left out: "+cli.Printable(why))
	}
}

// addRecorded adds a request as a target, unless its host is excluded. The error says why it can be none.
func (a *scanTargets) addRecorded(q *recorded.Request) error {
	target := q.Target()
	parsed, err := targets.Parse(target)
	if err != nil {
		return fmt.Errorf("%s %s: %s", q.Method, cli.Printable(q.URL), errs.From(err).Message)
	}
	if u, err := url.Parse(parsed.URL()); err == nil && !a.allowed(u) {
		return nil
	}
	place := parsed.Address
	place.Path, place.Query = "", ""
	if name := place.String(); !a.hosts[name] {
		a.hosts[name] = true
		a.named = append(a.named, name)
	}
	if a.requests[target] == nil {
		a.requests[target] = q
		a.targets = append(a.targets, target)
	}
	return nil
}
