package scan

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
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

func define(cmd *cobra.Command, group string, options []option, hidden bool) {
	for _, o := range options {
		long, short, _ := strings.Cut(o.names, ",")
		letter := ""
		if len(short) == 1 {
			letter = short
		}
		flag := cmd.Flags().VarPF(o.value, long, letter, o.help)
		cli.Annotate(flag, group, short)
		if o.value.kind == "" {
			flag.NoOptDefVal = "true"
		}
		flag.Hidden = hidden
		if len(o.value.among) > 0 {
			cli.Values(cmd, long, o.value.among...)
		}
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
		if short := cli.ShortName(f); short != "" {
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
