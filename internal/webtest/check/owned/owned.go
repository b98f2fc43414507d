// Package owned finds objects of interfaces that say whose they are, and that others read.
//
// The object names its owner, who is not the reader; it has a secret, or the reader's own list does not have it; and
// nobody gets it without a login. A list of all users is an object of those who run the application, and so is what
// the description of the interface says is for them.
package owned

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check {
	return []kit.Check{ofNames(), listOfUsers(), forStaff(), listedIdentifiers()}
}

// Members of objects that say whose they are, and those that nobody else should see.
var (
	ownerMember  = regexp.MustCompile(`(?i)^(?:owner|user|user_?name|author|(?:created_?)?by|account|customer|member|handle|patient|holder|seller|belongs_?to)(?:_?name)?$`)
	secretMember = regexp.MustCompile(`(?i)secret|passw|^pwd$|^pin(?:_?code)?$|token|api_?key|private|card_?n|iban|cvv|^ssn$|passport|diagnos|salary|^balance$`)
)

const (
	maxPages    = 300 // of the map that are read
	maxNamed    = 40  // objects whose address is tried
	maxSiblings = 6   // other objects of a list that are asked for
)

// ofNames is the check for objects of interfaces that a user reads though they say that somebody else owns them. The
// answer is an object of JSON with a member for its owner, who is not the user; it has a member that is secret by its
// name, or the list of such objects is the user's own and does not have it: each of it is of the user, or another user
// gets none of it at its address. Nobody without a login gets it, and an
// object that does not exist is answered otherwise. Objects are those of the map, and those that lists of the map name
// beside one of them. One request for each page of the map and each user, up to ten for each object.
func ofNames() kit.Check {
	c := kit.Check{ID: "objects-of-owners", Class: "bola", Level: client.Safe,
		Title: "A user reads an object that says it is somebody else's"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, u := range w.Users[:min(len(w.Users), 2)] {
			if err := (&named{w: w, c: &c, as: u}).run(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// named is the test of the objects that one user can name.
type named struct {
	w     *kit.World
	c     *kit.Check
	as    *client.User
	lists []list

	theirs []list // of another user
}

// list is an answer that lists objects, at its path.
type list struct {
	path  string
	items []map[string]any
}

func (n *named) run(ctx context.Context) error {
	var pages []*message.Request
	for _, r := range n.w.Pages() {
		if r.Method != http.MethodGet || len(pages) >= maxPages {
			continue
		}
		answer, err := n.w.Shown(ctx, r, n.as)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || !strings.Contains(answer.Type(), "json") || kit.Describes(answer) {
			continue
		}
		pages = append(pages, r)
		if items, ok := itemsOf(answer.Body); ok {
			n.lists = append(n.lists, list{r.URL.Path, items})
			if err := n.listOfOther(ctx, r); err != nil {
				return err
			}
			continue
		}
		if err := n.listAbove(ctx, r); err != nil {
			return err
		}
	}
	tried := 0
	for _, r := range pages {
		p, ok := lastValue(r)
		if !ok || tried >= maxNamed {
			continue
		}
		for _, value := range append([]string{p.Value}, n.siblings(p.Value)...) {
			tried++
			found, err := n.try(ctx, r.Put(p, value), p, value)
			if err != nil {
				return err
			}
			if found {
				break
			}
		}
	}
	return nil
}

// listOfOther asks for a list as another user.
func (n *named) listOfOther(ctx context.Context, r *message.Request) error {
	for _, u := range n.w.Users[:min(len(n.w.Users), 2)] {
		if u == n.as {
			continue
		}
		answer, err := n.w.Shown(ctx, r, u)
		if err != nil {
			return err
		}
		if items, ok := itemsOf(answer.Body); ok && answer.Status == http.StatusOK {
			n.theirs = append(n.theirs, list{r.URL.Path, items})
		}
	}
	return nil
}

// listAbove asks for the list of which an address with a query names one object: the address without it.
func (n *named) listAbove(ctx context.Context, r *message.Request) error {
	if r.URL.RawQuery == "" || !n.w.Once("list of "+n.as.Name+r.URL.Host+r.URL.Path) {
		return nil
	}
	bare := r.Clone()
	bare.URL.RawQuery = ""
	for _, u := range n.w.Users[:min(len(n.w.Users), 2)] {
		answer, err := n.w.Shown(ctx, bare, u)
		if err != nil {
			return err
		}
		items, ok := itemsOf(answer.Body)
		switch {
		case answer.Status != http.StatusOK || !ok:
		case u == n.as:
			n.lists = append(n.lists, list{r.URL.Path, items})
		default:
			n.theirs = append(n.theirs, list{r.URL.Path, items})
		}
	}
	return nil
}

// lastValue is the place that names the object of a request: the only parameter of its query, or the last segment of
// its path.
func lastValue(r *message.Request) (last message.Place, ok bool) {
	for _, p := range message.Places(r) {
		if p.Component == message.Path && r.URL.RawQuery == "" || p.Component == message.Query && !p.Key {
			last, ok = p, true
		}
	}
	return last, ok && last.Value != ""
}

// siblings are the values by which lists name other objects than the one of a value.
func (n *named) siblings(value string) (all []string) {
	for _, l := range n.lists {
		for _, item := range l.items {
			for key, v := range item {
				if scalar(v) != value {
					continue
				}
				for _, other := range l.items {
					if text := scalar(other[key]); text != "" && text != value && len(all) < maxSiblings {
						all = append(all, text)
					}
				}
				return all
			}
		}
	}
	return nil
}

// try asks for one object, and reports it if it is somebody else's.
func (n *named) try(ctx context.Context, r *message.Request, p message.Place, value string) (bool, error) {
	permitted := n.w.Client.Permit(r, client.Options{}) == nil
	if !n.w.Once("named "+r.Key()+n.as.Name) || !permitted {
		return false, nil
	}
	answer, err := n.w.Ask(ctx, r, n.as)
	if err != nil || answer.Status != http.StatusOK {
		return false, err
	}
	object := objectIn(answer.Body)
	owner, secret := n.ofAnother(object)
	if owner == "" || secret == "" && !n.ownList(r, value) {
		return false, nil
	}
	shown := owner
	if secret != "" {
		shown = secret
	}
	nobody, err := n.w.Ask(ctx, r, nil)
	if err != nil || nobody.Status == http.StatusOK && bytes.Contains(nobody.Body, []byte(shown)) {
		return false, err
	}
	missing := r.Put(p, strings.ToLower(kit.Word()))
	if kit.ObjectValue.MatchString(value) {
		missing = r.Put(p, kit.Nonexistent(value))
	}
	gone, err := n.w.Ask(ctx, missing, n.as)
	if err != nil || gone.Status == http.StatusOK && bytes.Contains(gone.Body, []byte(shown)) {
		return false, err
	}
	user, users := kit.Names(n.as)
	has := func(not bool) []proof.Expect { return []proof.Expect{{What: proof.Contains, Value: shown, Not: not}} }
	n.w.Found(n.c, kit.Finding{Request: r, Place: p, Payload: value, Detail: "it says that it is of " + owner,
		Evidence: []kit.Evidence{
			{Request: r, Response: answer, Match: kit.Around(answer.Body, shown), Note: "what " + n.as.Name + " gets"},
			{Request: r, Response: nobody, Note: "what nobody gets"},
			{Request: missing, Response: gone, Note: "an object that does not exist"}},
		Proof: &proof.Program{About: n.as.Name + " reads an object of " + owner + ".", Users: users, Steps: []proof.Step{
			{ID: "theirs", As: user, Send: r, Expect: has(false)},
			{ID: "nobody", Send: r, Expect: has(true)},
			{ID: "missing", As: user, Send: missing, Expect: has(true)}}}})
	return true, nil
}

// ofAnother is the owner that an object names, if it is not the user, and what it has of secrets.
func (n *named) ofAnother(object map[string]any) (owner, secret string) {
	for key, v := range object {
		text, ok := v.(string)
		switch {
		case ok && ownerMember.MatchString(key):
			if text == "" || strings.EqualFold(text, n.as.Name) || strings.HasPrefix(text, n.as.Name+"@") {
				return "", ""
			}
			owner = text
		case secretMember.MatchString(key) && len(scalar(v)) > 2 && !strings.HasPrefix(scalar(v), "**"):
			secret = scalar(v)
		}
	}
	if owner == secret {
		secret = ""
	}
	return owner, secret
}

// ownList reports whether the list above an object is of the user's own objects, and does not have it.
func (n *named) ownList(r *message.Request, value string) bool {
	path := r.URL.Path
	if r.URL.RawQuery == "" {
		path = strings.TrimSuffix(path[:strings.LastIndexByte(path, '/')], "/")
	}
	for _, l := range n.lists {
		if l.path != path {
			continue
		}
		if l.has(value) {
			return false
		}
		if !l.isOf(n.as.Name) && !n.isApart(&l) {
			return false // of all people
		}
		return true
	}
	return false
}

// isOf reports whether each object of a list says that it is of a user.
func (l *list) isOf(name string) bool {
	return !slices.ContainsFunc(l.items, func(item map[string]any) bool {
		for key, v := range item {
			if ownerMember.MatchString(key) && strings.EqualFold(scalar(v), name) {
				return false
			}
		}
		return true
	})
}

// identifier are members of objects that name them.
var identifier = regexp.MustCompile(`(?i)^$|id$|^(?:key|slug|number|no|ref)$`)

// isApart reports whether another user gets none of the objects of a list at its address: it has those of its reader.
func (n *named) isApart(l *list) bool {
	at := slices.IndexFunc(n.theirs, func(t list) bool { return t.path == l.path })
	if at < 0 || len(l.items)+len(n.theirs[at].items) == 0 {
		return false
	}
	for _, item := range n.theirs[at].items {
		known := false
		for key, v := range item {
			if !identifier.MatchString(key) || scalar(v) == "" {
				continue
			}
			if known = true; l.has(scalar(v)) {
				return false
			}
		}
		if !known {
			return false
		}
	}
	return true
}

// has reports whether a list names an object by a value.
func (l *list) has(value string) bool {
	return slices.ContainsFunc(l.items, func(item map[string]any) bool {
		for _, v := range item {
			if scalar(v) == value {
				return true
			}
		}
		return false
	})
}

// scalar is a text or a number of JSON as a text; "" for anything else.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprint(v)
	}
	return ""
}

// objectIn is the object that an answer is, or has as its only member; nil if it is none.
func objectIn(body []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	for len(object) <= 2 {
		inner := map[string]any(nil)
		for _, v := range object {
			if o, ok := v.(map[string]any); ok {
				inner = o
			}
		}
		if inner == nil {
			return object
		}
		object = inner
	}
	return object
}

// itemsOf are the objects of a list, which an answer is or has as a member: the longest, of several.
func itemsOf(body []byte) (items []map[string]any, ok bool) {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return nil, false
	}
	if object, isObject := value.(map[string]any); isObject {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			list, isList := object[name].([]any)
			if longest, has := value.([]any); isList && (!has || len(list) > len(longest)) {
				value = list
			}
		}
	}
	all, ok := value.([]any)
	for _, v := range all {
		if item, isObject := v.(map[string]any); isObject {
			items = append(items, item)
		} else if text := scalar(v); text != "" {
			items = append(items, map[string]any{"": text})
		}
	}
	return items, ok
}
