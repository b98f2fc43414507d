package redirect

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	sends     = kit.ForgottenOr(`remind|lost|invit|refer|share|verif|activat|confirm|notify|mail|magic`)
	recipient = regexp.MustCompile(`(?i)person|friend|^to$|recipient|` + kit.UserName.String())
)

const (
	maxSenders = 6  // forms that may send a message
	maxShowing = 60 // pages that may show one
)

// hostOfMessages is the check for messages, such as those with a link to set a new password, whose links lead to the
// host that a request has named: who gets one and follows it gives the link to somebody else. Forms that send messages
// are sent with a host of ours, once in the headers of proxies and once as the host itself, to the addresses that
// pages show of the users; then the pages of the map are read for it, and the form that has brought it is sent once
// more. At level active alone; four requests for each of six forms, and two for each page of the map and each of two
// users.
func hostOfMessages() kit.Check {
	c := kit.Check{ID: "host-of-messages", Class: "host-header", Level: client.Active,
		Title: "Links in messages lead to the host that a request names"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		m := &messages{w: w, hosts: map[string]sentWith{}}
		var forms []*message.Request
		for _, r := range w.Pages() {
			if r.Method == http.MethodPost && !r.IsMessage() && sends.MatchString(r.URL.Path) && m.place(r).Name != "" &&
				len(forms) < maxSenders {
				forms = append(forms, r)
			}
		}
		if len(forms) == 0 {
			return nil
		}
		if err := m.read(ctx); err != nil { // for the addresses of users
			return err
		}
		for _, by := range ways { // the last message of each user may be all that is shown
			for _, r := range forms {
				for _, to := range m.to(r) {
					if _, err := m.send(ctx, r, by, to); err != nil {
						return err
					}
				}
			}
			if err := m.look(ctx, &c); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// look reads the pages, and confirms what they show.
func (m *messages) look(ctx context.Context, c *kit.Check) error {
	if err := m.read(ctx); err != nil {
		return err
	}
	for _, page := range m.pages {
		host := m.shown(page)
		if host == "" || !m.w.Once("host of messages "+m.hosts[host].form.URL.String()) {
			continue
		}
		if err := m.confirm(ctx, c, page, host); err != nil {
			return err
		}
	}
	return nil
}

// ways are the headers that name a host, by what they are sent with.
var ways = [][]string{{"X-Forwarded-Host", "X-Host", "Forwarded"}, {"Host"}}

// messages are the forms that were sent, by our hosts, and the pages that may show what became of them.
type messages struct {
	w     *kit.World
	hosts map[string]sentWith
	pages []seenBy
}

type sentWith struct {
	form *message.Request
	by   []string
	to   string
}

type seenBy struct {
	*message.Response

	as *client.User
}

// place is that of the recipient of a form, by its name or as the only field that is no token; without a name if it has
// none.
func (m *messages) place(r *message.Request) message.Place {
	var fields []message.Place
	for _, p := range message.Places(r) {
		if p.Component != message.Body || p.Key || client.IsPassword(p.Name) {
			continue
		}
		if recipient.MatchString(p.Name) {
			return p
		}
		if !p.File && !kit.TokenName.MatchString(p.Name) {
			fields = append(fields, p)
		}
	}
	if len(fields) == 1 {
		return fields[0]
	}
	return message.Place{}
}

// to are the recipients that are tried: the one of the form, and the address or the name of a user.
func (m *messages) to(r *message.Request) (all []string) {
	all = append(all, m.place(r).Value)
	for _, u := range m.w.Users[:min(len(m.w.Users), 1)] {
		known := u.Name
		for _, page := range m.pages {
			for _, mail := range kit.MailAddress.FindAllString(string(page.Body), 20) {
				if strings.HasPrefix(mail, u.Name+"@") {
					known = mail
				}
			}
		}
		if !slices.Contains(all, known) {
			all = append(all, known)
		}
	}
	return all
}

// send sends a form with a host of ours in headers.
func (m *messages) send(ctx context.Context, r *message.Request, by []string, to string) (host string, err error) {
	host = kit.Word() + ".example.org"
	out := r.Put(m.place(r), to)
	for _, name := range by {
		value := host
		if name == "Forwarded" {
			value = "host=" + host
		}
		out = out.With(name, value)
	}
	var as *client.User
	if len(m.w.Users) > 0 {
		as = m.w.Users[0]
	}
	// An address such as /lost-password is none that changes one while nothing is sent that could be it.
	forced := !slices.ContainsFunc(message.Places(r), func(p message.Place) bool {
		return client.IsPassword(p.Name) ||
			p.Name == "token"
	})
	answer, err := m.w.Client.Send(ctx, out, client.Options{As: as, Writes: true, Forced: forced &&
		kit.Forgotten.MatchString(r.URL.Path)})
	if errors.Is(err, client.ErrScope) {
		return "", nil
	}
	if _, err := kit.Broken(ctx, out, answer, err); err != nil {
		return "", err
	}
	m.hosts[host] = sentWith{out, by, to}
	return host, nil
}

// read reads the pages of the map as two users, or as nobody.
func (m *messages) read(ctx context.Context) error {
	m.pages = nil
	users := slices.Clone(m.w.Users[:min(len(m.w.Users), 2)])
	if len(users) == 0 {
		users = append(users, nil)
	}
	for _, u := range users {
		looked := 0
		for _, r := range m.w.Pages() {
			if r.Method != http.MethodGet || looked >= maxShowing {
				continue
			}
			looked++
			answer, err := m.w.Ask(ctx, r, u)
			if err != nil {
				return err
			}
			if answer.Status == http.StatusOK {
				m.pages = append(m.pages, seenBy{answer, u})
			}
		}
	}
	return nil
}

// shown is the host of ours to which a page has an address; "" if it has none.
func (m *messages) shown(page seenBy) string {
	for host := range m.hosts {
		if bytes.Contains(page.Body, []byte("//"+host)) {
			return host
		}
	}
	return ""
}

// confirm sends a form once more, and reports it if the page has the new host then.
func (m *messages) confirm(ctx context.Context, c *kit.Check, page seenBy, host string) error {
	with := m.hosts[host]
	again, err := m.send(ctx, with.form, with.by, with.to)
	if err != nil || again == "" {
		return err
	}
	second, err := m.w.Ask(ctx, page.Request, page.as)
	if err != nil || !bytes.Contains(second.Body, []byte("//"+again)) {
		return err
	}
	m.w.Found(c, kit.Finding{Request: with.form, Payload: with.by[0], Severity: kit.Medium,
		Detail: "a message has a link to the host of the header " + with.by[0],
		Evidence: []kit.Evidence{
			{Request: page.Request, Response: page.Response, Match: kit.Around(page.Body, host),
				Note: "the message that was sent"},
			{Request: page.Request, Response: second, Match: kit.Around(second.Body, again),
				Note: "and again, with another host"}}})
	return nil
}
