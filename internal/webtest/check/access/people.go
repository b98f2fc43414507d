package access

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var (
	mailValue    = regexp.MustCompile(`^[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+$`)
	privateField = regexp.MustCompile(`(?i)phone|mobile|^tel|address|street|birth|iban|salary|ssn|passport|credit|card`)
	secretField  = regexp.MustCompile(`(?i)pass(?:word|wd|phrase)?(?:_?hash)?$|^pw|hash|salt|secret|api_?key|token`)
	roleField    = regexp.MustCompile(`(?i)^(?:user_?|account_?)?(?:role|type|group|level)s?$`)
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

// listOfUsers is the check for lists of users that an interface answers to a user who is one of them: it has the mails and
// further personal fields of several, and says that the reader has a lower role than others in it; or it has their
// secrets. Nobody must not get it, since what is public is no function of a role, and each user that is known gets it.
// One request for each page of the map that is data, three for a list.
func listOfUsers() kit.Check {
	c := kit.Check{ID: "list-of-users", Class: "bfla", Level: client.Safe,
		Title: "An interface answers the list of all users to any of them"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 {
			return nil
		}
		looked := 0
		for _, r := range w.Pages() {
			if r.Method != http.MethodGet || r.After != nil || looked >= maxPages || !w.Once("people "+r.URL.Host+r.URL.RequestURI()) {
				continue
			}
			looked++
			if err := peopleAt(ctx, w, &c, r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func peopleAt(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request) error {
	var first *message.Response
	var shown *listed
	var names []string
	var evidence []kit.Evidence
	var steps []proof.Step
	for _, u := range w.Users[:min(len(w.Users), 2)] {
		answer, err := w.Ask(ctx, r, u)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || !strings.Contains(answer.Type(), "json") || kit.Describes(answer) {
			return nil
		}
		l := listOf(answer.Body, u.Name)
		if l == nil {
			return nil
		}
		if first == nil {
			first, shown = answer, l
		}
		names = append(names, u.Name)
		evidence = append(evidence, kit.Evidence{Request: r, Response: answer, Match: kit.Around(answer.Body, l.match),
			Note: "what " + u.Name + " gets"})
		steps = append(steps, proof.Step{ID: "user-" + string(rune('0'+len(names))), As: u.Name, Send: r,
			Expect: []proof.Expect{{What: proof.Status, Value: "200"}, {What: proof.Contains, Value: l.match}}})
	}
	nobody, err := w.Ask(ctx, r, nil)
	if err != nil || nobody.Status == 0 || nobody.Status == http.StatusOK {
		return err
	}
	detail := "mails and personal data of all users; " + w.Users[0].Name + " is " + shown.own + ", and others run the application"
	severity := kit.High
	if shown.secrets > 1 {
		detail = "secrets of all users, such as digests of their passwords"
	}
	w.Found(c, kit.Finding{Request: r, Detail: detail, Severity: severity,
		Evidence: append(evidence, kit.Evidence{Request: r, Response: nobody, Note: "what nobody gets"}),
		Proof: &proof.Program{About: "A user gets the list of all users, and nobody does not.", Users: names,
			Steps: append(steps, proof.Step{ID: "nobody", Send: r,
				Expect: []proof.Expect{{What: proof.Status, Value: "200", Not: true}}})}})
	return nil
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
			l.match = mail
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
