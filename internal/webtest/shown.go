package webtest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Credentials that the application shows to everybody, such as those of a test account in a comment. Where no user was
// given they are tried, each user once: what logs in is a finding, and the application is mapped and tested as that
// user from then on.
var (
	labeledPair = regexp.MustCompile(`(?i)\b(?:user(?:[ _-]?(?:name|id))?|log[ -]?in|e-?mail)\b["']?\s*(?:is\s+)?[:=]?\s*` +
		"[\"'`]?([\\w.@+-]{2,64})[\"'`]?[^\\w\\n]{1,20}(?:and\\s+)?(?:the\\s+)?" +
		`(?:pass(?:word|wd|phrase)?|pwd|pw)\b["']?\s*(?:is\s+)?[:=]?\s*` + "[\"'`]?([^\\s\"'<>`,;]{2,64})")
	joinedPair = regexp.MustCompile(`(?i)\b(?:test(?:ing)?|demo|default|guest|sample|temporary|dev|credentials?|creds?|accounts?|log[ -]?in)\b` +
		"[^\\n]{0,40}?[\\s(:\"'`]([A-Za-z][\\w.@+-]{1,40})\\s?[:/]\\s?([^\\s\"'<>`,;:()/]{2,40})")
	tag     = regexp.MustCompile(`<[^>]{1,500}>`)
	comment = strings.NewReplacer("<!--", "\n", "-->", "\n", "&nbsp;", " ")
)

const maxShown = 3 // users that are tried

// shown are credentials in an answer.
type shown struct {
	user, password, match string
	in                    *sitemap.Entry
}

// shownIn are the credentials that the map has, each user once.
func shownIn(m *sitemap.Map) (all []shown) {
	for _, e := range m.Entries {
		if e.Response == nil || e.Response.Status >= 400 || e.As != "" {
			continue
		}
		text := comment.Replace(string(e.Response.Body[:min(len(e.Response.Body), 256<<10)]))
		for _, pattern := range []*regexp.Regexp{labeledPair, joinedPair} {
			for _, readable := range []string{text, tag.ReplaceAllString(text, " ")} {
				for _, found := range pattern.FindAllStringSubmatch(readable, 20) {
					one := shown{found[1], strings.TrimRight(found[2], "."), found[0], e}
					if len(all) < maxShown && !slices.ContainsFunc(all, func(o shown) bool { return o.user == one.user }) {
						all = append(all, one)
					}
				}
			}
		}
	}
	return all
}

// enterShown logs in with credentials that the application shows, and maps what that user sees.
func (r *run) enterShown(ctx context.Context, m *sitemap.Map, isMapped bool) error {
	if len(r.sessions) > 0 || r.Only || r.Client.Level == client.Passive {
		return nil
	}
	for _, c := range shownIn(m) {
		s, err := r.tryShown(ctx, c)
		if endsRun(err) || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, session.ErrNoLogin) {
				return nil
			}
			continue
		}
		r.note("The application shows the credentials of " + c.user + ". " + s.Describe())
		r.enter(s)
		if isMapped {
			return nil
		}
		return r.mapAs(ctx, m, s.User)
	}
	return nil
}

// enterGuessed logs in with a well-known password, where these may be tried and nobody else is logged in, and maps
// what that user sees. The check for such passwords reports it.
func (r *run) enterGuessed(ctx context.Context, m *sitemap.Map, isMapped bool) error {
	isLogin := slices.ContainsFunc(m.Entries, func(e *sitemap.Entry) bool {
		_, ok := kit.LoginOf(e.Request)
		return e.Login || ok
	})
	if len(r.sessions) > 0 || r.Only || !r.Guess || !isLogin || r.Client.Level == client.Passive {
		return nil
	}
	for _, pair := range kit.UsualPasswords() {
		s, err := r.openSure(ctx, pair[0], pair[1])
		if endsRun(err) || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, session.ErrNoLogin) {
				return nil
			}
			continue
		}
		r.note("A well-known password of " + pair[0] + " was guessed. " + s.Describe())
		r.enter(s)
		if isMapped {
			return nil
		}
		return r.mapAs(ctx, m, s.User)
	}
	return nil
}

// openSure logs a user in, if the same user with another password is refused.
func (r *run) openSure(ctx context.Context, user, password string) (*session.Session, error) {
	open := func(password string) (*session.Session, error) {
		return session.Open(ctx, r.client, r.Starts, session.Account{Name: user, User: user, Password: password,
			Seeds: r.loginSeeds(), Browser: r.Browser})
	}
	s, err := open(password)
	if err != nil {
		return nil, err
	}
	if _, err := open(kit.Word()); !errors.Is(err, session.ErrRefused) {
		return nil, errors.Join(session.ErrRefused, err)
	}
	return s, nil
}

// tryShown logs in with credentials that are shown, and reports them, if the same user with another password is
// refused.
func (r *run) tryShown(ctx context.Context, c shown) (*session.Session, error) {
	s, err := r.openSure(ctx, c.user, c.password)
	if err != nil {
		return nil, err
	}
	check := kit.Check{ID: "shown-credentials", Class: "shown-credentials"}.Describe()
	at := message.From(c.in.Request.Method, c.in.Request.URL)
	r.world.Found(&check, kit.Finding{Request: at, Detail: "the user " + c.user + " was logged in with them",
		Evidence: []kit.Evidence{{Request: at, Response: c.in.Response, Match: c.match,
			Note: "credentials that log in; another password is refused"}},
		Proof: &proof.Program{About: "The page shows the credentials of a user.", Steps: []proof.Step{
			{ID: "page", Send: at, Expect: []proof.Expect{{What: proof.Contains, Value: c.password}}}}}})
	return s, nil
}
