package enrol

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
)

var (
	roleName = regexp.MustCompile(`(?i)(?:^|[_.\[-])(?:(?:user|account|member)_?)?(?:rol|roles?|rolle|ruolo|rôle|rang|rank|group|grupo|gruppe|` +
		`perfil|privileges?|permissions?|rights|user_?type|account_?type|level|nivel|niveau)\]?$`)
	flagName  = regexp.MustCompile(`(?i)(?:^|[_.\[-])(?:is_?)?(?:admin|administrator|staff|superuser|moderator)\]?$`)
	roleLabel = regexp.MustCompile(`(?i)^(?:(?:user|account|member)_?)?(?:rol|roles?|rolle|ruolo|rôle|rang|rank|perfil|privileges?|permissions?|` +
		`(?:is_?)?(?:admin|administrator|staff|superuser))$`)
	plainWord = regexp.MustCompile(`^[\p{L}_-]{2,30}$`)
)

// raise is a registration with more rights.
type raise struct {
	place  message.Place // the first that is set
	value  string
	values []string // that pages would say
	alter  func(*message.Request) *message.Request
}

// raises are the registrations that are tried: with another value in a field of a role that the form has, else with
// fields that applications have.
func raises(form *message.Request) (all []raise) {
	for _, p := range message.Places(form) {
		if p.Component != message.Body || p.Key || p.File {
			continue
		}
		var values []string
		switch {
		case flagName.MatchString(p.Name):
			values = []string{"true", "1"}
		case roleName.MatchString(p.Name) && plainWord.MatchString(p.Value):
			values = []string{"admin", "administrator"}
		}
		for _, value := range values {
			all = append(all, raise{p, value, []string{value},
				func(r *message.Request) *message.Request { return r.Put(p, value) }})
		}
	}
	if len(all) > 0 {
		return all[:min(len(all), 2)]
	}
	within := message.Place{Component: message.Body, Format: formatOf(form)}
	role, flag, staff := within, within, within
	role.Name, flag.Name, staff.Name = "role", "is_admin", "admin"
	return []raise{{role, "admin", []string{"admin", "true", "1"}, func(r *message.Request) *message.Request {
		return r.Put(role, "admin").Put(flag, "true").Put(staff, "true")
	}}, {role, "admin", []string{"admin"}, func(r *message.Request) *message.Request { return r.Put(role, "admin") }}}
}

// formatOf is how the fields of a form are written.
func formatOf(form *message.Request) message.Format {
	for _, p := range message.Places(form) {
		if p.Component == message.Body && !p.Key {
			return p.Format
		}
	}
	return message.Form
}

// roles is the check for registrations that take the role of who registers. Beside a user as the form has it, one is
// registered with a role of more rights. It must open a page that the first is refused, or the page that says the role
// of its reader must say ours in place of the first one's; for two further users, too. At level active alone: up to
// five users, and their pages.
func roles() kit.Check {
	c := kit.Check{ID: "role-at-registration", Class: "mass-assignment", Level: client.Active,
		Title: "A registration takes the role of who registers"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		return beside(ctx, w, func(form *message.Request, control *member, pages []*message.Request) (bool, error) {
			for _, one := range raises(form) {
				if found, err := raised(ctx, w, &c, form, control, pages, &one); err != nil || found {
					return true, err
				}
			}
			return true, nil
		})
	}
	return c
}

// raised tries one registration.
func raised(ctx context.Context, w *kit.World, c *kit.Check, form *message.Request, control *member,
	pages []*message.Request, one *raise,
) (bool, error) {
	first, err := join(ctx, w, form, registration.NewUser(), pages, one.alter)
	if err != nil || first == nil {
		return false, err
	}
	at := one.shows(control, first)
	if len(at) == 0 {
		return false, nil
	}
	other, err := join(ctx, w, form, registration.NewUser(), pages, nil)
	if err != nil || other == nil {
		return false, err
	}
	second, err := join(ctx, w, form, registration.NewUser(), pages, one.alter)
	if err != nil || second == nil {
		return false, err
	}
	for _, i := range one.shows(other, second) {
		if !slices.Contains(at, i) {
			continue
		}
		w.Found(c, kit.Finding{Request: first.sent, Place: one.place, Payload: one.value,
			Detail: "who registers with it has its rights, by " + pages[i].URL.Path,
			Evidence: []kit.Evidence{
				{Request: first.sent, Note: "the registration of " + first.name},
				{Request: pages[i], Response: first.shown[i], Note: "what " + first.name + " gets"},
				{Request: pages[i], Response: control.shown[i], Note: "what " + control.name + " gets, who registered without it"},
				{Request: pages[i], Response: second.shown[i], Note: "it is so of another user, too"}}})
		return true, nil
	}
	return false, nil
}

// shows are the pages by which the second user has more rights than the first.
func (one *raise) shows(control, more *member) (at []int) {
	for i, page := range control.shown {
		theirs := more.shown[i]
		if kit.Opened(theirs) && (refused(page) || kit.Opened(page) && one.says(page, theirs, control.name, more.name)) {
			at = append(at, i)
		}
	}
	return at
}

// refused reports whether an answer refuses who is logged in.
func refused(r *message.Response) bool {
	return r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || r.Status == http.StatusNotFound ||
		r.Status == http.StatusFound || r.Status == http.StatusSeeOther || kit.Refusal(r) != ""
}

// says reports whether two pages have the same words but for one that follows a label of a role, which is ours in the
// second page alone. Numbers may differ besides, as those of users do.
func (one *raise) says(page, theirs *message.Response, name, other string) bool {
	a, b := words(text(page, name)), words(text(theirs, other))
	if len(a) != len(b) {
		return false
	}
	found := false
	for i := range a {
		switch {
		case a[i] == b[i] || isNumber(a[i]) && isNumber(b[i]) && !labelled(a, i):
		case slices.Contains(one.values, strings.ToLower(b[i])) && !slices.Contains(one.values, strings.ToLower(a[i])) &&
			labelled(a, i):
			found = true
		default:
			return false
		}
	}
	return found
}

// words are the words and numbers of a text.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// labelled reports whether the word before one is a label of a role.
func labelled(all []string, i int) bool { return i > 0 && roleLabel.MatchString(all[i-1]) }
