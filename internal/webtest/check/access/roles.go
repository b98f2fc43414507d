package access

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Roles that the client says: cookies whose name or value is that of a role. Such a value is no secret: anybody can
// write it.
var (
	roleName = regexp.MustCompile(`(?i)role|admin|level|group|priv|access|perm|staff|rank|usertype|user_type` +
		`|account_?type|is_?(?:super|auth)`)
	roleValue = regexp.MustCompile(`(?i)^(?:true|false|yes|no|admin(?:istrator)?|root|manager|user|guest|member` +
		`|customer|client|clerk|employee|staff|normal|basic|standard|premium|free|regular|silver|gold|reader|editor)$`)
	plainWord = regexp.MustCompile(`^(?:[A-Za-z_]{1,14}|\d{1,4})$`)
)

// higher are values of roles that may do more.
var higher = []string{"admin", "true", "1", "administrator"}

const maxRefused = 40 // pages that are tried with other roles

// roles is the check for roles that a cookie says. A page that a user is refused is asked for with the same cookies,
// but for the one of the role; another word there must be refused as before. No requests where no cookie speaks of a
// role; otherwise one for each page of the map and each user, and six for each of 40 that are refused.
func roles() kit.Check {
	c := kit.Check{ID: "role-of-client", Class: "bfla", Level: client.Safe, CWE: 565}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, u := range w.Users[:min(len(w.Users), 3)] {
			if err := rolesOf(ctx, w, &c, u); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// rolesOf tries other roles on the pages that a user is refused.
func rolesOf(ctx context.Context, w *kit.World, c *kit.Check, u *client.User) error {
	tried := 0
	for _, r := range w.Pages() {
		cookies := roleCookies(u, r.URL)
		if len(cookies) == 0 || tried >= maxRefused || r.Method != http.MethodGet && w.Level < client.Active {
			continue
		}
		base, err := asUser(ctx, w, r, u)
		if err != nil {
			return err
		}
		if !denies(base) {
			continue
		}
		tried++
		for _, p := range cookies {
			if err := raised(ctx, w, c, r, u, p, base); err != nil {
				return err
			}
		}
	}
	return nil
}

// asUser is what a user gets for a page, which may be known, or for what the user sends.
func asUser(ctx context.Context, w *kit.World, r *message.Request, u *client.User) (*message.Response, error) {
	if r.Method == http.MethodGet {
		return w.Shown(ctx, r, u)
	}
	answer, err := w.Client.Send(ctx, r, client.Options{As: u, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return &message.Response{Request: r}, nil
	}
	return kit.Broken(ctx, r, answer, err)
}

// roleCookies are the cookies of a user that speak of a role.
func roleCookies(u *client.User, at *url.URL) (out []message.Place) {
	for _, k := range u.Cookies(at) {
		p := message.PlaceOfCookie(k.Name, k.Value)
		for _, m := range p.Members() {
			if roleName.MatchString(m.Inner) && plainWord.MatchString(m.Value) || isFlag(u, m) {
				out = append(out, m)
			}
		}
		plain := p.Value
		if raw, err := base64.StdEncoding.DecodeString(p.Value); err == nil && plainWord.Match(raw) && len(p.Value)%4 == 0 {
			plain = string(raw)
		}
		if plainWord.MatchString(plain) && (roleName.MatchString(k.Name) || roleValue.MatchString(plain)) ||
			plainWord.MatchString(p.Value) && roleName.MatchString(k.Name) {
			out = append(out, p)
		}
	}
	return out
}

// isFlag reports whether a member of an object in a cookie is a right that its user has not, such as "librarian":
// false beside their name. What a visitor has seen or agreed to is none.
func isFlag(u *client.User, m message.Place) bool {
	return m.Value == "false" && kit.Known(u) && strings.Contains(m.Outer, `"`+u.Name+`"`) && !agreed.MatchString(m.Inner)
}

var agreed = regexp.MustCompile(`(?i)consent|accept|agree|seen|shown|dismiss|hid|terms|privacy|gdpr|cookie|banner|popup|` +
	`welcome|intro|tour|remember|dark|adult|verified|confirmed|news`)

// raised reports a page that is refused, and that another role in a cookie opens.
func raised(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, u *client.User, p message.Place,
	base *message.Response,
) error {
	encode := func(text string) string { return text }
	if raw, err := base64.StdEncoding.DecodeString(p.Value); err == nil && roleValue.Match(raw) {
		encode = func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	}
	values := slices.Clone(higher)
	nonsense := func() string { return encode(strings.ToLower(kit.Word())) }
	if isFlag(u, p) && !roleName.MatchString(p.Inner) { // any word may hold as true: as it was, it is refused again
		values, nonsense = []string{"true"}, func() string { return "false" }
	}
	for _, other := range w.Users {
		for _, q := range roleCookies(other, r.URL) {
			if q.Name == p.Name && q.Inner == p.Inner && !slices.Contains(values, q.Value) {
				values = append(values, q.Value)
			}
		}
	}
	send := func(value string) (*message.Request, *message.Response, error) {
		made := r.Put(p, value)
		answer, err := w.Client.Send(ctx, made, client.Options{As: u, Fresh: true, Writes: r.Method != http.MethodGet})
		answer, err = kit.Broken(ctx, made, answer, err)
		return made, answer, err
	}
	for _, value := range values {
		if value == p.Value {
			continue
		}
		opened, answer, err := send(encode(value))
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || kit.Refusal(answer) != "" || base.Status != http.StatusOK && kit.Same(base, answer) {
			continue
		}
		control, refused, err := send(nonsense())
		if err != nil || refused.Status != base.Status || base.Status == http.StatusOK && kit.Refusal(refused) == "" {
			return err
		}
		_, again, err := send(encode(value))
		if err != nil || !kit.Same(answer, again) {
			return err
		}
		user, users := kit.Names(u)
		status := func(r *message.Response) []proof.Expect {
			if kit.Refusal(r) != "" {
				return []proof.Expect{{What: proof.Matches, Value: kit.Refusing.String()}}
			}
			return []proof.Expect{{What: proof.Status, Value: strconv.Itoa(r.Status)}}
		}
		w.Found(c, kit.Finding{Request: opened, Place: p, Payload: encode(value),
			Detail: "the cookie " + p.Name + " says the role",
			Evidence: []kit.Evidence{
				{Request: r, Response: base, Note: u.Name + " is refused"},
				{Request: opened, Response: answer, Note: "and is not with another value of the cookie " + p.Name},
				{Request: control, Response: refused, Note: "a value that is no role is refused"}},
			Proof: &proof.Program{About: "A cookie that anybody can write says what its sender may do.", Users: users, Steps: []proof.Step{
				{ID: "refused", As: user, Send: r, Expect: status(base)},
				{ID: "opened", As: user, Send: opened, Expect: status(answer)},
				{ID: "control", As: user, Send: control, Expect: status(refused)}}}})
		return raisedForms(ctx, w, c, answer, u, p, encode(value), nonsense)
	}
	return nil
}

// maxRaisedForms are how many forms of a page that a role opens are tried.
const maxRaisedForms = 5

// raisedForms tries the forms of a page that another role in a cookie has opened, which no map has: the user's own
// cookie is refused, the other role is not, a word that is no role is.
func raisedForms(ctx context.Context, w *kit.World, c *kit.Check, page *message.Response, u *client.User,
	p message.Place, value string, nonsense func() string,
) error {
	if w.Level < client.Active || page.Request.Method != http.MethodGet {
		return nil
	}
	for i, form := range sitemap.Forms(page) {
		if form.Method != http.MethodPost || !kit.Sendable(form) || form.URL.Host != page.Request.URL.Host ||
			i >= maxRaisedForms || !w.Once("raised form "+u.Name+form.URL.Host+form.URL.RequestURI()+p.Name) {
			continue
		}
		form.Token = nil // it is that of the page which is open
		var answers []*message.Response
		for _, role := range []string{p.Value, value, nonsense()} {
			made := form.Put(p, role)
			answer, err := w.Client.Send(ctx, made, client.Options{As: u, Writes: true})
			if errors.Is(err, client.ErrScope) {
				break
			}
			if answer, err = kit.Broken(ctx, made, answer, err); err != nil {
				return err
			}
			answers = append(answers, answer)
		}
		if len(answers) < 3 || !denies(answers[0]) || answers[1].Status >= http.StatusBadRequest || denies(answers[1]) ||
			!denies(answers[2]) {
			continue
		}
		w.Found(c, kit.Finding{Request: answers[1].Request, Place: p, Payload: value,
			Detail: "the cookie " + p.Name + " says the role",
			Evidence: []kit.Evidence{{Request: answers[0].Request, Response: answers[0], Note: u.Name + " is refused"},
				{Request: answers[1].Request, Response: answers[1], Note: "and is not with another value of the cookie " + p.Name},
				{Request: answers[2].Request, Response: answers[2], Note: "a word that is no role is refused"}}})
	}
	return nil
}

// denies reports whether an answer refuses.
func denies(r *message.Response) bool {
	return r.Status == http.StatusForbidden || r.Status == http.StatusUnauthorized || kit.Refusal(r) != ""
}

// written reports functions that only pages of the owner lead to, and that the other can call all the same. Three
// requests for each; at level active alone.
func written(ctx context.Context, w *kit.World, c *kit.Check, views []view, owner, other *client.User) error {
	if w.Level < client.Active {
		return nil
	}
	for _, r := range w.Pages() {
		v := &view{request: r}
		if reads(r) || r.IsMessage() || len(r.URL.Path) < 2 || !onlyShownTo(views, v) ||
			!w.Once("written "+r.Method+r.URL.Path+owner.Name+other.Name) {
			continue
		}
		answers, err := asEach(ctx, w, r, owner, other)
		if err != nil {
			return err
		}
		control := proof.Step{ID: "nobody", Send: r, Writes: true, Expect: []proof.Expect{{What: proof.Same, Of: "owner",
			Not: true}}}
		about := "what nobody gets"
		works := answers[0].Status != 0 && answers[0].Status < 400
		if link := kit.AsLink(r); link != nil && works && answers[1].Status >= 400 {
			// the rule may know one method alone, and the application takes both
			if r = link; !w.Once("written by link " + r.URL.Path + owner.Name + other.Name) {
				continue
			}
			byLink, err := asEach(ctx, w, r, owner, other)
			if err != nil {
				return err
			}
			if !kit.Same(byLink[0], answers[0]) {
				continue
			}
			control.As, control.ID, about = other.Name, "usual", "what "+other.Name+" gets by the form"
			answers = []*message.Response{byLink[0], byLink[1], answers[1]}
		}
		if answers[0].Status == 0 || answers[0].Status >= 400 || !kit.Same(answers[0], answers[1]) || kit.Same(answers[0],
			answers[2]) {
			continue
		}
		w.Found(c, kit.Finding{Request: r, Evidence: []kit.Evidence{
			{Request: r, Response: answers[0], Note: "what " + owner.Name + " gets, whom pages lead there"},
			{Request: r, Response: answers[1], Note: "what " + other.Name + " gets, whom no page leads there"},
			{Request: control.Send, Response: answers[2], Note: about}},
			Proof: &proof.Program{About: other.Name + " can do what only " + owner.Name + " is shown.",
				Users: []string{owner.Name, other.Name}, Steps: []proof.Step{
					{ID: "owner", As: owner.Name, Send: r, Writes: true},
					{ID: "other", As: other.Name, Send: r, Writes: true, Expect: []proof.Expect{{What: proof.Same, Of: "owner"}}},
					control}}})
	}
	return nil
}

// asEach sends a request as the owner, as the other, and as nobody; one that may not be sent has an answer of status 0.
func asEach(ctx context.Context, w *kit.World, r *message.Request, owner,
	other *client.User) (answers []*message.Response, err error) {
	for _, u := range []*client.User{owner, other, nil} {
		answer, err := w.Client.Send(ctx, r, client.Options{As: u, Writes: true})
		if errors.Is(err, client.ErrScope) {
			answer, err = &message.Response{Request: r}, nil
		}
		if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
