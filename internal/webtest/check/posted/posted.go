// Package posted finds objects of others that a request names in its body: a form with a field that is not shown, or
// JSON that a script sends.
//
// Two users are needed who both have such objects: their pages and the lists of the interface name them, by a field of
// the same name. An object that pages of the one name, and none of the other, is the first one's own. It is broken
// access when the other gets the same answer for it, twice, with a text that no page of theirs has, that the answer for
// an object of their own has not, nor that for an object that does not exist, and that nobody gets.
//
// Requests: none where no field of a body is called like an object; otherwise two for each page of the map that
// no other check has read, 60 at most; then six for each of 20 fields for which both users have values.
package posted

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
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{objects()} }

const (
	maxPages  = 60 // of the map that are read as each user
	maxPlaces = 20 // fields that are tried
	maxValues = 40 // of one field that pages of a user have
)

// objects is the check. At level active alone: that a request by POST reads is seen by its answer only.
func objects() kit.Check {
	c := kit.Check{ID: "objects-in-bodies", Class: "bola", Level: client.Active,
		Title: "A request names an object of somebody else"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 {
			return nil
		}
		s := &search{World: w, c: &c, pages: map[*client.User][]*message.Response{}}
		tried := map[string]bool{}
		for _, r := range w.Pages() {
			if r.Method != http.MethodPost || client.Writes(r) || r.IsMessage() || kit.TakesPassword(r) {
				continue
			}
			for _, p := range message.Places(r) {
				key := r.URL.Host + r.Shape() + p.Name
				if p.Component != message.Body || p.Key || p.File || kit.TokenName.MatchString(p.Name) || tried[key] ||
					len(tried) >= maxPlaces {
					continue
				}
				tried[key] = true
				if err := s.try(ctx, r, p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// search is the test of the objects of two users.
type search struct {
	*kit.World

	c     *kit.Check
	pages map[*client.User][]*message.Response // what they are shown
}

// read reads pages of the map as a user, once: those that are asked for by GET, and queries of GraphQL without values.
func (s *search) read(ctx context.Context, u *client.User) error {
	if _, done := s.pages[u]; done {
		return nil
	}
	s.pages[u] = nil
	for _, r := range s.Pages() {
		if !isPage(r) || len(s.pages[u]) >= maxPages {
			continue
		}
		answer, err := s.Shown(ctx, r, u)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusOK && !kit.Static(answer) && !kit.Describes(answer) {
			s.pages[u] = append(s.pages[u], answer)
		}
	}
	return nil
}

var query = regexp.MustCompile(`^\s*\{\s*"query"\s*:\s*"\s*(?:query\b[^"$(]*)?\{`)

func isPage(r *message.Request) bool {
	return !r.IsMessage() && r.After == nil &&
		(r.Method == http.MethodGet || r.Method == http.MethodPost && query.Match(r.Body))
}

// values are those of a field that pages of a user have: in a field of a form, or as a member of JSON.
func (s *search) values(u *client.User, name string) (all []string) {
	quoted := regexp.QuoteMeta(name)
	member := regexp.MustCompile(`"` + quoted + `"\s*:\s*"?([\w=+/-]{1,64})"?\s*[,}\]]`)
	field := regexp.MustCompile(`(?i)<input\b[^>]*\bname\s*=\s*["']?` + quoted + `["'\s][^>]*>`)
	for _, page := range s.pages[u] {
		var found []string
		for _, m := range member.FindAllSubmatch(page.Body, maxValues) {
			found = append(found, string(m[1]))
		}
		for _, input := range field.FindAll(page.Body, maxValues) {
			if m := valued.FindSubmatch(input); m != nil {
				found = append(found, html.UnescapeString(string(m[1])))
			}
		}
		for _, value := range append(found, options(page.Body, name)...) {
			if kit.IsObject(value) && !slices.Contains(all, value) && len(all) < maxValues {
				all = append(all, value)
			}
		}
	}
	return all
}

var valued = regexp.MustCompile(`(?i)\bvalue\s*=\s*["']?([^"'\s>]{1,64})`)

// shows reports whether pages of a user have a value as a whole word.
func (s *search) shows(u *client.User, value string) bool {
	word := regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(value) + `(?:$|[^\w-])`)
	return slices.ContainsFunc(s.pages[u], func(r *message.Response) bool { return word.Match(r.Body) })
}

// own is a value of a field that is a user's alone; "" for none.
func (s *search) own(u, other *client.User, name string) string {
	for _, value := range s.values(u, name) {
		if !s.shows(other, value) {
			return value
		}
	}
	return ""
}

func (s *search) send(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := s.Client.Send(ctx, r, client.Options{As: as, Writes: true})
	return kit.Broken(ctx, r, answer, err)
}

// try tests one field.
func (s *search) try(ctx context.Context, r *message.Request, p message.Place) error {
	if s.Client.Permit(r, client.Options{Writes: true}) != nil {
		return nil //nolint:nilerr // it is left alone
	}
	owner, other := s.Users[0], s.Users[1]
	for _, u := range []*client.User{owner, other} {
		if err := s.read(ctx, u); err != nil {
			return err
		}
	}
	name := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	theirs, mine := s.own(owner, other, name), s.own(other, owner, name)
	if theirs == "" || mine == "" {
		return nil
	}
	sent := r.Put(p, theirs)
	answers := map[string]*message.Response{}
	for _, one := range []struct {
		about string
		r     *message.Request
		as    *client.User
	}{
		{"owner", sent, owner},
		{"other", sent, other},
		{"own", r.Put(p, mine), other},
		{"none", r.Put(p, kit.Nonexistent(theirs)), other},
		{"nobody", sent, nil},
		{"again", sent, other},
	} {
		answer, err := s.send(ctx, one.r, one.as)
		if err != nil {
			return err
		}
		answers[one.about] = answer
		if answer.Status != http.StatusOK && (one.about == "owner" || one.about == "other" || one.about == "own") {
			return nil
		}
	}
	special := s.special(answers["other"], append(s.pages[other], answers["own"], answers["none"], answers["nobody"])...)
	if special == "" || !has(answers["owner"], special) || !has(answers["again"], special) {
		return nil
	}
	s.report(sent, p, theirs, special, owner, other, answers)
	return nil
}

func (s *search) report(r *message.Request, p message.Place, value, special string, owner, other *client.User,
	answers map[string]*message.Response,
) {
	contains := func(not bool) []proof.Expect {
		return []proof.Expect{{What: proof.Contains, Value: special, Not: not}}
	}
	s.Found(s.c, kit.Finding{Request: r, Place: p, Payload: value,
		Detail: other.Name + " gets what pages of " + owner.Name + " alone name",
		Evidence: []kit.Evidence{
			{Request: r, Response: answers["owner"], Note: "what " + owner.Name + " gets, whose pages name it"},
			{Request: r, Response: answers["again"], Match: special, Note: "what " + other.Name + " gets, whose pages do not"},
			{Request: answers["own"].Request, Response: answers["own"], Note: "what " + other.Name + " gets for an own one"},
			{Request: answers["none"].Request, Response: answers["none"], Note: "for one that does not exist"},
			{Request: r, Response: answers["nobody"], Note: "what nobody gets"}},
		Proof: &proof.Program{About: other.Name + " gets what is of " + owner.Name + ".",
			Users: []string{owner.Name, other.Name}, Steps: []proof.Step{
				{ID: "owner", As: owner.Name, Send: r, Writes: true, Expect: contains(false)},
				{ID: "other", As: other.Name, Send: r, Writes: true, Expect: contains(false)},
				{ID: "nobody", Send: r, Writes: true, Expect: contains(true)},
			}}})
}

// text are what stands between elements, and values of JSON, alone or in a list.
var text = regexp.MustCompile(`>\s*([^<>]{4,200}?)\s*<|[:,\[]\s*"((?:[^"\\]|\\.){4,200})"\s*[,}\]]`)

// says matches a text with a word of letters.
var says = regexp.MustCompile(`(?:^|\s)\pL{3,20}(?:$|[\s,.;:!?])`)

// special is a text of an answer that none of others has; "" for none. Times, tokens and other values without words are
// none: they are others in each answer.
func (s *search) special(r *message.Response, others ...*message.Response) string {
	for _, m := range text.FindAllStringSubmatch(string(r.Body), 300) {
		word := html.UnescapeString(m[1] + m[2])
		known := func(o *message.Response) bool { return has(o, word) }
		if says.MatchString(word) && !slices.ContainsFunc(others, known) {
			return word
		}
	}
	return ""
}

func has(r *message.Response, word string) bool {
	return strings.Contains(html.UnescapeString(string(r.Body)), word)
}
