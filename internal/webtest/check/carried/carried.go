// Package carried finds objects of others that a request names in a header, or in a cookie beside that of the session:
// who is logged in is known by the one, and whose data it is by the other.
//
// The value is an identifier: a number, with a word before it perhaps, or the name of the user. The answer to it is the
// user's own, which nobody gets without a login. With that of somebody else the same page comes with other data, twice,
// which no page of the user has; with one that names nothing the page is another; and with the user's own it is as
// before. Whose the other data is: the second given user is shown the same with their own value; or, where there is
// one user alone, the header or cookie is called after a person or has the user's name, and the numbers beside it are
// tried. Values that pages of the user have, as where one chooses among accounts of one's own, are not tried.
//
// Requests: one for each page of the map to know what the user is shown, 60 at most, and none for those that another
// check has read; for each header or cookie of a page with an identifier five, and up to four more for the numbers
// beside.
package carried

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{identifiers()} }

const (
	maxPages  = 60 // of the map that are read as the user
	maxPlaces = 40 // headers and cookies of pages that are tried
)

var (
	personName = regexp.MustCompile(`(?i)user|account|card|member|customer|patient|client|reader|owner|person|employee|student|holder|` +
		`tenant|subject|profile|(?:^|[_-])uid$|pupil|guest|driver|tax_?payer|policy`)
	choiceName = regexp.MustCompile(`(?i)version|type|lang|locale|theme|currency|zone|limit|agent|request|trace|csrf|xsrf|token|key`)
	standard   = regexp.MustCompile(`(?i)^(?:accept.*|content-.*|cookie|authorization|user-agent|referer|origin|host|connection|` +
		`cache-control|pragma|if-.*|range|sec-.*|upgrade.*|x-requested-with|x-forwarded-.*)$`)
	counts = regexp.MustCompile(`^([A-Za-z][A-Za-z_.:#/-]{0,20})?([0-9]{1,9})$`)
)

// identifiers is the check; at level safe.
func identifiers() kit.Check {
	c := kit.Check{ID: "carried-identifier", Class: "bola", Level: client.Safe,
		Title: "A header or a cookie says whose data is shown"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 {
			return nil
		}
		s := &search{World: w, c: &c, user: w.Users[0]}
		if len(w.Users) > 1 {
			s.other = w.Users[1]
		}
		tried := map[string]bool{}
		for _, r := range w.Pages() {
			if r.Method != http.MethodGet || kit.MayWrite(r) || r.IsMessage() || r.After != nil {
				continue
			}
			for _, p := range s.places(r) {
				key := r.URL.Host + r.Shape() + string(p.Component) + p.Name
				if tried[key] || len(tried) >= maxPlaces {
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

// search is the test of what one user is shown.
type search struct {
	*kit.World

	c           *kit.Check
	user, other *client.User        // other is nil where one user alone is given
	pages       []*message.Response // what the user is shown
	isRead      bool
}

// places are the headers of a request, and the cookies of its user beside that of the session, that have an identifier.
func (s *search) places(r *message.Request) (all []message.Place) {
	for name, values := range r.Header {
		if len(values) == 1 && !standard.MatchString(name) && !choiceName.MatchString(name) && s.isIdentifier(values[0]) {
			all = append(all, message.Place{Component: message.Header, Name: name, Value: values[0]})
		}
	}
	cookies := s.user.Cookies(r.URL)
	isBeside := len(cookies) > 1 || s.user.Headers(r.URL).Get("Authorization") != ""
	for _, k := range cookies {
		p := message.PlaceOfCookie(k.Name, k.Value)
		if isBeside && !choiceName.MatchString(p.Name) && s.isIdentifier(p.Value) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b message.Place) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// isIdentifier reports whether a value is a number, with a word before it perhaps, or the name of the user.
func (s *search) isIdentifier(value string) bool {
	return counts.MatchString(value) || value != "" && value == s.user.Name
}

// others are the values of somebody else, and whether they are the second user's: what that user's cookie has, their
// name where the user's own stands, or the numbers beside where the name of the place speaks of a person.
func (s *search) others(r *message.Request, p message.Place) (all []string, isOthers bool) {
	if s.other != nil {
		for _, k := range s.other.Cookies(r.URL) {
			q := message.PlaceOfCookie(k.Name, k.Value)
			if p.Component == message.Cookie && q.Name == p.Name && q.Value != p.Value {
				return []string{q.Value}, true
			}
		}
		if p.Value == s.user.Name {
			return []string{s.other.Name}, true
		}
	}
	m := counts.FindStringSubmatch(p.Value)
	if m == nil || !personName.MatchString(p.Name) && p.Value != s.user.Name {
		return nil, false
	}
	number, err := strconv.Atoi(m[2])
	if err != nil {
		return nil, false
	}
	for _, n := range []int{number - 1, number + 1, number - 2, number + 2} {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s%0*d", m[1], len(m[2]), n))
		}
	}
	return all, false
}

// nobodys is a value of the same form that names nothing.
func nobodys(value string) string {
	if m := counts.FindStringSubmatch(value); m != nil {
		return m[1] + strconv.Itoa(987_000_000+kit.Number())
	}
	return kit.Word()
}

func (s *search) send(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := s.Client.Send(ctx, r, client.Options{As: as, Fresh: as != nil})
	return kit.Broken(ctx, r, answer, err)
}

// try tests one place.
func (s *search) try(ctx context.Context, r *message.Request, p message.Place) error {
	values, isOthers := s.others(r, p)
	if len(values) == 0 {
		return nil
	}
	own, err := s.send(ctx, r.Put(p, p.Value), s.user)
	if err != nil || own.Status != http.StatusOK || kit.Static(own) || kit.AsksForPassword(own) {
		return err
	}
	none := r.Put(p, nobodys(p.Value))
	missing, err := s.send(ctx, none, s.user)
	if err != nil || same(own, missing) {
		return err
	}
	nobody, err := s.send(ctx, r.Put(p, p.Value), nil)
	if err != nil || nobody.Status == http.StatusOK && kit.Same(own, nobody) {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	for _, value := range values {
		if found, err := s.shown(ctx, r, p, value, isOthers, own, missing, none); err != nil || found {
			return err
		}
	}
	return nil
}

// shown reports the page of one other value, if it is somebody else's.
func (s *search) shown(ctx context.Context, r *message.Request, p message.Place, value string, isOthers bool,
	own, missing *message.Response, none *message.Request,
) (bool, error) {
	if s.has(value) && !isOthers {
		return false, nil // it may be one of the user's own
	}
	theirs := r.Put(p, value)
	answer, err := s.send(ctx, theirs, s.user)
	if err != nil || answer.Status != own.Status || answer.Type() != own.Type() {
		return false, err
	}
	special := s.special(answer, own, missing)
	if special == "" {
		return false, nil
	}
	if isOthers { // the second user is shown it, too, and the user's own page is not theirs
		view, err := s.send(ctx, theirs, s.other)
		if err != nil || !strings.Contains(html.UnescapeString(string(view.Body)), special) {
			return false, err
		}
	}
	refused, err := s.send(ctx, theirs, nil)
	if err != nil || strings.Contains(html.UnescapeString(string(refused.Body)), special) {
		return false, err
	}
	back, err := s.send(ctx, r.Put(p, p.Value), s.user)
	if err != nil || strings.Contains(html.UnescapeString(string(back.Body)), special) {
		return false, err
	}
	again, err := s.send(ctx, theirs, s.user)
	if err != nil || !strings.Contains(html.UnescapeString(string(again.Body)), special) {
		return false, err
	}
	owner := "somebody else"
	if isOthers {
		owner = s.other.Name
	}
	s.Found(s.c, kit.Finding{Request: theirs, Place: p, Payload: value,
		Detail: s.user.Name + " gets what belongs to " + owner,
		Evidence: []kit.Evidence{
			{Request: back.Request, Response: back, Note: "what belongs to " + s.user.Name},
			{Request: theirs, Response: again, Match: special, Note: "another value: what belongs to " + owner},
			{Request: theirs, Response: refused, Note: "what nobody gets"},
			{Request: none, Response: missing, Note: "a value that is nobody's"}},
		Proof: &proof.Program{About: s.user.Name + " gets what belongs to " + owner + ".", Users: []string{s.user.Name},
			Steps: []proof.Step{
				{ID: "own", As: s.user.Name, Send: r.Put(p, p.Value),
					Expect: []proof.Expect{{What: proof.Contains, Value: special, Not: true}}},
				{ID: "theirs", As: s.user.Name, Send: theirs, Expect: []proof.Expect{{What: proof.Contains, Value: special}}},
				{ID: "nobody", Send: theirs, Expect: []proof.Expect{{What: proof.Contains, Value: special, Not: true}}},
			}}})
	return true, nil
}

// read reads pages of the map as the user, once.
func (s *search) read(ctx context.Context) error {
	if s.isRead {
		return nil
	}
	s.isRead = true
	for _, r := range s.Pages() {
		if r.Method != http.MethodGet || kit.MayWrite(r) || r.IsMessage() || len(s.pages) >= maxPages {
			continue
		}
		answer, err := s.Shown(ctx, r, s.user)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusOK && !kit.Static(answer) {
			s.pages = append(s.pages, answer)
		}
	}
	return nil
}

// has reports whether a page that the user is shown has a value as a whole word.
func (s *search) has(value string) bool {
	word := regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(value) + `(?:$|[^\w-])`)
	return slices.ContainsFunc(s.pages, func(r *message.Response) bool { return word.Match(r.Body) })
}

// text are what stands between elements, and values of JSON.
var text = regexp.MustCompile(`>\s*([^<>]{4,200}?)\s*<|:\s*"((?:[^"\\]|\\.){4,200})"`)

// special is a text of an answer that neither others nor any page of the user has; "" for none. Times, tokens and other
// long values without words are none: they are others in each answer.
func (s *search) special(r *message.Response, others ...*message.Response) string {
	for _, m := range text.FindAllStringSubmatch(string(r.Body), 300) {
		word := html.UnescapeString(m[1] + m[2])
		if !says.MatchString(word) {
			continue
		}
		known := slices.ContainsFunc(slices.Concat(others, s.pages), func(o *message.Response) bool {
			return strings.Contains(html.UnescapeString(string(o.Body)), word)
		})
		if !known {
			return word
		}
	}
	return ""
}

// says matches a text with a word of letters.
var says = regexp.MustCompile(`(?:^|\s)\pL{3,20}(?:$|[\s,.;:!?])`)

// same reports whether two answers have one text.
func same(a, b *message.Response) bool {
	text := func(r *message.Response) string { return strings.Join(strings.Fields(kit.Text(r)), " ") }
	return a.Status == b.Status && text(a) == text(b)
}
