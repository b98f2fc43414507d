// Package webtest is the command that tests web applications without a server. Flags become a configuration of the
// tester (config.go), findings are printed when they are seen (output.go), and what was not tested ends in the
// summary.
package webtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// flags are the flags of vedette webtest.
type flags struct {
	logins, headers, specs     []string
	loginPage, totp, marker    string
	oauth, oauthClient         string
	oauthAuthorize, oauthBack  string
	oauthScopes                []string
	cookie, level              string
	allow, scope, exclude      []string
	proxy, browser             string
	noBrowser, jsonl, probable bool
	only, guess                bool
	maxRequests                int64
	maxTime, timeout           time.Duration
	depth, concurrency         int
	rate                       float64
	resume, coverage, failOn   string
	oast, oastToken            string
	output                     *string
}

// New makes the command.
func New() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use: "webtest URL…", Short: "Test a web application, without a server", Args: cobra.MinimumNArgs(1),
		Long: `Maps a web application, tests each of its inputs, and prints one line for each
finding that was proved; with --jsonl, a line of JSON. Progress and messages go
to standard error.

Level passive only looks; safe, the default, sends tests that change nothing;
active also sends forms that write, and removes what it wrote where it can;
intrusive may disturb. Forms and links that log out, change a password, delete
or pay are left alone unless --allow names them.

Only the hosts of the URLs and of --scope are contacted. The exit code is 3 when
something was left untested; the summary says why, --coverage lists each place.`,
		Example: `  vedette webtest http://127.0.0.1:8000
  vedette webtest https://shop.example --login 'alice:her password' --login 'bob:his' --level active
  vedette webtest https://api.example --spec openapi.yaml --header 'Authorization: Bearer …' --jsonl
  vedette webtest https://shop.example --max-requests 20000 --max-time 30m --resume shop.state`,
	}
	f.define(cmd)
	cli.MainFlags(
		cmd,
		"login",
		"header",
		"cookie",
		"spec",
		"level",
		"max-requests",
		"max-time",
		"resume",
		"coverage",
		"jsonl",
		"fail-on",
		"output",
	)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	cmd.AddCommand(newRecord())
	return cmd
}

func (f *flags) define(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	s := cmd.Flags()
	s.StringArrayVar(&f.logins, "login", nil, "user:password, or a file with such a line; again for one more user")
	s.StringVar(&f.loginPage, "login-page", "", "`url` of the page or the call that logs in (default: found by itself)")
	s.StringVar(&f.totp, "totp", "", "`secret` of the first user's one-time codes, in base32")
	s.StringVar(&f.oauth, "oauth-token-url", "", "`url` that gives tokens of OAuth 2, for --login or for --oauth-client alone")
	s.StringVar(&f.oauthClient, "oauth-client", "", "id:secret of the client at that server, or a file with it")
	s.StringVar(&f.oauthAuthorize, "oauth-authorize-url", "",
		"`url` where --login agrees in the browser: the token is asked for with an authorisation code")
	s.StringVar(&f.oauthBack, "oauth-redirect-url", "", "`url` that the client has registered for codes; it is not visited")
	s.StringSliceVar(&f.oauthScopes, "oauth-scope", nil, "`scopes` that the token is asked for")
	s.StringVar(&f.marker, "marker", "", "`text` that only pages of a logged-in user have (default: learned)")
	s.StringArrayVarP(&f.headers, "header", "H", nil, "'Name: value' that is sent with each request")
	s.StringVar(&f.cookie, "cookie", "", "cookies of a session, as in 'sid=1; lang=en'")
	s.StringArrayVar(
		&f.specs,
		"spec",
		nil,
		"`file` that describes the application: OpenAPI, Postman, HAR, Burp and others",
	)
	s.BoolVar(&f.only, "only", false, "test the URLs and the descriptions alone, follow no links")
	s.StringVar(&f.level, "level", "safe", "passive, safe, active or intrusive")
	cli.Values(cmd, "level", "passive", "safe", "active", "intrusive")
	s.StringSliceVar(&f.allow, "allow", nil, "of logout, password, delete and pay: what may be done, too")
	s.BoolVar(&f.guess, "guess", false, "try well-known passwords, and twelve wrong ones in a row, at logins")
	s.StringSliceVar(&f.scope, "scope", nil, "further `hosts` that may be contacted")
	s.StringSliceVar(&f.exclude, "exclude-hosts", nil, "`hosts` that are never contacted")
	s.Int64Var(&f.maxRequests, "max-requests", 0, "requests that are sent at most (default: no bound)")
	s.DurationVar(&f.maxTime, "max-time", time.Hour, "time after which it ends, such as 30m; 0 is no bound")
	s.IntVar(&f.depth, "depth", 8, "links from the start that are followed at most")
	s.IntVarP(&f.concurrency, "concurrency", "c", 16, "requests at a time to one host at most")
	s.Float64Var(&f.rate, "rate-limit", 0, "requests a second at most (default: as the target bears)")
	s.DurationVar(&f.timeout, "timeout", 20*time.Second, "how long one answer may take")
	s.StringVar(&f.proxy, "proxy", "", cli.ProxyHelp)
	s.StringVar(&f.browser, "browser", "", "path of the Chromium to use (default: the one that is installed)")
	s.BoolVar(&f.noBrowser, "no-browser", false, "use no browser; what needs one is not tested")
	s.StringVar(&f.oast, "oast", "", "`url` of an out-of-band server, of 'vedette oast serve' or interactsh")
	s.StringVar(&f.oastToken, "oast-token", "", "token of that server (default: VEDETTE_OAST_TOKEN)")
	s.StringVar(&f.resume, "resume", "", "`file` that notes what was done, and from which a run that was ended goes on")
	s.StringVar(&f.coverage, "coverage", "", "`file` for what was tested and what not, as JSON")
	s.BoolVar(&f.jsonl, "jsonl", false, "findings as lines of JSON, with their evidence")
	s.BoolVar(&f.probable, "probable", false, "print what is probable and was not proved, too")
	s.StringVar(&f.failOn, "fail-on", "", "exit with 6 if something of this `severity` or worse was found")
	cli.Values(cmd, "fail-on", cli.Severities...)
	f.output = cli.OutputFlag(cmd)
}

func (f *flags) run(cmd *cobra.Command, args []string) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	cli.ReleaseImage()
	cfg, err := f.config(args)
	if err != nil {
		return err
	}
	if err := f.openOAST(ctx, &cfg); err != nil {
		return err
	}
	if !f.noBrowser {
		if _, err := browser.Find(f.browser); err != nil {
			fmt.Fprintf(stderr, "note: %v: scripts are read and not run, and what needs a browser is not tested\n", err)
		} else {
			pool := browser.New(browser.Config{Path: f.browser, Nobody: true})
			defer pool.Close()
			cfg.Browser = pool
		}
	}
	out := &printer{flags: f, w: cmd.OutOrStdout(), worst: len(cli.Severities)}
	bar := cli.NewBar(stderr)
	cfg.OnFinding = out.finding
	cfg.OnNote = func(text string) { fmt.Fprintln(bar.Above(stderr), cli.Printable(text)) }
	cfg.OnProgress = progress(bar, stderr, time.Now)
	report, err := webtest.Run(ctx, cfg)
	bar.Close()
	if report == nil {
		return err
	}
	if report.Map != nil {
		summary(stderr, report)
	}
	if f.coverage != "" {
		err = errors.Join(err, writeCoverage(f.coverage, report))
	}
	if *f.output == "json" {
		err = errors.Join(err, out.whole(report))
	}
	return f.exit(ctx, report, out, err)
}

// stages are the stages of a run, for people.
var stages = map[string]string{
	"map":  "mapping",
	"look": "looking",
	"test": "testing",
	"end":  "looking for late effects",
}

// progress shows how far a run is: a bar on a terminal, elsewhere a line for each stage and each minute.
func progress(bar *cli.Bar, stderr io.Writer, now func() time.Time) func(webtest.Progress) {
	last, said := "", time.Time{}
	terminal := cli.IsTerminal(stderr)
	return func(p webtest.Progress) {
		if p.Stage != last {
			bar.End()
		}
		if at := now(); !terminal && (p.Stage != last || at.Sub(said) >= time.Minute) {
			said = at
			done := ""
			if p.Done > 0 {
				done = fmt.Sprintf("%d of %d done, ", p.Done, p.Total)
			}
			fmt.Fprintf(stderr, "%s: %s%d requests so far, %s\n", stages[p.Stage], done, p.Requests,
				cli.Counted(p.Findings, "finding"))
		}
		last = p.Stage
		bar.Show(stages[p.Stage], int64(p.Done), int64(p.Total))
	}
}

// exit is the exit code: the first of interrupted, out of scope, a login that failed, failed, findings, budget, partial
// coverage.
func (f *flags) exit(ctx context.Context, r *webtest.Report, out *printer, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Exit{Code: cli.ExitInterrupted, Err: errors.New("interrupted")}
	case r.Denied || errors.Is(err, client.ErrScope):
		return cli.Exit{Code: cli.ExitOutOfScope, Err: errors.Join(errors.New("nothing is in scope"), err)}
	case errors.Is(err, session.ErrRefused), errors.Is(err, session.ErrNoLogin):
		return cli.Exit{Code: cli.ExitAuth, Err: err}
	case len(r.Refused) > 0 && err == nil:
		return cli.Exit{Code: cli.ExitAuth, Err: errors.New(strings.Join(r.Refused, "; "))}
	case err != nil && !errors.Is(err, client.ErrBudget) && !errors.Is(err, client.ErrDown):
		return err
	case out.err != nil:
		return fmt.Errorf("writing findings: %w", out.err)
	case f.failOn != "" && out.worst <= cli.SeverityRank(f.failOn):
		return cli.Silent(cli.ExitFindings)
	case r.Over != "":
		return cli.Silent(cli.ExitBudget)
	case r.Partial():
		return cli.Silent(cli.ExitPartial)
	}
	return nil
}
