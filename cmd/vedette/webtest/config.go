package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/oast"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// config is the configuration that the flags make.
func (f *flags) config(args []string) (cfg webtest.Config, err error) {
	cfg = webtest.Config{Depth: f.depth, Journal: f.resume, Only: f.only, Checks: check.All(), Guess: f.guess}
	level, ok := client.ParseLevel(f.level)
	if !ok {
		return cfg, cli.Usagef("--level %q: must be passive, safe, active or intrusive", f.level)
	}
	if f.failOn != "" && cli.SeverityRank(f.failOn) == len(cli.Severities) {
		return cfg, cli.Usagef("--fail-on %q: must be one of %s", f.failOn, strings.Join(cli.Severities, ", "))
	}
	if f.maxRequests < 0 || f.maxTime < 0 || f.depth < 0 || f.rate < 0 || f.concurrency < 1 || f.timeout <= 0 {
		return cfg, cli.Usagef("--max-requests, --max-time, --depth and --rate-limit must not be below zero, " +
			"--concurrency and --timeout must be above it")
	}
	cfg.Client = client.Config{Level: level, Requests: f.maxRequests, Timeout: f.timeout, InFlight: f.concurrency,
		Rate: f.rate}
	if f.maxTime > 0 {
		cfg.Client.Until = time.Now().Add(f.maxTime)
	}
	if cfg.Client.May, err = f.may(); err != nil {
		return cfg, err
	}
	if cfg.Starts, err = readStarts(args); err != nil {
		return cfg, err
	}
	if err := f.readScope(&cfg); err != nil {
		return cfg, err
	}
	if cfg.Client.Header, err = readHeaders(f.headers); err != nil {
		return cfg, err
	}
	if cfg.Accounts, err = f.accounts(); err != nil {
		return cfg, err
	}
	cfg.Documents, err = f.documents(cfg.Starts[0])
	return cfg, err
}

// readStarts reads the URLs; a host alone is one of http.
func readStarts(args []string) (out []*url.URL, err error) {
	for _, text := range args {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || !netguard.IsWebURL(text) {
			return nil, cli.Usagef("%q is not an http or https URL", cli.Printable(text))
		}
		u.Fragment, u.User = "", nil
		if u.Path == "" {
			u.Path = "/"
		}
		out = append(out, u)
	}
	return out, nil
}

// readScope makes the scope: the hosts of the URLs, with their ports, and those of --scope.
func (f *flags) readScope(cfg *webtest.Config) error {
	addresses := cfg.Starts
	for _, text := range []string{f.oauth, f.oauthAuthorize} {
		if at, err := url.Parse(text); err == nil && at.Host != "" {
			addresses = append(slices.Clone(addresses), at)
		}
	}
	targets, err := targetsOf(f.scope, addresses)
	if err != nil {
		return err
	}
	excluded, err := cli.NewExclusion(f.exclude)
	if err != nil {
		return err
	}
	proxy, err := cli.ReadProxy(f.proxy)
	if err != nil {
		return err
	}
	limits := netguard.Limits{Deny: excluded.Networks}
	if proxy != nil {
		limits.Through, limits.Names = cli.ProxyGuard().Through(proxy), proxy.LooksUp()
	}
	scope, err := netguard.NewScope(targets, limits)
	if err != nil {
		return err
	}
	cfg.Client.Dial = scope.Dial
	cfg.Client.Allow = func(_ string, u *url.URL) error {
		if !scope.AllowsURL(u) || excluded.Has(u.Hostname(), u.Port()) {
			return errors.New("it is out of scope")
		}
		return nil
	}
	return nil
}

// targetsOf are the hosts of --scope, and those of addresses with their ports.
func targetsOf(scope []string, addresses []*url.URL) (targets []netguard.Target, err error) {
	named := slices.Clone(scope)
	for _, u := range addresses {
		named = append(named, u.Scheme+"://"+u.Host)
	}
	for _, text := range named {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, cli.Usagef("%s: %s", cli.Printable(text), cli.Plain(err))
		}
		targets = append(targets, target)
	}
	return targets, nil
}

func (f *flags) may() (may client.May, err error) {
	for _, what := range f.allow {
		switch what {
		case "logout":
			may.Logout = true
		case "password":
			may.Password = true
		case "delete":
			may.Delete = true
		case "pay":
			may.Pay = true
		default:
			return may, cli.Usagef("--allow %q: must be logout, password, delete or pay", what)
		}
	}
	return may, nil
}

func readHeaders(texts []string) (http.Header, error) {
	out := http.Header{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, ":")
		if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(text, "\r\n\x00") {
			return nil, cli.Usagef("--header %q: write 'Name: value'", cli.Printable(text))
		}
		out.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return out, nil
}

// accounts are those of --login and --cookie. A password may stand in a file, where other users do not see it.
func (f *flags) accounts() (out []session.Account, err error) {
	page, err := url.Parse(f.loginPage)
	if err != nil {
		return nil, cli.Usagef("--login-page: %w", err)
	}
	oauth, err := f.openAuthorization()
	if err != nil {
		return nil, err
	}
	for i, text := range f.logins {
		lines := []string{text}
		if cli.IsFile(text) {
			if lines, err = cli.ReadLines(text); err != nil {
				return nil, cli.Usagef("--login %s: %w", text, err)
			}
		}
		for _, line := range lines {
			user, password, ok := strings.Cut(line, ":")
			if !ok || user == "" {
				return nil, cli.Usagef("--login: write user:password, or name a file with such lines")
			}
			a := session.Account{User: user, Password: password, Marker: f.marker, OAuth: oauth}
			if f.loginPage != "" {
				a.Login = page
			}
			if i == 0 {
				a.TOTP = f.totp
			}
			out = append(out, a)
		}
	}
	if oauth != nil && len(f.logins) == 0 {
		out = append(out, session.Account{Name: oauth.ClientID, Marker: f.marker, OAuth: oauth})
	}
	if f.cookie != "" {
		if strings.ContainsAny(f.cookie, "\r\n\x00") || !strings.Contains(f.cookie, "=") {
			return nil, cli.Usagef("--cookie: write 'name=value; name=value'")
		}
		out = append(out, session.Account{Cookie: f.cookie, Marker: f.marker})
	}
	return out, nil
}

// openAuthorization is where tokens of OAuth 2 are got; nil without --oauth-token-url.
func (f *flags) openAuthorization() (*session.OAuth, error) {
	if f.oauth == "" {
		if f.oauthClient != "" || len(f.oauthScopes) > 0 || f.oauthAuthorize != "" || f.oauthBack != "" {
			return nil, cli.Usagef("--oauth-client, --oauth-scope, --oauth-authorize-url and --oauth-redirect-url need --oauth-token-url")
		}
		return nil, nil
	}
	at, err := url.Parse(f.oauth)
	if err != nil || !netguard.IsWebURL(f.oauth) {
		return nil, cli.Usagef("--oauth-token-url: %q is not an http or https URL", cli.Printable(f.oauth))
	}
	text := f.oauthClient
	if cli.IsFile(text) {
		lines, err := cli.ReadLines(text)
		if err != nil || len(lines) == 0 {
			return nil, cli.Usagef("--oauth-client %s: no line can be read: %w", text, err)
		}
		text = lines[0]
	}
	id, secret, _ := strings.Cut(text, ":")
	if id == "" {
		return nil, cli.Usagef("--oauth-client: write id:secret, or name a file with it")
	}
	out := &session.OAuth{Token: at, ClientID: id, ClientSecret: secret, Scopes: f.oauthScopes}
	return out, f.openCode(out)
}

// openCode is how an authorisation code is got; nothing without --oauth-authorize-url.
func (f *flags) openCode(o *session.OAuth) (err error) {
	switch {
	case f.oauthAuthorize == "" && f.oauthBack == "":
		return nil
	case f.oauthAuthorize == "" || f.oauthBack == "":
		return cli.Usagef("--oauth-authorize-url and --oauth-redirect-url belong together")
	case len(f.logins) == 0:
		return cli.Usagef("--oauth-authorize-url needs --login: a user agrees there")
	}
	for _, one := range []struct {
		flag, text string
		to         **url.URL
	}{{"oauth-authorize-url", f.oauthAuthorize, &o.Authorize}, {"oauth-redirect-url", f.oauthBack, &o.Redirect}} {
		if *one.to, err = url.Parse(one.text); err != nil || (*one.to).Host == "" {
			return cli.Usagef("--%s: %q is not an http or https URL", one.flag, cli.Printable(one.text))
		}
	}
	if !netguard.IsWebURL(f.oauthAuthorize) {
		return cli.Usagef("--oauth-authorize-url: %q is not an http or https URL", cli.Printable(f.oauthAuthorize))
	}
	return nil
}

// documents reads the files of --spec.
func (f *flags) documents(base *url.URL) (out []*spec.Document, err error) {
	for _, name := range f.specs {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, cli.Usagef("--spec: %w", err)
		}
		doc, err := spec.Read("", name, text, spec.Options{Base: base, Hosts: []string{base.Host}})
		if err != nil {
			return nil, cli.Usagef("--spec: %w", err)
		}
		out = append(out, doc)
	}
	return out, nil
}

// openOAST registers with the out-of-band server, if one is named.
func (f *flags) openOAST(ctx context.Context, cfg *webtest.Config) error {
	if f.oast == "" {
		return nil
	}
	token := f.oastToken
	if token == "" {
		token = os.Getenv("VEDETTE_OAST_TOKEN")
	}
	proxy, err := cli.ReadProxy(f.proxy)
	if err != nil {
		return err
	}
	with := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: cli.ProxyGuard().Helper(nil, proxy), MaxResponseHeaderBytes: 64 << 10}}
	opened, err := oast.NewClient(ctx, with, f.oast, token)
	if err != nil {
		return fmt.Errorf("--oast: %w", err)
	}
	cfg.OAST = &kit.OOB{Client: opened}
	return nil
}
