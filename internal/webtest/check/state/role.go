package state

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var (
	roleField = regexp.MustCompile(`(?i)^(?:[\w.]+[.\[])?(?:user_?|account_?)?(?:roles?|type|group|level)\]?$`)
	mailName  = regexp.MustCompile(`(?i)e-?mail`)
	roleValue = regexp.MustCompile(`(?i)^(?:user|guest|member|customer|client|clerk|employee|normal|basic|standard` +
		`|free|regular|reader|editor)$`)
	ownName = regexp.MustCompile(`(?i)user|login|nick|account|handle|^name$`)
)

// maxAsked are how many forms with a role are tried.
const maxAsked = 5

// askedRoles is the check for forms that say in a field, often a hidden one, which role somebody gets, as a
// registration may. The answer to the form as it is must say that role, and with that of an administrator it must say
// this one. Names are new ones, and those who are registered so stay. Two requests for each of five such forms; at
// level active alone.
func askedRoles() kit.Check {
	c := kit.Check{ID: "role-of-form", Class: "mass-assignment", Level: client.Active,
		Title: "A form says which role its sender gets"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		tried := 0
		for _, r := range w.Pages() {
			var role message.Place
			for _, p := range message.Places(r) {
				if p.Component == message.Body && !p.Key && roleField.MatchString(p.Name) && roleValue.MatchString(p.Value) {
					role = p
				}
			}
			if role.Name == "" || r.Method != http.MethodPost || tried >= maxAsked ||
				!w.Once("asked role "+r.URL.Host+r.URL.Path) {
				continue
			}
			tried++
			if err := askRole(ctx, w, &c, r, role); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// askRole sends a form with its own role and with that of an administrator.
func askRole(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, role message.Place) error {
	var answers []*message.Response
	for _, value := range []string{role.Value, "admin"} {
		made := unlike(r).Put(role, value)
		answer, err := w.Client.Send(ctx, made, client.Options{Writes: true, Forced: true})
		if errors.Is(err, client.ErrScope) {
			return nil
		}
		if answer, err = kit.Broken(ctx, made, answer, err); err != nil || answer.Status == 0 || answer.Status >= 400 {
			return err
		}
		answers = append(answers, answer)
	}
	own, raised := sayRole(answers[0]), sayRole(answers[1])
	if !strings.EqualFold(own, role.Value) || raised != "admin" {
		return nil
	}
	w.Found(c, kit.Finding{Request: answers[1].Request, Place: role, Payload: "admin",
		Detail: "who was registered so stays", Evidence: []kit.Evidence{
			{Request: answers[1].Request, Response: answers[1], Match: raised,
				Note: "with the role of an administrator, the answer says it"},
			{Request: answers[0].Request, Response: answers[0], Match: own, Note: "as the form is, it says " + own}},
		Proof: &proof.Program{About: "The role of a new user is the one that is sent.", Steps: []proof.Step{
			{ID: "raised", Send: unlike(answers[1].Request), Writes: true, Expect: []proof.Expect{{What: proof.Contains,
				Value: raised}}}}}})
	return nil
}

// saysRole are sentences and fields that say somebody's role.
var saysRole = regexp.MustCompile(`(?i)\b(?:role|type|group|level)s?\b["']?\s*(?:is|:|=` +
	`|</\w+>)\s*(?:<\w+>)?\s*["'\[]*([a-z_]{3,20})\b`)

// sayRole is the role that an answer says outside of its fields; "" for none.
func sayRole(r *message.Response) string {
	for _, m := range saysRole.FindAllSubmatch(r.Body, 20) {
		if !strings.Contains(strings.ToLower(string(m[0])), "type=") {
			return strings.ToLower(string(m[1]))
		}
	}
	return ""
}

// unlike is a registration with a name and an address of e-mail that nobody has.
func unlike(r *message.Request) *message.Request {
	name := "vdt" + kit.Word()[1:7]
	for _, p := range message.Places(r) {
		if p.Component != message.Body || p.Key {
			continue
		}
		switch {
		case client.IsPassword(p.Name):
			r = r.Put(p, "Vd-"+kit.Word()+"7!")
		case mailName.MatchString(p.Name):
			r = r.Put(p, name+"@example.com")
		case ownName.MatchString(p.Name):
			r = r.Put(p, name)
		}
	}
	return r
}
