package session

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// marker is a request that answers a user who is logged in otherwise than nobody.
type marker struct {
	request  *message.Request
	text     string // that only the user gets; "": the status tells
	status   int    // that the user gets
	nobody   int    // that nobody gets
	target   string // where nobody is sent
	form     bool   // nobody gets a form to log in there, and the user none
	formless bool   // the user is shown no login there
}

// String says what the marker is.
func (m *marker) String() string {
	if m.form {
		return "the form to log in, which " + m.request.URL.Path + " shows to others"
	}
	if m.text != "" {
		return "the text " + strings.TrimSpace(strings.ToValidUTF8(m.text, "?")) + " of " + m.request.URL.Path
	}
	return "the status of " + m.request.URL.Path
}

// logout are words of links that only who is logged in gets.
var logout = regexp.MustCompile(`(?i)log-?_?\s?out|sign-?_?\s?out|log-?_?\s?off|abmelden|déconnexion|cerrar sesión`)

// learn looks for a marker on the pages that a user is likely to see. It reports whether that was of use: where none
// was found and the user was asked to log in, the session was over.
func (s *Session) learn(ctx context.Context) bool {
	isOut := false
	seen := map[string]bool{}
	for _, u := range s.candidates(ctx) {
		if seen[u.String()] || len(seen) > 8 {
			continue
		}
		seen[u.String()] = true
		r := message.From(http.MethodGet, u)
		own, err := s.client.Send(ctx, r, client.Options{As: s.User})
		if err != nil {
			continue
		}
		nobody, err := s.client.Send(ctx, r, client.Options{})
		if err != nil {
			continue
		}
		if m := s.compare(r, own, nobody); m != nil {
			m.nobody, m.formless = nobody.Status, len(sitemap.LoginForms(own)) == 0
			if to := nobody.Redirect(); to != nil {
				m.target = to.Path
			}
			s.marker = m
			return true
		}
		isOut = isOut || s.isLoginAt(u, own)
	}
	return !isOut
}

// isLoginAt reports whether an answer leads to the login by which the user came, or shows one where that has led.
func (s *Session) isLoginAt(u *url.URL, own *message.Response) bool {
	if s.page == nil {
		return false
	}
	if to := own.Redirect(); to != nil {
		return to.Path == s.page.Path && u.Path != s.page.Path
	}
	isAway := u.Path != s.page.Path || s.Landed != nil && s.Landed.Path == u.Path
	return isAway && len(sitemap.LoginForms(own)) > 0
}

// candidates are pages that may answer the user otherwise: the start, what it leads to, and what it links.
func (s *Session) candidates(ctx context.Context) (out []*url.URL) {
	for _, u := range s.starts[:min(len(s.starts), 3)] {
		out = append(out, u)
		page, err := s.get(ctx, u, s.User)
		if err != nil {
			continue
		}
		sitemap.NoteEnds(s.client, page)
		out = append(out, page.Request.URL)
		for _, m := range regexp.MustCompile(`(?i)href\s*=\s*["']?([^"'\s>#]+)`).FindAllSubmatch(page.Body, 40) {
			to, err := page.Request.URL.Parse(string(m[1]))
			if err == nil && to.Host == u.Host && !logout.MatchString(to.String()) &&
				!strings.HasSuffix(to.Path, ".css") && !strings.HasSuffix(to.Path, ".js") {
				out = append(out, to)
			}
		}
	}
	for _, r := range s.Seeds {
		if r.Method == http.MethodGet {
			out = append(out, r.URL)
		}
	}
	return out
}

// compare is a marker that two answers make, or nil.
func (s *Session) compare(r *message.Request, own, nobody *message.Response) *marker {
	if s.Marker != "" {
		if strings.Contains(string(own.Body), s.Marker) && !strings.Contains(string(nobody.Body), s.Marker) {
			return &marker{request: r, text: s.Marker}
		}
		return nil
	}
	if own.Status/100 == 2 && nobody.Status/100 != 2 && nobody.Status < http.StatusInternalServerError {
		return &marker{request: r, status: own.Status}
	}
	if own.Status/100 != 2 || nobody.Status/100 != 2 {
		return nil
	}
	if len(sitemap.LoginForms(own)) == 0 {
		if text := logout.FindString(string(own.Body)); text != "" && !strings.Contains(string(nobody.Body), text) {
			return &marker{request: r, text: text}
		}
	}
	if name := s.Account.User; len(name) > 2 && strings.Contains(string(own.Body), name) &&
		!strings.Contains(string(nobody.Body), name) {
		return &marker{request: r, text: name}
	}
	if len(sitemap.LoginForms(own)) == 0 && len(sitemap.LoginForms(nobody)) > 0 {
		return &marker{request: r, form: true} // in any language
	}
	return nil
}

// Alive reports whether the user is logged in. Without a marker that cannot be told, and is taken for true.
func (s *Session) Alive(ctx context.Context) (bool, error) {
	if s.marker == nil {
		return true, nil
	}
	answer, err := s.client.Send(ctx, s.marker.request, client.Options{As: s.User, AsIs: true})
	if err != nil {
		return false, err
	}
	if answer.Status >= http.StatusInternalServerError {
		return true, nil // an ill application says nothing about the session
	}
	if s.marker.form {
		return answer.Status/100 == 2 && len(sitemap.LoginForms(answer)) == 0, nil
	}
	if s.marker.text != "" {
		return strings.Contains(string(answer.Body), s.marker.text), nil
	}
	return answer.Status == s.marker.status, nil
}
