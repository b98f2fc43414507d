package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const enumerateLong = `Finds the hosts of domains, addresses and networks and looks at them: names and
addresses, open ports, what answers there, web pages and certificates. Prints one
JSON object an asset, a line each; progress and messages go to standard error.

A domain stands for itself and all names below it, and these are looked for; with
--exact it stands for itself alone, as an address, a network (CIDR) or a URL does. Only
what was named is contacted, besides name servers and, unless --no-sources is given, the
public sources of names. A name that leads to a private address, which no network among
the arguments covers, is not contacted there; what was refused is listed at the end.

The steps are dns_passive, dns_scraping, dns_bruteforce, dns_permute, dns_resolve,
uncover_assets, port_scan, tls_scan, http_probe, endpoint_crawling, http_screenshot; all
are done without --steps. The exit code is 3 when a source or a name server did not
answer, 7 when all that was to be contacted is out of scope.

With --proxy (socks5:// or http://) ports, pages and certificates are looked at through
the proxy alone, and not over UDP. Name servers and public sources are asked without it.`

func newEnumerate() *cobra.Command {
	f := &enumerateFlags{}
	cmd := &cobra.Command{
		Use: "enumerate [flags] TARGET…", Short: "Find hosts and look at them, without a server", Args: cobra.ArbitraryArgs,
		Long: enumerateLong,
		Example: `  vedette enumerate example.com > assets.jsonl
  vedette enumerate example.com 192.0.2.0/28 --ports top-1000 --exclude '*.dev.example.com' --source-keys keys.yaml
  vedette enumerate --list hosts.txt --exact --steps dns_resolve,http_probe,tls_scan -o json
  vedette enumerate corp.example 10.20.0.0/16 --resolvers 10.0.0.53 --no-sources --wordlist words.txt --rate 2000
  vedette enumerate example.com --screenshots shots --timeout 5s --ports 80,443,8000-8100
  vedette enumerate 10.20.0.0/24 --proxy socks5://ann@proxy.example.com:1080`,
	}
	f.define(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	cmd.AddCommand(newEnumerateDiff())
	return cmd
}

type enumerateFlags struct {
	lists, exclude, deny, steps, sources, resolvers []string
	words, keys, screenshots, output, ports, proxy  string
	exact, noSources, silent, udp                   bool
	rate, queryRate                                 int
	timeout                                         time.Duration
	originZone                                      string
}

func (f *enumerateFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVarP(&f.lists, "list", "l", nil, "file with a target a line; - is standard input")
	fs.BoolVar(&f.exact, "exact", false, "look at names as they are given, and for none below them")
	fs.StringSliceVar(&f.steps, "steps", nil, "steps to do (default: all)")
	fs.StringVarP(&f.ports, "ports", "p", "", "ports and ranges, top-100, top-1000 or full (default top-100)")
	fs.BoolVar(&f.udp, "udp", false, "ask for the common services over UDP, too")
	fs.StringSliceVar(&f.exclude, "exclude", nil,
		"hosts, networks or regular expressions of hosts that are never contacted")
	fs.StringSliceVar(&f.deny, "deny-targets", nil, "network (CIDR) that is never contacted, wherever names lead")
	fs.StringVar(&f.proxy, "proxy", "",
		"proxy for all connections to targets: socks5:// or http://, or a file with its URL (default: VEDETTE_PROXY)")
	fs.StringSliceVar(&f.resolvers, "resolvers", nil, "name servers, as addresses or host:port (default: the system's)")
	fs.StringVar(&f.words, "wordlist", "", "file with labels to try, besides those that are built in")
	fs.StringVar(&f.keys, "source-keys", "", "file with keys of sources (YAML: a source's name and a list of keys)")
	fs.StringSliceVar(&f.sources, "sources", nil, "public sources to ask (default: all)")
	fs.BoolVar(&f.noSources, "no-sources", false, "ask no public source")
	fs.StringVar(&f.originZone, "origin-zone", "", "DNS zone with the owners of addresses, such as origin.asn.cymru.com")
	fs.IntVar(&f.rate, "rate", 0, "connections a second of port scans at most (default: no limit)")
	fs.IntVar(&f.queryRate, "query-rate", 0, "questions a second to name servers at most (default: no limit)")
	fs.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long one answer is waited for")
	fs.StringVar(&f.screenshots, "screenshots", "", "folder to write screenshots of web pages to")
	fs.StringVarP(&f.output, "output", "o", "jsonl", "jsonl, json (one list) or text (a table)")
	fs.BoolVar(&f.silent, "silent", false, "say nothing on standard error")
	fs.SortFlags = false
	steps := make([]string, len(discover.Steps))
	for i, step := range discover.Steps {
		steps[i] = string(step)
	}
	cli.Values(cmd, "steps", steps...)
	cli.Values(cmd, "ports", "top-100", "top-1000", "full")
	cli.Values(cmd, "output", "jsonl", "json", "text")
	cli.Folders(cmd, "screenshots")
	cli.MainFlags(cmd, "list", "exact", "steps", "ports", "exclude", "resolvers", "no-sources", "source-keys",
		"screenshots", "output")
}

func (f *enumerateFlags) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains([]string{"jsonl", "json", "text"}, f.output) {
		return cli.Usagef("--output must be jsonl, json or text")
	}
	listed, err := cli.ReadLists(f.lists, cmd.InOrStdin())
	if err != nil {
		return err
	}
	in, c, err := f.config(append(args, listed...))
	if err != nil {
		return err
	}
	p, err := pipeline.New(c)
	if err != nil {
		return cli.Usage(err)
	}
	stderr := io.Discard
	if !f.silent {
		stderr = cmd.ErrOrStderr()
	}
	sink := newAssetSink(cmd.OutOrStdout(), f.output, f.screenshots)
	bar := cli.NewBar(cmd.ErrOrStderr())
	if f.silent {
		bar = &cli.Bar{}
	}
	report, err := p.Run(cmd.Context(), in, sink.write, func(p pipeline.Progress) {
		bar.Show(fmt.Sprintf("%d assets", p.Assets), int64(p.Probed), int64(p.Names))
	})
	bar.Close()
	if werr := sink.close(); err == nil {
		err = werr
	}
	printEnumeration(stderr, report)
	return enumerationExit(cmd.Context(), report, err)
}

// enumerationExit is the exit code: the first of interrupted, failed, out of scope, partial.
func enumerationExit(ctx context.Context, r pipeline.Report, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Exit{Code: cli.ExitInterrupted, Err: errors.New("interrupted")}
	case err != nil:
		return err
	case r.Names == 0 && r.Denials > 0:
		return cli.Silent(cli.ExitOutOfScope)
	case slices.ContainsFunc(r.Sources, func(s discover.SourceReport) bool {
		return s.State != discover.SourceOK && s.State != discover.SourceEmpty && s.State != discover.SourceSkipped
	}):
		return cli.Silent(cli.ExitPartial)
	}
	return nil
}

func printEnumeration(stderr io.Writer, r pipeline.Report) {
	w := tabwriter.NewWriter(stderr, 0, 4, 2, ' ', 0)
	for _, s := range r.Sources {
		if s.State != discover.SourceSkipped || s.Detail != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", cli.Printable(s.Source), cli.Printable(s.About), s.State, s.Count,
				s.Took.Round(time.Millisecond), cli.Printable(s.Detail))
		}
	}
	_ = w.Flush()
	slices.Sort(r.Notes)
	for _, note := range slices.Compact(r.Notes) {
		fmt.Fprintf(stderr, "note: %s\n", cli.Printable(note))
	}
	for i, d := range r.Denied {
		if i == 20 {
			fmt.Fprintf(stderr, "and %d more were refused\n", len(r.Denied)-i)
			break
		}
		fmt.Fprintf(stderr, "refused: %s (%s), %d times\n", cli.Printable(d.Addr), d.Why, d.Times)
	}
	fmt.Fprintf(stderr, "%s on %s\n", cli.Counted(r.Assets, "asset"), cli.Counted(r.Probed, "host"))
}

func (f *enumerateFlags) config(args []string) (in pipeline.Input, c pipeline.Config, err error) {
	c = pipeline.Config{
		Ports: f.ports, UDP: f.udp, Pace: discover.NewPace(f.rate), QueryPace: discover.NewPace(f.queryRate),
		Timeout: f.timeout, Resolvers: f.resolvers, Sources: f.sources, OriginZone: f.originZone,
	}
	if err := f.readTargets(args, &in, &c); err != nil {
		return in, c, err
	}
	if err := f.readProxy(&c); err != nil {
		return in, c, err
	}
	for _, name := range f.steps {
		step := discover.Step(strings.TrimSpace(name))
		if !slices.Contains(discover.Steps, step) {
			return in, c, cli.Usagef("--steps: %.40q is not known", name)
		}
		c.Steps = append(c.Steps, step)
	}
	if f.screenshots == "" { // without a folder no screenshot is kept
		if len(c.Steps) == 0 {
			c.Steps = discover.Steps
		}
		c.Steps = slices.DeleteFunc(slices.Clone(c.Steps), func(s discover.Step) bool { return s == discover.HTTPScreenshot })
	} else if err := os.MkdirAll(f.screenshots, 0o750); err != nil {
		return in, c, err
	}
	excluded, err := cli.NewExclusion(f.exclude)
	if err != nil {
		return in, c, err
	}
	c.Excludes = func(host string, port uint16) bool { return excluded.Has(host, strconv.Itoa(int(port))) }
	denied, err := cli.ParseDenied(f.deny)
	if err != nil {
		return in, c, err
	}
	c.Deny = slices.Concat(denied, excluded.Networks)
	if f.words != "" {
		if c.Words, err = cli.ReadLines(f.words); err != nil {
			return in, c, cli.Usagef("--wordlist: %w", err)
		}
	}
	if f.keys != "" {
		text, err := os.ReadFile(f.keys)
		if err == nil {
			c.Keys, err = names.ParseKeys(text)
		}
		if err != nil {
			return in, c, cli.Usagef("--source-keys: %w", err)
		}
	}
	if !f.noSources {
		c.Client = (&netguard.Guard{}).Client(time.Minute)
	}
	return in, c, nil
}

// readProxy reads --proxy.
func (f *enumerateFlags) readProxy(c *pipeline.Config) error {
	proxy, err := cli.ReadProxy(f.proxy)
	switch {
	case err != nil:
		return err
	case proxy != nil && proxy.LooksUp():
		return cli.Usagef("--proxy: enumerate looks names up itself: use socks5://")
	case proxy != nil && f.udp:
		return cli.Usagef("--udp does not go through --proxy: leave one of them out")
	}
	c.Proxy, c.Guard = proxy, cli.ProxyGuard()
	return nil
}

// readTargets sorts the targets into domains, hosts and networks; all may be contacted.
func (f *enumerateFlags) readTargets(args []string, in *pipeline.Input, c *pipeline.Config) error {
	left := cli.MaxAddresses
	for _, text := range args {
		t, err := netguard.ParseTarget(text)
		if err != nil {
			return cli.Usagef("%q is not a domain, an address, a network or a URL", cli.Printable(text))
		}
		ports := t.Ports
		t.Ports = nil
		switch p := t.Prefix; {
		case p.IsValid() && !p.IsSingleIP():
			if err := cli.TakeAddresses(p, &left); err != nil {
				return err
			}
			in.Ranges = append(in.Ranges, p)
		case p.IsValid():
			in.Hosts = append(in.Hosts, namedTarget(p.Addr().String(), ports))
		case f.exact || len(ports) > 0 || strings.Contains(text, "://") || !strings.Contains(t.Host, "."):
			in.Hosts = append(in.Hosts, namedTarget(t.Host, ports))
		default:
			in.Domains, c.Domains = append(in.Domains, t.Host), append(c.Domains, t.Host)
			c.Covers = append(c.Covers, netguard.Target{Host: t.Host, Subdomains: true})
			t.Subdomains = false
		}
		c.Covers = append(c.Covers, t)
	}
	if len(in.Domains)+len(in.Hosts)+len(in.Ranges) == 0 {
		return cli.Usagef("there is no target: name a domain, an address, a network or a URL")
	}
	return nil
}

func namedTarget(host string, ports []uint16) pipeline.Target {
	return pipeline.Target{Name: discover.Name{Host: host, Sources: []discover.SourceRef{{Source: "input"}}}, Ports: ports}
}

// assetSink writes assets as they are found.
type assetSink struct {
	w      io.Writer
	lines  *json.Encoder
	format string
	folder string // of screenshots
	table  *tabwriter.Writer
	count  int
}

func newAssetSink(w io.Writer, format, folder string) *assetSink {
	s := &assetSink{w: w, lines: json.NewEncoder(w), format: format, folder: folder}
	if format == "text" {
		s.table = tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	}
	return s
}

func (s *assetSink) write(a discover.Asset) error {
	s.count++
	if s.folder != "" && len(a.Screenshot) > 0 {
		name := fmt.Sprintf("%s-%d.png", strings.Map(inFileName, a.Host), a.Port)
		if err := os.WriteFile(filepath.Join(s.folder, name), a.Screenshot, 0o600); err != nil {
			return err
		}
	}
	switch s.format {
	case "text":
		_, err := fmt.Fprintf(s.table, "%s\t%s\t%s\t%s\n", cli.Printable(addressOf(a)), strings.Join(a.IP, ","),
			cli.Printable(a.Service+" "+a.Version), cli.Printable(strings.Join(strings.Fields(a.Title), " ")))
		return err
	case "json":
		between := ",\n"
		if s.count == 1 {
			between = "[\n"
		}
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.w, "%s%s", between, text)
		return err
	}
	return s.lines.Encode(a)
}

// inFileName keeps the letters of hosts that file names may have everywhere.
func inFileName(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
		return r
	}
	return '_'
}

// addressOf names an asset for people.
func addressOf(a discover.Asset) string {
	switch {
	case a.URL != "":
		return a.URL
	case a.Port > 0:
		return fmt.Sprintf("%s:%d/%s", a.Host, a.Port, a.Protocol)
	}
	return a.Host
}

func (s *assetSink) close() error {
	switch {
	case s.format == "text":
		return s.table.Flush()
	case s.format == "json" && s.count == 0:
		_, err := io.WriteString(s.w, "[]\n")
		return err
	case s.format == "json":
		_, err := io.WriteString(s.w, "\n]\n")
		return err
	}
	return nil
}
