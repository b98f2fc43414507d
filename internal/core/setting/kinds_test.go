package setting

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
)

func TestKindsRefuse(t *testing.T) {
	kinds := kindsOf(&netguard.Guard{})
	for _, c := range []struct {
		kind       Type
		text, says string
	}{
		{Scan, "- a", "not a mapping"},
		{Scan, "rate-limit: fast", "rate-limit: it must be a number"},
		{Scan, "rate-limit: -1", "rate-limit"},
		{Scan, "rate-limit-duration: 2h", "rate-limit-duration"},
		{Scan, "header: 'no colon'", "header"},
		{Scan, `header: "A: b\r\nC: d"`, "header"},
		{Scan, "header: {A: b}", "mapping where words"},
		{Scan, "var: x", "name=value"},
		{Scan, "severity: grave", "no severity"},
		{Scan, "template-id: '['", "no pattern"},
		{Scan, "stop-at-first-match: perhaps", "true or false"},
		{Template, "rate-limit: 1", "nothing that chooses"},
		{Template, "severities: [grave]", "no severity"},
		{Reporting, "a: b", "no tracker"},
		{Alerting, "slack: {}", "webhook_url"},
		{Subfinder, "'../x': [a]", "no name of a source"},
		{Subfinder, "shodan: {a: b}", "mapping where words"},
		{Cloudlist, "provider: aws", "not a list"},
		{Cloudlist, "[]", "1 to 50"},
		{Cloudlist, "- provider: moon", "no provider"},
		{Cloudlist, "- a", "not a mapping"},
		{Cloudlist, "- {provider: aws, aws_access_key: x}", "aws_secret_key"},
		{Cloudlist, "- {provider: cloudflare, email: x}", "api_token, or email and api_key"},
		{Cloudlist, "- {provider: digitalocean, digitalocean_token: x, base_url: ftp://x}", "base_url"},
	} {
		if _, err := kinds[c.kind].check([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v, want %q", c.kind, c.text, err, c.says)
		}
	}
	for _, c := range []struct {
		kind           Type
		text, provider string
	}{
		{Scan, "rate-limit: 1", ""}, {Template, "ids: [a]\ntags: x\nseverities: high", ""},
		{Subfinder, "shodan: [k]\ncensys: k", ""},
		{Reporting, "github: {owner: o, project-name: p, token: t}", "github"},
		{Alerting, "slack: {webhook_url: 'https://x/y'}", "slack"},
		{Cloudlist, "- {provider: do, digitalocean_token: x}\n- {provider: aws, aws_access_key: a, aws_secret_key: b}",
			"aws,digitalocean"},
	} {
		if provider, err := kinds[c.kind].check([]byte(c.text)); err != nil || provider != c.provider {
			t.Errorf("%s %q: %q, %v", c.kind, c.text, provider, err)
		}
	}
}

func TestVerifySaysWhatIsNotTried(t *testing.T) {
	kinds := kindsOf(&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	proxy := sockstest.Start(t, "me", "good").Addr
	for _, c := range []struct {
		kind       Type
		text, says string
		ok         bool
	}{
		{Scan, "rate-limit: 1", "all of it is applied", true},
		{Scan, "rate-limit: 1\ninteractsh-server: x", "not applied: interactsh-server", false},
		{Scan, "socks5-proxy: socks5://me:good@" + proxy, "me:xxxxx@" + proxy + " takes", true},
		{Scan, "socks5-proxy: socks5://me:bad@" + proxy, "refuses the user or the password", false},
		{Scan, "socks5-proxy: socks5://" + proxy, "wants another login", false},
		{Scan, "socks5-proxy: socks5://10.0.0.1", "private network", false},
		{Subfinder, "shodan: [k]\ncensys: []", "Not tried: the configuration is well formed and has keys for shodan,", false},
		{Subfinder, "shodan: [k]\nmoon: [k]", "no source moon", false},
		{Subfinder, "shodan: []", "No source has a key", false},
	} {
		if ok, said := kinds[c.kind].verify(t.Context(), []byte(c.text)); ok != c.ok || !strings.Contains(said, c.says) {
			t.Errorf("%s %q: %v %q", c.kind, c.text, ok, said)
		}
	}
}
