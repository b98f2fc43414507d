// Package apps is a lab to measure scanners: ten small web applications, each with a known set of
// weaknesses, and a clean one full of things that only look like weaknesses.
//
// All data is fictitious and in memory, databases are read-only, files and internal networks are
// simulated by tables, and nothing runs a command. They are meant for a loopback address.
package apps

import (
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// App is one application of the lab.
type App struct {
	Name       string // one word
	About      string // description
	Weaknesses []Weakness

	tls     certificate
	handler func() http.Handler // a new handler in its initial state
}

// Weakness is one real weakness of an application.
type Weakness struct {
	ID    string // APP-WHAT, stable
	CWEs  string // numbers of its class and of other acceptable classes, separated by spaces
	Path  string // /x/* is everything below /x/; "" is the whole application
	Param string // in the query or the body; "" if none
	Title string
	Words string // case-insensitive regular expression for titles of findings without a class
}

// CWE is the class of the weakness, such as CWE-79.
func (w Weakness) CWE() string { return "CWE-" + strings.Fields(w.CWEs)[0] }

// Finding is a reported finding, with the fields that decide whether it is right.
type Finding struct {
	URL   string   // location: a URL, or host:port of a server as a whole
	CWEs  []string // its classes, if any
	Title string
}

// Is reports whether a finding is about this weakness: its path matches, its query (if it has one)
// includes Param, and its class matches or, when the finding has no class, its title matches Words.
func (w Weakness) Is(f Finding) bool {
	u, err := url.Parse(f.URL)
	if _, _, notHost := net.SplitHostPort(f.URL); notHost == nil && !strings.Contains(f.URL, "/") {
		u, err = &url.URL{}, nil
	}
	if err != nil || !w.at(u.Path) {
		return false
	}
	if query := u.Query(); w.Param != "" && len(query) > 0 && !query.Has(w.Param) {
		return false
	}
	if len(f.CWEs) == 0 {
		return regexp.MustCompile("(?i)" + w.Words).MatchString(f.Title)
	}
	return slices.ContainsFunc(f.CWEs, func(cwe string) bool {
		return slices.Contains(strings.Fields(w.CWEs), strings.TrimPrefix(strings.ToUpper(cwe), "CWE-"))
	})
}

func (w Weakness) at(path string) bool {
	if folder, ok := strings.CutSuffix(w.Path, "*"); ok {
		return strings.HasPrefix(path, folder)
	}
	return w.Path == "" || strings.TrimSuffix(w.Path, "/") == strings.TrimSuffix(path, "/")
}

// All are the applications of the lab, the clean one last.
func All() []App {
	return []App{shop(), notes(), backoffice(), cms(), files(), images(), desk(), ops(), legacy(), forecast(), clean()}
}

// Weaknesses of several applications.

func noHeaders(app string) Weakness {
	return Weakness{app + "-headers", "693 1021 200", "", "", "Security headers are missing",
		`header|content.security|CSP|clickjack|fram(e|ing)|nosniff|referrer`}
}

func plainPassword(app, path string) Weakness {
	return Weakness{app + "-plain-password", "319", path, "", "A password form is served over plain HTTP",
		`plain|unencrypted|cleartext|over http\b|without (tls|https)`}
}
