// Package app turns a configuration into a running process: it opens the services, connects
// them, and stops them again. It has no business rules.
package app

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/child"
)

// Config is the operator's configuration. Each field is an option: see Options.
type Config struct {
	Version        string        `koanf:"-"` // of this binary; not an option
	Listen         string        `koanf:"listen"`
	DataDir        string        `koanf:"data_dir"`
	Database       string        `koanf:"database"`
	SecretKeyFile  string        `koanf:"secret_key_file"`
	Region         string        `koanf:"region"`
	Role           string        `koanf:"role"`
	Workers        int           `koanf:"workers"`
	SpareWorkers   int           `koanf:"spare_workers"`
	TeamWorkers    int           `koanf:"team_workers"`
	TrustedProxies []string      `koanf:"trusted_proxies"`
	MinFreeSpace   int           `koanf:"min_free_space"`
	Memory         int           `koanf:"memory"`
	EngineMemory   int           `koanf:"engine_memory"` // after Load never 0
	Browsers       int           `koanf:"browsers"`
	Browser        string        `koanf:"browser"`
	WebhookAllow   []string      `koanf:"webhook_allow"`
	DenyTargets    []string      `koanf:"deny_targets"`
	InstallHosts   []string      `koanf:"install_hosts"`
	NPMRegistry    string        `koanf:"npm_registry"`
	PipIndex       string        `koanf:"pip_index"`
	EgressIPs      []string      `koanf:"egress_ips"`
	BillingLink    string        `koanf:"billing_link"`
	Resolvers      []string      `koanf:"resolvers"`
	NameSources    []string      `koanf:"name_sources"`
	OriginZone     string        `koanf:"origin_zone"`
	RangesURL      string        `koanf:"ranges_url"`
	PortRate       int           `koanf:"port_rate"`
	QueryRate      int           `koanf:"query_rate"`
	InternalKey    string        `koanf:"internal_api_key"`
	RegionServices []string      `koanf:"region_services"`
	RegionKeys     []string      `koanf:"region_service_keys"`
	RegionTimeout  time.Duration `koanf:"region_timeout"`
	PublicURL      string        `koanf:"public_url"`
	DevelopmentURL string        `koanf:"development_url"`
	OIDCIssuer     string        `koanf:"oidc_issuer"`
	OIDCAudience   string        `koanf:"oidc_audience"`
	OIDCClientID   string        `koanf:"oidc_client_id"`
	OIDCSecretFile string        `koanf:"oidc_client_secret_file"`
	OIDCOnly       bool          `koanf:"oidc_only"`
	KeysVerify     string        `koanf:"security_key_verification"`
	TurnstileKey   string        `koanf:"turnstile_site_key"`
	TurnstileSec   string        `koanf:"turnstile_secret"`
	TurnstileURL   string        `koanf:"turnstile_verify_url"`
	SMTPServer     string        `koanf:"smtp_server"`
	SMTPUsername   string        `koanf:"smtp_username"`
	SMTPPassword   string        `koanf:"smtp_password"`
	SMTPFrom       string        `koanf:"smtp_from"`
	SMTPSecurity   string        `koanf:"smtp_security"`
	GitHub         `koanf:",squash"`
	Slack          `koanf:",squash"`
	LLM            `koanf:",squash"`
	Teams          string        `koanf:"teams"`
	KeysPerUser    int           `koanf:"api_keys_per_user"`
	TokenTTL       time.Duration `koanf:"token_ttl"`
	AuditRetention time.Duration `koanf:"audit_retention"`
	Code           bool          `koanf:"code"`
	Certificates   []string      `koanf:"template_certificates"`
	OAST           string        `koanf:"oast"`
	OASTToken      string        `koanf:"oast_token"`
	OASTDomain     string        `koanf:"oast_domain"`
	OASTAddresses  []string      `koanf:"oast_addresses"`
	OASTListen     []string      `koanf:"oast_listen"`
	OASTCooldown   time.Duration `koanf:"oast_cooldown"`
	APIRate        float64       `koanf:"api_rate"`
	APIBurst       int           `koanf:"api_burst"`
	UserStreams    int           `koanf:"user_streams"`
	TeamStreams    int           `koanf:"team_streams"`
	MaxBody        int64         `koanf:"max_body"`
	SourceURLs     []string      `koanf:"source_urls"`
	SourceKeys     []string      `koanf:"source_keys"`
	MetricsToken   string        `koanf:"metrics_token"`
	DefaultPlan    string        `koanf:"default_plan"`
	LogLevel       string        `koanf:"log_level"`
	LogFormat      string        `koanf:"log_format"`

	Engine child.Config `koanf:"-"` // for tests: how the engine is started
}

// Option is a setting: the flag --name, VEDETTE_NAME in the environment, or name in the file.
type Option struct {
	Key     string // snake case; the flag has dashes
	Default any    // its type is the option's: string, bool, int, int64, float64, time.Duration, []string
	Help    string
	Secret  bool // never shown
	Shared  bool // also an option of commands that open the database without serving
}

// Flag is the option's command-line name; one that may be repeated is in the singular.
func (o Option) Flag() string {
	name := strings.ReplaceAll(o.Key, "_", "-")
	switch name {
	case "trusted-proxies":
		return "trusted-proxy"
	case "egress-ips":
		return "egress-ip"
	}
	if strings.HasPrefix(name, "region-service") || strings.HasPrefix(name, "source-") {
		name = strings.TrimSuffix(name, "s")
	}
	return name
}

// Env is the option's name in the environment.
func (o Option) Env() string { return envPrefix + strings.ToUpper(o.Key) }

const envPrefix = "VEDETTE_"

// Options are all options with their defaults.
func Options() []Option {
	return slices.Concat([]Option{
		{Key: "listen", Default: "127.0.0.1:8080", Help: "address to serve on"},
		{Key: "data_dir", Default: "./data", Help: "folder for the embedded database and files", Shared: true},
		{Key: "database", Default: "", Help: "PostgreSQL URL; empty: embedded SQLite in the data folder", Secret: true, Shared: true},
		{Key: "secret_key_file", Default: "", Help: "file with the key that encrypts secrets at rest, the same on every node; empty: secret.key in the data folder, created at the first start"},
		{Key: "region", Default: "us", Help: "region of this deployment; only us answers the master lookup"},
		{Key: "role", Default: "all", Help: "all, server (API only) or worker (jobs only)"},
		{Key: "workers", Default: 8, Help: "jobs that this process runs at once"},
		{Key: "spare_workers", Default: 2,
			Help: "jobs that this process runs beyond workers at once, only of teams of which it runs none"},
		{Key: "team_workers", Default: 0, Help: "jobs of one team that this process runs at once; 0: as many as workers"},
		{Key: "trusted_proxies", Default: []string{},
			Help: "network (CIDR) of reverse proxies whose X-Forwarded-For names the client, and X-Forwarded-Proto how it called; repeatable"},
		{Key: "min_free_space", Default: -1,
			Help: "megabytes of free space on the volume of the data folder below which no new work is begun, and running work waits; 0: none; -1: 512, or a hundredth of the volume if that is less"},
		{Key: "memory", Default: 0,
			Help: "megabytes of memory for this process and its engines together; 0: half of what the machine, or the control group (cgroup) of this process, has"},
		{Key: "engine_memory", Default: 0,
			Help: "megabytes of memory that an engine may hold, a child process that tests a part of a scan; jobs wait for an engine when memory has no room for another; 0: between 128 and 1024, so that as many fit as there are workers"},
		{Key: "browsers", Default: 1,
			Help: "browsers that run at once for templates that drive one; each takes a fourth of the memory of engines, between 384 and 1024 MB; 0, or where memory has no room: such templates are skipped"},
		{Key: "browser", Default: "", Help: "path of the Chromium of these templates; empty: the one that is installed"},
		{Key: "webhook_allow", Default: []string{}, Help: "network (CIDR) that webhooks may reach although it is private; repeatable"},
		{Key: "deny_targets", Default: []string{}, Help: "network (CIDR) that is never scanned; repeatable"},
		{Key: "install_hosts", Default: []string{}, Help: "host that installations of agents and of toolkits may reach, such as a package registry, as a target of a scope: a name, *.example.com or a network, with a port if it is not any; repeatable; default: none"},
		{Key: "npm_registry", Default: "", Help: "address of the registry that packages of toolkits in TypeScript and JavaScript come from; install_hosts must name its host; empty: that of npm"},
		{Key: "pip_index", Default: "", Help: "address of the index that packages of toolkits in Python come from; install_hosts must name its host; empty: that of pip"},
		{Key: "egress_ips", Default: []string{},
			Help: "address from which scans reach their targets, as users are told to allow it; repeatable; default: the public addresses of this machine"},
		{Key: "billing_link", Default: "",
			Help: "URL where people pay you for credits, which you then grant; empty: nothing is sold"},
		{Key: "resolvers", Default: []string{},
			Help: "name server (host:port or an address) for enumerations; repeatable; default: the system's"},
		{Key: "name_sources", Default: []string{},
			Help: "passive source of names for enumerations; repeatable; default: all"},
		{Key: "origin_zone", Default: "origin.asn.cymru.com",
			Help: "DNS zone that maps addresses to AS numbers; empty: no lookups"},
		{Key: "ranges_url", Default: "https://stat.ripe.net/data/announced-prefixes/data.json?resource=%s",
			Help: "URL that lists the ranges an autonomous system announces, %s is its number; or a routing registry, such as whois://whois.radb.net; empty: no lookups"},
		{Key: "port_rate", Default: 0, Help: "connections per second of all port scans of this process; 0: no limit"},
		{Key: "query_rate", Default: 0, Help: "DNS questions per second of all enumerations of this process; 0: no limit"},
		{Key: "internal_api_key", Default: "",
			Help: "value required in X-Internal-API-Key; empty: the internal endpoints are closed", Secret: true},
		{Key: "region_services", Default: []string{}, Help: "another region's deployment as NAME=URL; repeatable",
			Secret: true},
		{Key: "region_service_keys", Default: []string{},
			Help: "service key of another region as NAME=KEY, if it differs from ours; repeatable", Secret: true},
		{Key: "region_timeout", Default: 3 * time.Second, Help: "how long to wait for the other regions"},
		{Key: "public_url", Default: "", Help: "production URL of this server, for links, security keys and the OpenAPI documents"},
		{Key: "development_url", Default: "", Help: "development URL, for the OpenAPI documents"},
	}, signInOptions(), mailOptions(), githubOptions(), slackOptions(), modelOptions(), oastOptions(), []Option{
		{Key: "teams", Default: "everybody", Help: "who makes teams over the API: everybody or operators (admins of the server)"},
		{Key: "api_keys_per_user", Default: 1, Help: "API keys that a user may have at once", Shared: true},
		{Key: "token_ttl", Default: 12 * time.Hour, Help: "lifetime of a bearer token"},
		{Key: "audit_retention", Default: time.Duration(0),
			Help: "how long audit log entries are kept, such as 8760h; 0: forever"},
		{Key: "api_rate", Default: 100.0, Help: "average calls per second per API key; 0: no limit"},
		{Key: "api_burst", Default: 1000, Help: "calls an API key may make in a burst"},
		{Key: "user_streams", Default: 20,
			Help: "event streams that a user may have open on this server; 0: no limit"},
		{Key: "team_streams", Default: 100,
			Help: "event streams that all users of a team together may have open on this server; 0: no limit"},
		{Key: "max_body", Default: int64(1 << 20), Help: "largest request body in bytes"},
		{Key: "source_urls", Default: []string{},
			Help: "another address for a source of associated domains, as NAME=URL: crtsh, certspotter, rdap, rdap-bootstrap, wikidata, crunchbase, whois=HOST:PORT, dns=HOST:PORT, asn=ZONE; NAME=off disables a source; repeatable"},
		{Key: "source_keys", Default: []string{},
			Help: "a source's API key as NAME=KEY: crunchbase, certspotter; repeatable", Secret: true},
		{Key: "metrics_token", Default: "",
			Help: "bearer token for /metrics; empty: only clients on this machine, not through a proxy, may read them", Secret: true},
		{Key: "default_plan", Default: string(account.Enterprise),
			Help: "plan of new teams: FREE, PRO or ENT; 'vedette team set-plan' changes that of a team", Shared: true},
		{Key: "log_level", Default: "info", Help: "debug, info, warn or error"},
		{Key: "log_format", Default: "text", Help: "text or json"},
	})
}

// signInOptions are those of signing in beside passwords.
func signInOptions() []Option {
	return []Option{
		{Key: "oidc_issuer", Default: "",
			Help: "OpenID issuer that people sign in at (with oidc_client_id), or whose tokens are accepted as bearer tokens too (with oidc_audience)"},
		{Key: "oidc_audience", Default: "", Help: "required audience of those tokens; empty: none are accepted"},
		{Key: "oidc_client_id", Default: "",
			Help: "client of this server at the OpenID issuer, to sign in at /sign-in/oidc; needs public_url; empty: nobody signs in there"},
		{Key: "oidc_client_secret_file", Default: "",
			Help: "file with the secret of that client; empty: it is a public client"},
		{Key: "oidc_only", Default: false,
			Help: "people sign in at the OpenID issuer only; passwords, the setup link and links for a new password are off"},
		{Key: "security_key_verification", Default: "preferred",
			Help: "whether security keys ask for a PIN or a fingerprint: preferred (those that can) or required (others are refused)"},
		{Key: "turnstile_site_key", Default: "",
			Help: "Turnstile site key; with the secret, login and key creation need a challenge"},
		{Key: "turnstile_secret", Default: "", Help: "Turnstile secret", Secret: true},
		{Key: "turnstile_verify_url", Default: "", Help: "URL that checks challenge tokens; empty: Cloudflare's"},
	}
}

// mailOptions are those of the mail server.
func mailOptions() []Option {
	return []Option{
		{Key: "smtp_server", Default: "",
			Help: "mail server, as host:port, for mails of the server itself: links for a new password, invitations; needs smtp_from and public_url; empty: it sends none"},
		{Key: "smtp_username", Default: "", Help: "user at the mail server; empty: no authentication"},
		{Key: "smtp_password", Default: "", Help: "password at the mail server", Secret: true},
		{Key: "smtp_from", Default: "", Help: "address that mails of the server come from"},
		{Key: "smtp_security", Default: "tls",
			Help: "tls: STARTTLS, or TLS from the start on port 465; none: plain text, for a mail server on this machine"},
	}
}

// oastOptions are those of the out-of-band server for scans.
func oastOptions() []Option {
	return []Option{
		{Key: "code", Default: false,
			Help: "run the programs of templates (code) that a key signed which a team or template_certificates trusts; they are isolated, and reach the targets of their scan alone"},
		{Key: "template_certificates", Default: []string{},
			Help: "file with a certificate, in PEM, whose signatures on templates every team trusts; repeatable"},
		{Key: "oast", Default: "",
			Help: "URL of an out-of-band server, of 'vedette oast serve' or interactsh, for templates that need one; empty: none but that of oast_listen"},
		{Key: "oast_token", Default: "", Help: "token of that server", Secret: true},
		{Key: "oast_domain", Default: "",
			Help: "domain whose name server is the out-of-band server in this process, as of 'vedette oast serve'; with oast_listen"},
		{Key: "oast_addresses", Default: []string{},
			Help: "address that names in oast_domain have; repeatable"},
		{Key: "oast_listen", Default: []string{},
			Help: "run an out-of-band server in this process that listens here, as PROTOCOL://HOST:PORT; without oast_domain, targets are given HOST:PORT of the first http; repeatable"},
		{Key: "oast_cooldown", Default: 10 * time.Minute,
			Help: "how long after its answer a request's out-of-band names are waited for, across restarts"},
	}
}

// modelOptions are those of the server's language model.
func modelOptions() []Option {
	return []Option{
		{Key: "llm_provider", Default: "",
			Help: "provider of the server's language model: openai (any compatible server), anthropic or another in docs/operate/models.md; empty: no model, only the built-in planner"},
		{Key: "llm_base_url", Default: "",
			Help: "URL of the model's API, such as http://127.0.0.1:8000/v1; empty: the provider's own"},
		{Key: "llm_api_key", Default: "", Help: "API key for the model", Secret: true},
		{Key: "llm_model", Default: "", Help: "the model; empty: the provider's default"},
		{Key: "llm_location", Default: "", Help: "the region of the key, for amazon-bedrock"},
		{Key: "llm_context", Default: 0, Help: "context window of the model in tokens; 0: its known size, or else 32000"},
		{Key: "llm_price", Default: "",
			Help: "price in US dollars per million tokens: INPUT,OUTPUT[,CACHE_READ[,CACHE_WRITE]]; empty: the list price, if known"},
		{Key: "llm_team_cap", Default: 0.0,
			Help: "US dollars that each team may spend on the server's model in total; 0: no limit"},
		{Key: "llm_script", Default: "",
			Help: "with the provider scripted: a file of answers instead of a model, for trials"},
		{Key: "embedding_model", Default: "",
			Help: "model that makes vectors of knowledge, so that it is also searched by meaning, at any server with OpenAI's /embeddings; empty: words alone"},
		{Key: "embedding_base_url", Default: "",
			Help: "URL of its API, such as http://127.0.0.1:8000/v1; empty: OpenAI's"},
		{Key: "embedding_api_key", Default: "", Help: "API key for it", Secret: true},
		{Key: "embedding_price", Default: 0.0, Help: "its price in US dollars per million tokens; 0: its calls count as free"},
	}
}

// Setting is an option with its value and the origin of the value.
type Setting struct {
	Option
	Value  any
	Origin string // flag, environment, the file's path, or default
}

// Load reads the configuration: flags win over the environment, which wins over the
// file, which wins over the defaults. An unknown key in the file is an error; so is an
// invalid value from any origin.
func Load(flags map[string]any, environ []string, file string) (Config, []Setting, error) {
	defaults := map[string]any{}
	known := map[string]Option{}
	for _, o := range Options() {
		defaults[o.Key] = o.Default
		known[o.Key] = o
	}
	fromFile, err := readFile(file, known)
	if err != nil {
		return Config{}, nil, err
	}
	layers := []struct {
		origin string
		values map[string]any
	}{{"default", defaults}, {file, fromFile}, {"environment", fromEnviron(environ, known)}, {"flag", flags}}

	all := koanf.New(".")
	origins := map[string]string{}
	for _, layer := range layers {
		if err := all.Load(confmap.Provider(layer.values, "."), nil); err != nil {
			return Config{}, nil, err
		}
		for key := range layer.values {
			origins[key] = layer.origin
		}
	}
	var c Config
	if err := all.Unmarshal("", &c); err != nil {
		return Config{}, nil, fmt.Errorf("configuration: %w", err)
	}
	settings := make([]Setting, 0, len(known))
	for _, o := range Options() {
		settings = append(settings, Setting{o, all.Get(o.Key), origins[o.Key]})
	}
	if err := c.check(); err != nil {
		return c, settings, err
	}
	c.EngineMemory = int(c.divide().engine >> 20)
	return c, settings, nil
}

func readFile(file string, known map[string]Option) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	k := koanf.New(".")
	if err := k.Load(rawbytes.Provider(text), yaml.Parser()); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", file, err)
	}
	values := k.Raw()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, ok := known[key]; !ok {
			return nil, fmt.Errorf("configuration file %s: there is no option %q", file, key)
		}
	}
	return values, nil
}

func fromEnviron(environ []string, known map[string]Option) map[string]any {
	values := map[string]any{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		key, ok := strings.CutPrefix(name, envPrefix)
		if !ok {
			continue
		}
		// Other programs of this repository read variables with the same prefix, so unknown ones are ignored.
		if o, ok := known[strings.ToLower(key)]; ok {
			if _, list := o.Default.([]string); list {
				values[o.Key] = splitList(value)
				continue
			}
			values[o.Key] = value
		}
	}
	return values
}

func splitList(s string) []string {
	out := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
