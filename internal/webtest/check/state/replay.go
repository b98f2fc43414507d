package state

import (
	"bytes"
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// replayed is the check for codes of OAuth that get a token more than once (RFC 6749, 4.1.2). The code is a fresh one,
// from the page that has the form; an invented one must be refused. Up to five requests for a form that takes a code.
func replayed() kit.Check {
	c := kit.Check{ID: "code-replay", Class: "code-replay", Level: client.Active}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		var code message.Place
		isExchange := false
		for _, p := range message.Places(t.Request) {
			isExchange = isExchange || p.Name == "grant_type" && p.Value == "authorization_code"
			if p.Name == "code" && !p.Key {
				code = p
			}
		}
		if !isExchange || code.Name == "" || t.Request.Method != http.MethodPost {
			return nil
		}
		value := code.Value
		if page, err := url.Parse(t.From); err == nil && page.Host == t.Request.URL.Host {
			answer, err := w.Ask(ctx, message.From(http.MethodGet, page), t.User)
			if err != nil {
				return err
			}
			if m := codeField.FindSubmatch(answer.Body); m != nil {
				value = html.UnescapeString(string(m[1]) + string(m[2]))
			}
		}
		var answers []*message.Response
		for _, one := range []string{value, value, kit.Word() + kit.Word()} {
			answer, err := send(ctx, w, t.Request.Put(code, one), t.User)
			if err != nil {
				return err
			}
			answers = append(answers, answer)
		}
		if !isToken(answers[0]) || !isToken(answers[1]) || isToken(answers[2]) {
			return nil
		}
		w.Found(&c, kit.Finding{Request: answers[1].Request, Place: code, Payload: value,
			Detail: "the code gets a second token",
			Evidence: []kit.Evidence{{Request: answers[0].Request, Response: answers[0], Note: "the code gets a token"},
				{Request: answers[1].Request, Response: answers[1], Match: "access_token", Note: "and once more"},
				{Request: answers[2].Request, Response: answers[2], Note: "an invented code gets none"}}})
		return nil
	}
	return c
}

var codeField = regexp.MustCompile(`(?i)<input\b[^>]*\bname="code"[^>]*\bvalue="([^"]+)"` +
	`|<input\b[^>]*\bvalue="([^"]+)"[^>]*\bname="code"`)

func isToken(r *message.Response) bool {
	return r.Status == http.StatusOK && bytes.Contains(r.Body, []byte(`"access_token"`))
}

// unasked is the check for the end of a login elsewhere that takes an answer which its user has not asked for (OAuth
// without a state): an attacker links an account of theirs to somebody. The answer with another state must be taken as
// the one with the right state is, and one with an invented code not. Six requests for a link to such a login; at level
// active, as it links what the user may link.
func unasked() kit.Check {
	c := kit.Check{ID: "oauth-state", Class: "csrf", Level: client.Active,
		Title: "A login elsewhere is completed without the state that began it"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		asked := t.Request.URL.Query()
		back, err := url.Parse(asked.Get("redirect_uri"))
		if err != nil || t.Request.Method != http.MethodGet || !kit.Known(t.User) || asked.Get("response_type") != "code" ||
			back.Host != t.Request.URL.Host || !w.Once("oauth state "+back.Host+back.Path) {
			return nil //nolint:nilerr // it is no such link
		}
		var answers []*message.Response
		for _, change := range []func(url.Values){
			func(q url.Values) { q.Set("state", kit.Word()) },
			func(url.Values) {},
			func(q url.Values) { q.Set("code", kit.Word()) },
		} {
			answer, err := returned(ctx, w, t, change)
			if err != nil || answer == nil {
				return err
			}
			answers = append(answers, answer)
		}
		if answers[0].Status >= 400 || !kit.Same(answers[0], answers[1]) || kit.Same(answers[0], answers[2]) {
			return nil
		}
		w.Found(&c, kit.Finding{Request: answers[0].Request, Detail: "an answer with another state is taken",
			Evidence: []kit.Evidence{
				{Request: answers[0].Request, Response: answers[0], Note: "with a state that nobody gave out"},
				{Request: answers[1].Request, Response: answers[1], Note: "with that of the link it is answered alike"},
				{Request: answers[2].Request, Response: answers[2], Note: "an invented code is refused"}}})
		return nil
	}
	return c
}

// returned asks for a code and goes back with it, with the query changed; nil where there is no code.
func returned(ctx context.Context, w *kit.World, t *kit.Target, change func(url.Values)) (*message.Response, error) {
	given, err := w.Ask(ctx, t.Request, t.User)
	if err != nil {
		return nil, err
	}
	to := given.Redirect()
	if to == nil || to.Host != t.Request.URL.Host || to.Query().Get("code") == "" {
		return nil, nil //nolint:nilnil // it gives none
	}
	query := to.Query()
	change(query)
	to.RawQuery = query.Encode()
	return send(ctx, w, message.From(http.MethodGet, to), t.User)
}
