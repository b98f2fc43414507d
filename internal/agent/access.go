package agent

import (
	"slices"
	"strings"
)

// Access is how an instruction says that the application is to be spoken with: who logs in, what is sent along, which
// requests and descriptions are known. It holds secrets: it is never stored, and is read from the instruction again.
type Access struct {
	Logins    []Login
	Headers   []HeaderLine // sent with each request
	Cookies   string       // a line, such as sid=1; lang=en
	Requests  []Request
	Documents []string // URLs of descriptions of the API
	OAuth     *OAuth   // how a token is got; nil: not by OAuth 2
}

// Login is a user of the application. Page is where to log in; empty: found by itself.
// TOTP is the secret of its one-time codes, in base32.
type Login struct{ User, Password, Page, TOTP string }

// OAuth is how a token is got from a server of OAuth 2: with the password of a user, or with the client's own secret.
type OAuth struct {
	TokenURL, ClientID, ClientSecret string
	Scopes                           []string
}

// HeaderLine is a line of a header.
type HeaderLine struct{ Name, Value string }

// Request is one that the instruction describes. An empty URL is that of each target.
type Request struct{ Method, URL, Type, Body string }

// Empty reports whether the instruction says nothing of it.
func (a Access) Empty() bool {
	return len(a.Logins)+len(a.Headers)+len(a.Requests)+len(a.Documents) == 0 && a.Cookies == "" && a.OAuth == nil
}

// webTags are the checks that test what an application does with its inputs and its users, by the classes of the web
// tester that do it.
var webTags = map[string][]string{
	"sqli": {"sql-injection"}, "xss": {"xss", "stored-xss", "dom-xss"}, "ssrf": {"ssrf"}, "ssti": {"template-injection"},
	"traversal": {"path-traversal", "file-inclusion"}, "redirect": {"open-redirect"}, "xxe": {"xxe"},
	"nosqli": {"nosql-injection"}, "cmdi": {"command-injection", "code-injection"}, "csrf": {"csrf"},
	"access": {"bola", "bfla", "mass-assignment", "access-bypass"}, "upload": {"file-upload"}, "logic": {"business-logic"},
	"crlf":       {"header-injection"},
	"hostheader": {"host-header"}, "jwt": {"jwt"}, "ldapi": {"ldap-injection"}, "xpathi": {"xpath-injection"},
	"deserialization": {"deserialization"}, "webcache": {"cache-poisoning", "cache-deception"},
	"session": {"session-fixation", "weak-cookie", "predictable-token",
		"public-signing-key"}, "graphql": {"graphql-introspection"},
	"inject": {"sql-injection", "nosql-injection", "ldap-injection", "xpath-injection", "command-injection",
		"code-injection",
		"template-injection", "xss", "stored-xss", "dom-xss", "path-traversal", "file-inclusion", "header-injection", "xxe"},
}

// TestsWeb reports whether the plan asks for the tester of web applications: with all checks, with one that it does, or
// because the application is to be entered.
func (p Plan) TestsWeb() bool {
	if len(p.Targets) == 0 || p.NoWebTest {
		return false
	}
	return p.FullCheck || !p.Access.Empty() || slices.ContainsFunc(p.Tags,
		func(t string) bool { return webTags[t] != nil })
}

// WantsClass reports whether a class of the web tester is asked for.
func (p Plan) WantsClass(class string) bool {
	for _, tag := range p.NotTags {
		if slices.Contains(webTags[tag], class) {
			return false
		}
	}
	asked := false
	for _, tag := range p.Tags {
		if webTags[tag] != nil {
			asked = true
			if slices.Contains(webTags[tag], class) {
				return true
			}
		}
	}
	return p.FullCheck || !asked
}

// Sentences say what of the access was understood, without secrets.
func (a Access) Sentences() (out []string) {
	for _, l := range a.Logins {
		out = append(out, "I will log in as "+l.User+".")
	}
	var names []string
	for _, h := range a.Headers {
		names = append(names, h.Name)
	}
	if len(names) > 0 {
		out = append(out, "I will send the header "+strings.Join(names, ", ")+".")
	}
	if a.Cookies != "" {
		out = append(out, "I will send the cookies that you gave.")
	}
	for _, r := range a.Requests {
		out = append(out, strings.TrimSpace("I will test the request "+r.Method+" "+r.URL)+".")
	}
	for _, d := range a.Documents {
		out = append(out, "I will read the description at "+d+".")
	}
	return out
}
