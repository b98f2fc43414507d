package label

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Guess derives labels from what an asset looks like. A label that people take off is not added
// again while its reason stays the same.
func Guess(a discover.Asset) (out []string) {
	host, title, body := partsOf(a.Host), strings.ToLower(a.Title), strings.ToLower(a.Body)
	titled := func(re *regexp.Regexp) bool { return title != "" && re.MatchString(title) }
	for _, rule := range [...]struct {
		label string
		is    bool
	}{
		{"api", host.has(apiParts) || strings.Contains(title, "swagger") ||
			strings.HasPrefix(strings.ToLower(header(a, "Content-Type")), "application/json")},
		{"admin panel", host.has(adminParts) || titled(adminTitle)},
		{"ci tool", hasTechnology(a, "jenkins", "gitlab", "teamcity", "drone", "gocd", "bamboo", "argo cd", "buildkite")},
		{"default page", titled(defaultTitle)},
		{"login page", titled(loginTitle) || strings.Contains(body, `type="password"`) ||
			strings.Contains(body, "type='password'")},
		{"mail server", slices.Contains([]string{"smtp", "smtps", "imap", "imaps", "pop3", "pop3s", "submission"},
			a.Service)},
		{"staging", host.has(stagingParts)},
		{"vpn", host.has(vpnParts)},
	} {
		if rule.is {
			out = append(out, rule.label)
		}
	}
	return out
}

// hostParts are the parts of a host name between dots and dashes, without trailing digits.
type hostParts []string

func partsOf(host string) hostParts {
	parts := strings.FieldsFunc(strings.ToLower(host), func(c rune) bool { return c == '.' || c == '-' })
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, "0123456789")
	}
	return parts
}

func (p hostParts) has(words []string) bool {
	return slices.ContainsFunc(p, func(part string) bool { return slices.Contains(words, part) })
}

// Parts of host names that say what the host is for.
var (
	apiParts     = []string{"api", "apis", "graphql", "rest"}
	adminParts   = []string{"admin", "administrator", "cpanel"}
	stagingParts = []string{"dev", "develop", "development", "stage", "staging", "stg", "test", "testing", "uat", "qa",
		"preprod", "sandbox"}
	vpnParts = []string{"vpn", "sslvpn", "remote"}
)

var (
	adminTitle   = regexp.MustCompile(`\b(admin|administration|dashboard|control panel|console)\b`)
	loginTitle   = regexp.MustCompile(`\b(log ?in|log ?on|sign ?in|authentication)\b`)
	defaultTitle = regexp.MustCompile(`welcome to nginx|apache2? .*default page|iis windows server|test page for`)
)

func header(a discover.Asset, name string) string {
	for key, value := range a.Headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// hasTechnology ignores versions.
func hasTechnology(a discover.Asset, names ...string) bool {
	return slices.ContainsFunc(a.Technologies, func(t string) bool {
		name, _, _ := strings.Cut(strings.ToLower(t), ":")
		return slices.Contains(names, name)
	})
}
