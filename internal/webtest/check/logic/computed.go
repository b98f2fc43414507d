package logic

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var (
	// computedName are names of what an application counts or adds up; countedName those of them that no person types.
	computedName = regexp.MustCompile(`(?i)points?|score|total|(?:^|_)sum$|price|amount|discount|rebate|credits?$|balance|(?:^|_)fee$|cost|` +
		`percent|correct|marks?$|grade|bonus|reward|(?:^xp|_xp)$|^(?:\w+_)?level$`)
	countedName = regexp.MustCompile(`(?i)points?|score|total|discount|grade|bonus|reward|(?:^xp|_xp)$`)
	control     = regexp.MustCompile(`(?is)<(?:input|select|textarea)\b[^>]{1,1000}>`)
	controlHas  = regexp.MustCompile(`(?i)\b(name|id|type)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	readOnly    = regexp.MustCompile(`(?i)\sreadonly\b`)
)

const (
	maxComputed = 3  // fields of a request that are tried
	maxShowing  = 12 // pages in which a value may come out
	maxLeads    = 3  // redirects that are followed
)

// computed is the check for numbers that the page counts, by a hidden field, one that cannot be written to, or a
// script, and that the application takes from there: points, totals, discounts. The page is opened and its form is
// sent as it is, and then with a number that stands nowhere: a page that is read afterwards, whose address does not
// have the number, must show it, and a second number in the same place. At last the form is sent as it was. A page
// that shows what it was sent at once counts for nothing. Four rounds for each of three such fields, of a request each
// for the page and the form, and up to twelve for pages that may show the number; at level active alone.
func computed() kit.Check {
	c := kit.Check{ID: "counted-by-client", Class: "business-logic", Level: client.Active,
		Title: "A number that the page counts is taken as it is sent"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method == http.MethodGet || t.Request.IsMessage() || t.From == "" {
			return nil
		}
		from, err := url.Parse(t.From)
		if err != nil || from.Host != t.Request.URL.Host {
			return nil //nolint:nilerr // it has no page
		}
		f := &counted{World: w, Target: t, page: message.From(http.MethodGet, from), as: t.User}
		if !kit.Known(f.as) {
			f.as = client.NewUser("") // a visitor of their own, whose cookies are kept
		}
		var page *message.Response
		tried := 0
		for _, p := range message.Places(t.Request) {
			if _, err := strconv.ParseFloat(p.Value, 64); err != nil || p.Component != message.Body || p.Key ||
				!computedName.MatchString(p.Name) || tried >= maxComputed ||
				!w.Once("computed "+t.Request.Method+t.Request.URL.Host+t.Request.URL.Path+p.Name) {
				continue
			}
			if page == nil {
				if page, err = w.Ask(ctx, f.page, f.as); err != nil {
					return err
				}
			}
			if !isComputed(page, p) {
				continue
			}
			tried++
			if err := f.try(ctx, &c, p); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// isComputed reports whether no person types the value of a field: it is hidden or cannot be written to; or a script
// sends a number that is counted, and the page has no field for it.
func isComputed(page *message.Response, p message.Place) bool {
	if !page.IsHTML() {
		return false
	}
	name := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	for _, tag := range control.FindAll(page.Body, 500) {
		has := map[string]string{}
		for _, m := range controlHas.FindAllStringSubmatch(string(tag), 10) {
			has[strings.ToLower(m[1])] = html.UnescapeString(m[2] + m[3] + m[4])
		}
		if has["name"] == name || has["id"] == name {
			return strings.EqualFold(has["type"], "hidden") || readOnly.Match(tag)
		}
	}
	return p.Format == message.JSON && countedName.MatchString(name)
}

// counted is a form with a number that its page counts.
type counted struct {
	*kit.World
	*kit.Target

	page *message.Request // with the form
	as   *client.User
}

// showing are pages that were read after a form was sent.
type showing struct {
	answer *message.Response // to the form
	pages  []*message.Response
}

// round opens the page, sends the form with a value, and reads pages; those of known alone, if there are any. The pages
// are nil where the form is refused, or is not to be sent.
func (f *counted) round(ctx context.Context, p message.Place, value string, known *message.Request) (
	out showing, err error,
) {
	if _, err = f.Ask(ctx, f.page, f.as); err != nil {
		return out, err
	}
	r := f.Request.Put(p, value)
	out.answer, err = f.Client.Send(ctx, r, client.Options{As: f.as, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return out, nil
	}
	if out.answer, err = kit.Broken(ctx, r, out.answer, err); err != nil || out.answer.Status == 0 ||
		out.answer.Status >= http.StatusBadRequest {
		return out, err
	}
	var read []*message.Request
	last := out.answer
	for range maxLeads {
		to := last.Redirect()
		if to == nil || to.Host != r.URL.Host {
			break
		}
		next := message.From(http.MethodGet, to)
		if last, err = f.Ask(ctx, next, f.as); err != nil {
			return out, err
		}
		out.pages, read = append(out.pages, last), append(read, next)
	}
	others := append([]*message.Request{f.page}, f.Pages()...)
	if known != nil {
		others = []*message.Request{known}
	}
	for _, next := range others {
		isRead := slices.ContainsFunc(read, func(q *message.Request) bool { return q.URL.String() == next.URL.String() })
		if next.Method != http.MethodGet || next.After != nil || next.IsMessage() || next.URL.Host != r.URL.Host || isRead ||
			len(read) >= maxShowing {
			continue
		}
		answer, err := f.Ask(ctx, next, f.as)
		if err != nil {
			return out, err
		}
		out.pages, read = append(out.pages, answer), append(read, next)
	}
	return out, nil
}

// shows is the page that shows a number, at an address that does not have it; nil if none does.
func (s *showing) shows(value string) *message.Response {
	pattern := regexp.MustCompile(`(?:^|[^\d.,])` + value + `(?:[.,]00?)?(?:$|[^\d.,]|[.,](?:\D|$))`)
	for _, r := range s.pages {
		isSent := strings.Contains(r.Request.URL.String(), value)
		if r.Status == http.StatusOK && !isSent && pattern.MatchString(kit.Text(r)) {
			return r
		}
	}
	return nil
}

// try sends numbers of ours in one field.
func (f *counted) try(ctx context.Context, c *kit.Check, p message.Place) error {
	first := 1000 + kit.Number()%4000
	one, two := strconv.Itoa(first), strconv.Itoa(first+1000+kit.Number()%3000)
	usual, err := f.round(ctx, p, p.Value, nil)
	if err != nil || usual.pages == nil || usual.shows(one) != nil || usual.shows(two) != nil {
		return err
	}
	ours, err := f.round(ctx, p, one, nil)
	if err != nil {
		return err
	}
	shown := ours.shows(one)
	var again showing
	if shown != nil {
		if again, err = f.round(ctx, p, two, shown.Request); err != nil {
			return err
		}
	}
	last, err := f.round(ctx, p, p.Value, f.page)
	if err != nil || shown == nil {
		return err
	}
	second := again.shows(two)
	if second == nil {
		return nil
	}
	f.report(c, p, one, two, &usual, &ours, shown, second, last.shows(two) == nil)
	return nil
}

func (f *counted) report(c *kit.Check, p message.Place, one, two string, usual, ours *showing,
	shown, second *message.Response, isBack bool,
) {
	detail := "the number " + two + " was left there"
	if isBack {
		detail = "the form was sent as it was at last"
	}
	about := "The application shows a number that was sent as one that it has counted."
	finding := kit.Finding{Request: ours.answer.Request, Place: p, Payload: one, Detail: detail, Evidence: []kit.Evidence{
		{Request: ours.answer.Request, Response: ours.answer, Note: "the form with a number of ours in " + p.Name},
		{Request: shown.Request, Response: shown, Match: one, Note: "a page that is read afterwards shows it"},
		{Request: second.Request, Response: second, Match: two, Note: "so it does with another number"},
		{Request: usual.answer.Request, Response: usual.answer, Note: "the form as the page has it, after which no page shows either"}}}
	if user, users := kit.Names(f.User); user != "" {
		finding.Proof = &proof.Program{About: about, Users: users, Steps: []proof.Step{
			{ID: "open", As: user, Send: f.page},
			{ID: "ours", As: user, Send: ours.answer.Request, Writes: true},
			{ID: "shown", As: user, Send: shown.Request, Expect: []proof.Expect{{What: proof.Contains, Value: one}}},
			{ID: "open-again", As: user, Send: f.page},
			{ID: "meant", As: user, Send: usual.answer.Request, Writes: true}}}
	}
	f.Found(c, finding)
}
