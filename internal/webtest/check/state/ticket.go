package state

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

var (
	forgets    = regexp.MustCompile(`(?i)forg[eo]t|recover|remind|lost|reset|resend|magic|invit|activat`)
	addressee  = regexp.MustCompile(`(?i)mail|user|login|name|account|member|customer|person`)
	ticketName = regexp.MustCompile(`(?i)ticket|token|code|key|hash|reset|secret|verif|^t$|^k$|^id$`)
)

const (
	maxTicketForms = 2
	draws          = 3
	maxStep        = 20 // from one ticket that counts to the next
	maxTickets     = 20 // links that a user gets
)

// tickets is the check for what a message about a forgotten password has: a link whose ticket can be told from the one
// before, or from the name of the user, or that works twice. The form is sent three times for the first user, and the
// links are those that pages of the user then show. With a ticket the user's own password is set, twice; an invented
// ticket must be refused. Up to ten requests for each of two forms, and one for each page.
func tickets() kit.Check {
	c := kit.Check{ID: "predictable-ticket", Class: "predictable-token", Level: client.Active,
		Title: "The ticket of a forgotten password can be predicted"}.Describe()
	again := kit.Check{ID: "ticket-replay", Class: "code-replay", Level: client.Active,
		Title: "The ticket of a forgotten password works more than once"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 {
			return nil
		}
		tried := 0
		for _, r := range w.Pages() {
			p := recipientOf(r)
			if p.Name == "" || tried >= maxTicketForms || !w.Once("tickets "+r.URL.Host+r.URL.Path) {
				continue
			}
			tried++
			if err := drawn(ctx, w, &c, &again, r.Put(p, w.Users[0].Name)); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// recipientOf is the place of the name in a form of forgotten passwords, which has no password itself.
func recipientOf(r *message.Request) (place message.Place) {
	if r.Method != http.MethodPost || r.IsMessage() || !forgets.MatchString(r.URL.Path) {
		return place
	}
	for _, p := range message.Places(r) {
		switch {
		case p.Component != message.Body || p.Key:
		case client.IsPassword(p.Name):
			return message.Place{}
		case addressee.MatchString(p.Name) && place.Name == "":
			place = p
		}
	}
	return place
}

// ticket is a link with one.
type ticket struct {
	value, name string // of the parameter
	link        *url.URL
	page        *message.Response
}

// drawn sends a form three times and compares the tickets.
func drawn(ctx context.Context, w *kit.World, predicted, again *kit.Check, form *message.Request) error {
	pages := reads(w)
	before, _, err := ticketsOn(ctx, w, pages)
	if err != nil {
		return err
	}
	var got []ticket
	for range draws {
		if answer, err := send(ctx, w, form, nil); err != nil || answer.Status >= 400 {
			return err
		}
		now, shown, err := ticketsOn(ctx, w, pages)
		if err != nil {
			return err
		}
		pages = shown
		for _, t := range now {
			same := func(o ticket) bool { return o.value == t.value }
			if !slices.ContainsFunc(before, same) && !slices.ContainsFunc(got, same) {
				got = append(got, t)
			}
		}
	}
	if len(got) == 0 && len(before) > 0 { // the same one each time, that the map has asked for
		got = before[:1]
	}
	if len(got) == 0 {
		return nil
	}
	if about := tells(got, w.Users[0].Name); about != "" {
		f := kit.Finding{Request: message.From(http.MethodGet, got[0].link), Detail: about, Payload: got[0].value,
			Place: message.Place{Component: message.Query, Name: got[0].name}}
		for _, t := range got {
			f.Evidence = append(f.Evidence, kit.Evidence{Request: t.page.Request, Response: t.page, Match: t.value,
				Note: "a ticket that the user got"})
		}
		w.Found(predicted, f)
	}
	return twice(ctx, w, again, got[len(got)-1])
}

// ticketsOn are the links with tickets on pages of the first user, and the pages that have some; all pages when none
// has.
func ticketsOn(ctx context.Context, w *kit.World, pages []*message.Request) (all []ticket, with []*message.Request,
	err error) {
	for _, r := range pages {
		answer, err := w.Ask(ctx, r, w.Users[0])
		if err != nil {
			return nil, nil, err
		}
		some := len(all)
		for _, l := range links(answer) {
			if !forgets.MatchString(l.to.Path+" "+l.text) || len(all) >= maxTickets {
				continue
			}
			for name, values := range l.to.Query() {
				if ticketName.MatchString(name) && len(values[0]) >= 3 {
					all = append(all, ticket{values[0], name, l.to, answer})
				}
			}
		}
		if len(all) > some {
			with = append(with, r)
		}
	}
	if len(with) == 0 {
		with = pages
	}
	return all, with, nil
}

// tells says from what tickets can be told; "" when nothing is seen.
func tells(got []ticket, name string) string {
	for _, way := range kit.Writings[1:] {
		if way.Write(name) == got[0].value {
			return "it is written from the name of the user"
		}
	}
	if len(got) < draws {
		return ""
	}
	last := 0
	for i, t := range got[:draws] {
		n, err := strconv.Atoi(t.value)
		if err != nil || i > 0 && (n <= last || n-last > maxStep) {
			return ""
		}
		last = n
	}
	return "each is the last one and a little more"
}

// twice sets the password that the user has with a ticket, twice.
func twice(ctx context.Context, w *kit.World, c *kit.Check, t ticket) error {
	if w.Password == nil || w.Password(w.Users[0]) == "" {
		return nil
	}
	page, err := w.Ask(ctx, message.From(http.MethodGet, t.link), nil)
	if err != nil || page.Status >= 400 {
		return err
	}
	var form *message.Request
	var of message.Place
	for _, r := range sitemap.Forms(page) {
		hasPassword := false
		for _, p := range message.Places(r) {
			switch {
			case p.Component == message.Body && !p.Key && client.IsPassword(p.Name):
				r, hasPassword = r.Put(p, w.Password(w.Users[0])), true
			case p.Value == t.value && !p.Key:
				of = p
			}
		}
		if hasPassword && r.Method == http.MethodPost {
			form = r
			break
		}
	}
	if form == nil || of.Value == "" {
		return nil
	}
	var answers []*message.Response
	for _, value := range []string{t.value, t.value, shifted(t.value) + kit.Word()} {
		answer, err := send(ctx, w, form.Put(of, value), nil)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if answers[0].Status >= 400 || !kit.Same(answers[0], answers[1]) || kit.Same(answers[0], answers[2]) {
		return nil
	}
	w.Found(c, kit.Finding{Request: answers[1].Request, Place: of, Payload: t.value,
		Detail: "the password that the user has was set with it, twice",
		Evidence: []kit.Evidence{{Request: answers[0].Request, Response: answers[0], Note: "the ticket sets a password"},
			{Request: answers[1].Request, Response: answers[1], Note: "and once more"},
			{Request: answers[2].Request, Response: answers[2], Note: "an invented one is refused"}}})
	return nil
}
