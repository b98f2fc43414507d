package app

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "vedette.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	name := written(t, "region: file\nlisten: file:1\nworkers: 3\nwebhook_allow: [10.0.0.0/8]\nregion_timeout: 5s\n")
	c, settings, err := Load(
		map[string]any{"region": "flag"},
		[]string{"VEDETTE_REGION=environment", "VEDETTE_LISTEN=environment:1", "VEDETTE_TOKEN_TTL=90m", "PATH=/bin",
			"VEDETTE_CONFIG=x", "VEDETTE_SOMETHING_ELSE=1"},
		name)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]any{ // value, origin
		"region": {"flag", "flag"}, "listen": {"environment:1", "environment"}, "workers": {3, name},
		"log_level": {"info", "default"},
		"token_ttl": {"90m", "environment"}, "region_timeout": {"5s", name},
	}
	seen := 0
	for _, s := range settings {
		if w, ok := want[s.Key]; ok {
			seen++
			if s.Value != w[0] || s.Origin != w[1] {
				t.Errorf("%s is %v from %s, want %v from %v", s.Key, s.Value, s.Origin, w[0], w[1])
			}
		}
	}
	if seen != len(want) || len(settings) != len(Options()) {
		t.Errorf("%d settings, %d of those looked for", len(settings), seen)
	}
	if c.Region != "flag" || c.Listen != "environment:1" || c.Workers != 3 || c.TokenTTL != 90*time.Minute ||
		c.RegionTimeout != 5*time.Second || !slices.Equal(c.WebhookAllow, []string{"10.0.0.0/8"}) {
		t.Errorf("the configuration is %+v", c)
	}
}

func TestListsInTheEnvironment(t *testing.T) {
	for text, want := range map[string][]string{
		"10.0.0.0/8": {"10.0.0.0/8"}, " 10.0.0.0/8 , 192.168.0.1,": {"10.0.0.0/8", "192.168.0.1"}, "": {}, ",": {},
	} {
		c, _, err := Load(nil, []string{"VEDETTE_DENY_TARGETS=" + text}, "")
		if err != nil || !slices.Equal(c.DenyTargets, want) {
			t.Errorf("%q: %q, %v", text, c.DenyTargets, err)
		}
	}
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for line, want := range map[string]string{ // KEY=VALUE: what the error must say
		"role=captain":                    "role",
		"region=US":                       "region",
		"region=":                         "region",
		"workers=0":                       "workers",
		"workers=many":                    "workers",
		"workers=100000":                  "workers",
		"spare_workers=-1":                "spare_workers",
		"team_workers=9":                  "team_workers",
		"memory=383":                      "memory",
		"memory=-1":                       "memory",
		"engine_memory=127":               "engine_memory",
		"engine_memory=-1":                "engine_memory",
		"max_body=10":                     "max_body",
		"api_rate=fast":                   "api_rate",
		"api_rate=-1":                     "api_rate",
		"api_rate=NaN":                    "api_rate",
		"api_burst=0":                     "api_burst",
		"region_timeout=soon":             "region_timeout",
		"region_timeout=-3s":              "region_timeout",
		"token_ttl=-1h":                   "token_ttl",
		"token_ttl=0s":                    "token_ttl",
		"log_level=loud":                  "log_level",
		"log_format=xml":                  "log_format",
		"public_url=vedette.example.com":  "public_url",
		"development_url=ftp://x":         "development_url",
		"webhook_allow=10.0.0.0/33":       "10.0.0.0/33",
		"teams=nobody":                    "nobody",
		"security_key_verification=never": "security_key_verification",
		"trusted_proxies=proxy":           "proxy",
		"deny_targets=localhost":          "localhost",
		"egress_ips=gateway":              "egress_ips",
		"egress_ips=192.0.2.0/24":         "egress_ips",
		"egress_ips=127.0.0.1":            "egress_ips",
		"turnstile_site_key=only":         "turnstile",
		"turnstile_secret=only":           "turnstile",
		"oidc_issuer=https://only":        "oidc",
		"oidc_audience=only":              "oidc",
		"oidc_client_id=only":             "oidc",
		"oidc_client_secret_file=/only":   "oidc_client_id",
		"oidc_only=true":                  "oidc_only",
		"oidc_only=perhaps":               "oidc_only",
		"region_services=eu":              "region_services",
		"region_services=eu=eu.example":   "region_services",
		"region_services==https://x":      "region_services",
		"region_service_keys=eu":          "region_service_keys",
		"region_service_keys=eu=":         "region_service_keys",
		"turnstile_verify_url=not a url:": "turnstile_verify_url",
		"oast=not a url:":                 "oast",
		"github_app_id=-1":                "github_app_id",
		"github_app_id=12":                "github_private_key_file",
		"github_private_key_file=/only":   "github_app_id",
		"github_client_secret=only":       "github_client_id",
		"github_api_url=nowhere":          "github_api_url",
		"slack_client_id=only":            "slack_signing_secret",
		"slack_signing_secret=only":       "slack_client_id",
		"slack_api_url=nowhere":           "slack_api_url",
		"oast_domain=oast.example":        "oast_listen",
		"oast_cooldown=0s":                "oast_cooldown",
		"oast_cooldown=169h":              "oast_cooldown",
	} {
		key, value, _ := strings.Cut(line, "=")
		_, _, err := Load(nil, []string{"VEDETTE_" + strings.ToUpper(key) + "=" + value}, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in the environment: %v", line, err)
		}
		if _, _, err := Load(map[string]any{key: flagValue(key, value)}, nil, ""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s as a flag: %v", line, err)
		}
	}
}

// flagValue is a value as the command passes it: a list for a list option.
func flagValue(key, value string) any {
	for _, o := range Options() {
		if _, list := o.Default.([]string); list && o.Key == key {
			return []string{value}
		}
	}
	return value
}

func TestErrorsShowNoSecret(t *testing.T) {
	for _, o := range Options() {
		if !o.Secret {
			continue
		}
		if _, _, err := Load(nil, []string{o.Env() + "=hunter2"}, ""); err != nil &&
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is in the error: %v", o.Key, err)
		}
	}
	_, _, err := Load(nil, []string{"VEDETTE_REGION_SERVICES=eu=https://eu.example",
		"VEDETTE_REGION_SERVICE_KEYS=eu:hunter2"}, "")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func TestInvalidFiles(t *testing.T) {
	for text, want := range map[string]string{
		"regoin: us\n":              `"regoin"`,
		"Region: us\n":              `"Region"`,
		"region: [us\n":             "configuration file",
		"- region\n":                "configuration file",
		"region: {name: us}\n":      "region",
		"workers: [1]\n":            "workers",
		"webhook_allow: {a: b}\n":   "webhook_allow",
		"region: us\nregion: eu\n":  "region",
		"database:\n  url: hunter2": "database",
	} {
		name := written(t, text)
		_, _, err := Load(nil, nil, name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, _, err := Load(nil, nil, "no/such/file"); err == nil || !strings.Contains(err.Error(), "no/such/file") {
		t.Errorf("a missing file: %v", err)
	}
	if _, _, err := Load(nil, nil, written(t, "")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// TestEveryOptionReachesTheConfig: each option sets a field of its own, and each field
// has its option.
func TestEveryOptionReachesTheConfig(t *testing.T) {
	fields := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if !field.Anonymous && field.Tag.Get("koanf") != "-" {
			fields[field.Tag.Get("koanf")] = true
		}
	}
	plain, _, err := Load(nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{ // where not any text will do
		"role": "worker", "log_level": "warn", "log_format": "json", "webhook_allow": "10.0.0.0/8",
		"deny_targets": "10.0.0.0/8", "trusted_proxies": "10.0.0.0/8", "teams": "operators", "default_plan": "PRO",
		"region_services": "eu=https://eu.example", "region_service_keys": "eu=key", "public_url": "https://a.example",
		"development_url":      "https://b.example",
		"turnstile_verify_url": "https://c.example", "source_urls": "crtsh=https://c.example", "source_keys": "crunchbase=x",
		"llm_provider": "anthropic", "embedding_base_url": "https://d.example/v1", "llm_base_url": "https://c.example", "llm_price": "1,2", "llm_location": "eu-west-1",
		"smtp_security": "none", "security_key_verification": "required", "llm_script": "x", "egress_ips": "192.0.2.10",
		"oast": "https://d.example", "billing_link": "https://e.example", "github_api_url": "https://f.example",
		"slack_api_url": "https://g.example",
	}
	needs := map[string][]string{ // of the options about a model
		"llm_":       {"VEDETTE_LLM_PROVIDER=openai", "VEDETTE_LLM_MODEL=m"},
		"embedding_": {"VEDETTE_EMBEDDING_MODEL=m", "VEDETTE_EMBEDDING_BASE_URL=https://c.example/v1"},
	}
	together := []string{"VEDETTE_TURNSTILE_SITE_KEY=x", "VEDETTE_TURNSTILE_SECRET=x", "VEDETTE_OIDC_ISSUER=https://x",
		"VEDETTE_OIDC_AUDIENCE=x", "VEDETTE_OIDC_CLIENT_ID=x", "VEDETTE_OIDC_CLIENT_SECRET_FILE=/x", "VEDETTE_OIDC_ONLY=true",
		"VEDETTE_SMTP_SERVER=127.0.0.1:25", "VEDETTE_SMTP_FROM=vedette@example.com",
		"VEDETTE_OAST_DOMAIN=oast.example", "VEDETTE_OAST_LISTEN=dns://127.0.0.1:53",
		"VEDETTE_GITHUB_APP_ID=12", "VEDETTE_GITHUB_PRIVATE_KEY_FILE=/x", "VEDETTE_GITHUB_WEBHOOK_SECRET=x",
		"VEDETTE_GITHUB_CLIENT_ID=x", "VEDETTE_GITHUB_CLIENT_SECRET=x",
		"VEDETTE_SLACK_CLIENT_ID=x", "VEDETTE_SLACK_CLIENT_SECRET=x", "VEDETTE_SLACK_SIGNING_SECRET=x"}
	for _, o := range Options() {
		if !fields[o.Key] {
			t.Errorf("the option %s has no field", o.Key)
		}
		delete(fields, o.Key)
		value := values[o.Key]
		if value == "" {
			switch o.Default.(type) {
			case string:
				value = "other"
			case time.Duration:
				value = "7s"
			case bool:
				value = "true"
			default:
				value = "4097"
			}
		}
		switch o.Key {
		case "workers":
			value = "9"
		case "spare_workers", "team_workers", "browsers":
			value = "5"
		}
		if slices.ContainsFunc(together, func(s string) bool { return strings.HasPrefix(s, o.Env()+"=") }) {
			continue
		}
		before, environment := plain, []string{o.Env() + "=" + value}
		for prefix, needed := range needs {
			if strings.HasPrefix(o.Key, prefix) && o.Key != "llm_provider" {
				environment = append(slices.Clone(needed), environment...)
				if before, _, err = Load(nil, needed, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, _, err := Load(nil, environment, "")
		if err != nil || fmt.Sprint(got) == fmt.Sprint(before) {
			t.Errorf("%s=%s changes nothing: %v", o.Env(), value, err)
		}
		if o.Help == "" || o.Flag() != strings.ToLower(o.Flag()) || strings.Contains(o.Flag(), "_") {
			t.Errorf("%s: flag %q, help %q", o.Key, o.Flag(), o.Help)
		}
	}
	for field := range fields {
		t.Errorf("the field %s has no option", field)
	}
	if c, _, err := Load(nil, append(together, "VEDETTE_PUBLIC_URL=https://a.example"), ""); err != nil || c.TurnstileKey != "x" || c.TurnstileSec != "x" ||
		c.OIDCIssuer != "https://x" || c.OIDCAudience != "x" || c.OIDCClientID != "x" || c.OIDCSecretFile != "/x" || !c.OIDCOnly || c.SMTPServer != "127.0.0.1:25" || c.SMTPFrom != "vedette@example.com" ||
		c.GitHub != (GitHub{12, "/x", "x", "x", "x", "https://api.github.com", ""}) || c.Slack != (Slack{"x", "x", "x", "https://slack.com/api"}) ||
		c.OASTDomain != "oast.example" || !slices.Equal(c.OASTListen, []string{"dns://127.0.0.1:53"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestTheSecretOfTheClient is the file without the line's end; one that is missing or empty is an error at the start.
func TestTheSecretOfTheClient(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	c := Config{OIDCSecretFile: file}
	if _, err := c.oidcSecret(); err == nil || !strings.Contains(err.Error(), "oidc_client_secret_file") {
		t.Errorf("a missing file: %v", err)
	}
	for text, want := range map[string]string{"s3cret\n": "s3cret", "\n": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.oidcSecret(); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
