package app

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The roles of a process.
const (
	RoleAll    = "all"
	RoleServer = "server"
	RoleWorker = "worker"
)

// check rejects an unusable configuration before anything is opened.
func (c Config) check() error {
	for _, problem := range []struct {
		wrong   bool
		message string
	}{
		{!slices.Contains([]string{RoleAll, RoleServer, RoleWorker}, c.Role),
			fmt.Sprintf("role %q: must be all, server or worker", c.Role)},
		{!slices.Contains(account.Plans(), account.Plan(c.DefaultPlan)),
			fmt.Sprintf("default_plan %q: must be FREE, PRO or ENT", c.DefaultPlan)},
		{c.Region == "" || strings.ToLower(c.Region) != c.Region,
			fmt.Sprintf("region %q: must be a name in lower case, such as us", c.Region)},
		{c.Workers < 1 || c.Workers > 1000, fmt.Sprintf("workers %d: must be between 1 and 1000", c.Workers)},
		{c.SpareWorkers < 0 || c.SpareWorkers > 1000,
			fmt.Sprintf("spare_workers %d: must be between 0 and 1000", c.SpareWorkers)},
		{c.Browsers < 0 || c.Browsers > 100, fmt.Sprintf("browsers %d: must be between 0 and 100", c.Browsers)},
		{c.TeamWorkers < 0 || c.TeamWorkers > c.Workers,
			fmt.Sprintf("team_workers %d: must be between 0 and workers, which is %d", c.TeamWorkers, c.Workers)},
		{c.MinFreeSpace < -1 || c.MinFreeSpace > 1<<24,
			fmt.Sprintf("min_free_space %d: must be between -1 and 16777216 megabytes", c.MinFreeSpace)},
		{c.Memory != 0 && (c.Memory < leastMemory>>20 || c.Memory > 1<<24),
			fmt.Sprintf("memory %d: must be 0, or between 384 and 16777216 megabytes", c.Memory)},
		{c.EngineMemory != 0 && (c.EngineMemory < leastEngine>>20 || c.EngineMemory > 1<<20),
			fmt.Sprintf("engine_memory %d: must be 0, or between 128 and 1048576 megabytes", c.EngineMemory)},
		{c.Memory != 0 && c.EngineMemory > c.Memory/2,
			fmt.Sprintf("engine_memory %d: must be at most half of memory, which is %d", c.EngineMemory, c.Memory)},
		{c.MaxBody < 1024, fmt.Sprintf("max_body %d: must be at least 1024", c.MaxBody)},
		{!(c.APIRate >= 0), fmt.Sprintf("api_rate %v: must be 0 or more", c.APIRate)}, // written this way, NaN is refused too
		{c.APIBurst < 1, fmt.Sprintf("api_burst %d: must be at least 1", c.APIBurst)},
		{c.UserStreams < 0, fmt.Sprintf("user_streams %d: must be 0 or more", c.UserStreams)},
		{c.TeamStreams < 0, fmt.Sprintf("team_streams %d: must be 0 or more", c.TeamStreams)},
		{c.RegionTimeout <= 0, fmt.Sprintf("region_timeout %s: must be more than 0", c.RegionTimeout)},
		{c.AuditRetention < 0, fmt.Sprintf("audit_retention %s: must be 0 or more", c.AuditRetention)},
		{!slices.Contains([]string{"everybody", "operators"}, c.Teams),
			fmt.Sprintf("teams %q: must be everybody or operators", c.Teams)},
		{!slices.Contains([]string{"preferred", "required"}, c.KeysVerify),
			fmt.Sprintf("security_key_verification %q: must be preferred or required", c.KeysVerify)},
		{c.KeysPerUser < 1 || c.KeysPerUser > 10_000,
			fmt.Sprintf("api_keys_per_user %d: must be between 1 and 10000", c.KeysPerUser)},
		{(c.SMTPServer == "") != (c.SMTPFrom == ""), "smtp_server and smtp_from go together"},
		{c.SMTPServer != "" && c.PublicURL == "", "smtp_server needs public_url: the links in mails begin with it"},
		{c.SMTPServer != "" && !isHostPort(c.SMTPServer),
			fmt.Sprintf("smtp_server %q: must be host:port, such as mail.example.com:587", c.SMTPServer)},
		{c.SMTPFrom != "" && !isMailbox(c.SMTPFrom), fmt.Sprintf("smtp_from %q: must be an e-mail address", c.SMTPFrom)},
		{!slices.Contains([]string{"tls", "none"}, c.SMTPSecurity),
			fmt.Sprintf("smtp_security %q: must be tls or none", c.SMTPSecurity)},
		{c.TokenTTL <= 0, fmt.Sprintf("token_ttl %s: must be more than 0", c.TokenTTL)},
		{!slices.Contains([]string{"text", "json"}, c.LogFormat),
			fmt.Sprintf("log_format %q: must be text or json", c.LogFormat)},
		{(c.TurnstileKey == "") != (c.TurnstileSec == ""), "turnstile_site_key and turnstile_secret go together"},
	} {
		if problem.wrong {
			return errors.New(problem.message)
		}
	}
	if err := cmp.Or(c.checkOIDC(), c.checkOAST()); err != nil {
		return err
	}
	for key, text := range map[string]string{
		"public_url": c.PublicURL, "development_url": c.DevelopmentURL, "oidc_issuer": c.OIDCIssuer,
		"turnstile_verify_url": c.TurnstileURL, "oast": c.OAST, "billing_link": c.BillingLink,
	} {
		if text != "" && !isWebURL(text) {
			return fmt.Errorf("%s %q: must be a URL, such as https://vedette.example.com", key, text)
		}
	}
	for _, list := range [][]string{c.WebhookAllow, c.DenyTargets, c.TrustedProxies} {
		if _, err := prefixes(list); err != nil {
			return err
		}
	}
	if _, err := c.egressIPs(); err != nil {
		return err
	}
	if _, err := c.regionServices(); err != nil {
		return err
	}
	if _, err := c.readSources(); err != nil {
		return err
	}
	_, err := c.level()
	return cmp.Or(c.LLM.check(), c.GitHub.check(), c.Slack.check(), err)
}

// checkOIDC rejects options of an OpenID issuer that do not go together.
func (c Config) checkOIDC() error {
	switch {
	case (c.OIDCIssuer == "") != (c.OIDCAudience == "" && c.OIDCClientID == ""):
		return errors.New("oidc_issuer goes together with oidc_audience or oidc_client_id")
	case c.OIDCClientID != "" && c.PublicURL == "":
		return errors.New("oidc_client_id needs public_url: the issuer sends browsers back to it")
	case c.OIDCSecretFile != "" && c.OIDCClientID == "":
		return errors.New("oidc_client_secret_file needs oidc_client_id")
	case c.OIDCOnly && c.OIDCClientID == "":
		return errors.New("oidc_only needs oidc_client_id: nobody could sign in")
	}
	return nil
}

// checkOAST rejects options of the out-of-band server that do not go together.
func (c Config) checkOAST() error {
	switch {
	case c.OAST != "" && len(c.OASTListen) > 0:
		return errors.New("oast and oast_listen exclude each other")
	case c.OASTDomain != "" && len(c.OASTListen) == 0:
		return errors.New("oast_domain needs oast_listen")
	case c.OASTCooldown <= 0 || c.OASTCooldown > 7*24*time.Hour:
		return fmt.Errorf("oast_cooldown %s: must be more than 0, and at most a week", c.OASTCooldown)
	}
	return nil
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && host != "" && n > 0
}

func isMailbox(text string) bool {
	_, err := account.ParseEmail(text)
	return err == nil
}

func (c Config) level() (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("log_level %q: must be debug, info, warn or error", c.LogLevel)
	}
	return level, nil
}

// prefixes parses networks; a single address is a network of one.
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

// egressIPs parses the addresses from which scans reach their targets.
func (c Config) egressIPs() ([]netip.Addr, error) {
	var out []netip.Addr
	for _, text := range c.EgressIPs {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
			return nil, fmt.Errorf("egress_ips %q: must be an IP address that targets can see, such as 192.0.2.10", text)
		}
		if a = a.Unmap(); !slices.Contains(out, a) {
			out = append(out, a)
		}
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
		if !ok || name == "" || !isWebURL(raw) {
			return nil, errors.New("region_services: write NAME=URL, such as eu=https://eu.example.com")
		}
		out = append(out, account.RegionService{Name: name, URL: raw, Key: keys[name]})
	}
	return out, nil
}
