package identity

import (
	"cmp"
	"slices"
	"strings"
)

// siteFacts are checks whose result is a fact about a site, on whichever page it was seen, and the words for the fact.
// A * stands for the name that the sighting has: a header, a cookie, a version of TLS.
var siteFacts = map[string]string{
	"zap:10020": "no x-frame-options", "zap:10021": "no x-content-type-options",
	"zap:10035": "no strict-transport-security",
	"zap:10038": "no content-security-policy", "zap:10063": "no permissions-policy", "zap:10016": "no x-xss-protection",
	"burp:5245344": "no x-frame-options", "burp:16777984": "no strict-transport-security",
	"arachni:hsts": "no strict-transport-security", "arachni:x_frame_options": "no x-frame-options",
	"nikto:999957": "no x-frame-options", "nikto:999970": "no strict-transport-security",
	"nikto:999103": "no x-content-type-options", "nikto:013587": "no *",
	"wapiti:HTTP Secure Headers": "no *", "http-missing-security-headers": "no *",
	"wapiti:Content Security Policy Configuration": "no content-security-policy",

	"zap:10010": "cookie without httponly *", "zap:10011": "cookie without secure *",
	"zap:10054":                   "cookie without samesite *",
	"wapiti:HttpOnly Flag cookie": "cookie without httponly *", "wapiti:Secure Flag cookie": "cookie without secure *",
	"webtest-weak-cookie": "weak cookie *",

	"sslscan:deprecated-protocol": "offers *", "sslyze:deprecated-protocol": "offers *",
	"testssl:SSLv2": "offers ssl2", "testssl:SSLv3": "offers ssl3",
	"testssl:TLS1": "offers tls1.0", "testssl:TLS1_1": "offers tls1.1",
	"nikto:999100": "answers with *", "webtest-clickjacking": "no x-frame-options",
}

// policies are response headers by which a site tells browsers what they may do.
var policies = []string{"content-security-policy", "content-security-policy-report-only", "strict-transport-security",
	"x-frame-options", "x-content-type-options", "x-xss-protection", "referrer-policy", "permissions-policy"}

// ofSite is the fact about a site as a whole that a sighting is of; empty: it is about its page.
func (p Parts) ofSite() string {
	name := strings.ToLower(cmp.Or(p.Detail, p.Parameter, p.Matcher))
	if p.Check == "wapiti:Content Security Policy Configuration" && p.Detail != "csp" {
		return "" // one directive of several
	}
	if fact := siteFacts[p.Check]; fact != "" {
		if strings.HasSuffix(fact, "*") && name == "" {
			return ""
		}
		return strings.Replace(fact, "*", name, 1)
	}
	if slices.Contains(policies, strings.ToLower(p.Parameter)) && p.Position != "path" {
		return p.Check + " " + strings.ToLower(p.Parameter)
	}
	return ""
}
