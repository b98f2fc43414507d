// Package redirect finds answers that lead to where the visitor's values say: open redirects, header lines that a value
// adds, and hosts that a header names.
//
// Where an answer leads is read as browsers read addresses: with backslashes, missing slashes and white space, out of
// Location, Refresh, meta elements and assignments of scripts. Our host must be the host of that address; as a part of
// its path or query it is nothing. A second random host must be led to as well, and the answer without ours leads
// elsewhere.
//
// Requests for a clean place: none where neither its name nor its value nor any answer speaks of addresses; otherwise
// three, and the others only if the answer leads somewhere.
package redirect

import (
	"context"
	_ "embed"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check {
	open := kit.Check{ID: "open-redirect", Class: "open-redirect", Level: client.Safe}.Describe()
	open.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		return openRedirect(ctx, &open, w, t, p)
	}
	return []kit.Check{open, afterLogin(), headerInjection(), hostHeader(), hostOfMessages()}
}

//go:embed payloads.yaml
var payloadsText []byte

// payloads are addresses that lead to {h}; {own} is the host of the target, {v} the value, {origin} the scheme and the
// host of the value or, where it has none, of the target.
var payloads = sync.OnceValue(func() []string {
	value, err := yamltext.Value(payloadsText)
	if err != nil {
		panic(err) // it is ours
	}
	return kit.Texts(value)
})

// always are how many payloads are sent at first.
const always = 3

var addressName = regexp.MustCompile(`(?i)ur[il]|redir|next|return|goto|dest|target|link|continue|forward|callback|back|` +
	`out|view|page|site|^to$|^ref|from|path|location|jump|go$|domain|host|file|success|cancel|exit|logout|checkout|rurl`)

// openRedirect tests one place.
func openRedirect(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place) error {
	reaction, err := w.React(ctx, t, p)
	if err != nil {
		return err
	}
	leads := len(destinations(reaction.Unknown)) > 0
	base, err := w.Base(ctx, t)
	if err != nil {
		return err
	}
	leads = leads || refersTo(base.Response, p.Value)
	if !leads && len(destinations(base.Response)) == 0 && !addressName.MatchString(p.Name) &&
		!strings.ContainsAny(p.Value, "/") {
		return nil
	}
	for i, payload := range payloads() {
		if i >= always && !leads {
			return nil
		}
		host := strings.ToLower(kit.Word()) + ".example.org"
		text := fill(payload, host, t, p)
		if p.Component == message.Header && !refers(text, host) {
			continue
		}
		first, err := w.Try(ctx, t, p, text)
		if err != nil {
			return err
		}
		leads = leads || len(destinations(first)) > 0
		how, to := leadsTo(first, host)
		if how == "" {
			continue
		}
		other := strings.ToLower(kit.Word()) + ".example.org"
		second, err := w.Try(ctx, t, p, fill(payload, other, t, p))
		if err != nil {
			return err
		}
		if again, _ := leadsTo(second, other); again == "" {
			continue
		}
		marker := proof.Marker("h") + ".example.org"
		expect := proof.Expect{What: proof.Contains, Value: marker}
		switch how {
		case "header":
			expect = proof.Expect{What: proof.Header, Name: "Location", Value: marker}
		case "header Refresh":
			expect = proof.Expect{What: proof.Header, Name: "Refresh", Value: marker}
		}
		user, users := kit.Names(t.User)
		w.Found(c, kit.Finding{Request: t.Request.Put(p, text), Place: p, Payload: text, Detail: "by " + how,
			Variant: payload,
			Evidence: []kit.Evidence{
				{Request: first.Request, Response: first, Match: to, Note: "the answer leads to our host, by " + how},
				{Request: second.Request, Response: second, Note: "and to another host of ours"},
			},
			Proof: &proof.Program{About: "The answer leads to a host that the request names.", Users: users,
				Vars: []proof.Var{{Name: "h", Kind: proof.Word}}, Steps: []proof.Step{{ID: "redirect", As: user,
					Send: t.Request.Put(p, fill(payload, marker, t, p)), Expect: []proof.Expect{expect}}}}})
		return nil
	}
	return nil
}

// refers reports whether a browser sends this text as a header: the address of a page of the host, as in Referer.
// Nobody can make another's browser send anything else there.
func refers(text, host string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Fragment == "" &&
		strings.EqualFold(u.Host, host)
}

func fill(payload, host string, t *kit.Target, p message.Place) string {
	origin := t.Request.URL.Scheme + "://" + t.Request.URL.Host
	if u, err := url.Parse(p.Value); err == nil && u.Host != "" && u.Scheme != "" {
		origin = u.Scheme + "://" + u.Host
	}
	return strings.NewReplacer("{h}", host, "{own}", t.Request.URL.Host, "{v}", p.Value, "{origin}",
		origin).Replace(payload)
}

// refersTo reports whether an answer leads to the address that a value is: an absolute one, or a path.
func refersTo(r *message.Response, value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Host != "" || len(value) > 1 && value[0] == '/') && slices.ContainsFunc(destinations(r), func(d destination) bool {
		return strings.HasPrefix(d.to, value)
	})
}

// destination is where an answer leads, and how.
type destination struct{ how, to string }

var (
	metaRefresh = regexp.MustCompile(`(?is)<meta[^>]+http-equiv\s*=\s*["']?refresh["']?[^>]*>`)
	metaURL     = regexp.MustCompile(`(?is)content\s*=\s*(?:"[^"]*?url\s*=\s*([^"]*)"|'[^']*?url\s*=\s*([^']*)'|\d+;\s*url=([^\s>]*))`)
	scriptGoes  = regexp.MustCompile(`(?i)(?:\blocation(?:\.href)?\s*=|\blocation\.(?:replace|assign)\s*\(|` +
		`\b(?:window|self|top)\.(?:open|navigate)\s*\()\s*(?:"([^"\n]*)"|'([^'\n]*)')`)
	refreshURL = regexp.MustCompile(`(?i)url\s*=\s*["']?([^"']*)`)
)

// destinations are where an answer leads.
func destinations(r *message.Response) (all []destination) {
	if to := r.Header.Get("Location"); to != "" && r.Status/100 == 3 {
		all = append(all, destination{"header", to})
	}
	if m := refreshURL.FindStringSubmatch(r.Header.Get("Refresh")); m != nil {
		all = append(all, destination{"header Refresh", m[1]})
	}
	if !r.IsHTML() {
		return all
	}
	body := string(r.Body)
	for _, tag := range metaRefresh.FindAllString(body, 5) {
		if m := metaURL.FindStringSubmatch(tag); m != nil {
			all = append(all, destination{"meta element", html.UnescapeString(strings.Trim(strings.Join(m[1:], ""), `'" `))})
		}
	}
	for _, script := range scripts(body) {
		for _, at := range scriptGoes.FindAllStringIndex(script, 20) {
			if markup.StateAt(script, at[0]) == markup.Code {
				m := scriptGoes.FindStringSubmatch(script[at[0]:at[1]])
				all = append(all, destination{"script", strings.ReplaceAll(m[1]+m[2], `\/`, "/")})
			}
		}
	}
	return all
}

var scriptElement = regexp.MustCompile(`(?is)<script[^>]*>(.*?)</script|\son(?:load|pageshow)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// scripts are the scripts of a page that run by themselves.
func scripts(body string) (all []string) {
	for _, m := range scriptElement.FindAllStringSubmatch(body, 50) {
		all = append(all, html.UnescapeString(m[1]+m[2]+m[3]))
	}
	return all
}

// leadsTo says how an answer leads to a host; "" if it does not.
func leadsTo(r *message.Response, host string) (how, to string) {
	for _, d := range destinations(r) {
		if strings.EqualFold(hostOf(d.to, r.Request.URL), host) {
			return d.how, d.to
		}
	}
	return "", ""
}

// hostOf is the host that a browser goes to for an address in a page.
func hostOf(address string, base *url.URL) string {
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	address = strings.NewReplacer("\t", "", "\r", "", "\n", "", `\`, "/").Replace(address)
	scheme, rest, ok := strings.Cut(address, ":")
	switch {
	case ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")):
		if !strings.HasPrefix(rest, "//") && strings.EqualFold(scheme, base.Scheme) {
			return base.Hostname() // it is relative
		}
		rest = strings.TrimLeft(rest, "/")
	case strings.HasPrefix(address, "//"):
		rest = strings.TrimLeft(address, "/")
	default:
		return base.Hostname()
	}
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	host, _, _ := strings.Cut(rest, ":")
	return strings.ToLower(host)
}

// headerInjection is the check for values that add lines to the header. None where the word does not come back in a
// header; six requests at most otherwise.
func headerInjection() kit.Check {
	c := kit.Check{ID: "header-injection", Class: "header-injection", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		reaction, err := w.React(ctx, t, p)
		if err != nil || !inHeader(reaction.Unknown.Header, reaction.Word) {
			return err
		}
		for _, breaks := range []string{"\r\n", "\n", "\r", "%0d%0a", "\u560d\u560a", "%E5%98%8D%E5%98%8A"} {
			var evidence []kit.Evidence
			text := ""
			for range 2 {
				name := "X-" + kit.Word()
				text = kit.Value(p) + breaks + name + ": 1"
				answer, err := w.Try(ctx, t, p, text)
				if err != nil {
					return err
				}
				if answer.Header.Get(name) == "" {
					break
				}
				evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer, Match: name + ": 1",
					Note: "the answer has a header line of ours"})
			}
			if len(evidence) < 2 {
				continue
			}
			user, users := kit.Names(t.User)
			name := "X-" + proof.Marker("h")
			w.Found(&c, kit.Finding{Request: t.Request.Put(p, text), Place: p, Payload: text, Evidence: evidence,
				Proof: &proof.Program{About: "A value adds a line to the header.", Users: users,
					Vars: []proof.Var{{Name: "h", Kind: proof.Word}}, Steps: []proof.Step{{ID: "header", As: user,
						Send:   t.Request.Put(p, kit.Value(p)+breaks+name+": 1"),
						Expect: []proof.Expect{{What: proof.Header, Name: name, Value: "1"}}}}}})
			return nil
		}
		return nil
	}
	return c
}

func inHeader(h http.Header, word string) bool {
	for _, lines := range h {
		for _, line := range lines {
			if strings.Contains(line, word) {
				return true
			}
		}
	}
	return false
}

// hostHeader is the check for links to a host that a header names: those of proxies, and Host itself. Two requests for
// a page of each kind, with a value in the query that no cache knows; two more where the page has its own host in a
// link.
func hostHeader() kit.Check {
	c := kit.Check{ID: "host-header", Class: "host-header", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodGet || kit.Static(t.Response) || !w.Once("host "+t.Request.URL.Host+t.Kind) {
			return nil
		}
		found, err := namesHost(ctx, &c, w, t, "X-Forwarded-Host", "X-Host", "Forwarded")
		if err == nil && !found && t.Response != nil && linked(t.Response, t.Request.URL.Host) != "" {
			_, err = namesHost(ctx, &c, w, t, "Host")
		}
		return err
	}
	return c
}

// namesHost reports whether an answer links to a host that headers name, twice, and reports it.
func namesHost(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, headers ...string) (bool, error) {
	var evidence []kit.Evidence
	for range 2 {
		host := kit.Word() + ".example.org"
		r := t.Request.Clone()
		for _, name := range headers {
			value := host
			if name == "Forwarded" {
				value = "host=" + host
			}
			r = r.With(name, value)
		}
		r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+kit.Word()+"=1", "&")
		answer, err := w.Send(ctx, t, r)
		if err != nil {
			return false, err
		}
		match := linked(answer, host)
		if match == "" {
			return false, nil
		}
		evidence = append(evidence, kit.Evidence{Request: r, Response: answer, Match: match,
			Note: "the answer links to the host of our header"})
	}
	f := kit.Finding{Request: evidence[0].Request, Payload: headers[0], Evidence: evidence}
	if headers[0] == "Host" { // nobody can make another's browser send it: what matters are mails with such links
		if f.Severity = kit.Info; mailsLinks(w) {
			f.Severity, f.Detail = kit.Low, "there is a page for forgotten passwords, whose mails may link there, too"
		}
	}
	if w.Once("host of " + t.Request.URL.Host + " " + headers[0]) { // one setting is the cause of all pages
		w.Found(c, f)
	}
	return true, nil
}

// abroad are words of other languages for what is forgotten.
const abroad = `|vergessen|vergeten|oubli|olvid|esquec|dimentic|zapom[ei]?n|gl[oöe]mt|unoht|elfelejt|recup[eé]r|unut|uitat`

var forgotten = regexp.MustCompile(`(?i)forg[eo]t|reset|recover|lost.?pass|resend` + abroad)

// mailsLinks reports whether the application sends links for new passwords.
func mailsLinks(w *kit.World) bool {
	return w.Pages != nil && slices.ContainsFunc(w.Pages(), func(r *message.Request) bool {
		return forgotten.MatchString(r.URL.RequestURI())
	})
}

// linked is the part of an answer that links to a host; "" if none does.
func linked(r *message.Response, host string) string {
	if how, to := leadsTo(r, host); how != "" {
		return to
	}
	pattern := regexp.MustCompile(`(?i)(?:href|src|action|content|value)\s*=\s*["']?(?:https?:)?//` + regexp.QuoteMeta(host) + `[^"'\s>]*`)
	return string(pattern.Find(r.Body))
}
