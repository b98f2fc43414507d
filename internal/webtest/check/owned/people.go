package owned

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var (
	mailValue    = regexp.MustCompile(`^[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+$`)
	privateField = regexp.MustCompile(`(?i)phone|mobile|^tel|address|street|birth|iban|salary|ssn|passport|credit|card`)
	secretField  = regexp.MustCompile(`(?i)pass(?:word|wd|phrase)?(?:_?hash)?$|^pw|hash|salt|secret|api_?key|token`)
	roleField    = regexp.MustCompile(`(?i)^(?:user_?|account_?)?(?:role|type|group|level)s?$`)
	ofAdmins     = regexp.MustCompile(`(?i)admin|root|super|owner|manager|staff|operator`)
	adminField   = regexp.MustCompile(`(?i)^(?:is_?)?(?:admin|staff|superuser)$`)
)

// maxObjects are how many objects of a list are looked at.
const maxObjects = 1000

// listed is what a list says of users.
type listed struct {
	mails    map[string]bool
	contacts int    // objects with a field of a person beside the mail
	secrets  int    // objects with a secret of their own
	own      string // the role of who reads it; "" if none is said
	higher   bool   // another has the role of those who run the application
	match    string // a field that shows it
}

// listOfUsers is the check for lists of users that an interface answers to a user who is one of them: it has the mails
// and further personal fields of several, and says that the reader has a lower role than others in it; or it has their
// secrets. Nobody must not get it, since what is public is no function of a role. What counts is the answer of the map:
// tests may have changed roles since. Two requests for a page of data that is such a list.
func listOfUsers() kit.Check {
	c := kit.Check{ID: "list-of-users", Class: "bfla", Level: client.Safe,
		Title: "An interface answers the list of all users to any of them"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		first := t.Response
		if t.Request.Method != http.MethodGet || t.Request.After != nil || !kit.Known(t.User) || first == nil ||
			first.Status != http.StatusOK || !strings.Contains(first.Type(), "json") || kit.Describes(first) {
			return nil
		}
		l := listOf(first.Body, t.User.Name)
		if l == nil {
			return nil
		}
		again, err := w.Ask(ctx, t.Request, t.User)
		if err != nil || again.Status != http.StatusOK || !strings.Contains(string(again.Body), l.match) {
			return err
		}
		nobody, err := w.Ask(ctx, t.Request, nil)
		if err != nil || nobody.Status == 0 || nobody.Status == http.StatusOK {
			return err
		}
		user, users := kit.Names(t.User)
		detail := "mails and personal data of all users; " + user + " is " + l.own + ", and others run the application"
		if l.secrets > 1 {
			detail = "secrets of all users, such as digests of their passwords"
		}
		w.Found(&c, kit.Finding{Request: t.Request, Detail: detail, Severity: kit.High,
			Evidence: []kit.Evidence{{Request: t.Request, Response: first, Match: kit.Around(first.Body, l.match),
				Note: "what " + user + " gets"}, {Request: t.Request, Response: nobody, Note: "what nobody gets"}},
			Proof: &proof.Program{About: "A user gets the list of all users, and nobody does not.", Users: users,
				Steps: []proof.Step{{ID: "user", As: user, Send: t.Request, Expect: []proof.Expect{
					{What: proof.Status, Value: "200"}, {What: proof.Contains, Value: l.match}}},
					{ID: "nobody", Send: t.Request, Expect: []proof.Expect{{What: proof.Status, Value: "200", Not: true}}}}}})
		return nil
	}
	return c
}

// listOf is a list of users in an answer whose reader is one of them, if it has more than is for them; nil otherwise.
func listOf(body []byte, reader string) *listed {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return nil
	}
	lists := []any{value}
	if object, ok := value.(map[string]any); ok {
		for _, v := range object {
			lists = append(lists, v)
		}
	}
	for _, one := range lists {
		if all, ok := one.([]any); ok && len(all) > 1 {
			if l := usersOf(all[:min(len(all), maxObjects)], reader); l != nil {
				return l
			}
		}
	}
	return nil
}

//nolint:gocognit // the fields of one object after another
func usersOf(all []any, reader string) *listed {
	l := &listed{mails: map[string]bool{}}
	secrets := map[string]bool{}
	isThere := false
	for _, one := range all {
		object, ok := one.(map[string]any)
		if !ok {
			return nil
		}
		own, role, mail := false, "", ""
		contact := false
		for name, v := range object {
			text, isText := v.(string)
			switch {
			case adminField.MatchString(name):
				if is, ok := v.(bool); ok {
					role = map[bool]string{true: "admin", false: "user"}[is]
				}
			case !isText || text == "":
			case strings.EqualFold(text, reader):
				own = true
				if mailValue.MatchString(text) {
					mail = text
				}
			case mailValue.MatchString(text):
				mail = text
			case roleField.MatchString(name):
				role = text
			case secretField.MatchString(name) && len(text) >= 8 && !strings.Contains(text, "***"):
				secrets[text] = true
			case privateField.MatchString(name):
				contact = true
			}
		}
		if mail != "" {
			l.mails[mail] = true
			if !own || l.match == "" {
				l.match = mail
			}
		}
		if contact {
			l.contacts++
		}
		switch {
		case own:
			isThere, l.own = true, role
		case ofAdmins.MatchString(role):
			l.higher = true
		}
	}
	l.secrets = len(secrets)
	lower := l.own != "" && !ofAdmins.MatchString(l.own) && l.higher
	if !isThere || len(l.mails) < 2 || ofAdmins.MatchString(l.own) || l.secrets < 2 && (!lower || l.contacts < 2) {
		return nil
	}
	return l
}
