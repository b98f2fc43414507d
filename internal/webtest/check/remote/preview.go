package remote

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// A preview shows one text of the page that it has read, such as its title. Where all pages of the application have the
// same title, that text stands in every answer, too. So the slot is looked for in which the preview shows it: the text
// with a few characters before and after it, which no usual answer has. An address of no page on the same host must not
// bring it, and the text of another page, or of the application's own error page, must stand in the same slot.

// previewed is the search for a slot in the answers of one place.
type previewed struct {
	*kit.World

	c     *kit.Check
	t     *kit.Target
	p     message.Place
	usual []*message.Response // answers to values that name no page
	pages []page
	errorPage
}

// errorPage is what a host answers where there is no page: its texts, and its status.
type errorPage struct {
	texts   []string
	failure int
}

// newPreviewed reads the error page of the host, once for all places.
func newPreviewed(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, p message.Place, pages []page,
	usual ...*message.Response,
) (*previewed, error) {
	out := &previewed{w, c, t, p, usual, pages, errorPage{}}
	key := "error page " + t.Request.URL.Host
	if known, ok := w.Memo.Load(key); ok {
		out.errorPage = known.(errorPage) //nolint:forcetypeassert // it is stored below
		return out, nil
	}
	r := message.From(http.MethodGet, nowhere(pages[0].address))
	answer, err := w.Client.Send(ctx, r, client.Options{})
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
		return nil, err
	}
	out.errorPage = errorPage{textsOf(answer), answer.Status}
	w.Memo.Store(key, out.errorPage)
	return out, nil
}

// nowhere is an address of no page on the host of another.
func nowhere(of *url.URL) *url.URL {
	at := *of
	at.Path, at.RawPath, at.RawQuery = "/"+kit.Word()+"/"+kit.Word(), "", ""
	return &at
}

// slot is where a preview shows a text: between which characters.
type slot struct{ text, before, after string }

// slotWidths are how many bytes of a slot stand before and after its text at most: a wide slot is rarely there by
// chance, and a narrow one has less that differs each time.
var slotWidths = [][2]int{{10, 6}, {3, 1}}

// maxSlots is how many places of a text are looked at in an answer.
const maxSlots = 20

// try looks for slots in the answer to the address of the first page, written in a variant, and confirms one.
func (v *previewed) try(ctx context.Context, variant string, first *message.Response) (found bool, err error) {
	sent := write(variant, v.pages[0].address)
	slots := v.slots(first, v.pages[0].texts, sent)
	if len(slots) == 0 {
		return false, nil
	}
	gone := write(variant, nowhere(v.pages[0].address))
	control, err := v.Try(ctx, v.t, v.p, gone)
	if err != nil {
		return false, err
	}
	slots = slices.DeleteFunc(slots, func(s slot) bool { return s.has(control, s.text) })
	in, match := other(slots, control, v.texts, gone)
	second, note := control, "a text of the error page stands in the same place"
	for _, page := range v.pages[1:] {
		if match != "" || len(slots) == 0 {
			break
		}
		address := write(variant, page.address)
		if second, err = v.Try(ctx, v.t, v.p, address); err != nil {
			return false, err
		}
		in, match = other(slots, second, page.texts, address)
		note = "a text of another page stands in the same place"
	}
	if match == "" {
		return false, nil
	}
	again, err := v.Try(ctx, v.t, v.p, sent)
	if err != nil || !in.has(again, in.text) {
		return false, err
	}
	v.report(sent, gone, variant, in.before+in.text+in.after, again, control,
		kit.Evidence{Request: second.Request, Response: second, Match: match, Note: note})
	return true, nil
}

// slots are where an answer shows a text of a page and no usual answer does.
func (v *previewed) slots(r *message.Response, texts []string, sent string) (all []slot) {
	body := message.Shown(r.Body)
	for _, text := range texts {
		if r.Status/100 == 3 || repeats(sent, text) {
			continue
		}
		from := 0
		for range maxSlots {
			at := strings.Index(body[from:], text)
			if at < 0 {
				break
			}
			at += from
			from = at + len(text)
			for _, width := range slotWidths {
				in := slot{text, lastOf(body[:at], width[0]), firstOf(body[from:], width[1])}
				if in.before+in.after != "" && !slices.Contains(all, in) &&
					!slices.ContainsFunc(v.usual, func(r *message.Response) bool { return in.has(r, text) }) {
					all = append(all, in)
				}
			}
		}
	}
	return all
}

// other is the first of some slots in which an answer has a text other than the slot's own, and the text with what
// surrounds it; "" if there is none.
func other(slots []slot, r *message.Response, texts []string, sent string) (in slot, match string) {
	for _, s := range slots {
		for _, text := range texts {
			if r.Status/100 != 3 && text != s.text && !repeats(sent, text) && s.has(r, text) {
				return s, s.before + text + s.after
			}
		}
	}
	return slot{}, ""
}

// repeats reports whether a text is a part of an address that was sent, so that showing the address shows it.
func repeats(sent, text string) bool {
	return strings.Contains(strings.ToLower(sent), strings.ToLower(text))
}

// lastOf and firstOf are so many bytes before and after a text, without a part of a character.
func lastOf(before string, width int) string {
	at := max(0, len(before)-width)
	for at < len(before) && !utf8.RuneStart(before[at]) {
		at++
	}
	return before[at:]
}

func firstOf(after string, width int) string {
	at := min(width, len(after))
	for at > 0 && at < len(after) && !utf8.RuneStart(after[at]) {
		at--
	}
	return after[:at]
}

// has reports whether an answer has a text in the slot.
func (s slot) has(r *message.Response, text string) bool {
	return strings.Contains(message.Shown(r.Body), s.before+text+s.after)
}

func (v *previewed) report(sent, gone, variant, match string, first, control *message.Response, second kit.Evidence) {
	user, users := kit.Names(v.t.User)
	address := v.pages[0].address.String()
	v.Found(v.c, kit.Finding{Request: first.Request, Place: v.p, Payload: sent, Variant: variant,
		Detail: "a text of the page at the address comes back",
		Evidence: []kit.Evidence{
			{Request: first.Request, Response: first, Match: match, Note: "a text of the page at " + address},
			{Request: control.Request, Response: control, Note: "an address of no page does not bring it"},
			second,
		},
		Proof: &proof.Program{About: "A text of the page at an address that the request names comes back.", Users: users,
			Steps: []proof.Step{
				{ID: "page", As: user, Send: v.t.Request.Put(v.p, sent),
					Expect: []proof.Expect{{What: proof.Contains, Value: match}}},
				{ID: "nowhere", As: user, Send: v.t.Request.Put(v.p, gone),
					Expect: []proof.Expect{{What: proof.Contains, Value: match, Not: true}}},
			}}})
}

var (
	heading     = regexp.MustCompile(`(?is)<h1\b[^>]*>\s*([^<]{3,100}?)\s*</h1>`)
	description = regexp.MustCompile(`(?is)<meta\s[^>]*?(?:name|property)\s*=\s*["']?(?:og:title|description|og:description)` +
		`["']?\s[^>]*?content\s*=\s*["']([^"'<>]{3,200})["']`)
)

// textsOf are the texts of a page that a preview shows: its title, its heading, what it says of itself.
func textsOf(r *message.Response) (texts []string) {
	for _, pattern := range []*regexp.Regexp{titled, heading, description} {
		if m := pattern.FindSubmatch(r.Body); m != nil {
			texts = append(texts, html.UnescapeString(string(m[1])))
		}
	}
	return texts
}
