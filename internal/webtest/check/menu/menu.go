// Package menu finds pages that a script keeps out of the menu of those who lack a role, and that open for them all the
// same.
//
// A script has a list of pages, each with the role that sees it, and takes the role of the reader out of what the
// server gives it; or a block of it runs for a role alone. Where no page, no answer and no cookie of a user has the
// word of a role, the script cannot offer the user the pages of that role. One that the user opens, that nobody opens
// without a login, and that is answered otherwise than an address of no page, is open by mistake. Scripts that keep
// something in the browser, or that ask by other requests than those of the map, are left out: there the word may be
// elsewhere.
package menu

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{hidden()} }

var (
	literal = regexp.MustCompile(`\{[^{}]{1,400}\}`)
	address = regexp.MustCompile("[\"'`](/[\\w/.-]{1,100})[\"'`]")
	roleOf  = regexp.MustCompile(`(?i)\b["']?(?:for|(?:required_?|min_?)?roles?|access|permissions?|requires?|allow(?:ed)?|groups?|` +
		"authorit(?:y|ies)|privileges?|visible_?(?:to|for)|only)[\"']?\\s*:\\s*\\[?\\s*[\"'`]([\\w-]{2,30})[\"'`]")
	anybody = regexp.MustCompile(`(?i)^(?:all|any|anyone|anybody|everyone|everybody|public|guests?|anonymous|users?|members?|customers?|` +
		`authenticated|logged_?-?in|login|default|none|true|false|get|read|view)$`)
	elsewhere = regexp.MustCompile(`localStorage|sessionStorage|indexedDB|WebSocket|EventSource|postMessage|(?i)graphql|["'` + "`" + `]post["'` + "`" + `]`)
	scripts   = regexp.MustCompile(`(?is)<script\b.*?(?:</script\s*>|$)`)
	source    = regexp.MustCompile(`(?i)<script[^>]+src\s*=\s*["']?([^"'\s>]+)`)
)

const (
	maxPages   = 100
	maxScripts = 20
	maxTried   = 20 // pages of menus that are asked for
)

// hidden is the check for pages of a menu that a user is not offered. One request for each page of the map and each of
// two users, two for each script, but for what another check has read; five for each page of a menu.
func hidden() kit.Check {
	c := kit.Check{ID: "pages-of-hidden-menus", Class: "bfla", Level: client.Safe,
		Title: "A page that a menu keeps from a user is open to them"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, u := range w.Users[:min(len(w.Users), 2)] {
			if err := (&reader{World: w, c: &c, as: u, scripts: map[string]string{}}).run(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// reader is a user, and what the server gives them.
type reader struct {
	*kit.World

	c       *kit.Check
	as      *client.User
	pages   []*message.Response
	scripts map[string]string // by address
}

// item is a page of a menu.
type item struct{ path, role, at string }

func (r *reader) run(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	items := r.items()
	for _, one := range items[:min(len(items), maxTried)] {
		if err := r.try(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// read reads the pages of the map as the user, and their scripts. A script that nobody gets as the user does may have
// been written for the user, and is a page.
func (r *reader) read(ctx context.Context) error {
	var names []string
	for _, q := range r.Pages() {
		if q.Method != http.MethodGet || q.IsMessage() || len(r.pages) >= maxPages {
			continue
		}
		answer, err := r.Shown(ctx, q, r.as)
		if err != nil {
			return err
		}
		if answer.Status == 0 || kit.Static(answer) {
			continue
		}
		r.pages = append(r.pages, answer)
		for _, m := range source.FindAllSubmatch(answer.Body, maxScripts) {
			at, err := q.URL.Parse(string(m[1]))
			if err == nil && at.Host == q.URL.Host && !slices.Contains(names, at.String()) && len(names) < maxScripts {
				names = append(names, at.String())
			}
		}
	}
	for _, name := range names {
		q, err := message.New(http.MethodGet, name)
		if err != nil {
			continue
		}
		mine, err := r.Shown(ctx, q, r.as)
		if err != nil {
			return err
		}
		nobodys, err := r.Shown(ctx, q, nil)
		if err != nil {
			return err
		}
		if mine.Status == http.StatusOK && string(mine.Body) == string(nobodys.Body) {
			r.scripts[name] = string(mine.Body)
		} else {
			r.pages = append(r.pages, mine)
		}
	}
	return nil
}

// items are the pages of menus whose role the user is not known to have.
func (r *reader) items() (out []item) {
	for at, text := range r.scripts {
		if elsewhere.MatchString(text) {
			return nil
		}
		out = append(out, menuOf(at, text)...)
		out = append(out, guardedBy(at, text)...)
	}
	for _, page := range r.pages {
		if slices.ContainsFunc(scripts.FindAll(page.Body, maxScripts), elsewhere.Match) {
			return nil
		}
	}
	out = slices.DeleteFunc(out, func(i item) bool { return r.isTold(i) || r.isLed(i) })
	slices.SortFunc(out, func(a, b item) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(out, func(a, b item) bool { return a.path == b.path })
}

// menuOf are the pages of a menu in a script that are for a role; none where it has one kind of readers.
func menuOf(at, text string) (out []item) {
	roles := map[string]bool{}
	for _, object := range literal.FindAllString(text, 200) {
		to, of := address.FindStringSubmatch(object), roleOf.FindStringSubmatch(object)
		if to == nil || of == nil {
			continue
		}
		roles[strings.ToLower(of[1])] = true
		if !anybody.MatchString(of[1]) {
			out = append(out, item{to[1], of[1], at})
		}
	}
	if len(roles) < 2 {
		return nil
	}
	return out
}

// guard is a condition of a script with the block that runs where it holds. The condition compares a text with the word
// of a role, or is a flag of that name. A name that scripts have for other things, such as a controller, is no flag.
var (
	guard = regexp.MustCompile(`\bif\s*\(\s*([^(){};!|]{3,80})\)\s*` +
		`(\{[^{}]{0,300}(?:\{[^{}]{0,300}\}[^{}]{0,100})?|[^{};\s][^{};]{0,200})`)
	compared = regexp.MustCompile("(?i)={2,3}\\s*[\"'`](admin(?:istrator)?|superuser|staff|officer|manager|moderator|operator|" +
		"supervisor|organi[sz]er|controller|director|editor|librarian|owner)[\"'`]\\s*$")
	flag = regexp.MustCompile(`(?i)^(\w+\.)*(?:is_?)?(admin(?:istrator)?|superuser|staff|officer|moderator|supervisor|organi[sz]er)` +
		`(?:\s*={2,3}\s*true)?\s*$`)
)

// guardOf is the role that a condition asks for; "" for none that is known. A flag must be a member of what the server
// gives, or be made of one of its name: one that is made of something else, such as a level, may be true of anybody.
func guardOf(condition, text string) string {
	if m := compared.FindStringSubmatch(condition); m != nil {
		return m[1]
	}
	m := flag.FindStringSubmatch(condition)
	if m == nil {
		return ""
	}
	made := regexp.MustCompile(`(?i)\b(?:is_?)?` + m[2] + `\s*=\s*[^=;\n][^;\n]{0,200}?\b(?:is_?)?` + m[2] + `\b`)
	if m[1] == "" && !made.MatchString(text) {
		return ""
	}
	return m[2]
}

// guardedBy are the addresses that a script asks for where its reader has a role, and nowhere else.
func guardedBy(at, text string) (out []item) {
	for _, m := range guard.FindAllStringSubmatch(text, 50) {
		role := guardOf(m[1], text)
		if role == "" {
			continue
		}
		for _, to := range address.FindAllStringSubmatch(m[2], 10) {
			if strings.Count(text, to[0]) == 1 {
				out = append(out, item{to[1], role, at})
			}
		}
	}
	return out
}

// isTold reports whether something that the server gives the user has the word of a role: then the script may offer the
// page. What the page itself shows is left out.
func (r *reader) isTold(i item) bool {
	word := regexp.MustCompile(`(?i)(?:^|[^\pL\d]|is|can)` + regexp.QuoteMeta(i.role) + `(?:$|[^\pL\d])`)
	at, err := url.Parse(i.at)
	if err != nil || word.MatchString(r.as.Name) {
		return true
	}
	for _, page := range r.pages {
		if page.Request.URL.Path != i.path && word.Match(page.Body) {
			return true
		}
		for _, values := range page.Header {
			if slices.ContainsFunc(values, word.MatchString) {
				return true
			}
		}
	}
	for _, k := range r.as.Cookies(at) {
		value := message.PlaceOfCookie(k.Name, k.Value).Value
		for part := range strings.FieldsFuncSeq(value, func(c rune) bool { return strings.ContainsRune(`.-"`, c) }) {
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
			if word.MatchString(part) || err == nil && word.Match(raw) {
				return true
			}
		}
	}
	return false
}

// isLed reports whether a page of the user leads to the page of a menu.
func (r *reader) isLed(i item) bool {
	way := regexp.MustCompile(`["'=]` + regexp.QuoteMeta(i.path) + `/?["'\s>?#]`)
	return slices.ContainsFunc(r.pages, func(page *message.Response) bool {
		return page.Request.URL.Path != i.path && way.Match(page.Body)
	})
}

// try asks for a page of a menu.
func (r *reader) try(ctx context.Context, i item) error {
	at, err := url.Parse(i.at)
	if err != nil {
		return nil //nolint:nilerr // it was one before
	}
	script := message.From(http.MethodGet, at)
	page := *at
	page.Path, page.RawPath, page.RawQuery = i.path, "", ""
	q := message.From(http.MethodGet, &page)
	nowhere := page
	nowhere.Path = path.Join(path.Dir(strings.TrimSuffix(i.path, "/")), kit.Word())
	strange := message.From(http.MethodGet, &nowhere)
	var got []*message.Response
	for _, one := range []struct {
		q  *message.Request
		as *client.User
	}{{q, r.as}, {q, r.as}, {q, nil}, {strange, r.as}} {
		answer, err := r.Client.Send(ctx, one.q, client.Options{As: one.as})
		if errors.Is(err, client.ErrScope) {
			return nil
		}
		if answer, err = kit.Broken(ctx, one.q, answer, err); err != nil {
			return err
		}
		got = append(got, answer)
	}
	mine, again, nobodys, missing := got[0], got[1], got[2], got[3]
	if !kit.Opened(mine) || !kit.Opened(again) || !kit.Same(mine, again) || nobodys.Status == 0 || nobodys.Status >= 500 ||
		kit.Opened(nobodys) || kit.Opened(missing) && kit.Same(missing, mine) {
		return nil
	}
	user, users := kit.Names(r.as)
	r.Found(r.c, kit.Finding{Request: q, Payload: i.path,
		Detail: "the menu is for " + i.role + ", which nothing says of " + r.as.Name,
		Evidence: []kit.Evidence{
			{Request: script, Match: i.path, Note: "the script that names it, for " + i.role},
			{Request: q, Response: again, Note: "what " + r.as.Name + " gets"},
			{Request: q, Response: nobodys, Note: "what nobody gets"},
			{Request: strange, Response: missing, Note: "an address of no page"}},
		Proof: &proof.Program{About: r.as.Name + " opens a page that the menu keeps from them.", Users: users,
			Steps: []proof.Step{
				{ID: "user", As: user, Send: q, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
				{ID: "nobody", Send: q, Expect: []proof.Expect{{What: proof.Same, Of: "user", Not: true}}},
				{ID: "nowhere", As: user, Send: strange,
					Expect: []proof.Expect{{What: proof.Same, Of: "user", Not: true}}}}}})
	return nil
}
