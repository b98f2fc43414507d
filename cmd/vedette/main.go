// Command vedette is the whole product: server, workers, scanner, and the commands of operators and users.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vedette-sec/vedette/cmd/vedette/audit"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/cmd/vedette/credits"
	"github.com/vedette-sec/vedette/cmd/vedette/knowledge"
	"github.com/vedette-sec/vedette/cmd/vedette/library"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/cmd/vedette/network"
	"github.com/vedette-sec/vedette/cmd/vedette/proof"
	"github.com/vedette-sec/vedette/cmd/vedette/scan"
	"github.com/vedette-sec/vedette/cmd/vedette/sla"
	"github.com/vedette-sec/vedette/cmd/vedette/triage"
	"github.com/vedette-sec/vedette/cmd/vedette/webtest"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Set by the build.
var (
	version = "dev"
	commit  = "unknown"
	date    = "unknown"
)

const rootLong = `Vedette tests what you name, verifies what it finds, and hands it on.

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
	if len(os.Args) > 1 && os.Args[1] == child.Command {
		os.Exit(child.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its inputs and outputs as parameters, for tests.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(scan.Args(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if err != nil && !errors.As(err, new(cli.Silent)) {
		fmt.Fprintf(stderr, "vedette: %s\n", cli.Plain(err))
		if code == cli.ExitUsage && !errors.As(err, new(cli.Mistyped)) {
			fmt.Fprintln(stderr, "See 'vedette --help', or 'vedette COMMAND --help'.")
		}
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "vedette", Short: "Security tasks in, verified findings out", Long: rootLong,
		Example: `  vedette demo
  vedette scan -u https://example.com
  vedette serve --data-dir /var/lib/vedette`,
		SilenceErrors: true, SilenceUsage: true, DisableSuggestions: true,
	}
	root.SetFlagErrorFunc(cli.FlagError)
	all := helpAll{asked: new(bool)}
	flag := root.PersistentFlags().VarPF(all, "help-all", "", "help with every flag")
	flag.NoOptDefVal = "true"
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_ = cli.WriteHelp(cmd.OutOrStdout(), cmd, *all.asked) // an output that is gone needs no help
	})
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newServe(), newWorker(), newDemo(), scan.New(), webtest.New(), newEnumerate(), newImport(), newTask(),
		newExport(), proof.New(), triage.Issues(), triage.New(), audit.New(), credits.New(), knowledge.New(), network.New(),
		sla.New(), library.Agents(), library.Skills(), library.Prompts(), client.NewAPI(), newTemplates(),
		newOAST(), local.Leaks(), local.Feeds(), newUser(), newTeam(), newToken(), newConfig(), newDoctor(),
		newBackup(), newRestore(),
		newOpenAPI(), newCompletion(), newMan(), newVersion())
	cli.MainCommands(root, "demo", "doctor", "enumerate", "evidence", "export", "import", "issues", "oast", "scan",
		"serve",
		"task", "templates", "token", "triage", "user", "version", "webtest", "worker")
	wrapArgs(root)
	return root
}

// helpAll is the flag --help-all, which ends the parsing of flags as --help does.
type helpAll struct{ asked *bool }

// Set implements pflag.Value.
func (h helpAll) Set(string) error {
	*h.asked = true
	return pflag.ErrHelp
}

// Type implements pflag.Value.
func (helpAll) Type() string { return "bool" }

// String implements pflag.Value.
func (helpAll) String() string { return "" }

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Print the help of a command",
		Example: `  vedette help scan
  vedette help templates update --help-all`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (
			found []string, _ cobra.ShellCompDirective,
		) {
			if cmd, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, sub := range cmd.Commands() {
					if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
						found = append(found, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 && cmd.HasAvailableSubCommands() {
				err = cli.UnknownCommand(cmd, rest[0])
			}
			if err != nil {
				return cli.Usage(err)
			}
			return cmd.Help()
		},
	}
}

// wrapArgs makes a wrong number of arguments wrong usage, for c and every command below it. A command that only
// groups others shows its help and takes no arguments.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	if !c.Runnable() {
		check = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return nil
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return cli.Usage(err)
		}
		return nil
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

func exitCode(ctx context.Context, err error) int {
	if silent, ok := errors.AsType[cli.Silent](err); ok {
		return int(silent)
	}
	if e, ok := errors.AsType[cli.Exit](err); ok {
		return e.Code
	}
	switch {
	case err == nil:
		return cli.ExitOK
	case ctx.Err() != nil:
		return cli.ExitInterrupted
	case errors.As(err, new(*netguard.Denied)):
		return cli.ExitOutOfScope
	case errs.Is(err, errs.Unauthenticated), errs.Is(err, errs.Forbidden):
		return cli.ExitAuth
	case errs.Is(err, errs.NotFound):
		return cli.ExitNotFound
	case errs.Is(err, errs.Invalid):
		return cli.ExitUsage
	default:
		return cli.ExitError
	}
}
