package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpRows  = 40 // of a screen that the help of a command must fit
	helpWidth = 80 // columns of that screen
	maxHead   = 30 // columns for the names of flags; longer ones have a line of their own

	fewExamples = 3 // of a help that is longer than a screen
)

// Annotations of flags that Help reads.
const (
	shortAnnotation = "short" // a short name of several letters, as nuclei has them
	groupAnnotation = "group" // the heading that the flag stands under; without one, Flags
	moreAnnotation  = "more"  // listed only by --help-all when the help is longer than a screen
)

// Annotate gives a flag a heading in the help and a short name of several letters; both may be empty.
func Annotate(f *pflag.Flag, group, short string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	if group != "" {
		f.Annotations[groupAnnotation] = []string{group}
	}
	if short != "" {
		f.Annotations[shortAnnotation] = []string{short}
	}
}

// ShortName is the short name of a flag, of one or more letters, or "".
func ShortName(f *pflag.Flag) string {
	if names := f.Annotations[shortAnnotation]; len(names) > 0 {
		return names[0]
	}
	return f.Shorthand
}

// MainFlags names the flags that most people need. When the help of the command does not fit a screen, the others
// are listed only by --help-all.
func MainFlags(cmd *cobra.Command, names ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(names, f.Name) {
			Annotate(f, "", "")
			f.Annotations[moreAnnotation] = []string{"true"}
		}
	})
}

// MainCommands names the commands below one that most people need. When its help does not fit a screen, the others
// have their names there, and are described only by --help-all.
func MainCommands(cmd *cobra.Command, names ...string) {
	for _, sub := range cmd.Commands() {
		if !slices.Contains(names, sub.Name()) {
			sub.Annotations = map[string]string{moreAnnotation: "true"}
		}
	}
}

// WriteHelp prints the help of a command: what it is for, examples with the usual case first, and its flags. When that
// does not fit a screen and all is not set, it leaves out the later examples, the later paragraphs of the description,
// headings of flags, and flags that are not among MainFlags.
func WriteHelp(w io.Writer, cmd *cobra.Command, all bool) error {
	lines := helpLines(cmd, true)
	if !all && rowsOf(lines) > helpRows {
		lines = append(helpLines(cmd, false), "", "See all with '"+cmd.CommandPath()+" --help-all'.")
	}
	out := bufio.NewWriter(w)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// rowsOf counts the rows that lines take on the screen.
func rowsOf(lines []string) (rows int) {
	for _, line := range lines {
		rows += max(1, (len([]rune(line))+helpWidth-1)/helpWidth)
	}
	return rows
}

func helpLines(cmd *cobra.Command, all bool) []string {
	lines := []string{cmd.Short + "."}
	if cmd.Example != "" {
		lines = append(lines, "", "Examples:")
		examples := strings.Split(cmd.Example, "\n")
		if !all {
			examples = examples[:min(len(examples), fewExamples)]
		}
		lines = append(lines, examples...)
	}
	lines = append(lines, "", "Usage:", "  "+usageOf(cmd))
	if long := cmd.Long; long != "" {
		if !all {
			long, _, _ = strings.Cut(long, "\n\n")
		}
		lines = append(lines, "")
		lines = append(lines, strings.Split(long, "\n")...)
	}
	if cmd.HasAvailableSubCommands() {
		lines = append(lines, commandLines(cmd, all)...)
	}
	return append(lines, flagLines(cmd, all)...)
}

// commandLines lists the commands below one.
func commandLines(cmd *cobra.Command, all bool) []string {
	lines := []string{"", "Available Commands:"}
	var others []string
	for _, sub := range cmd.Commands() {
		switch {
		case !sub.IsAvailableCommand():
		case !all && sub.Annotations[moreAnnotation] != "":
			others = append(others, sub.Name())
		default:
			lines = append(lines, fmt.Sprintf("  %-*s  %s", cmd.NamePadding(), sub.Name(), sub.Short))
		}
	}
	if len(others) == 0 {
		return lines
	}
	lines = append(lines, "", "Other Commands:")
	row := "  "
	for i, name := range others {
		if i+1 < len(others) {
			name += ", "
		}
		if len(row)+len(name) > helpWidth {
			lines, row = append(lines, row), "  "
		}
		row += name
	}
	return append(lines, row)
}

func usageOf(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && len(cmd.Use) == len(cmd.Name()) {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// flagLines lists the flags under their headings, in the order of their definition if the command keeps it.
func flagLines(cmd *cobra.Command, all bool) (lines []string) {
	var groups []string
	members := map[string][]*pflag.Flag{}
	width := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "help-all" || !all && f.Annotations[moreAnnotation] != nil {
			return
		}
		group := "Flags"
		if named := f.Annotations[groupAnnotation]; all && len(named) > 0 {
			group = named[0]
		}
		if members[group] == nil {
			groups = append(groups, group)
		}
		members[group] = append(members[group], f)
		if head := len(headOf(f)); head <= maxHead {
			width = max(width, head)
		}
	})
	for _, group := range groups {
		lines = append(lines, "", group+":")
		for _, f := range members[group] {
			lines = append(lines, flagLine(f, width)...)
		}
	}
	return lines
}

// headOf is a flag's names and the kind of its value.
func headOf(f *pflag.Flag) string {
	head := "--" + f.Name
	if short := ShortName(f); short != "" {
		head = "-" + short + ", " + head
	}
	if f.NoOptDefVal == "" {
		kind, _ := pflag.UnquoteUsage(f)
		head += " " + kind
	}
	return head
}

func flagLine(f *pflag.Flag, width int) (lines []string) {
	_, usage := pflag.UnquoteUsage(f)
	if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	line, indent := fmt.Sprintf("  %-*s ", width, headOf(f)), width+3
	if len(line) > indent {
		lines, line = append(lines, strings.TrimRight(line, " ")), strings.Repeat(" ", indent)
	}
	for word := range strings.FieldsSeq(usage) {
		if len(line)+1+len(word) > helpWidth && strings.TrimSpace(line) != "" && len(line) > indent {
			lines, line = append(lines, line), strings.Repeat(" ", indent)
		}
		line += " " + word
	}
	return append(lines, line)
}
