// Package password finds functions that set the password of whoever their request names, whoever sends it.
//
// The form of a new password has a field that says whose it is. It is sent for the first given user, with the password
// that this user has, and must be taken; for a name that nobody has, and it must not be. Then it is sent for the
// second given user, by the first, with the password that the second has: it must be taken as the first one was. So no
// password changes, whatever the application does with it (ADR 108). That an answer means that it was taken is known
// from one that is refused: with a wrong password of before, or with a repetition that differs. Nobody without a login
// may get that answer either, or the form is one for everybody.
//
// Requests: two for each page that is read to see what the two users' fields have, 80 at most, and none for those that
// another check has read; up to nine for each form of a new password that names a user.
package password

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{ofOthers()} }

const (
	maxForms = 6  // that are tried
	maxPages = 40 // that are read for the fields of each user
)

var (
	formerName = regexp.MustCompile(`(?i)old|current|former|previous|existing|before|prior|until|^now$`)
	repeatName = regexp.MustCompile(`(?i)confirm|repeat|again|retype|re_?enter|verif|_?2$`)
	registers  = regexp.MustCompile(`(?i)regist|sign.?up|enrol|inscri|/join`)
)

// ofOthers is the check; at level active, with two given users whose passwords are known. There is no proof to repeat,
// as it would have the passwords in it.
func ofOthers() kit.Check {
	c := kit.Check{ID: "password-of-others", Class: "bola", Level: client.Active, Severity: kit.Critical,
		Title: "A user sets the password of another"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 || w.Password == nil {
			w.Skip(nil, c.Class, "it needs two users with passwords")
			return nil
		}
		s := &setting{World: w, c: &c, user: w.Users[0], victim: w.Users[1]}
		s.own, s.theirs = w.Password(s.user), w.Password(s.victim)
		if s.own == "" || s.theirs == "" || s.own == s.theirs {
			return nil
		}
		tried := 0
		for _, r := range w.Pages() {
			f := formOf(r)
			if f == nil || tried >= maxForms || !w.Once("password of others "+r.Method+r.URL.Host+r.URL.Path) {
				continue
			}
			tried++
			if err := s.try(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// form is a request that sets a password.
type form struct {
	request *message.Request
	former  []message.Place // of the password of before; nil: it is not asked for
	fresh   []message.Place // of the new one, and of its repetition
	whose   []message.Place // that may say whose it is
}

// formOf are the fields of a form of a new password; nil for another request, and for one with a single field for a
// password, of which no answer shows harmlessly what was taken.
func formOf(r *message.Request) *form {
	if _, isLogin := kit.LoginOf(r); isLogin || r.IsMessage() || registers.MatchString(r.URL.Path) {
		return nil
	}
	f := &form{request: r}
	var passwords []message.Place
	for _, p := range message.Places(r) {
		switch {
		case p.Key || p.Component == message.Header || p.Component == message.Cookie,
			r.Token != nil && p.Same(r.Token.Place), kit.TokenName.MatchString(p.Name):
		case p.Component == message.Body && (client.IsPassword(p.Name) || p.Value == sitemap.Password):
			passwords = append(passwords, p)
		case p.Value != "":
			f.whose = append(f.whose, p)
		}
	}
	if len(passwords) < 2 || len(passwords) > 3 || len(f.whose) == 0 {
		return nil
	}
	for _, p := range passwords {
		if formerName.MatchString(p.Name) {
			f.former = append(f.former, p)
		} else {
			f.fresh = append(f.fresh, p)
		}
	}
	isRepeated := slices.ContainsFunc(f.fresh, func(p message.Place) bool { return repeatName.MatchString(p.Name) })
	if len(f.former) == 0 && (len(passwords) == 3 || !isRepeated) {
		f.former, f.fresh = passwords[:1], passwords[1:]
	}
	if len(f.former) > 1 || len(f.fresh) == 0 {
		return nil
	}
	return f
}

// with is the request for somebody, with the password of before, a new one, and its repetition.
func (f *form) with(whose message.Place, who, former, fresh, repeated string) *message.Request {
	r := f.request.Put(whose, who)
	for _, p := range f.former {
		r = r.Put(p, former)
	}
	for i, p := range f.fresh {
		if i > 0 {
			fresh = repeated
		}
		r = r.Put(p, fresh)
	}
	return r
}

// setting is the test with one user who sends, and another whose password is named.
type setting struct {
	*kit.World

	c            *kit.Check
	user, victim *client.User
	own, theirs  string // their passwords

	pages [][2]*message.Response // what each of them is shown
}

// try tests one form.
func (s *setting) try(ctx context.Context, f *form) error {
	for _, p := range f.whose {
		mine, other, err := s.identities(ctx, f.request, p)
		if err != nil {
			return err
		}
		if mine == "" {
			continue
		}
		if found, err := s.set(ctx, f, p, mine, other); err != nil || found {
			return err
		}
	}
	return nil
}

// identities are what a field says of each of the two users: by the forms that each is shown, or their names where the
// field is one for a name, or has it; "" where the field says neither.
func (s *setting) identities(ctx context.Context, r *message.Request, p message.Place) (mine, other string, err error) {
	if p.Value == s.user.Name || p.Value == s.victim.Name {
		return s.user.Name, s.victim.Name, nil
	}
	if err := s.read(ctx, r); err != nil {
		return "", "", err
	}
	if p.Component == message.Body && p.Format != message.JSON {
		for _, both := range s.pages {
			mine, other = valueIn(both[0], p.Name), valueIn(both[1], p.Name)
			if mine != "" && other != "" && mine != other {
				return mine, other, nil
			}
		}
	}
	if p.Component == message.Body && kit.UserName.MatchString(p.Name) && !kit.IsNumber(p.Value) {
		return s.user.Name, s.victim.Name, nil
	}
	return "", "", nil
}

// read reads pages as both users, those with a form for a password alone are kept.
func (s *setting) read(ctx context.Context, of *message.Request) error {
	if s.pages != nil {
		return nil
	}
	s.pages = [][2]*message.Response{}
	for _, r := range s.Pages() {
		if r.Method != http.MethodGet || r.After != nil || r.IsMessage() || r.URL.Host != of.URL.Host ||
			len(s.pages) >= maxPages {
			continue
		}
		mine, err := s.Shown(ctx, r, s.user)
		if err != nil {
			return err
		}
		if !kit.AsksForPassword(mine) {
			continue
		}
		theirs, err := s.Shown(ctx, r, s.victim)
		if err != nil {
			return err
		}
		s.pages = append(s.pages, [2]*message.Response{mine, theirs})
	}
	return nil
}

var (
	input     = regexp.MustCompile(`(?i)<input\b[^>]{1,1000}>`)
	attribute = regexp.MustCompile(`(?i)\b(name|value)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
)

// valueIn is the value that a field of a page has; "" for none.
func valueIn(r *message.Response, name string) string {
	for _, tag := range input.FindAll(r.Body, 300) {
		has := map[string]string{}
		for _, m := range attribute.FindAllStringSubmatch(string(tag), 10) {
			has[strings.ToLower(m[1])] = html.UnescapeString(m[2] + m[3] + m[4])
		}
		if has["name"] == name && has["value"] != "" {
			return has["value"]
		}
	}
	return ""
}

func (s *setting) send(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := s.Client.Send(ctx, r, client.Options{As: as, Writes: true, Forced: true})
	return kit.Broken(ctx, r, answer, err)
}

// set tests one form with one field.
func (s *setting) set(ctx context.Context, f *form, p message.Place, mine, other string) (bool, error) {
	own := f.with(p, mine, s.own, s.own, s.own)
	taken, err := s.send(ctx, own, s.user)
	if err != nil || taken.Status == 0 || taken.Status >= http.StatusBadRequest {
		return false, err
	}
	isTaken := func(r *message.Response, name string) bool { return s.same(taken, r, mine, name) }
	wrong := s.own + "x"
	refused := f.with(p, mine, wrong, s.own, s.own)
	if len(f.former) == 0 {
		refused = f.with(p, mine, "", s.own, wrong)
	}
	stranger := strings.ToLower(kit.Word())
	if kit.ObjectValue.MatchString(mine) {
		stranger = kit.Nonexistent(mine)
	}
	nobodys := f.with(p, stranger, s.own, s.own, s.own)
	theirs := f.with(p, other, s.own, s.theirs, s.theirs)
	var answers []*message.Response
	for i, one := range []struct {
		send *message.Request
		as   *client.User
		name string
		want bool
	}{{refused, s.user, mine, false}, {nobodys, s.user, stranger, false}, {theirs, nil, other, false},
		{theirs, s.user, other, true}, {theirs, s.user, other, true}, {own, s.user, mine, true}} {
		answer, err := s.send(ctx, one.send, one.as)
		if err == nil && isTaken(answer, one.name) != one.want {
			if i >= 3 { // it may have been set for the one who sends, whatever the request says
				_, err = s.send(ctx, f.with(p, mine, s.theirs, s.own, s.own), s.user)
			}
			return false, err
		}
		if err != nil {
			return false, err
		}
		answers = append(answers, answer)
	}
	shown := s.hidden(theirs)
	s.Found(s.c, kit.Finding{Request: shown, Place: p, Payload: other,
		Detail: s.user.Name + " sets the password of " + s.victim.Name + "; it was set to the one that it was",
		Evidence: []kit.Evidence{
			{Request: shown, Response: answers[3], Note: "sent as " + s.user.Name + ", for " + s.victim.Name + ": it is taken"},
			{Request: s.hidden(own), Response: taken, Note: "so is one for " + s.user.Name + " themselves"},
			{Request: s.hidden(refused), Response: answers[0], Note: "one whose passwords are wrong is refused"},
			{Request: s.hidden(nobodys), Response: answers[1], Note: "one for a user who does not exist is refused"},
			{Request: shown, Response: answers[2], Note: "without a login it is refused"}}})
	return true, nil
}

// same reports whether two answers say the same, each of who was named.
func (s *setting) same(a, b *message.Response, nameA, nameB string) bool {
	about := func(r *message.Response, name string) string {
		text := html.UnescapeString(kit.Text(r)) + " " + r.Header.Get("Location")
		for _, who := range []string{name, s.user.Name, s.victim.Name} {
			text = strings.ReplaceAll(text, who, "{user}")
		}
		return strings.Join(strings.Fields(text), " ")
	}
	return a.Status == b.Status && about(a, nameA) == about(b, nameB)
}

// hidden is a request without passwords.
func (s *setting) hidden(r *message.Request) *message.Request {
	for _, p := range message.Places(r) {
		if !p.Key && (strings.HasPrefix(p.Value, s.own) || strings.HasPrefix(p.Value, s.theirs)) {
			r = r.Put(p, "********")
		}
	}
	return r
}
