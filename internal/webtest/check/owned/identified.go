package owned

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Values that nobody guesses and that a list gives to its readers, and members with the name of somebody.
var (
	longValue  = regexp.MustCompile(`^(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,64})$`)
	nameMember = regexp.MustCompile(`(?i)^(?:login|user|user_?name|handle|nick(?:_?name)?|e?-?mail|name)$`)
)

const (
	maxListed = 12 // values of lists that are tried
	maxEmpty  = 6  // addresses that they are tried at
)

// listedIdentifiers is the check for objects under values that nobody guesses, such as UUIDs, which lists of the
// interface give to all users. A script says where such objects are, but not under which value. With one of the values
// the object has the user's name, with another it has somebody else's at the same member, and a secret of theirs;
// nobody without a login gets it, and a value of the same form that names nothing is answered otherwise. One request
// for each page of the map, up to twelve for each of six addresses where there are such values, and three for an
// object.
func listedIdentifiers() kit.Check {
	c := kit.Check{ID: "objects-of-listed-values", Class: "bola", Level: client.Safe,
		Title: "A user reads objects of others under values that a list has"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 {
			return nil
		}
		values, empty, err := listedValues(ctx, w, w.Users[0])
		if err != nil || len(values) == 0 {
			return err
		}
		for _, r := range empty {
			if err := underValues(ctx, w, &c, r, values); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// listedValues are the long values in lists that a user reads, and the addresses that have no object for the user.
func listedValues(ctx context.Context, w *kit.World, as *client.User) (
	values []string, empty []*message.Request, err error,
) {
	pages := w.Pages()
	for _, r := range pages[:min(len(pages), maxPages)] {
		if r.Method != http.MethodGet {
			continue
		}
		answer, err := w.Shown(ctx, r, as)
		if err != nil {
			return nil, nil, err
		}
		if answer.Status == http.StatusNotFound || answer.Status == http.StatusBadRequest {
			if _, ok := lastValue(r); ok && len(empty) < maxEmpty {
				empty = append(empty, r)
			}
			continue
		}
		items, _ := itemsOf(answer.Body)
		for _, item := range items {
			for _, v := range item {
				if text := scalar(v); longValue.MatchString(text) && !slices.Contains(values, text) && len(values) < maxListed {
					values = append(values, text)
				}
			}
		}
	}
	slices.Sort(values)
	return values, empty, nil
}

// underValues asks for the objects under values at an address, and reports one of somebody else.
func underValues(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, values []string) error {
	as := w.Users[0]
	p, _ := lastValue(r)
	member := "" // that has the user's name in the user's own object
	answers := map[string]*message.Response{}
	for _, value := range values {
		made := r.Put(p, value)
		if w.Client.Permit(made, client.Options{}) != nil {
			continue
		}
		answer, err := w.Ask(ctx, made, as)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || kit.Describes(answer) {
			continue
		}
		answers[value] = answer
		for key, v := range objectIn(answer.Body) {
			if text := scalar(v); nameMember.MatchString(key) && (text == as.Name || strings.HasPrefix(text, as.Name+"@")) {
				member = key
			}
		}
	}
	for _, value := range values {
		if answers[value] == nil || member == "" {
			continue
		}
		object := objectIn(answers[value].Body)
		owner, secret := scalar(object[member]), secretOf(object)
		if owner == "" || strings.HasPrefix(owner, as.Name) || secret == "" {
			continue
		}
		if found, err := theirs(ctx, w, c, r.Put(p, value), p, value, owner, secret); err != nil || found {
			return err
		}
	}
	return nil
}

// secretOf is the value of a member that nobody else should see; "" for none.
func secretOf(object map[string]any) string {
	for key, v := range object {
		if text := scalar(v); secretMember.MatchString(key) && len(text) > 2 && !strings.HasPrefix(text, "**") {
			return text
		}
	}
	return ""
}

// theirs reports an object of somebody else that nobody without a login gets, again with its secret.
func theirs(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, p message.Place,
	value, owner, secret string,
) (bool, error) {
	as := w.Users[0]
	missing := r.Put(p, kit.Nonexistent(value))
	var answers []*message.Response
	for _, one := range []struct {
		r     *message.Request
		as    *client.User
		shows bool
	}{{r, as, true}, {r, nil, false}, {missing, as, false}} {
		answer, err := w.Client.Send(ctx, one.r, client.Options{As: one.as, Fresh: one.as != nil})
		if answer, err = kit.Broken(ctx, one.r, answer, err); err != nil ||
			bytes.Contains(answer.Body, []byte(secret)) != one.shows {
			return false, err
		}
		answers = append(answers, answer)
	}
	user, users := kit.Names(as)
	has := func(not bool) []proof.Expect { return []proof.Expect{{What: proof.Contains, Value: secret, Not: not}} }
	w.Found(c, kit.Finding{Request: r, Place: p, Payload: value,
		Detail: "it is of " + owner + ", and a list has its value", Evidence: []kit.Evidence{
			{Request: r, Response: answers[0], Match: kit.Around(answers[0].Body, owner), Note: "what " + as.Name + " gets"},
			{Request: r, Response: answers[1], Note: "what nobody gets"},
			{Request: missing, Response: answers[2], Note: "an object that does not exist"}},
		Proof: &proof.Program{About: as.Name + " reads an object of " + owner + ".", Users: users, Steps: []proof.Step{
			{ID: "theirs", As: user, Send: r, Expect: has(false)},
			{ID: "nobody", Send: r, Expect: has(true)},
			{ID: "missing", As: user, Send: missing, Expect: has(true)}}}})
	return true, nil
}
