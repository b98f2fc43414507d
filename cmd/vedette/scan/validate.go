package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// NewValidate makes the command that checks templates.
func NewValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate PATH…", Short: "Check that templates are well-formed and can run", Args: cobra.MinimumNArgs(1),
		Long: `Reads and compiles templates and lists each fault with file, line and key. Correct
templates that this build cannot run, or runs only with a flag, are listed as well.
The exit code is 1 when a template is wrong.`,
		Example: `  vedette templates validate ./templates
  vedette templates validate ./templates -o json`,
	}
	output := cli.OutputFlag(cmd)
	lenient := cmd.Flags().Bool("no-strict-syntax", false, "ignore unknown keys")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return validate(cmd.Context(), cmd.OutOrStdout(), templates.Options{Paths: args, Lenient: *lenient}, *output == "json")
	}
	return cmd
}

// verdict is the result for one template that is not plainly good.
type verdict struct {
	Path   string `json:"path"`
	State  string `json:"state"`           // refused, unsupported, duplicate or skipped
	Reason string `json:"reason"`          // in words
	Param  string `json:"param,omitempty"` // the key at fault, or the part of the language that is missing
}

// validate checks templates, and fails silently when one of them is wrong.
func validate(ctx context.Context, out io.Writer, o templates.Options, asJSON bool) error {
	v, err := check(ctx, o)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, one := range v.verdicts {
		counts[one.State]++
		if !asJSON {
			fmt.Fprintln(out, cli.Printable(one.Reason))
		}
	}
	bad := counts["refused"] + counts["duplicate"]
	if asJSON {
		err = json.NewEncoder(out).Encode(map[string]any{
			"good": v.good, "bad": bad, "unsupported": counts["unsupported"], "skipped": counts["skipped"], "templates": v.verdicts,
		})
	} else {
		fmt.Fprintf(out, "%d good, %d bad", v.good, bad)
		if n := counts["unsupported"]; n > 0 {
			fmt.Fprintf(out, ", %d not supported yet", n)
		}
		if n := counts["skipped"]; n > 0 {
			fmt.Fprintf(out, ", %d skipped", n)
		}
		fmt.Fprintln(out)
	}
	if err == nil && bad > 0 {
		return cli.Silent{Code: cli.ExitError}
	}
	return err
}

// validation collects what is said of each template, once.
type validation struct {
	seen     map[string]bool // by path
	good     int
	verdicts []verdict
}

// check loads and compiles everything.
func check(ctx context.Context, o templates.Options) (*validation, error) {
	v := &validation{seen: map[string]bool{}, verdicts: []verdict{}}
	o.IgnoredToo, o.Allow = true, templates.AllowAll()
	s, err := templates.Select(ctx, o, program.Options{})
	if err == nil {
		v.take(s)
	}
	return v, err
}

func (v *validation) take(s *templates.Selection) {
	for _, p := range s.Programs {
		v.add(verdict{Path: p.Path})
	}
	for _, w := range s.Workflows {
		v.add(verdict{Path: w.Path})
	}
	for _, r := range s.Refused {
		v.add(verdict{r.Path, "refused", cli.Plain(r.Err), paramOf(r.Err)})
	}
	for _, r := range s.Unsupported {
		v.add(verdict{r.Path, "unsupported", cli.Plain(r.Err), paramOf(r.Err)})
	}
	for _, skip := range s.Skipped {
		switch skip.Reason {
		case templates.SkippedDuplicate:
			v.add(verdict{skip.Path, "duplicate", skip.Path + ": another template has its id", "id"})
		default:
			v.add(verdict{skip.Path, "skipped", skip.Path + ": skipped: " + string(skip.Reason), ""})
		}
	}
}

func (v *validation) add(one verdict) {
	switch {
	case v.seen[one.Path]:
		return
	case one.State == "":
		v.good++
	default:
		v.verdicts = append(v.verdicts, one)
	}
	v.seen[one.Path] = true
}
