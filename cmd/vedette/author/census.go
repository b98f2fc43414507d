package author

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/scan"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func newTemplatesValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate PATH…", Short: "Check that templates are well-formed and can run", Args: cobra.MinimumNArgs(1),
		Long: `Reads and compiles templates and lists each fault with file, line and key. Correct
templates that this build cannot run, or runs only with a flag, are listed as well.
The exit code is 1 when a template is wrong.

With --summary it counts them by protocol instead: how many a scan runs as it is,
and why it leaves out the others, with what to do about it.`,
		Example: `  vedette templates validate ./templates
  vedette templates validate ./templates -o json
  vedette templates validate ./templates --summary`,
	}
	output := cli.OutputFlag(cmd)
	lenient := cmd.Flags().Bool("no-strict-syntax", false, "ignore unknown keys")
	summary := cmd.Flags().Bool("summary", false, "count by protocol and reason, instead of a line for each template")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o := templates.Options{Paths: args, Lenient: *lenient}
		if *summary {
			c, err := takeCensus(cmd.Context(), o)
			if err != nil {
				return err
			}
			return c.print(cmd.OutOrStdout(), *output == "json")
		}
		return scan.Validate(cmd.Context(), cmd.OutOrStdout(), o,
			*output == "json")
	}
	return cmd
}

// The states of templates in a census.
const (
	runs     = "run"         // by a scan without further flags
	withFlag = "flag"        // only with a flag, or signed
	notBuilt = "unsupported" // correct, and this build cannot run it
	wrong    = "wrong"
)

// census counts the templates of a collection by protocol, and those that a scan leaves out by their reasons.
type census struct {
	Protocols []protocolCount `json:"protocols"`
	Reasons   []reasonGroup   `json:"reasons"`
}

type protocolCount struct {
	Protocol    string `json:"protocol"` // "workflow" too, and "unreadable" for what is no template
	Templates   int    `json:"templates"`
	Run         int    `json:"run"`
	Flag        int    `json:"need_a_flag"`
	Unsupported int    `json:"unsupported"`
	Wrong       int    `json:"wrong"`
}

type reasonGroup struct {
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Advice    string `json:"advice"`
	Templates int    `json:"templates"`
	Example   string `json:"example"` // a file
}

// takeCensus reads the templates twice: as a scan does without flags, and with all permissions.
func takeCensus(ctx context.Context, o templates.Options) (*census, error) {
	plain, err := templates.Load(ctx, o)
	if err != nil {
		return nil, err
	}
	o.IncludeIgnored, o.Allow, o.Types = true, templates.AllowAll(), true
	all, err := templates.Select(ctx, o, program.Options{})
	if err != nil {
		return nil, err
	}
	skipped := map[string]templates.Reason{}
	for _, skip := range plain.Skipped {
		skipped[skip.Path] = skip.Reason
	}
	c, done := &census{Protocols: []protocolCount{}, Reasons: []reasonGroup{}}, map[string]bool{}
	add := func(path, state, reason, todo string) {
		if done[path] {
			return
		}
		done[path] = true
		if why := skipped[path]; state == runs && why != "" {
			state, reason, todo = withFlag, string(why), scan.Advice[why]
		}
		c.count(cmp.Or(all.Types[path], "unreadable"), state)
		if state != runs {
			c.because(reasonGroup{state, reason, todo, 1, path})
		}
	}
	for _, r := range all.Refused {
		add(r.Path, wrong, faultOf(r), "mend the template; 'vedette templates validate' has the line")
	}
	for _, r := range all.Unsupported {
		add(r.Path, notBuilt, "this build has no "+cmp.Or(errs.From(r.Err).Param, cli.Plain(r.Err)),
			"see docs/reference/template-language.md for what there is instead")
	}
	for _, skip := range all.Skipped {
		add(skip.Path, withFlag, string(skip.Reason), scan.Advice[skip.Reason])
	}
	for _, p := range all.Programs {
		add(p.Path, runs, "", "")
	}
	for _, w := range all.Workflows {
		add(w.Path, runs, "", "")
	}
	slices.SortFunc(c.Protocols, func(a, b protocolCount) int {
		return cmp.Or(b.Templates-a.Templates, strings.Compare(a.Protocol, b.Protocol))
	})
	slices.SortFunc(c.Reasons, func(a, b reasonGroup) int {
		return cmp.Or(b.Templates-a.Templates, strings.Compare(a.Reason, b.Reason))
	})
	return c, nil
}

// faultOf is a fault without its place, so that equal ones are counted together.
func faultOf(r templates.Refusal) string {
	text := cli.Plain(r.Err)
	if key := errs.From(r.Err).Param; key != "" {
		if i := strings.Index(text, key+": "); i >= 0 {
			return text[i:]
		}
	}
	return strings.TrimLeft(strings.TrimPrefix(text, r.Path), ":0123456789 ")
}

func (c *census) count(protocol, state string) {
	i := slices.IndexFunc(c.Protocols, func(p protocolCount) bool { return p.Protocol == protocol })
	if i < 0 {
		i = len(c.Protocols)
		c.Protocols = append(c.Protocols, protocolCount{Protocol: protocol})
	}
	p := &c.Protocols[i]
	p.Templates++
	switch state {
	case runs:
		p.Run++
	case withFlag:
		p.Flag++
	case notBuilt:
		p.Unsupported++
	default:
		p.Wrong++
	}
}

func (c *census) because(one reasonGroup) {
	i := slices.IndexFunc(c.Reasons, func(r reasonGroup) bool { return r.State == one.State && r.Reason == one.Reason })
	if i < 0 {
		c.Reasons = append(c.Reasons, one)
		return
	}
	c.Reasons[i].Templates++
}

// print prints the census; it fails silently when a template is wrong.
func (c *census) print(out io.Writer, asJSON bool) error {
	bad := 0
	for _, p := range c.Protocols {
		bad += p.Wrong
	}
	if asJSON {
		if err := json.NewEncoder(out).Encode(c); err != nil {
			return err
		}
	} else {
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "protocol\ttemplates\trun\tneed a flag\tnot supported\twrong")
		for _, p := range c.Protocols {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", p.Protocol, p.Templates, p.Run, p.Flag, p.Unsupported, p.Wrong)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, r := range c.Reasons {
			fmt.Fprintf(out, "\n%d %s: %s\n    %s\n    such as %s\n", r.Templates, r.State, cli.Printable(r.Reason), r.Advice,
				cli.Printable(r.Example))
		}
	}
	if bad > 0 {
		return cli.Silent(cli.ExitError)
	}
	return nil
}
