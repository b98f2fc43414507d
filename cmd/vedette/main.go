// Command vedette is the whole product in one binary: the server and its workers, the
// scanner on its own, and the operator's and the user's commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Set by the build.
var (
	version = "dev"
	commit  = "unknown"
	date    = "unknown"
)

// The exit codes, documented in the help of the root command. An unknown code means
// failure.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitPartial     = 3
	exitAuth        = 4
	exitNotFound    = 5
	exitFindings    = 6
	exitOutOfScope  = 7
	exitBudget      = 8
	exitInterrupted = 130
)

const rootLong = `Vedette takes security tasks in plain language and concrete scans, tests what
they name with detection templates, verifies what it finds, and hands it on.

Exit codes:
  0    fine
  1    error
  2    wrong usage
  3    finished, but not everything was tested
  4    not logged in, or not allowed
  5    not found
  6    findings at or above --fail-on
  7    out of scope
  8    budget reached
  130  interrupted`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with everything it touches handed in, so that tests run the real commands.
func run(ctx context.Context, args []string, in io.Reader, out, talk io.Writer) int {
	root := newRoot()
	root.SetArgs(scanArgs(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(talk)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if err != nil && !errors.As(err, new(silent)) {
		fmt.Fprintf(talk, "vedette: %s\n", plain(err))
		if code == exitUsage {
			fmt.Fprintln(talk, "See 'vedette --help', or 'vedette COMMAND --help'.")
		}
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "vedette", Short: "Security tasks in, verified findings out", Long: rootLong,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newServe(), newWorker(), newDemo(), newScan(), newEnumerate(), newTask(), newTemplates(), newUser(), newToken(), newConfig(), newDoctor(), newOpenAPI(), newVersion())
	wrapArgs(root)
	return root
}

// wrapArgs makes a wrong number of arguments wrong usage, for c and every command below
// it. One that only groups others shows its help, and takes no arguments: what stands
// there is the name of a command that does not exist.
func wrapArgs(c *cobra.Command) {
	if !c.Runnable() {
		c.Args = cobra.NoArgs
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	check := c.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(err)
		}
		return nil
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// exit is an error with the code to exit with.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

func usage(err error) error { return exit{exitUsage, err} }

// silent is an exit of which everything has been said.
type silent struct{ code int }

func (s silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }

func exitCode(ctx context.Context, err error) int {
	var e exit
	var quiet silent
	var denied *netguard.Denied
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &e):
		return e.code
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &denied):
		return exitOutOfScope
	case errs.Is(err, errs.Unauthenticated), errs.Is(err, errs.Forbidden):
		return exitAuth
	case errs.Is(err, errs.NotFound):
		return exitNotFound
	case errs.Is(err, errs.Invalid):
		return exitUsage
	default:
		return exitError
	}
}

// plain is an error in words for a person: the message, and the cause where there is one.
func plain(err error) string {
	var e *errs.Error
	if errors.As(err, &e) && e.Unwrap() == nil {
		return e.Message
	}
	return err.Error()
}
