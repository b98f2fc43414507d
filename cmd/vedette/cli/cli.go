// Package cli has what commands share: exit codes, error messages, safe text for terminals, the progress bar.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"golang.org/x/term"
)

// The exit codes, documented in the help of the root command.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitPartial     = 3
	ExitAuth        = 4
	ExitNotFound    = 5
	ExitFindings    = 6
	ExitOutOfScope  = 7
	ExitBudget      = 8
	ExitInterrupted = 130
)

// Exit is an error with an exit code.
type Exit struct {
	Code int
	Err  error
}

func (e Exit) Error() string { return e.Err.Error() }

// Unwrap returns the error without its code.
func (e Exit) Unwrap() error { return e.Err }

// Usage marks an error as wrong usage.
func Usage(err error) error { return Exit{ExitUsage, err} }

// Usagef is Usage of fmt.Errorf.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Silent is an exit code whose reason has been printed.
type Silent int

func (s Silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// Plain is the message of an error, with its cause if there is one.
func Plain(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Unwrap() == nil {
		return e.Message
	}
	return err.Error()
}

// Printable replaces the characters of a target's text that could move the cursor or change the screen.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && IsControl(r) {
			return '�'
		}
		return r
	}, s)
}

// IsControl reports whether a character may move a terminal's cursor or change what is shown.
func IsControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Counted is "1 target" or "2 targets".
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Severities are the severities, the worst first.
var Severities = []string{"critical", "high", "medium", "low", "info", "unknown"}

// SeverityRank is 0 for the worst severity.
func SeverityRank(s string) int {
	for rank, name := range Severities {
		if strings.EqualFold(s, name) {
			return rank
		}
	}
	return len(Severities)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// OutputFlag defines --output, -o: text or json.
func OutputFlag(cmd *cobra.Command) *string {
	f := format("text")
	cmd.Flags().VarP(&f, "output", "o", "text or json")
	Values(cmd, "output", "text", "json")
	return (*string)(&f)
}

type format string

func (f format) String() string { return string(f) }
func (f format) Type() string   { return "string" }

// Set implements pflag.Value.
func (f *format) Set(s string) error {
	if s != "text" && s != "json" {
		return errors.New("must be text or json")
	}
	*f = format(s)
	return nil
}
