package webtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/har"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/record"
)

// recordFlags are the flags of vedette webtest record.
type recordFlags struct {
	listen, file, proxy string
	scope               []string
	output              *string
}

// newRecord makes vedette webtest record.
func newRecord() *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use: "record URL…", Short: "Record what you do in a browser, for --spec", Args: cobra.MinimumNArgs(1),
		Long: `Runs a proxy on this machine until it is interrupted (Ctrl-C), and writes what
your browser sends to the hosts of the URLs and of --scope, with the answers, to
a HAR file: 'vedette webtest --spec' tests each of these requests, those behind
logins and forms of several steps too. What goes to other hosts is passed on and
not read.

For HTTPS the browser must trust the authority of the recording, which is made
anew each time; the command that is printed starts Chromium with a profile that
does. Other browsers import it from /ca.pem of the proxy. The file has cookies
and passwords: only you can read it.`,
		Example: `  vedette webtest record https://shop.example --file shop.har
  vedette webtest record http://127.0.0.1:8000 --listen 127.0.0.1:9000 --scope api.example`,
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&f.file, "file", "", "`file` to write, which must not exist (default: the host's name with .har)")
	s.StringVar(&f.listen, "listen", "127.0.0.1:8899", "`address` of the proxy, on this machine")
	s.StringSliceVar(&f.scope, "scope", nil, "further `hosts` that are recorded")
	s.StringVar(&f.proxy, "proxy", "", cli.ProxyHelp)
	f.output = cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, args []string) (err error) {
	starts, err := readStarts(args)
	if err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(f.listen)
	if err != nil || !at.Addr().IsLoopback() {
		return cli.Usagef("--listen %q: must be an address of this machine with a port, such as 127.0.0.1:8899: "+
			"whoever reaches the proxy uses it", cli.Printable(f.listen))
	}
	cfg, err := f.config(starts)
	if err != nil {
		return err
	}
	if f.file == "" {
		f.file = strings.ReplaceAll(starts[0].Host, ":", "_") + ".har"
	}
	listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if cfg.File, err = har.Create(f.file); err != nil {
		return cli.Usagef("--file: %w", err)
	}
	defer func() { err = errors.Join(err, cfg.File.Close()) }()
	stderr := cmd.ErrOrStderr()
	cfg.OnRecorded = func(x record.Exchange) {
		status := strconv.Itoa(x.Status)
		if x.Err != nil {
			status = x.Err.Error()
		}
		fmt.Fprintln(stderr, cli.Printable(fmt.Sprintf("%s %s: %s", x.Method, x.URL, status)))
	}
	p, err := record.New(cfg)
	if err != nil {
		return err
	}
	address := "http://" + listener.Addr().String()
	fmt.Fprintf(stderr, "recording to %s by the proxy %s until you press Ctrl-C; Chromium uses it with\n  chromium %s %s\n", f.file, address,
		strings.Join(forShell(p.Chromium(address, "$(mktemp -d)")), " "), starts[0])
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-cmd.Context().Done():
	}
	_ = server.Close() // answers that go on are not waited for
	return f.summary(cmd, p, cfg.File.Count(), starts)
}

// config is what is recorded, and how hosts are dialled.
func (f *recordFlags) config(starts []*url.URL) (cfg record.Config, err error) {
	targets, err := targetsOf(f.scope, starts)
	if err != nil {
		return cfg, err
	}
	if cfg.Scope, err = netguard.NewScope(targets, netguard.Limits{}); err != nil {
		return cfg, err
	}
	proxy, err := cli.ReadProxy(f.proxy)
	if err != nil {
		return cfg, err
	}
	cfg.Dial = cli.ProxyGuard().Helper(nil, proxy)
	return cfg, nil
}

// forShell are arguments for a shell; $(…) stays what it is.
func forShell(args []string) []string {
	for i, arg := range args {
		if strings.ContainsAny(arg, "<>") {
			args[i] = "'" + arg + "'"
		}
	}
	return args
}

// summary says what was recorded, and how it is tested.
func (f *recordFlags) summary(cmd *cobra.Command, p *record.Proxy, count int, starts []*url.URL) error {
	if *f.output == "json" {
		said := map[string]any{"file": f.file, "requests": count, "passed": p.Passed()}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(said)
	}
	fmt.Fprintf(cmd.OutOrStdout(),
		"%s in %s, %d to other hosts were passed on. Test them with\n  vedette webtest %s --spec %s\n", cli.Counted(count, "request"), f.file, p.Passed(), starts[0], f.file)
	return nil
}
