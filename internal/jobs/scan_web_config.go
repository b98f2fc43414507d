package jobs

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// config is what requests to an application are held to: its host, less what is excluded, and the address where
// tokens are given. o are the configurations of its scan, web its options.
func (w worker) config(
	o options.Options, web webapp.Options, target string, excluded []string,
) (*url.URL, webtest.Config, error) {
	var cfg webtest.Config
	parsed, err := targets.Parse(target)
	if err != nil {
		return nil, cfg, err
	}
	start, err := url.Parse(parsed.URL())
	if err != nil || start.Scheme != "http" && start.Scheme != "https" {
		return nil, cfg, errors.New("it is no address of a web application")
	}
	if start.Path == "" {
		start.Path = "/"
	}
	token, err := addWebOptions(&cfg, web, start)
	if err != nil {
		return nil, cfg, err
	}
	reach, err := reachOf(start, token)
	if err != nil {
		return nil, cfg, err
	}
	patterns, err := hostpattern.Parse(slices.Concat(o.Excluded, excluded))
	if err != nil {
		return nil, cfg, err
	}
	limits := netguard.Limits{Deny: slices.Concat(w.Deny, patterns.Denied()), Excludes: patterns.ExcludesHost}
	if o.Proxy != nil {
		limits.Through = w.Settings.Guard().Through(o.Proxy)
	}
	scope, err := netguard.NewScope(reach, limits)
	if err != nil {
		return nil, cfg, err
	}
	given := o.Config()
	cfg.Browser = w.tools.Browser()
	level, _ := client.ParseLevel(web.Level)
	minutes := cmp.Or(web.MaxMinutes, webapp.MaxMinutes)
	cfg.Client = client.Config{Dial: scope.Dial, Level: level, Header: http.Header{}, UserAgent: given.UserAgent,
		Requests: int64(cmp.Or(web.MaxRequests, webapp.MaxRequests)), Timeout: 2 * given.Timeout,
		Until: time.Now().Add(time.Duration(minutes) * time.Minute),
		Allow: func(_ string, u *url.URL) error {
			isElsewhere := token != nil && token.Host != start.Host && u.Host == token.Host && u.String() != token.String()
			if !scope.AllowsURL(u) || isElsewhere {
				return errors.New("it is out of scope")
			}
			return nil
		}}
	for _, h := range given.Headers {
		cfg.Client.Header.Add(h.Name, h.Value)
	}
	if n := max(given.RateLimit, given.HostRate); n > 0 {
		cfg.Client.Rate = float64(n) / cmp.Or(given.RateWindow, time.Second).Seconds()
	}
	return start, cfg, nil
}

// addWebOptions gives the test of an application its users and what describes it. token is where their tokens are
// given; nil: nowhere.
func addWebOptions(cfg *webtest.Config, web webapp.Options, start *url.URL) (token *url.URL, err error) {
	var oauth *session.OAuth
	if o := web.OAuth; o != nil {
		if token, err = url.Parse(o.TokenURL); err != nil {
			return nil, err
		}
		oauth = &session.OAuth{Token: token, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes}
	}
	for _, u := range web.Users {
		a := session.Account{Name: u.Label(), User: u.Username, Password: u.Password, TOTP: u.TOTP, Cookie: u.Cookie,
			Marker: u.LoggedIn, OAuth: oauth}
		if u.Authorization != "" {
			a.Header, a.OAuth = http.Header{"Authorization": {u.Authorization}}, nil
		}
		if u.LoginURL != "" {
			a.Login, _ = url.Parse(u.LoginURL) // it was checked
		}
		cfg.Accounts = append(cfg.Accounts, a)
	}
	if oauth != nil && len(web.Users) == 0 {
		cfg.Accounts = []session.Account{{Name: oauth.ClientID, OAuth: oauth}}
	}
	for _, d := range web.Descriptions {
		doc, err := spec.Read("", d.Name, []byte(d.Contents), spec.Options{Base: start, Hosts: []string{start.Host}})
		if err != nil {
			return nil, err
		}
		cfg.Documents = append(cfg.Documents, doc)
	}
	return token, nil
}

// reachOf are the hosts of the addresses that are not nil, with their ports.
func reachOf(addresses ...*url.URL) (reach []netguard.Target, err error) {
	for _, u := range addresses {
		if u == nil {
			continue
		}
		target, err := netguard.ParseTarget(u.Scheme + "://" + u.Host)
		if err != nil {
			return nil, err
		}
		reach = append(reach, target)
	}
	return reach, nil
}
