// Package apps is a lab: ten small web applications, each with a known set of weaknesses,
// and a clean one full of things that only look like weaknesses. They hold what a tester
// finds against what there is to be found.
//
// Everything in them is made up and harmless: data is in memory, databases cannot be
// written, files and inner networks are tables, and nothing runs a command. They are
// meant for a loopback address.
package apps

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// App is one application of the lab.
type App struct {
	Name       string // one word
	About      string // what it is, in a few words
	Weaknesses []Weakness

	tls     certificate
	handler func() http.Handler // a fresh one, with its state as it was at first
}

// Handler is the application without its network, in its first state.
func (a App) Handler() http.Handler { return a.handler() }

// Weakness is one thing that is truly wrong with an application.
type Weakness struct {
	ID    string   `json:"id"`    // APP-WHAT, stable
	CWE   string   `json:"cwe"`   // its class, such as CWE-79
	Also  []string `json:"also"`  // classes that it may be called by as well
	Path  string   `json:"path"`  // where it shows; with a star at the end all beneath; "" for the whole application
	Param string   `json:"param"` // of the query or the body; "" when it is none
	Title string   `json:"title"`
	Words string   `json:"words"` // a regular expression, without case, for titles of findings that name no class
}

// Finding is what a tester says, as far as it tells whether it is right.
type Finding struct {
	URL   string   // where it shows
	CWEs  []string // its classes; none when the tester names none
	Title string
}

// Is says whether a finding is about this weakness: at its place and, where the query of
// the finding's URL names parameters, with its own among them; of its class or, when the
// finding has none, in its words.
func (w Weakness) Is(f Finding) bool {
	u, err := url.Parse(f.URL)
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
		return strings.EqualFold(cwe, w.CWE) || slices.ContainsFunc(w.Also, func(other string) bool { return strings.EqualFold(other, cwe) })
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

// The weaknesses that several applications have.

func noHeaders(app string) Weakness {
	return Weakness{
		ID: app + "-headers", CWE: "CWE-693", Also: []string{"CWE-1021", "CWE-200"}, Title: "Security headers are missing",
		Words: `header|content.security|CSP|clickjack|fram(e|ing)|nosniff|referrer`,
	}
}

func plainPassword(app, path string) Weakness {
	return Weakness{ID: app + "-plain-password", CWE: "CWE-319", Path: path, Title: "A password is asked for over plain HTTP", Words: `plain|unencrypted|cleartext|over http\b|without (tls|https)`}
}
