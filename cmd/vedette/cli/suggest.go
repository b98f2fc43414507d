package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Mistyped is wrong usage that says what was probably meant, so that no help is pointed to.
type Mistyped struct{ Err error }

func (m Mistyped) Error() string { return m.Err.Error() }

// Unwrap returns the error without its mark.
func (m Mistyped) Unwrap() error { return m.Err }

// UnknownCommand is the usage error for a word that is none of a command's commands, with the nearest one.
func UnknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, append(sub.Aliases, sub.Name())...)
		}
	}
	err := fmt.Errorf("unknown command %q for %q", word, cmd.CommandPath())
	if near := Nearest(word, names); near != "" {
		return Usage(Mistyped{fmt.Errorf("%w; did you mean %q?", err, cmd.CommandPath()+" "+near)})
	}
	return Usage(err)
}

// FlagError is the usage error for what the parser of flags refused, with the nearest flag if there is no such flag.
func FlagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err // asked for, not an error
	}
	absent, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Usage(err)
	}
	word := absent.GetSpecifiedName()
	if letters := absent.GetSpecifiedShortnames(); letters != "" {
		word, _, _ = strings.Cut(letters, "=") // -listen, with one dash
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
			if short := ShortName(f); len(short) > 1 {
				names = append(names, short)
			}
		}
	})
	if near := Nearest(word, names); near != "" {
		dashes := "--"
		if cmd.Flags().Lookup(near) == nil {
			dashes = "-"
		}
		return Usage(Mistyped{fmt.Errorf("%w; did you mean %s%s?", err, dashes, near)})
	}
	return Usage(err)
}

// Nearest is the name with the fewest changed, added, missing or swapped letters, or else the only one that begins
// with the word; "" if none is near: a third of its letters may be wrong, and one letter has no neighbours.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	if len(word) < 2 || len(word) > 64 {
		return ""
	}
	best, least := "", 1+max(1, len(word)/3)
	for _, name := range names {
		if d := distance(word, strings.ToLower(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	if best != "" {
		return best
	}
	for _, name := range names {
		switch {
		case !strings.HasPrefix(name, word):
		case best != "":
			return ""
		default:
			best = name
		}
	}
	return best
}

// distance is the number of letters to change, add, remove or swap with a neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(changed, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
