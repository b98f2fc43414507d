package webtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

const (
	maxPlaces   = 200 // that are tested of one request
	allOfFirst  = 2
	oddity      = `'"<`
	holding     = `'OR'1'='1`
	maxCookies  = 30
	maxMoved    = 20 // fields of a form that are also tried as headers and cookies
	maxTogether = 60 // places that are probed with one request
)

// usualHeaders are headers that applications log, store, show and choose by, with usual values.
var usualHeaders = map[string]string{"User-Agent": "Mozilla/5.0", "Referer": "http://example.com/",
	"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "example.com", "Accept-Language": "en"}

// plan are the places of a target that are tested, and the others, which are when they change the answer: headers,
// cookies that all pages get, names of parameters, and the fields of a form that a script sends, moved to where it
// may send them.
func (r *run) plan(t *target) (places, others []message.Place) {
	request := t.Request
	scripted := r.report.Map
	seen := map[message.Place]bool{}
	add := func(to *[]message.Place, p message.Place) {
		key := p
		key.Value = ""
		if !seen[key] {
			seen[key] = true
			*to = append(*to, p)
			if inner, ok := p.Decoded(); ok {
				*to = append(*to, inner)
			}
			*to = append(*to, p.Members()...)
		}
	}
	for _, p := range message.Places(request) {
		switch {
		case request.IsMessage() && p.Component != message.Query && p.Component != message.Body: // of the handshake
		case request.Token != nil && p.Same(request.Token.Place):
		case p.Component == message.Query, p.Component == message.Body:
			add(&places, p)
		case p.Component == message.Path && varies(request, p, t.Response):
			add(&places, p)
		case p.Component == message.Cookie && (scripted.Cookies[p.Name] != "" || r.ofThisPath(t, p.Name)):
			add(&places, p)
		case p.Component == message.Cookie:
			add(&others, p)
		case p.Component == message.Header && scripted.Headers[http.CanonicalHeaderKey(p.Name)] != "":
			add(&places, p)
		case p.Component == message.Header && p.Name != "Accept":
			add(&others, p)
		}
	}
	if !request.IsMessage() { // the handshake of a message has them, and is no input
		r.planBeside(t, places, func(p message.Place) { add(&places, p) }, func(p message.Place) { add(&others, p) })
	}
	if len(places) > maxPlaces {
		r.report.Coverage.Note(t.Request, message.Place{}, "more places", fmt.Sprintf(
			"of more than %d places the first were tested; %d were not", maxPlaces, len(places)-maxPlaces))
		places = places[:maxPlaces]
	}
	slices.SortStableFunc(others, func(a, b message.Place) int { return strings.Compare(a.String(), b.String()) })
	return places, others
}

// planBeside adds what a request has beside its own text: the cookies of its user, names and usual headers, and the
// fields of a form that a script sends, moved to where it may send them.
func (r *run) planBeside(t *target, places []message.Place, tested, other func(message.Place)) {
	scripted := r.report.Map
	for _, c := range t.User.Cookies(t.Request.URL)[:min(len(t.User.Cookies(t.Request.URL)), maxCookies)] {
		p := message.PlaceOfCookie(c.Name, c.Value)
		if r.ofThisPath(t, c.Name) {
			tested(p)
		} else {
			other(p)
		}
	}
	for name, value := range scripted.Cookies {
		other(message.PlaceOfCookie(name, value))
	}
	for _, p := range message.Names(t.Request) {
		other(p)
	}
	for name, value := range scripted.Headers {
		if name != "Content-Type" && name != "Authorization" && name != "Accept" {
			other(message.Place{Component: message.Header, Name: name, Value: value})
		}
	}
	for name, value := range usualHeaders { // they are sorted later
		other(message.Place{Component: message.Header, Name: name, Value: value})
	}
	if t.entry.Scripted {
		for _, p := range places[:min(len(places), maxMoved)] {
			if p.Component == message.Query || p.Component == message.Body {
				other(message.Place{Component: message.Header, Name: p.Name, Value: p.Value})
				other(message.Place{Component: message.Cookie, Name: p.Name, Value: p.Value})
			}
		}
	}
}

// varies reports whether a segment of a path is a value: by its form, by a description of the API, or as the last one
// of an address that is not a file and answers with data.
func varies(r *message.Request, p message.Place, response *message.Response) bool {
	number, _ := strconv.Atoi(p.Name)
	if slices.Contains(r.Segments, number) || message.SegmentKind(p.Value) != p.Value {
		return true
	}
	if len(r.Segments) > 0 || response == nil || strings.Contains(p.Value, ".") {
		return false
	}
	last := number == len(strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/"))
	return last && number > 1 && strings.Contains(response.Type(), "json") && r.URL.RawQuery == "" && len(r.Body) == 0
}

// ofThisPath reports whether a cookie is set for this page alone, as by a page that reads it back.
func (r *run) ofThisPath(t *target, name string) bool {
	if t.Response == nil {
		return false
	}
	for _, c := range (&http.Response{Header: t.Response.Header}).Cookies() {
		if c.Name == name && len(c.Path) > 1 {
			return true
		}
	}
	return false
}

// react tells which of the other places of a target change its answer. One request has odd words in all of them; where
// its answer differs, each is asked alone. Of the first targets of a host all are tested; of one script, the first of
// each layout are asked, until a place was tested often enough.
func (r *run) react(ctx context.Context, t *target) ([]message.Place, error) {
	if len(t.others) == 0 || r.Client.Level == client.Passive {
		return nil, nil
	}
	host := t.Request.URL.Host
	r.mu.Lock()
	r.probed[host]++
	first := r.probed[host] <= allOfFirst
	r.mu.Unlock()
	if first {
		return t.others, nil
	}
	if t.Response != nil && !r.isFirstOfLayout(t) {
		r.report.Coverage.Left(t.Target, t.others, coverage.Layout)
		return nil, nil
	}
	var out []message.Place
	others := slices.DeleteFunc(slices.Clone(t.others), func(p message.Place) bool {
		isName := p.Key && message.NamesPage(t.Request, p.Name)
		if isName { // it is looked for by its value: its name may be the input
			out = append(out, p)
		}
		// Without it all pages are others. One that is an object keeps more than the session.
		return isName || p.Component == message.Cookie && r.ofSession(p.Name) && !isSerialised(p.Value)
	})
	base, err := r.world.Base(ctx, t.Target)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(others); from += maxTogether {
		some := others[from:min(len(others), from+maxTogether)]
		moved, err := r.moves(ctx, t, base, some)
		if err != nil {
			return out, err
		}
		if !moved {
			r.report.Coverage.Left(t.Target, some, coverage.Quiet)
			continue
		}
		for _, p := range some {
			why, moved := coverage.Reaction, false
			if !r.isSampled(t, p) {
				if moved, err = r.moves(ctx, t, base, []message.Place{p}); err != nil {
					return out, err
				}
				why = coverage.Quiet
			}
			if moved {
				out = append(out, p)
				continue
			}
			r.report.Coverage.Left(t.Target, []message.Place{p}, why)
		}
	}
	return out, nil
}

// isSerialised reports whether a value is an object: one of PHP, or base64 of one of Java, Python, JSON or its like.
func isSerialised(value string) bool {
	if ofPHP.MatchString(value) {
		return true
	}
	raw, err := base64.StdEncoding.DecodeString(value)
	return err == nil && len(raw) > 4 && (bytes.HasPrefix(raw, []byte("\xac\xed\x00\x05")) ||
		raw[0] == 0x80 && raw[1] >= 2 && raw[1] <= 5 && raw[len(raw)-1] == '.' || raw[0] == '{' && utf8.Valid(raw) ||
		ofPHP.Match(raw))
}

// ofPHP is how objects and lists begin that PHP has written.
var ofPHP = regexp.MustCompile(`^(?:a|O:\d{1,3}:"\w+"):\d{1,4}:\{`)

// ofSession reports whether a cookie is what keeps a session.
func (r *run) ofSession(name string) bool {
	return slices.ContainsFunc(r.sessions, func(s *session.Session) bool { return s.Cookies[name] })
}

// moves reports whether odd words in places change the answer, or of a request that reads a condition that holds.
func (r *run) moves(ctx context.Context, t *target, base *kit.Base, places []message.Place) (bool, error) {
	moved, err := r.movedBy(ctx, t, base, places, oddity)
	if err != nil || moved || t.Request.After != nil || !kit.OnlyReads(t.Request) {
		return moved, err
	}
	return r.movedBy(ctx, t, base, places, holding)
}

func (r *run) movedBy(ctx context.Context, t *target, base *kit.Base, places []message.Place, odd string) (bool,
	error) {
	request := t.Request
	var words []string
	for _, p := range places {
		word := kit.Word()
		words = append(words, word)
		text := p.Value + word + odd
		switch {
		case p.Key: // the parameter stays, and one more comes
			p, text = message.Place{Component: p.Component, Format: p.Format, Name: word}, "1"
		case isSerialised(p.Value): // what follows its end is not read
			text = word + odd + p.Value
		}
		request = request.Put(p, text)
		if p.Component == message.Header { // another page may show it, such as a list of visits
			r.world.Plant(word, t.Target, p)
		}
	}
	answer, err := r.world.Send(ctx, t.Target, request)
	if err != nil {
		return false, err
	}
	for _, word := range words {
		if strings.Contains(string(answer.Body), word) {
			return true, nil
		}
	}
	refuses := odd == holding && answer.Status != base.Response.Status // a firewall, most likely
	return !refuses && !diff.Same(base.Page, diff.New(answer, words...), base.Noise), nil
}
