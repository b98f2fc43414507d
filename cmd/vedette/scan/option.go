package scan

import (
	"bufio"
	"fmt"
	"io"

	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// option is a flag of vedette scan. names is the long name and, after a comma, the short one of one or more letters.
type option struct {
	names string
	help  string
	value value
}

type optionGroup struct {
	title   string
	options []option
}

// shortName is the annotation with the short name of a flag.
const shortName = "short"

func define(fs *pflag.FlagSet, options []option, hidden bool) {
	for _, o := range options {
		long, short, _ := strings.Cut(o.names, ",")
		letter := ""
		if len(short) == 1 {
			letter = short
		}
		flag := fs.VarPF(o.value, long, letter, o.help)
		if short != "" {
			flag.Annotations = map[string][]string{shortName: {short}}
		}
		if o.value.kind == "" {
			flag.NoOptDefVal = "true"
		}
		flag.Hidden = hidden
	}
}

// Args converts the arguments of vedette scan, with one or two dashes before a long or short name as in nuclei, into
// those that are parsed.
func Args(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "scan" {
		return args
	}
	known := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		known[f.Name] = f
		for _, short := range f.Annotations[shortName] {
			known[short] = f
		}
	})
	out := slices.Clone(args)
	for i := 0; i < len(out) && out[i] != "--"; i++ {
		name, dashed := strings.CutPrefix(out[i], "-")
		name = strings.TrimPrefix(name, "-")
		name, value, hasValue := strings.Cut(name, "=")
		flag := known[name]
		switch {
		case !dashed || name == "":
		case flag == nil && len(name) > 1:
			out[i] = "--" + strings.TrimLeft(out[i], "-") // the parser reports that it is unknown
		case flag == nil:
		case hasValue:
			out[i] = "--" + flag.Name + "=" + value
		default:
			if out[i] = "--" + flag.Name; flag.NoOptDefVal == "" {
				i++ // the next argument is its value
			}
		}
	}
	return out
}

func printUsage(w io.Writer, cmd *cobra.Command, groups []optionGroup) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	heads, width := map[string]string{}, 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := "--" + f.Name
		if short := f.Annotations[shortName]; len(short) > 0 {
			head = "-" + short[0] + ", " + head
		}
		if f.NoOptDefVal == "" {
			head += " " + f.Value.Type()
		}
		heads[f.Name], width = head, max(width, len(head))
	})
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s:\n", g.title)
		for _, o := range g.options {
			long, _, _ := strings.Cut(o.names, ",")
			f := cmd.Flags().Lookup(long)
			fmt.Fprintf(out, "  %-*s  %s%s\n", width, heads[long], f.Usage, defaultOf(f))
		}
	}
	return out.Flush()
}

// defaultOf is the note on a default, unless it is obvious.
func defaultOf(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "false"}, f.DefValue) {
		return ""
	}
	return " (default " + f.DefValue + ")"
}
