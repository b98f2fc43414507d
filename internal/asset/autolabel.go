package asset

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
)

// autoLabels are the labels that an asset gets by what it looks like. They are guesses by
// plain rules, for people to find things by; whoever takes one off is not contradicted.
func autoLabels(a discover.Asset) (out []string) {
	host, title, body := strings.ToLower(a.Host), strings.ToLower(a.Title), strings.ToLower(a.Body)
	for _, rule := range [...]struct {
		label string
		is    bool
	}{
		{"api", apiHost.MatchString(host) || strings.Contains(title, "swagger") || strings.HasPrefix(strings.ToLower(header(a, "Content-Type")), "application/json")},
		{"admin panel", adminTitle.MatchString(title) || adminHost.MatchString(host)},
		{"ci tool", hasTechnology(a, "jenkins", "gitlab", "teamcity", "drone", "gocd", "bamboo", "argo cd", "buildkite")},
		{"default page", defaultTitle.MatchString(title)},
		{"login page", loginTitle.MatchString(title) || strings.Contains(body, `type="password"`) || strings.Contains(body, "type='password'")},
		{"mail server", slices.Contains([]string{"smtp", "smtps", "imap", "imaps", "pop3", "pop3s", "submission"}, a.Service)},
		{"staging", stagingHost.MatchString(host)},
		{"vpn", vpnHost.MatchString(host)},
	} {
		if rule.is {
			out = append(out, rule.label)
		}
	}
	return out
}

// Parts of host names stand between dots, dashes and digits.
var (
	apiHost      = regexp.MustCompile(`(^|[.-])(api|apis|graphql|rest)[0-9]*([.-]|$)`)
	adminHost    = regexp.MustCompile(`(^|[.-])(admin|administrator|cpanel)[0-9]*([.-]|$)`)
	stagingHost  = regexp.MustCompile(`(^|[.-])(dev|develop|development|stage|staging|stg|test|testing|uat|qa|preprod|sandbox)[0-9]*([.-]|$)`)
	vpnHost      = regexp.MustCompile(`(^|[.-])(vpn|sslvpn|remote)[0-9]*([.-]|$)`)
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

// hasTechnology reports whether an asset runs one of these, of any version.
func hasTechnology(a discover.Asset, names ...string) bool {
	return slices.ContainsFunc(a.Technologies, func(t string) bool {
		name, _, _ := strings.Cut(strings.ToLower(t), ":")
		return slices.Contains(names, name)
	})
}
