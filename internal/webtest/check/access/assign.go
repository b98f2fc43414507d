package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// privileged are fields that users must not set for themselves.
var privileged = []string{"admin", "is_admin", "isAdmin", "role_admin", "staff", "is_staff", "isStaff", "superuser",
	"is_superuser", "moderator", "premium", "approved", "verified"}

// assignment is the check for fields that a request should not set. A field of privilege is added to the JSON that
// makes or changes an object, whose text fields are made unique; then pages of the map are read, and the object must
// have the field as we set it, while one that was made without it does not, and an invented field does not stick. Up to
// six requests for a request that makes objects, and two for each page that lists some; at level active only.
func assignment() kit.Check {
	c := kit.Check{ID: "mass-assignment", Class: "mass-assignment", Level: client.Active}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, r := range w.Pages() {
			if r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch {
				continue
			}
			prefix, _ := bound(r)
			if prefix == "" && !strings.Contains(r.Header.Get("Content-Type"), "json") ||
				!w.Once("assign "+r.Method+r.URL.Host+r.URL.Path) {
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
func marked(r *message.Request, prefix, wrap string, fields, more map[string]any) (made *message.Request, mark string) {
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
	if prefix != "" {
		for name, value := range out {
			made = made.Put(member(prefix, name), fmt.Sprint(value))
		}
		return made, mark
	}
	if wrap != "" {
		out = map[string]any{wrap: out}
	}
	if body, err := json.Marshal(out); err == nil {
		made.Body = body
	}
	return made, mark
}

// ranks are fields whose text says what a user may do or has paid for, and a higher one.
var ranks = map[string]string{"role": "admin", "user_role": "admin", "plan": "premium", "tier": "premium",
	"subscription": "premium", "membership": "premium", "account_type": "premium"}

// Amounts that an application counts for a person and that the person may not set, and members by which an object is
// one of a person.
var (
	amountName = regexp.MustCompile(`(?i)^(?:account_?|user_?|my_?|loyalty_?)?(?:credits?|balance|points|wallet|funds` +
		`|coins|karma|reputation|bonus|quota)$`)
	personMember = regexp.MustCompile(`(?i)^(?:user_?name|login|handle|nick(?:_?name)?|e_?mail|mail)$`)
)

// addedAmount is how much an amount is raised by.
const addedAmount = 731

// unset are the fields of privilege, and the amounts of a person, that an object has and a request has not, as they
// would be set.
func unset(fields, object map[string]any) map[string]any {
	more := map[string]any{}
	for _, name := range privileged {
		value, there := object[name]
		if _, known := fields[name]; !known && there && value != true && value != 1.0 {
			more[name] = true
		}
	}
	for name, raised := range ranks {
		if rank, ok := object[name].(string); ok && fields[name] == nil && rank != raised {
			more[name] = raised
		}
	}
	isPerson := slices.ContainsFunc(slices.Collect(maps.Keys(object)), personMember.MatchString)
	for name, value := range object {
		if amount, ok := value.(float64); ok && isPerson && fields[name] == nil && amountName.MatchString(name) {
			more[name] = amount + addedAmount
		}
	}
	return more
}

// texts are the members of an object that are texts and say nothing of rights.
func texts(body []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	maps.DeleteFunc(object, func(name string, value any) bool {
		_, isText := value.(string)
		return !isText || ranks[name] != "" || client.IsSecret(name) || slices.Contains(privileged, name) ||
			strings.HasSuffix(strings.ToLower(name), "id")
	})
	return object
}

// putBack sends what an object was before: its texts, and the fields of rights that it had.
func putBack(ctx context.Context, w *kit.World, r *message.Request, was []byte, as *client.User) {
	var object map[string]any
	if json.Unmarshal(was, &object) != nil {
		return
	}
	known := texts(was)
	maps.DeleteFunc(object, func(name string, _ any) bool {
		return known[name] == nil && ranks[name] == "" && !slices.Contains(privileged, name)
	})
	back := r.Clone()
	if body, err := json.Marshal(object); err == nil {
		back.Body = body
		_, _ = w.Client.Send(ctx, back, client.Options{As: as, Writes: true}) // what is left is said
	}
}

// boundName is the name of a field that is bound to a member of an object, as of user[mail].
var boundName = regexp.MustCompile(`^([A-Za-z_]\w{0,40})\[(\w{1,40})\]$`)

// bound are the members of the one object that all fields of a form are bound to, and its name; "" for another request.
func bound(r *message.Request) (prefix string, fields map[string]any) {
	for _, p := range message.Places(r) {
		m := boundName.FindStringSubmatch(p.Name)
		switch {
		case p.Component != message.Body || p.Key || r.Token != nil && p.Same(r.Token.Place):
		case p.Format != message.Form || m == nil || prefix != "" && m[1] != prefix:
			return "", nil
		case fields == nil:
			prefix, fields = m[1], map[string]any{m[2]: p.Value}
		default:
			fields[m[2]] = p.Value
		}
	}
	return prefix, fields
}

// member is the place of a member of an object: in a form that is bound to it by a prefix, or in JSON.
func member(prefix, name string) message.Place {
	if prefix == "" {
		return message.Place{Component: message.Body, Format: message.JSON, Name: name}
	}
	return message.Place{Component: message.Body, Format: message.Form, Name: prefix + "[" + name + "]"}
}

// withMethod is a request without its body, with another method.
func withMethod(r *message.Request, method string) *message.Request {
	out := r.Clone()
	out.Method, out.Body = method, nil
	out.Header.Del("Content-Type")
	return out
}

// assign tests one request as one user.
func assign(ctx context.Context, c *kit.Check, w *kit.World, r *message.Request, as *client.User) (bool, error) {
	prefix, fields := bound(r)
	ofForm := prefix != "" // which leads to a page
	if fields == nil && json.Unmarshal(r.Body, &fields) != nil {
		return false, nil // it is no object
	}
	if len(fields) == 0 && r.Method != http.MethodPost { // nothing says what may be changed: what is shown there
		own, err := w.Ask(ctx, withMethod(r, http.MethodGet), as)
		if err != nil || own.Status != http.StatusOK {
			return false, err
		}
		fields = texts(own.Body)
		defer putBack(ctx, w, r, own.Body, as)
	}
	if len(fields) == 0 {
		return false, nil
	}
	wrap := ""
	if inner := wrappedIn(fields); inner != "" { // {"user":{…}}
		wrap = inner
		fields, _ = fields[inner].(map[string]any)
	}
	send := func(more map[string]any) (made *message.Request, mark string, object map[string]any, at *message.Response,
		err error,
	) {
		made, mark = marked(r, prefix, wrap, fields, more)
		answer, err := w.Client.Send(ctx, made, client.Options{As: as, Writes: true})
		if errors.Is(err, client.ErrScope) {
			return made, mark, nil, nil, nil
		}
		if answer, err = kit.Broken(ctx, made, answer, err); err != nil || answer.Status == 0 || answer.Status >= 400 ||
			answer.Status >= 300 && !ofForm {
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
	if r.Method != http.MethodPost { // the object was there before: it gets what it had
		had := maps.Clone(before)
		maps.DeleteFunc(had, func(name string, _ any) bool { return more[name] == nil })
		defer func() { _, _, _, _, _ = send(had) }()
	}
	invented := "invented" + kit.Word()
	more[invented] = true
	raised, mark, after, shown, err := send(more)
	if err != nil || after == nil || after[invented] != nil { // it keeps whatever it is sent
		return false, err
	}
	for _, name := range slices.Sorted(maps.Keys(more)) { // which is named is the same in each run
		if fmt.Sprint(after[name]) != fmt.Sprint(more[name]) {
			continue
		}
		w.Found(c, kit.Finding{Request: raised, Place: member(prefix, name), Payload: name,
			Detail: "an object of ours, " + mark + ", was left there", Evidence: []kit.Evidence{
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
