// Package scan is the command that runs templates on targets with the engine alone, without a server. Flags become a
// selection of templates (flags.go, templates.go), targets and a scope (targets.go); findings are printed as the
// engine reports them (output.go).
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// New makes the command.
func New() *cobra.Command {
	f := newScanFlags()
	cmd := &cobra.Command{
		Use: "scan", Short: "Run templates on targets, without a server", Args: cobra.NoArgs,
		Long: `Runs templates on targets and prints one line for each finding on standard
output; with --jsonl, one JSON event a line. Progress and messages go to
standard error. Without --templates the starter templates in the binary run.

Only hosts that the targets and --scope name are contacted, with --proxy through
it alone. Flags may be written
with one dash or two. The exit code is 3 when something was left untested;
--coverage lists what and why.`,
		Example: `  vedette scan -u http://127.0.0.1:8000
  vedette scan -u https://example.com -t ./templates --tags exposure,panel -s high,critical
  vedette scan -l hosts.txt -t ./templates -etags dos --jsonl --coverage coverage.json > findings.jsonl
  vedette scan -u 192.0.2.0/28 -eh 192.0.2.1 -t ./templates -rl 50 -c 10 --fail-on high
  vedette scan -u https://example.com/?q=1 -t ./templates --dast -fa medium
  vedette scan -l requests.xml -im burp -t ./templates
  vedette scan -l openapi.yaml -im openapi -V Authorization="Bearer …" -t ./templates
  vedette scan -u https://example.com -t ./templates -tp recommended --resume scan.state
  vedette scan -u https://example.com --proxy socks5://127.0.0.1:9050`,
	}
	cmd.Flags().SortFlags = false
	for _, g := range f.groups() {
		define(cmd, g.title, g.options, false)
	}
	f.addNucleiFlags(cmd)
	cli.MainFlags(cmd, "target", "list", "exclude-hosts", "coverage", "templates", "tags", "severity", "header",
		"rate-limit", "concurrency", "jsonl", "fail-on")
	cmd.SetFlagErrorFunc(flagError)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.readSettings(cmd.Flags()); err != nil {
			return err
		}
		switch {
		case f.profiles:
			_, err := io.WriteString(cmd.OutOrStdout(), f.listProfiles())
			return err
		case f.validate:
			o := f.load
			o.Paths = slices.Concat(f.templates, f.workflows)
			return Validate(cmd.Context(), cmd.OutOrStdout(), o, f.jsonl || f.out == "json")
		case f.listed:
			return f.listTemplates(cmd)
		}
		return f.run(cmd)
	}
	return cmd
}

func (f *scanFlags) run(cmd *cobra.Command) (err error) {
	cli.ReleaseImage()
	targets, err := f.readTargets(cmd.InOrStdin())
	if err != nil {
		return err
	}
	stored, err := f.readPassive(targets)
	if err != nil {
		return err
	}
	stderr := f.messages(cmd.ErrOrStderr())
	proxy, err := cli.ReadProxy(f.proxy)
	if err != nil {
		return err
	}
	config, err := f.engineConfig(targets, proxy)
	if err != nil {
		return err
	}
	stored.configure(&config)
	remove, err := f.fetch(cmd.Context())
	if err != nil {
		return err
	}
	defer remove()
	chosen, err := f.choose(cmd.Context(), stderr)
	if err != nil {
		return err
	}
	if err := greet(cmd.Context(), proxy); err != nil {
		return err
	}
	defer trimAside()() // while the scan is planned
	sink, err := newSink(cmd.OutOrStdout(), f)
	if err != nil {
		return err
	}
	sink.stored = stored
	defer func() { err = errors.Join(err, sink.close()) }()
	count := len(chosen.Programs) + len(chosen.Workflows)
	fmt.Fprintf(stderr, "%s on %s\n", cli.Counted(count, "template"), cli.Counted(len(targets.targets), "target"))

	watched, err := f.oast.open(cmd.Context(), proxy, stderr, &config)
	if err != nil {
		return err
	}
	defer f.pages.open(&config, chosen, stderr).Close()
	e := engine.New(config)
	defer e.Close()
	progress := f.newProgress(cmd.ErrOrStderr(), stderr, count)
	scan, file, err := f.scan(targets, chosen, sink)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		fmt.Fprintf(stderr, "%s done before\n", cli.Counted(scan.Done.Len(), "check"))
	}
	listed, err := createCoverage(f.coverage)
	if err != nil {
		return err
	}
	tested, ids := newSummary(), chosen.IDs()
	scan.OnTarget = func(t *engine.TargetReport) {
		stored.rename(t)
		tested.add(t)
		listed.add(t, ids)
		if f.status {
			sink.unmatched(t, chosen, ids)
		}
	}
	scan.OnProgress, scan.OnLog = progress.show, f.scriptLog(stderr)
	watched.join(&scan)
	report, err := e.Run(cmd.Context(), scan)
	progress.close()
	if stored != nil && report != nil {
		report.Requests = 0 // they reached files
	}
	if werr := listed.close(report); werr != nil || report == nil {
		return errors.Join(err, werr)
	}
	tested.print(stderr, report, listed != nil)
	return f.exit(cmd.Context(), report, sink, chosen.Partial(), err)
}

// scriptLog prints what scripts log, with --verbose; else it is nil.
func (f *scanFlags) scriptLog(stderr io.Writer) func(event.Logged) {
	if !f.verbose {
		return nil
	}
	return func(l event.Logged) {
		fmt.Fprintf(stderr, "[JS] [%s] %s: %s\n", l.TemplateID, cli.Printable(l.Target), cli.Printable(l.Text))
	}
}

// greet fails if the proxy, where there is one, does: a scan through a dead one would only list failed requests.
func greet(ctx context.Context, proxy *netguard.Proxy) error {
	if proxy == nil {
		return nil
	}
	return cli.ProxyGuard().Greet(ctx, proxy)
}

// messages is where messages go; the notes are the first.
func (f *scanFlags) messages(stderr io.Writer) io.Writer {
	if f.silent {
		return io.Discard
	}
	for _, note := range f.notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	return stderr
}

func (f *scanFlags) engineConfig(targets *scanTargets, proxy *netguard.Proxy) (c engine.Config, err error) {
	c = engine.Config{
		Timeout: time.Duration(f.timeout) * time.Second, Retries: f.retries, RateLimit: f.rate, RateWindow: f.rateWindow,
		PerHost: f.concurrency, Concurrency: f.concurrency * f.targetsAtOnce, MaxBody: int64(f.program.MaxSize),
	}
	if f.ratePerMinute > 0 {
		c.RateLimit, c.RateWindow = f.ratePerMinute, time.Minute
	}
	if f.ratePerHost {
		c.RateLimit, c.HostRate = 0, c.RateLimit
	}
	if len(f.exclude) > 0 {
		c.Allow = targets.allowed
		c.AllowName = func(name string) bool { return !targets.excluded.Has(name, "") }
	}
	if c.Resolvers, err = f.readResolvers(); err != nil {
		return c, err
	}
	var lookup *net.Resolver // nil: the system's
	if len(f.resolvers) > 0 {
		lookup = resolver(c.Resolvers)
	}
	scope, err := f.newScope(targets.named, proxy, lookup)
	if err != nil {
		return c, err
	}
	c.Dial, c.Files, c.Pages.AnyFolder = scope.Dial, true, f.load.LocalFiles
	c.SNI = f.sni
	if c.Certificates, err = f.readCertificate(); err != nil {
		return c, err
	}
	c.DialHelper = cli.ProxyGuard().Helper(c.Resolvers, proxy)
	c.Headers, err = f.readHeaders()
	return c, err
}

// scan is the scan to run, and the open file of --resume, if there is one.
func (f *scanFlags) scan(targets *scanTargets, chosen *templates.Selection, sink *sink) (engine.Scan, *os.File, error) {
	scan := engine.Scan{
		Targets: targets.targets, Requests: targets.requests, Programs: chosen.Programs, Workflows: chosen.Workflows,
		OnEvent:       sink.write,
		SelfContained: f.load.Allow.SelfContained, GlobalMatchers: f.load.Allow.GlobalMatchers,
		StopAtFirstMatch: f.stopAtFirst, MaxRequests: f.maxRequests, Parallel: f.targetsAtOnce,
		FuzzFrequency: f.frequency,
	}
	var err error
	if scan.Vars, scan.Lists, err = f.readVars(); err != nil || f.resume == "" {
		return scan, nil, err
	}
	file, checkpoint, err := openCheckpoint(f.resume)
	if err != nil {
		return scan, nil, err
	}
	scan.Done, scan.Checkpoint = checkpoint, file
	sink.countEarlier(checkpoint.Severities())
	return scan, file, nil
}

// exit is the exit code: the first of interrupted, failed, out of scope, findings, budget, partial coverage.
func (f *scanFlags) exit(ctx context.Context, r *engine.Report, s *sink, partial bool, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Exit{Code: cli.ExitInterrupted, Err: errors.New("interrupted")}
	case err != nil:
		return err
	case s.err != nil:
		return fmt.Errorf("writing findings: %w", s.err)
	}
	counts := r.Counts()
	total := 0
	for _, n := range counts {
		total += n
	}
	switch {
	case total > 0 && counts[engine.Denied] == total:
		return cli.Silent(cli.ExitOutOfScope)
	case f.fail != "" && s.worst <= cli.SeverityRank(f.fail):
		return cli.Silent(cli.ExitFindings)
	case counts[engine.Budget] > 0:
		return cli.Silent(cli.ExitBudget)
	case partial || r.Partial():
		return cli.Silent(cli.ExitPartial)
	}
	return nil
}

// readHeaders parses --header: 'Name: value', or a file of such lines.
func (f *scanFlags) readHeaders() (headers []engine.Header, err error) {
	for _, text := range f.headers {
		lines := []string{text}
		if !strings.Contains(text, ":") && cli.IsFile(text) {
			if lines, err = cli.ReadLines(text); err != nil {
				return nil, cli.Usagef("--header %s: %w", text, err)
			}
		}
		for _, line := range lines {
			name, value, ok := strings.Cut(line, ":")
			if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(line, "\r\n\x00") {
				return nil, cli.Usagef("--header %q: write 'Name: value'", line)
			}
			headers = append(headers, engine.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		}
	}
	return headers, nil
}

// readVars parses --var. If a value is the name of a file, its lines are payloads for requests with the variable.
func (f *scanFlags) readVars() (values map[string]string, lists map[string][]string, err error) {
	values, lists = map[string]string{}, map[string][]string{}
	for _, text := range f.vars {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, nil, cli.Usagef("--var %q: write name=value", text)
		}
		values[name] = value
		delete(lists, name)
		if info, err := os.Stat(value); err != nil || !info.Mode().IsRegular() || info.Size() > cli.MaxFile {
			continue
		}
		data, err := os.ReadFile(value)
		if err != nil {
			return nil, nil, cli.Usagef("--var %s: %w", name, err)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				lists[name] = append(lists[name], line)
			}
		}
	}
	return values, lists, nil
}
