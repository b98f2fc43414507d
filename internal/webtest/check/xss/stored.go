package xss

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// maxPages are how many pages are looked at for what was stored, maxStored how many places are followed, unknownTries
// how many payloads are sent where it is not known which characters come through.
const maxPages, maxStored, unknownTries = 500, 60, 4

// stored is the check for scripts that are saved: when all was tested, every page of the map is read once more, and the
// words that were sent to other places are looked for. Where one comes out, a payload is sent to where it went in.
// One request for each of 40 places and for each page, two for what comes
// through, two for each payload that needs no more. The same pages are looked at for lines
// of a log (lines.go).
func stored() kit.Check {
	c := kit.Check{ID: "xss-stored", Class: "stored-xss", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		s := &storing{World: w, check: &c, words: map[string]kit.Planted{}, done: map[string]bool{}}
		for _, p := range w.Planted() {
			s.words[p.Word] = p
		}
		if len(s.words) == 0 {
			return nil
		}
		if err := s.replant(ctx); err != nil {
			return err
		}
		users := append([]*client.User{nil}, w.Users...)
		pages := w.Pages()
		sent := 0
		for _, r := range pages {
			if r.Method != http.MethodGet || sent >= maxPages {
				continue
			}
			for _, as := range users {
				sent++
				if err := s.page(ctx, r, as); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// maxReplanted are how many places get a word once more.
const maxReplanted = 40

// rank has places of bodies before others.
var rank = map[bool]int{true: 0, false: 1}

// replant sends words once more, before the pages are read: a list of the last messages does not have those of long
// ago. Those of forms, of JSON and of headers come first, as others seldom store anything. One request for each of 40
// places.
func (s *storing) replant(ctx context.Context) error {
	seen := map[string]bool{}
	all := s.Planted()
	isBody := func(p kit.Planted) bool { return p.Place.Component == message.Body }
	slices.SortStableFunc(all, func(a, b kit.Planted) int { return cmp.Compare(rank[isBody(a)], rank[isBody(b)]) })
	for _, p := range all {
		key := path(p.Target.Request) + " " + p.Place.String()
		if seen[key] || len(seen) >= maxReplanted || p.Target.Request.IsMessage() || !isBody(p) &&
			p.Place.Component != message.Header {
			continue
		}
		seen[key] = true
		word := kit.Word()
		s.words[word] = kit.Planted{Word: word, Target: p.Target, Place: p.Place}
		if _, err := s.Try(ctx, p.Target, p.Place, word+kit.Ending(p.Place)); errors.Is(err, client.ErrScope) {
			continue
		} else if err != nil {
			return err
		}
	}
	return nil
}

type storing struct {
	*kit.World

	check *kit.Check
	words map[string]kit.Planted
	done  map[string]bool // inputs that were followed

	scripts int // pages whose scripts were read
}

// page reads a page and follows the words that stand in it.
func (s *storing) page(ctx context.Context, r *message.Request, as *client.User) error {
	answer, err := s.Client.Send(ctx, r, client.Options{As: as})
	if err != nil {
		return nil //nolint:nilerr // a page that cannot be read shows nothing
	}
	if err := s.logged(ctx, r, as, answer); err != nil {
		return err
	}
	if err := s.scripted(ctx, r, as, answer); err != nil {
		return err
	}
	if !document(answer) {
		return nil
	}
	for _, word := range planted(string(answer.Body)) {
		p, ok := s.words[word]
		if !ok || path(p.Target.Request) == path(r) && p.Target.Request.Method == http.MethodGet {
			continue
		}
		key := path(p.Target.Request) + " " + p.Place.String()
		if s.done[key] || len(s.done) >= maxStored {
			continue
		}
		s.done[key] = true
		o := &place{World: s.World, Target: p.Target, place: p.Place, check: s.check,
			capitals: !strings.Contains(string(answer.Body), word)}
		var raw, decoded map[rune]bool
		if !o.capitals {
			if raw, decoded, err = survivors(func(text string) (*message.Response, error) {
				return s.shows(ctx, o, text+kit.Ending(o.place), r, as)
			}); err != nil {
				return err
			}
		}
		for _, c := range markup.Find(string(answer.Body), o.shown(word)) {
			all := slices.DeleteFunc(payloads(c), func(p *payload) bool { return !p.passes(raw, decoded, string(answer.Body)) })
			if raw == nil {
				all = all[:min(len(all), unknownTries)]
			}
			found, err := s.follow(ctx, o, c, all, r, as)
			if err != nil || found {
				return err
			}
		}
	}
	return nil
}

// planted are the texts of a page that look like words of ours, or like those in capitals.
func planted(body string) []string { return client.TestWord.FindAllString(strings.ToLower(body), 200) }

// follow stores payloads and looks whether they run on a page.
func (s *storing) follow(ctx context.Context, o *place, c markup.Context, all []*payload, shown *message.Request,
	as *client.User) (bool, error) {
	p := kit.Planted{Target: o.Target, Place: o.place}
	for _, payload := range all {
		first, err := s.once(ctx, o, payload, shown, as)
		if err != nil {
			return false, err
		}
		if first == nil {
			continue
		}
		text, f := o.marked(payload)
		user, reader, users := both(p.Target.User, as)
		finding := kit.Finding{Request: p.Target.Request.Put(p.Place, first.text), Place: p.Place, Payload: first.text,
			Detail: "shown by " + shown.URL.Path + ", " + string(c.Kind) + detail(c), Confidence: kit.Proved,
			Variant: payload.ID,
			Evidence: []kit.Evidence{
				{Request: first.answer.Request, Response: first.answer, Match: kit.Around(first.answer.Body, first.text),
					Note: "another page shows it: a script of ours stands in the " + first.where.Where},
			},
			Proof: &proof.Program{About: "What is stored in one place runs on another page.", Users: users,
				Vars: []proof.Var{{Name: "f", Kind: proof.Word}}, Steps: []proof.Step{
					{ID: "store", As: user, Send: p.Target.Request.Put(p.Place, text)},
					{ID: "show", As: reader, Send: shown, Expect: []proof.Expect{{What: proof.Runs, Value: f}}},
				}}}
		if blocks(first.answer.Header) {
			finding.Confidence, finding.Severity = kit.Probable, kit.Low
		}
		s.Found(s.check, finding)
		return true, nil
	}
	return false, nil
}

// once stores a payload and reads the page; nil if nothing runs there.
func (s *storing) once(ctx context.Context, o *place, p *payload, shown *message.Request, as *client.User) (
	*run, error,
) {
	name := kit.Word()
	text := o.text(p, name)
	answer, err := s.shows(ctx, o, text, shown, as)
	if err != nil {
		return nil, err
	}
	where, ok := markup.Runs(string(answer.Body), name)
	if !ok {
		return nil, nil
	}
	return &run{text, answer, where}, nil
}

// shows stores a text, and returns the page that shows what is stored.
func (s *storing) shows(ctx context.Context, o *place, text string, shown *message.Request, as *client.User) (
	*message.Response, error,
) {
	if _, err := o.Try(ctx, o.Target, o.place, text); err != nil {
		return nil, err
	}
	return s.Client.Send(ctx, shown, client.Options{As: as})
}

// both are the names of who stores something and of who reads it, and those of them that a proof needs.
func both(writer, reader *client.User) (first, second string, users []string) {
	first, second = name(writer), name(reader)
	for _, u := range []string{first, second} {
		if u != "" {
			users = append(users, u)
		}
	}
	return first, second, users
}

func name(u *client.User) string {
	if u == nil {
		return ""
	}
	return u.Name
}

// path is where a request goes, for keys.
func path(r *message.Request) string {
	return r.Method + " " + r.URL.Host + strings.TrimSuffix(r.URL.Path, "/")
}
