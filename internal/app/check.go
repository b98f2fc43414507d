package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/netguard"
)

// The roles of a process.
const (
	RoleAll    = "all"
	RoleServer = "server"
	RoleWorker = "worker"
)

// check refuses a configuration that could not work, before anything is opened.
func (c Config) check() error {
	if !slices.Contains([]string{RoleAll, RoleServer, RoleWorker}, c.Role) {
		return fmt.Errorf("role %q: must be all, server or worker", c.Role)
	}
	if c.Region == "" || strings.ToLower(c.Region) != c.Region {
		return fmt.Errorf("region %q: must be a name in lower case, such as us", c.Region)
	}
	if c.Workers < 1 || c.Workers > 1000 {
		return fmt.Errorf("workers %d: must be between 1 and 1000", c.Workers)
	}
	if c.MaxBody < 1024 {
		return fmt.Errorf("max_body %d: must be at least 1024", c.MaxBody)
	}
	if (c.TurnstileKey == "") != (c.TurnstileSec == "") {
		return errors.New("turnstile_site_key and turnstile_secret go together")
	}
	if (c.OIDCIssuer == "") != (c.OIDCAudience == "") {
		return errors.New("oidc_issuer and oidc_audience go together")
	}
	for _, list := range [][]string{c.WebhookAllow, c.DenyTargets} {
		if _, err := prefixes(list); err != nil {
			return err
		}
	}
	if _, err := c.regionServices(); err != nil {
		return err
	}
	_, err := c.level()
	return err
}

func (c Config) level() (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("log_level %q: must be debug, info, warn or error", c.LogLevel)
	}
	return level, nil
}

// prefixes reads networks; an address stands for itself alone.
func prefixes(list []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		p, err := netguard.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("network %q: %w", text, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c Config) regionServices() ([]account.RegionService, error) {
	keys := map[string]string{}
	for _, entry := range c.RegionKeys {
		name, key, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, errors.New("region_service_keys: write NAME=KEY")
		}
		keys[name] = key
	}
	out := make([]account.RegionService, 0, len(c.RegionServices))
	for _, entry := range c.RegionServices {
		name, raw, ok := strings.Cut(entry, "=")
		u, err := url.Parse(raw)
		if !ok || name == "" || err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("region_services %q: write NAME=URL, such as eu=https://eu.example.com", entry)
		}
		out = append(out, account.RegionService{Name: name, URL: raw, Key: keys[name]})
	}
	return out, nil
}
