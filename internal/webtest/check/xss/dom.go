package xss

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// sources are what scripts read that an attacker may choose.
var sources = regexp.MustCompile(`\blocation\b|document\.(URL|documentURI|baseURI|referrer)|window\.name|\bhashchange\b|` +
	`URLSearchParams`)

var externalScript = regexp.MustCompile(`(?i)<script[^>]+src\s*=`)

// domTexts run a script wherever a page writes them; %s is the function.
var domTexts = []string{
	`'"><img src=x onerror=%s()>`,     // in text and in attributes
	"javascript:%s()",                 // as an address
	`%[1]s()//'-%[1]s()-'"-%[1]s()-"`, // as code, and in both kinds of strings
}

var script = regexp.MustCompile(`(?is)<script\b.*?(?:</script\s*>|$)`)

// scriptsOf is a digest of the scripts of a page, the code that stands in it and the addresses of other code.
func scriptsOf(body string) string {
	sum := sha256.Sum256([]byte(strings.Join(script.FindAllString(body, -1), "\n")))
	return string(sum[:])
}

// literal is a text or a number in a script.
var literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\d+`)

// isNewCode reports whether one script of the server is asked for the first time with the code of a page, or with a
// parameter that it was not tested with. What differs in texts and numbers alone, as the settings that pages of a wiki
// have, is the same code.
func isNewCode(w *kit.World, body string, u *url.URL) bool {
	var code strings.Builder
	for _, one := range script.FindAllString(body, -1) {
		tag, text, _ := strings.Cut(one, ">")
		code.WriteString(tag + ">" + literal.ReplaceAllString(text, `""`))
	}
	sum := sha256.Sum256([]byte(code.String()))
	key := "dom code " + u.Host + message.PathShape(u.EscapedPath()) + string(sum[:])
	isNew := w.Once(key)
	for name := range u.Query() {
		if w.Once(key + " " + name) {
			isNew = true
		}
	}
	return isNew
}

// names are those of the parameters of an address.
func names(u *url.URL) string {
	return strings.Join(slices.Sorted(maps.Keys(u.Query())), "&")
}

// maxDOM are how many addresses one page is opened with.
const maxDOM = 15

// dom is the check for scripts that write what stands in the address: the page is opened in the browser with payloads
// in its fragment and its parameters, and the function must be called. The control is the page without them.
// None where a page has no script that reads its address; 3 to 15 pages of the browser otherwise, once for each set of
// scripts and parameters. Where there is no browser, what the scripts write is read out of them (package domflow): two
// requests where that has a payload in a parameter, none in a fragment, and three for scripts that stand elsewhere.
func dom() kit.Check {
	c := kit.Check{ID: "xss-dom", Class: "dom-xss", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodGet || t.Response == nil || !t.Response.IsHTML() {
			return nil
		}
		body := string(t.Response.Body)
		if !strings.Contains(strings.ToLower(body), "<script") && !strings.Contains(body, "location") {
			return nil
		}
		if !sources.MatchString(body) && !externalScript.MatchString(body) {
			return nil
		}
		if !w.Once("dom "+t.Request.URL.Host+scriptsOf(body)+names(t.Request.URL)) ||
			!isNewCode(w, body, t.Request.URL) {
			return nil
		}
		if w.Browser == nil {
			return domRead(ctx, &c, w, t)
		}
		return domPage(ctx, &c, w, t)
	}
	return c
}

// domPage opens a page with payloads.
func domPage(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target) error {
	sent := 0
	for _, variant := range append(routes(ctx, w, t), domVariants(t.Request.URL, readNames(string(t.Response.Body)))...) {
		for _, text := range domTexts {
			if sent >= maxDOM {
				return nil
			}
			sent++
			called, at, err := domOpen(ctx, w, t, variant.with, text)
			if err != nil {
				w.Skip(t, c.Class, "the browser: "+err.Error())
				return nil //nolint:nilerr // it is noted
			}
			if !called {
				continue
			}
			again, _, err := domOpen(ctx, w, t, variant.with, text)
			if err != nil || !again {
				continue
			}
			f := proof.Marker("f")
			w.Found(c, kit.Finding{Request: &message.Request{Method: http.MethodGet, URL: at, Header: http.Header{}},
				Place: variant.place, Payload: fmt.Sprintf(text, "f"), Detail: variant.name, Confidence: kit.Proved,
				Evidence: []kit.Evidence{{Request: t.Request, Response: t.Response,
					Note: "the browser has run our function at " + at.String() + ", twice, and the answer has not shown it"}},
				Proof: &proof.Program{About: "The browser runs a function that stands in the address.",
					Vars: []proof.Var{{Name: "f", Kind: proof.Word}}, Steps: []proof.Step{{ID: "open", Calls: f,
						Send: &message.Request{Method: http.MethodGet, Header: http.Header{},
							URL: variant.with(*t.Request.URL, fmt.Sprintf(text, f))},
						Expect: []proof.Expect{{What: proof.Executes}}}}}})
			return nil
		}
	}
	return nil
}

// domVariant is a part of an address that a script may read.
type domVariant struct {
	name  string
	place message.Place
	with  func(u url.URL, text string) *url.URL
}

func domVariants(u *url.URL, also []string) []domVariant {
	fragment := func(prefix string) func(url.URL, string) *url.URL {
		return func(u url.URL, text string) *url.URL {
			u.Fragment, u.RawFragment = prefix+text, rawFragment(prefix+text)
			return &u
		}
	}
	all := []domVariant{{"the fragment", message.Place{Name: "#"}, fragment("")}}
	places := message.Places(message.From(http.MethodGet, u))
	for _, name := range also {
		if !u.Query().Has(name) {
			places = append(places, message.Place{Component: message.Query, Name: name})
		}
	}
	for _, p := range places {
		if p.Component != message.Query || p.Name == "" {
			continue
		}
		all = append(all, domVariant{"parameter " + p.Name + " of the fragment", message.Place{Name: "#" + p.Name},
			fragment(p.Name + "=")},
			domVariant{"parameter " + p.Name, p, func(u url.URL, text string) *url.URL {
				return message.From(http.MethodGet, &u).Put(p, text).URL
			}})
	}
	return all
}

var (
	route     = regexp.MustCompile(`["'` + "`" + `](#!?/[\w./-]{1,60})["'` + "`" + `?$]`)
	scriptSrc = regexp.MustCompile(`(?i)<script[^>]+src\s*=\s*["']?([^"'\s>]+)`)
)

const (
	maxRoutes  = 4
	maxSources = 3
)

// routes are the parts of the routes in fragments that a page and its own scripts name: what follows the last slash.
func routes(ctx context.Context, w *kit.World, t *kit.Target) (out []domVariant) {
	texts := []string{string(t.Response.Body)}
	for i, m := range scriptSrc.FindAllStringSubmatch(texts[0], maxSources*3) {
		if i < maxSources {
			texts = append(texts, scriptAt(ctx, w, t, m[1]))
		}
	}
	seen := map[string]bool{}
	for _, text := range texts {
		for _, m := range route.FindAllStringSubmatch(text, -1) {
			prefix := m[1][1 : strings.LastIndexByte(m[1], '/')+1]
			if seen[prefix] || len(out) >= maxRoutes || strings.Count(prefix, "/") < 2 {
				continue
			}
			seen[prefix] = true
			out = append(out, domVariant{"the route #" + prefix, message.Place{Name: "#" + prefix}, func(u url.URL, text string) *url.URL {
				u.Fragment, u.RawFragment = prefix+text, rawFragment(prefix+text)
				return &u
			}})
		}
	}
	return out
}

// rawFragment keeps what browsers keep in fragments, so that scripts get the text as it is.
func rawFragment(text string) string {
	return strings.NewReplacer("%", "%25", " ", "%20").Replace(text)
}

// domOpen opens a page with a payload and says whether it runs, or offers a link that does.
func domOpen(ctx context.Context, w *kit.World, t *kit.Target, with func(url.URL, string) *url.URL, text string) (
	called bool, at *url.URL, err error,
) {
	name := kit.Word()
	at = with(*t.Request.URL, fmt.Sprintf(text, name))
	called, err = Executes(ctx, w, t.User, &message.Request{Method: http.MethodGet, URL: at, Header: http.Header{}}, name)
	return called, at, err
}
