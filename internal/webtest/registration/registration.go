// Package registration finds the requests by which anybody may register at an application, and fills them in.
//
// A request registers where its address, or that of the page with its form, says so, or where it adds to a collection
// of people, and it has fields for a password and for a name or an address of e-mail. Fields are known by their names,
// or are the only one beside the password; one that asks for a puzzle is not filled in.
package registration

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

var (
	registering = regexp.MustCompile(`(?i)regist|sign-?_?up|create-?_?(?:account|user)|new-?_?(?:account|user)|enrol|enlist|inscri|cadastr` +
		`|inschrij|rejestr|rekister|tilmeld|kay[iı]t|daftar|/join`)
	peopleEnd   = regexp.MustCompile(`(?i)/(?:users?|accounts?|members?|customers?|people|persons?|clients?|players?|employees?)(?:/v\d+)?/?$`)
	mailField   = regexp.MustCompile(`(?i)e-?_?mail`)
	nameField   = regexp.MustCompile(`(?i)user|login|nick|account|handle|^name$|^uid$|usuario|benutzer|utilisat|utente|gebruiker|brukar|bruker`)
	samePass    = regexp.MustCompile(`(?i)confirm|repeat|again|retype|verif|passw|pwd|^pass\d?$`)
	digitsField = regexp.MustCompile(`(?i)phone|mobile|tel|zip|postal|age`)
	puzzleField = regexp.MustCompile(`(?i)captcha|turnstile|recaptcha`)
)

// Requests are the requests of the map that make a user, those whose address says so first.
func Requests(m *sitemap.Map) []*message.Request {
	var named, others []*message.Request
	for _, e := range m.Entries {
		r := e.Request
		isNamed := registering.MatchString(r.URL.Path) || peopleEnd.MatchString(r.URL.Path) &&
			r.Method == http.MethodPost && !e.Login
		if r.Method == http.MethodGet || r.IsMessage() || !isNamed && (e.Login || !registering.MatchString(e.From)) {
			continue
		}
		places := message.Places(r)
		has := func(pattern *regexp.Regexp) bool {
			return slices.ContainsFunc(places, func(p message.Place) bool {
				return p.Component == message.Body && pattern.MatchString(lastOf(p.Name))
			})
		}
		_, isOnly := onlyField(r)
		switch {
		case !slices.ContainsFunc(places, isPassword) || !has(nameField) && !has(mailField) && !isOnly || has(puzzleField):
		case isNamed:
			named = append(named, r)
		default:
			others = append(others, r)
		}
	}
	return append(named, others...)
}

// isPassword reports whether a place is the field of a password, by its name or by what the map puts into such fields.
func isPassword(p message.Place) bool {
	return p.Component == message.Body && (client.IsSecret(lastOf(p.Name)) || p.Value == sitemap.Password)
}

// onlyField is the field beside passwords, under whatever name; false where there are others.
func onlyField(r *message.Request) (only message.Place, ok bool) {
	for _, p := range message.Places(r) {
		if p.Component != message.Body || isPassword(p) || samePass.MatchString(lastOf(p.Name)) ||
			r.Token != nil && p.Same(r.Token.Place) {
			continue
		}
		if ok {
			return only, false
		}
		only, ok = p, true
	}
	return only, ok
}

// lastOf is the last name of a place in a nested body.
func lastOf(name string) string {
	return strings.TrimRight(name[strings.LastIndexAny(strings.TrimRight(name, "]"), ".[/")+1:], "]")
}

// Fill is a registration of a user.
func Fill(r *message.Request, u kit.Newcomer) *message.Request {
	only, isOnly := onlyField(r)
	for _, p := range message.Places(r) {
		if p.Component != message.Body {
			continue
		}
		switch name := lastOf(p.Name); {
		case r.Token != nil && r.Token.Place == p:
		case isPassword(p) || samePass.MatchString(name):
			r = r.Put(p, u.Password)
		case mailField.MatchString(name):
			r = r.Put(p, u.Mail)
		case nameField.MatchString(name) || isOnly && p.Same(only):
			r = r.Put(p, u.Name)
		case digitsField.MatchString(name):
			r = r.Put(p, "5550100200")
		case p.Value == "":
			r = r.Put(p, u.Name)
		}
	}
	return r
}

// NewUser is a user to be registered.
func NewUser() kit.Newcomer {
	u := kit.Newcomer{Name: "vdt" + kit.Word()[1:7], Password: "Vd-" + kit.Word() + "7!"}
	u.Mail = u.Name + "@example.com"
	return u
}

// personsPassword is an address at which the password of somebody who is named is set.
var personsPassword = regexp.MustCompile(`(?i)/(?:users?|accounts?|members?|people|persons?|profiles?|customers?|employees?)/[^/]+/?(?:[^/]*passw[^/]*)?$`)

// SetsPasswords reports whether the map has a request that sets the password of a user whom it names.
func SetsPasswords(m *sitemap.Map) bool {
	return slices.ContainsFunc(m.Entries, func(e *sitemap.Entry) bool {
		return e.Request.Method != http.MethodGet && personsPassword.MatchString(e.Request.URL.Path) &&
			slices.ContainsFunc(message.Places(e.Request), func(p message.Place) bool {
				return p.Component == message.Body && client.IsPassword(lastOf(p.Name))
			})
	})
}
