package access

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// try sends a login as nobody; what is compared has neither the name nor the password in it.
func try(ctx context.Context, w *kit.World, l *kit.Login, name, password string) (
	*message.Response, *diff.Page, error,
) {
	r := l.With(name, password)
	answer, err := w.Client.Send(ctx, r, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	return answer, diff.New(answer, name, password), nil
}

// enumeration is the check for logins that tell whether a name exists: the answers to three unknown names agree, and
// that to a known one is another, twice. Six requests for a login, two of them for each known name.
//
//nolint:gocognit // the steps of one check
func enumeration() kit.Check {
	c := kit.Check{ID: "user-enumeration", Class: "user-enumeration", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || !w.Once("enumeration "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		password := kit.Word()
		var pages []*diff.Page
		var unknown *message.Response
		for range 3 {
			answer, page, err := try(ctx, w, &l, kit.Word(), password)
			if err != nil {
				return err
			}
			unknown, pages = answer, append(pages, page)
		}
		noise := diff.Learn(pages...)
		if !diff.Same(pages[0], pages[1], noise) || !diff.Same(pages[0], pages[2], noise) ||
			unknown.Status == http.StatusTooManyRequests {
			return nil
		}
		for _, name := range knownNames(w) {
			if strings.Contains(strings.ToLower(string(unknown.Body)), strings.ToLower(name)) {
				continue // the page says it of itself, and what is cut as an echo would be more than that
			}
			first, page, err := try(ctx, w, &l, name, password)
			if err != nil {
				return err
			}
			if diff.Same(page, pages[0], noise) || first.Status == http.StatusTooManyRequests || first.Status >= 500 {
				continue
			}
			_, second, err := try(ctx, w, &l, name, password)
			if err != nil || !diff.Same(page, second, noise) {
				return err
			}
			_, last, err := try(ctx, w, &l, kit.Word(), password)
			if err != nil || !diff.Same(last, pages[0], noise) {
				return err
			}
			strange := kit.Word()
			w.Found(&c, kit.Finding{Request: l.With(name, password), Place: l.Name, Payload: name, Evidence: []kit.Evidence{
				{Request: first.Request, Response: first, Note: "the answer to a name that exists, with a wrong password"},
				{Request: unknown.Request, Response: unknown, Note: "the answer to names that do not"},
			}, Proof: &proof.Program{About: "The login answers a known name otherwise than unknown ones.", Steps: []proof.Step{
				{ID: "unknown", Send: l.With(strange, password), Cut: []string{strange}},
				{ID: "other", Send: l.With(strange+"a", password), Cut: []string{strange + "a"},
					Expect: []proof.Expect{{What: proof.Same, Of: "unknown"}}},
				{
					ID:     "known",
					Send:   l.With(name, password),
					Cut:    []string{name},
					Expect: []proof.Expect{{What: proof.Same, Of: "unknown", Not: true}},
				},
			}}})
			return nil
		}
		return nil
	}
	return c
}

// knownNames are names that exist, or may well.
func knownNames(w *kit.World) (names []string) {
	for _, u := range w.Users[:min(len(w.Users), 2)] {
		names = append(names, u.Name)
	}
	return append(names, "admin")
}

// pairs are well-known names and passwords, few because accounts are locked after some.
var pairs = [][2]string{{"admin", "admin"}, {"admin", "password"}, {"admin", "admin123"},
	{"tomcat", "tomcat"}, {"test", "test"}}

// UsualPasswords are well-known names with their passwords.
func UsualPasswords() [][2]string { return pairs }

// defaults is the check for well-known passwords. It is only run when it is allowed. A random pair must fail, and one
// that works must work again. Two requests, and one for each pair.
func defaults() kit.Check {
	c := kit.Check{ID: "default-login", Class: "default-login", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || !w.Once("defaults "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		if !w.Defaults {
			w.Skip(t, c.Class, "default passwords are not tried unless it is allowed")
			return nil
		}
		control, failed, err := try(ctx, w, &l, kit.Word(), kit.Word())
		if err != nil {
			return err
		}
		_, wrong, err := try(ctx, w, &l, "admin", kit.Word())
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			answer, page, err := try(ctx, w, &l, pair[0], pair[1])
			if err != nil {
				return err
			}
			if diff.Same(page, failed, nil) || diff.Same(page, wrong, nil) || !loggedIn(l.Request, answer, control) {
				continue
			}
			again, _, err := try(ctx, w, &l, pair[0], pair[1])
			if err != nil || !loggedIn(l.Request, again, control) {
				return err
			}
			w.Found(&c, kit.Finding{Request: answer.Request, Place: l.Password, Payload: pair[0] + " with a well-known password",
				Evidence: []kit.Evidence{{Request: answer.Request, Response: answer, Note: "it logs in, twice"},
					{Request: control.Request, Response: control, Note: "a random name and password do not"}}})
			return nil
		}
		return nil
	}
	return c
}

var tokenField = regexp.MustCompile(`(?i)"(?:access_?token|auth_?token|token|jwt|session_?id?)"\s*:\s*"[^"]{8,}"`)

// loggedIn says whether an answer is that of a login that worked: it leads elsewhere than the failed one and sets a
// cookie, or has a token. Where the form has a token there is a session already, and a failed login leads nowhere.
func loggedIn(form *message.Request, r, failed *message.Response) bool {
	if tokenField.Match(r.Body) && !tokenField.Match(failed.Body) {
		return true
	}
	to := r.Header.Get("Location")
	return r.Status/100 == 3 && to != failed.Header.Get("Location") && !strings.Contains(strings.ToLower(to), "error") &&
		!strings.Contains(strings.ToLower(to), "fail") && (len(r.Header["Set-Cookie"]) > 0 || form.Token != nil && failed.Status/100 != 3)
}

// privileged are fields that users must not set for themselves.
var privileged = []string{"admin", "is_admin", "isAdmin", "role_admin", "staff", "is_staff", "isStaff", "superuser",
	"is_superuser", "moderator", "premium", "approved", "verified"}

// assignment is the check for fields that a request should not set. A field of privilege is added to the JSON that
// makes or changes an object, whose text fields are made unique; then pages of the map are read, and the object must
// have the
// field as we set it, while one that was made without it does not, and an invented field does not stick.
// Up to six requests for a request that makes objects, and two for each page that lists some; at level active only.
func assignment() kit.Check {
	c := kit.Check{ID: "mass-assignment", Class: "mass-assignment", Level: client.Active}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, r := range w.Pages() {
			if r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch {
				continue
			}
			if !strings.Contains(r.Header.Get("Content-Type"), "json") || !w.Once("assign "+r.Method+r.URL.Host+r.URL.Path) {
				continue
			}
			for _, u := range append([]*client.User{nil}, w.Users...) {
				found, err := assign(ctx, &c, w, r, u)
				if err != nil {
					return err
				}
				if found {
					break
				}
			}
		}
		return assignForms(ctx, w, &c)
	}
	return c
}

// wrappedIn is the only member of an object, where that is an object itself; "" where there are more.
func wrappedIn(fields map[string]any) string {
	for name, value := range fields {
		if inner, ok := value.(map[string]any); ok && len(fields) == 1 && len(inner) > 0 {
			return name
		}
	}
	return ""
}

// marked is a copy of a request whose texts are a new word, with more fields.
func marked(r *message.Request, wrap string, fields, more map[string]any) (made *message.Request, mark string) {
	mark = kit.Word()
	out := map[string]any{}
	for name, value := range fields {
		if text, ok := value.(string); ok && !client.IsPassword(name) {
			value = mark
			if strings.Contains(text, "@") || strings.Contains(strings.ToLower(name), "mail") {
				value = mark + "@example.org"
			}
		}
		out[name] = value
	}
	maps.Copy(out, more)
	made = r.Clone()
	if wrap != "" {
		out = map[string]any{wrap: out}
	}
	if body, err := json.Marshal(out); err == nil {
		made.Body = body
	}
	return made, mark
}

// unset are the fields of privilege that an object has and a request has not, as they would be set.
func unset(fields, object map[string]any) map[string]any {
	more := map[string]any{}
	for _, name := range privileged {
		value, there := object[name]
		if _, known := fields[name]; !known && there && value != true && value != 1.0 {
			more[name] = true
		}
	}
	if role, ok := object["role"].(string); ok && fields["role"] == nil && role != "admin" {
		more["role"] = "admin"
	}
	return more
}

// assign tests one request as one user.
func assign(ctx context.Context, c *kit.Check, w *kit.World, r *message.Request, as *client.User) (bool, error) {
	var fields map[string]any
	if json.Unmarshal(r.Body, &fields) != nil || len(fields) == 0 {
		return false, nil //nolint:nilerr // it is no object
	}
	wrap := ""
	if inner := wrappedIn(fields); inner != "" { // {"user":{…}}
		wrap = inner
		fields, _ = fields[inner].(map[string]any)
	}
	send := func(more map[string]any) (made *message.Request, mark string, object map[string]any, at *message.Response,
		err error,
	) {
		made, mark = marked(r, wrap, fields, more)
		answer, err := w.Client.Send(ctx, made, client.Options{As: as, Writes: true})
		if errors.Is(err, client.ErrScope) {
			return made, mark, nil, nil, nil
		}
		if answer, err = kit.Broken(ctx, made, answer, err); err != nil || answer.Status == 0 || answer.Status >= 300 {
			return made, mark, nil, nil, err
		}
		object, at = objectWith(ctx, w, answer, mark, as)
		return made, mark, object, at, nil
	}
	_, _, before, at, err := send(nil)
	if err != nil || before == nil {
		return false, err
	}
	more := unset(fields, before)
	if len(more) == 0 {
		return false, nil
	}
	invented := "invented" + kit.Word()
	more[invented] = true
	raised, mark, after, shown, err := send(more)
	if err != nil || after == nil || after[invented] != nil { // it keeps whatever it is sent
		return false, err
	}
	for name, value := range more {
		if after[name] != value {
			continue
		}
		w.Found(c, kit.Finding{Request: raised,
			Place:   message.Place{Component: message.Body, Format: message.JSON, Name: name},
			Payload: name, Detail: "an object of ours, " + mark + ", was left there", Evidence: []kit.Evidence{
				{Request: shown.Request, Response: shown, Match: kit.Around(shown.Body, mark),
					Note: "the object has the field " + name + " as we set it"},
				{Request: at.Request, Response: at, Note: "one that was made without it has another"},
			}})
		return true, nil
	}
	return false, nil
}

// objectWith looks for an object that has a word as a value: in an answer, or on the pages of the map.
func objectWith(ctx context.Context, w *kit.World, answer *message.Response, mark string, as *client.User) (
	map[string]any, *message.Response,
) {
	if o := find(answer.Body, mark); len(o) > 1 {
		return o, answer
	}
	sent := 0
	var best map[string]any // a list may show less of it than another page
	var shown *message.Response
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || sent >= 60 {
			continue
		}
		sent++
		page, err := w.Client.Send(ctx, r, client.Options{As: as})
		if err != nil {
			continue
		}
		if o := find(page.Body, mark); len(o) > len(best) {
			best, shown = o, page
		}
	}
	return best, shown
}

// find is the innermost object of a JSON text that has a word in one of its values.
func find(body []byte, mark string) map[string]any {
	if !strings.Contains(string(body), mark) {
		return nil
	}
	var value any
	if json.Unmarshal(body, &value) != nil {
		return nil
	}
	return findIn(value, mark, 20)
}

func findIn(value any, mark string, depth int) map[string]any {
	if depth == 0 {
		return nil
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if o := findIn(one, mark, depth-1); o != nil {
				return o
			}
		}
	case map[string]any:
		for _, one := range v {
			if o := findIn(one, mark, depth-1); o != nil {
				return o
			}
		}
		for _, one := range v {
			if text, ok := one.(string); ok && strings.HasPrefix(text, mark) {
				return v
			}
		}
	}
	return nil
}
