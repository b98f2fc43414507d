// Package exposure finds what an application shows that it should not: internals in errors, secrets in answers, cookies
// and answers without protection, listings, old files and files that are not for visitors.
//
// Most of it looks at answers that are there anyway and costs nothing. Files that nothing links to are asked for by
// names that are derived from the map; a random name of the same form must not be there (many applications answer every
// name), and the content must be of the kind that the name says, twice.
//
// Requests for a clean place: none. For a host: those of files.yaml. For a folder: one. For a file of the map with an
// ending of a program: one for each name in old-files.yaml, of at most 150 files a host; for each name
// in left-programs.yaml, three.
package exposure

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check {
	return []kit.Check{errorsShown(), errorsProvoked(), secrets(), cookies(), loginCookies(), frames(), origins(),
		listings(), oldFiles(), files(), filesBelow(), exposed(), introspection(), folders(), passwords(),
		leftCopies(), sourceMaps(), diagnostics(), openKeys()}
}

// pattern is what a text is recognised by.
type pattern struct {
	id, about string
	not       *regexp.Regexp
	is        *regexp.Regexp
}

//go:embed patterns.yaml
var patternsText []byte

var patterns = sync.OnceValue(func() map[string][]pattern {
	value, err := yamltext.Value(patternsText)
	if err != nil {
		panic(err) // it is ours
	}
	all := map[string][]pattern{}
	for group, list := range value.(map[string]any) { //nolint:forcetypeassert // it is ours
		for _, entry := range list.([]any) { //nolint:forcetypeassert // it is ours
			fields := entry.(map[string]any) //nolint:forcetypeassert // it is ours
			text := func(name string) string { s, _ := fields[name].(string); return s }
			p := pattern{id: text("id"), about: text("about"), is: regexp.MustCompile(text("is"))}
			if not := text("not"); not != "" {
				p.not = regexp.MustCompile(not)
			}
			all[group] = append(all[group], p)
		}
	}
	return all
})

// match is what of a text a pattern recognises; "" for nothing.
func (p *pattern) match(body []byte) string {
	for _, m := range p.is.FindAll(body, 20) {
		if p.not == nil || !p.not.Match(m) {
			return strings.ToValidUTF8(string(m[:min(len(m), 400)]), "?")
		}
	}
	return ""
}

// report reports what an answer shows.
func report(w *kit.World, c *kit.Check, t *kit.Target, r *message.Response, match, about string, f kit.Finding) {
	f.Request, f.Detail = r.Request, about
	if f.Request == nil {
		f.Request = t.Request
	}
	f.Evidence = []kit.Evidence{{Request: f.Request, Response: r, Match: match, Note: about}}
	w.Found(c, f)
}

// errorsShown looks for internals in normal answers.
func errorsShown() kit.Check {
	c := kit.Check{ID: "verbose-error", Class: "verbose-error"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) { shownErrors(w, &c, t, t.Response, kit.Finding{}) }
	return c
}

func shownErrors(w *kit.World, c *kit.Check, t *kit.Target, r *message.Response, f kit.Finding) {
	if r == nil || kit.Static(r) {
		return
	}
	for _, p := range patterns()["errors"] {
		if match := p.match(r.Body); match != "" && w.Once("error "+t.Request.URL.Host+t.Request.URL.Path+p.id) {
			if r == t.Response { // nothing has provoked it
				f.Confidence = quoted(r, match)
			}
			report(w, c, t, r, match, p.about, f)
		}
	}
}

// secrets looks for keys and passwords in answers.
func secrets() kit.Check {
	c := kit.Check{ID: "secret-exposure", Class: "secret-exposure"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		if t.Response == nil {
			return
		}
		for _, p := range patterns()["secrets"] {
			match := p.match(t.Response.Body)
			if match == "" || !w.Once("secret "+t.Request.URL.Host+match) {
				continue
			}
			report(w, &c, t, t.Response, hide(match), p.about, kit.Finding{Confidence: quoted(t.Response, match)})
		}
	}
	return c
}

var quotes = regexp.MustCompile(`(?i)<(/?)(pre|code|blockquote|textarea)[\s>]`)

// quoted is Probable for a text that a page which is no error quotes: an article about errors has them, too. Else it is
// Proved.
func quoted(r *message.Response, match string) kit.Confidence {
	at := bytes.Index(r.Body, []byte(match))
	if r.Status >= http.StatusBadRequest || !r.IsHTML() || at < 0 {
		return kit.Proved
	}
	depth := 0
	for _, tag := range quotes.FindAllSubmatch(r.Body[:at], -1) {
		if len(tag[1]) == 0 {
			depth++
		} else {
			depth--
		}
	}
	if depth > 0 {
		return kit.Probable
	}
	return kit.Proved
}

// telling are endings of files that are seldom for visitors; the text of a dump of a database or of a key tells that
// they are what they are called.
var telling = regexp.MustCompile(`(?i)\.(?:sql|dump|bak|env|pem|key|htpasswd|old|save)$|/id_rsa$`)

// exposed looks for files that the map has led to, such as by the listing of a folder, and that are not for visitors.
func exposed() kit.Check {
	c := kit.Check{ID: "exposed-file-linked", Class: "exposed-file"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		if t.Response == nil || t.Response.Status != http.StatusOK || t.Response.IsHTML() ||
			!telling.MatchString(t.Request.URL.Path) {
			return
		}
		for _, f := range knownFiles() {
			match := f.is.Find(t.Response.Body)
			if match == nil || !f.needs.Match(t.Response.Body) || bytes.HasPrefix(match, []byte("PK")) {
				continue
			}
			report(w, &c, t, t.Response, hide(string(match[:min(len(match), 200)])), f.about, kit.Finding{})
			return
		}
	}
	return c
}

// hide is a secret without its end: reports are read by many.
func hide(s string) string {
	if len(s) < 8 {
		return s
	}
	return s[:len(s)*2/5] + strings.Repeat("*", 6)
}

var sessionName = regexp.MustCompile(`(?i)sess|sid$|^sid|token|auth|jwt|login|remember|connect\.sid|phpsessid`)

// cookies looks for attributes that cookies lack. Whether one that has not the name of a session keeps something is not
// known: what it lacks is information.
func cookies() kit.Check {
	c := kit.Check{ID: "weak-cookie", Class: "weak-cookie"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		if t.Response == nil {
			return
		}
		for _, k := range (&http.Response{Header: t.Response.Header}).Cookies() {
			if k.Value == "" || k.MaxAge < 0 || strings.Contains(strings.ToLower(k.Name), "srf") {
				continue
			}
			lacks := lacking(k, t.Request.URL.Scheme == "https")
			f := kit.Finding{Place: message.Place{Component: message.Cookie, Name: k.Name}}
			isWeak := len(lacks) > 0 && lacks[0] != "SameSite" // browsers take Lax where there is no SameSite
			if !sessionName.MatchString(k.Name) {
				f.Severity = kit.Info
				isWeak = len(lacks) > 1 || slices.Contains(lacks, "Secure") // some are for scripts
			}
			if isWeak && w.Once("cookie "+t.Request.URL.Host+k.Path+" "+k.Name) {
				report(w, &c, t, t.Response, k.Name+"=…", "the cookie "+k.Name+" lacks "+strings.Join(lacks, ", "), f)
			}
		}
	}
	return c
}

// lacking are the attributes that a cookie lacks.
func lacking(k *http.Cookie, encrypted bool) (lacks []string) {
	if !k.HttpOnly {
		lacks = append(lacks, "HttpOnly")
	}
	if !k.Secure && encrypted {
		lacks = append(lacks, "Secure")
	}
	if k.SameSite == http.SameSiteNoneMode && encrypted || k.SameSite == http.SameSiteDefaultMode || k.SameSite == 0 {
		lacks = append(lacks, "SameSite")
	}
	return lacks
}

// loginCookies looks for cookies that logins have set for scripts to read.
func loginCookies() kit.Check {
	c := kit.Check{ID: "weak-cookie-of-login", Class: "weak-cookie"}.Describe()
	c.Site = func(_ context.Context, w *kit.World, root *url.URL) error {
		for _, u := range w.Users {
			for _, name := range u.ReadByScripts(root) {
				if sessionName.MatchString(name) && !strings.Contains(strings.ToLower(name), "srf") &&
					w.Once("cookie "+root.Host+"/ "+name) {
					w.Found(&c, kit.Finding{Request: message.From(http.MethodGet, root),
						Detail: "the cookie " + name + " lacks HttpOnly",
						Place:  message.Place{Component: message.Cookie, Name: name}})
				}
			}
		}
		return nil
	}
	return c
}

// frames looks for pages with forms, of somebody who is logged in, that other sites may frame.
func frames() kit.Check {
	c := kit.Check{ID: "clickjacking", Class: "clickjacking"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		r := t.Response
		if r == nil || !kit.Known(t.User) || r.Status != http.StatusOK || !r.IsHTML() ||
			!strings.Contains(strings.ToLower(string(r.Body)), "<form") ||
			r.Header.Get("X-Frame-Options") != "" ||
			strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Content-Security-Policy"), ";")),
				"frame-ancestors") ||
			!w.Once("frames "+t.Request.URL.Host) {
			return
		}
		report(w, &c, t, r, "", "the answer has neither frame-ancestors nor X-Frame-Options", kit.Finding{})
	}
	return c
}
