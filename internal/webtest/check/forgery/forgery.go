// Package forgery finds requests that another site can make the browser of a user send, and that are answered as the
// user's own (CWE-352). Which cookies browsers send with such requests is known from what the cookies say
// (client.Origin).
package forgery

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{forms(), passwords()} }

// forms is the check for forms that other sites can send. It sends a form as its user with the Origin and the Referer
// of another site, then as a site sends it that names none, and without its token, if it has one; the answer must be
// that of the form itself, and nobody's another. Where a form is sent by POST, a link with its fields is tried as well;
// one that wants its token is sent with that of another user, who may be the attacker. JSON is sent as plain text. It
// is proved where the cookies that carry the session are for all sites, or where a value of ours that was sent so
// stands on a page afterwards and those cookies are for the requests of other sites by some browsers; a form that is
// sent by GET, that has a token, or whose words do not say that it changes something, needs that effect. Then the form
// is sent as it was. Six requests for a form that changes data; up to thirty for one that another site can send.
func forms() kit.Check {
	c := kit.Check{ID: "csrf", Class: "csrf", Level: client.Active}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if !forgeable(t) {
			return nil
		}
		own, err := w.Send(ctx, t, t.Request)
		if err != nil || own.Status >= 400 {
			return err
		}
		best, err := inSomeWay(ctx, w, t, own)
		if err == nil && best == nil {
			var theirs *message.Request
			if theirs, err = tokenOfAnother(ctx, w, t); err == nil && theirs != nil {
				best, err = forged(ctx, w, t, own, theirs)
			}
		}
		if err == nil && best != nil {
			w.Found(&c, *best)
		}
		return err
	}
	return c
}

// inSomeWay is the best of what is found of a form without its token, and of a link with its fields; nil: nothing.
func inSomeWay(ctx context.Context, w *kit.World, t *kit.Target, own *message.Response) (best *kit.Finding, err error) {
	for _, bare := range []*message.Request{withoutToken(t.Request), kit.AsLink(withoutToken(t.Request))} {
		if bare == nil || !reaches(t, bare) {
			continue
		}
		found, err := forged(ctx, w, t, own, bare)
		if err != nil {
			return nil, err
		}
		if found != nil && found.Confidence == kit.Proved {
			return found, nil
		}
		if best == nil {
			best = found
		}
	}
	return best, nil
}

// reaches reports whether some cookie goes with a request of another site.
func reaches(t *kit.Target, bare *message.Request) bool {
	if bare.Method != http.MethodGet {
		return true
	}
	sent, _ := t.User.Sends(bare.URL, client.ByLink)
	return sent
}

// foreigns are a request as other sites send it: with their address, and without any.
func foreigns(bare *message.Request) []*message.Request {
	bare = asText(bare)
	named := bare.With("Referer", "https://example.org/").With("Sec-Fetch-Site", "cross-site")
	silent := bare.With("Sec-Fetch-Site", "cross-site")
	silent.Header.Del("Referer")
	if bare.Method != http.MethodGet { // for a link browsers name no origin
		named = named.With("Origin", "https://"+kit.Word()+".example.org")
		silent = silent.With("Origin", "null")
	}
	return []*message.Request{named, silent}
}

// forged is what is found of a form that another site sends; nil if it is answered otherwise than the user's own.
func forged(ctx context.Context, w *kit.World, t *kit.Target, own *message.Response, bare *message.Request) (
	*kit.Finding, error,
) {
	var probable *kit.Finding
	for _, foreign := range foreigns(bare) {
		crossed, err := w.Send(ctx, t, foreign)
		if err != nil {
			return nil, err
		}
		if !answeredAs(own, crossed) {
			continue
		}
		nobody, err := w.Client.Send(ctx, bare, client.Options{})
		if err != nil || answeredAs(own, nobody) {
			return nil, err
		}
		user, users := kit.Names(t.User)
		f := kit.Finding{Request: foreign, Confidence: kit.Probable,
			Detail: "browsers may keep the cookie back (SameSite); whether the effect came was not seen",
			Evidence: []kit.Evidence{{Request: foreign, Response: crossed, Note: "a request of another site is answered as one's own"},
				{Request: t.Request, Response: nobody, Note: "nobody is answered otherwise"}},
			Proof: &proof.Program{About: "A request of another site is answered as one's own.", Users: users, Steps: []proof.Step{
				{ID: "own", As: user, Send: ownOf(t.Request, bare), Writes: true},
				{ID: "foreign", As: user, Send: foreign, Writes: true, Expect: []proof.Expect{{What: proof.Same, Of: "own"}}},
			}}}
		enough, err := believed(ctx, w, t, &f)
		if err != nil || enough && f.Confidence == kit.Proved {
			return &f, err
		}
		if enough && probable == nil {
			probable = &f
		}
	}
	return probable, nil
}

// answeredAs reports whether two answers say the same, or lead to the same page: the text that servers write with a
// redirect depends on the method.
func answeredAs(a, b *message.Response) bool {
	to, other := a.Redirect(), b.Redirect()
	return kit.Same(a, b) || a.Status == b.Status && to != nil && other != nil && to.String() == other.String()
}

// ownOf is what a request of another site is compared with by a proof: the form, or the same link.
func ownOf(form, bare *message.Request) *message.Request {
	if form.Method != bare.Method {
		return bare
	}
	return form
}

// forgeable reports whether another site could send a request with a user's cookies, and would change something by it.
func forgeable(t *kit.Target) bool {
	if !kit.Known(t.User) || !changes(t) && !mayChange(t) || len(t.User.Cookies(t.Request.URL)) == 0 ||
		t.User.Headers(t.Request.URL).Get("Authorization") != "" || headerToken(t.Request) {
		return false
	}
	switch t.Request.Method {
	case http.MethodGet:
		sent, _ := t.User.Sends(t.Request.URL, client.ByLink)
		return t.Request.URL.RawQuery != "" && sent
	case http.MethodPost:
		return kit.Sendable(t.Request) || isJSON(t.Request)
	}
	return false
}

// tokenOfAnother is a form with the token that another user gets, who may be an attacker; nil where there is none.
func tokenOfAnother(ctx context.Context, w *kit.World, t *kit.Target) (*message.Request, error) {
	token := t.Request.Token
	if token == nil || token.Page == nil || t.Request.Method != http.MethodPost {
		return nil, nil //nolint:nilnil // there is none
	}
	for _, u := range w.Users {
		if u == t.User {
			continue
		}
		page, err := w.Ask(ctx, token.Page, u)
		if err != nil {
			return nil, err
		}
		for _, form := range sitemap.Forms(page) {
			if form.Token != nil && form.Token.Field == token.Field && form.Token.Value != "" {
				theirs := t.Request.Put(token.Place, form.Token.Value)
				theirs.Token = nil
				return theirs, nil
			}
		}
		break
	}
	return nil, nil //nolint:nilnil // there is none
}

func isJSON(r *message.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && len(r.Body) > 0
}

// asText is a request with JSON as a form of another site can send it: as plain text, which browsers send unasked.
func asText(r *message.Request) *message.Request {
	if isJSON(r) {
		return r.With("Content-Type", "text/plain")
	}
	return r
}

// believed looks for the proof of a finding, and reports whether there is enough to report it.
func believed(ctx context.Context, w *kit.World, t *kit.Target, f *kit.Finding) (enough bool, err error) {
	byLink := f.Request.Method == http.MethodGet
	// What is refused is often answered as what is not; and a form that only may change something has to be seen to.
	needed := byLink || hasToken(t.Request) || !changes(t)
	if !needed {
		const all = "other-site-in-all-browsers"
		ok, err := carried(ctx, w, t, f, proof.Origins[all])
		if err != nil {
			return false, err
		}
		if ok {
			f.Confidence, f.Detail = kit.Proved, "its cookies say that browsers send them from all sites (SameSite=None)"
			f.Proof.Steps[1].From = all
			return true, nil
		}
	}
	origin := "other-site"
	if byLink {
		origin = "link"
	}
	from := proof.Origins[origin]
	if ok, err := carried(ctx, w, t, f, from); err != nil || !ok {
		return !needed, err
	}
	seen, err := effect(ctx, w, t, f.Request, from)
	if err != nil || seen == nil {
		return !needed, err
	}
	f.Confidence, f.Evidence = kit.Proved, append(f.Evidence, *seen)
	f.Proof.Steps[1].From = origin
	f.Detail = "its cookies do not say for which sites they are, and not all browsers keep them back"
	if byLink {
		f.Detail = "a link of another site is enough, which browsers send with the cookies"
	}
	return true, nil
}

// carried reports whether the cookies that a browser sends with requests of an origin carry the session: the answer
// with them alone is that of all. One request where some are kept back; none otherwise.
func carried(ctx context.Context, w *kit.World, t *kit.Target, f *kit.Finding, from client.Origin) (bool, error) {
	if some, all := t.User.Sends(t.Request.URL, from); !some || all {
		return some, nil
	}
	answer, err := w.SendFrom(ctx, t, f.Request, from)
	if err != nil || !kit.Same(f.Evidence[0].Response, answer) {
		return false, err
	}
	f.Evidence = append(f.Evidence, kit.Evidence{Request: f.Request, Response: answer,
		Note: "so it is with those cookies alone that browsers send from other sites"})
	return true, nil
}

// maxEffects are how many fields of a form are tried until the effect of one is seen.
const maxEffects = 2

// effect sends a request of another site with a value of ours, and is the page that shows it afterwards; nil if none
// does. In the end the form is sent as it was.
func effect(ctx context.Context, w *kit.World, t *kit.Target, foreign *message.Request, from client.Origin) (
	*kit.Evidence, error,
) {
	tried := 0
	if isJSON(t.Request) { // its places are those of JSON
		foreign = foreign.With("Content-Type", t.Request.Header.Get("Content-Type"))
	}
	for _, p := range message.Places(foreign) {
		of := p.Component == message.Body || p.Component == message.Query && foreign.Method == http.MethodGet
		if !of || p.Key || p.File || tried >= maxEffects || !typed.MatchString(p.Value) || kit.TokenName.MatchString(p.Name) {
			continue
		}
		tried++
		word := kit.Word()
		value := word
		if _, domain, isMail := strings.Cut(p.Value, "@"); isMail {
			value += "@" + domain
		}
		answer, err := w.SendFrom(ctx, t, asText(foreign.Put(p, value)), from)
		if err != nil {
			return nil, err
		}
		seen, err := shows(ctx, w, t, answer, word)
		if err != nil {
			return nil, err
		}
		if _, err := w.Send(ctx, t, t.Request); err != nil || seen != nil {
			return seen, err
		}
	}
	return nil, nil //nolint:nilnil // none is seen
}

// typed are values that a user writes: words and addresses of mail.
var typed = regexp.MustCompile(`^[A-Za-z][\w .-]{1,60}$|^[\w.+-]{1,40}@[\w.-]{3,60}$`)

// shows is the page that has a word: where the answer leads, the page of the form, or its own address.
func shows(ctx context.Context, w *kit.World, t *kit.Target, answer *message.Response, word string) (
	*kit.Evidence, error,
) {
	bare := *t.Request.URL
	bare.RawQuery = ""
	pages := []*url.URL{answer.Redirect(), &bare}
	if from, err := url.Parse(t.Request.Header.Get("Referer")); err == nil {
		pages = append(pages, from)
	}
	if from, err := url.Parse(t.From); err == nil {
		pages = append(pages, from)
	}
	for i, at := range pages {
		if at == nil || at.Host != t.Request.URL.Host || strings.Contains(at.String(), word) ||
			slices.ContainsFunc(pages[:i], func(u *url.URL) bool { return u != nil && u.String() == at.String() }) {
			continue
		}
		get := message.From(http.MethodGet, at)
		page, err := w.Client.Send(ctx, get, client.Options{As: t.User})
		if page, err = kit.Broken(ctx, get, page, err); err != nil {
			return nil, err
		}
		if strings.Contains(string(page.Body), word) {
			return &kit.Evidence{Request: get, Response: page, Match: kit.Around(page.Body, word),
				Note: "afterwards the page has the value that a request of another site brought"}, nil
		}
	}
	return nil, nil //nolint:nilnil // none has it
}

// changes reports whether a request changes something: by its words, or as its answer leads back to a page, as those of
// forms that write do. A login is none.
func changes(t *kit.Target) bool {
	_, isLogin := kit.LoginOf(t.Request)
	return client.Writes(t.Request) || !isLogin && t.Response != nil && t.Response.Redirect() != nil
}

// mayChange reports whether a form by POST, whose answer is a page and whose words do not say it, may change something
// all the same: applications protect that by tokens, and an address of mail is seldom what is only looked for. A login
// does not.
func mayChange(t *kit.Target) bool {
	_, isLogin := kit.LoginOf(t.Request)
	if isLogin || t.Request.Method != http.MethodPost || kit.TakesPassword(t.Request) {
		return false
	}
	return hasToken(t.Request) || slices.ContainsFunc(message.Places(t.Request), func(p message.Place) bool {
		return p.Component == message.Body && !p.Key && kit.MailAddress.FindString(p.Value) == p.Value && p.Value != ""
	})
}

// headerToken reports whether a request has a token in a header, which no form of another site can send.
func headerToken(r *message.Request) bool {
	for name := range r.Header {
		if kit.TokenName.MatchString(name) {
			return true
		}
	}
	return false
}

func hasToken(r *message.Request) bool {
	return slices.ContainsFunc(message.Places(r), func(p message.Place) bool { return kit.TokenName.MatchString(p.Name) })
}

// withoutToken is a request whose fields with a token have another name, so that it comes without them.
func withoutToken(r *message.Request) *message.Request {
	out := r.Clone()
	out.Token = nil
	for _, p := range message.Places(r) {
		if (p.Component == message.Body || p.Component == message.Query) && !p.Key && kit.TokenName.MatchString(p.Name) {
			out = out.Rename(p, kit.Word(), p.Value)
		}
	}
	return out
}
