package access

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// An object without private data tells whose it is where it names its owner: the user's own objects, of which pages of
// the user lead to two at least and to none of others, all have the user's name at one place, and another object has
// somebody else's there.

const (
	minOwn   = 2   // objects of the user's own
	maxOwn   = 4   // that are read
	maxLabel = 200 // bytes between a label and the name that it has
	ownPast  = 2   // bytes behind a name that are the same
)

// isOwn reports whether an object is one of several of the user's own.
func (n *neighbourhood) isOwn(ctx context.Context, r *message.Request, p message.Place, own *message.Response) (
	bool, error,
) {
	if !bytes.Contains(own.Body, []byte(n.as.Name)) {
		return false, nil
	}
	if err := n.read(ctx); err != nil {
		return false, err
	}
	values := n.linked(r, p)
	if len(values) < minOwn || !slices.Contains(values, p.Value) {
		return false, nil
	}
	for _, value := range values[:min(len(values), maxOwn)] {
		answer, err := n.send(ctx, r.Put(p, value), n.as)
		if err != nil {
			return false, err
		}
		if answer.Status != http.StatusOK || len(n.named(own, answer, true)) == 0 ||
			len(n.named(own, answer, false)) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// linked are the values to which pages of the user lead at the place of a request.
func (n *neighbourhood) linked(r *message.Request, p message.Place) (all []string) {
	const mark = "q7value"
	marked := r.Put(p, mark)
	var link *regexp.Regexp
	switch before, after, ok := strings.Cut(marked.URL.RequestURI(), mark); {
	case p.Component == message.Body:
		link = regexp.MustCompile(`name="` + regexp.QuoteMeta(p.Name) + `"[^>]{0,80}value="([^"]{1,80})"`)
	case ok:
		escaped := strings.NewReplacer("&", "&(?:amp;)?")
		link = regexp.MustCompile(`["'=](?:https?://[^/"']{1,80})?` + escaped.Replace(regexp.QuoteMeta(before)) +
			`([^"'\s<>/&?#]{1,80})` + escaped.Replace(regexp.QuoteMeta(after)) + `["'\s>#]`)
	default:
		return nil
	}
	for _, page := range n.pages {
		for _, m := range link.FindAllSubmatch(page.Body, 200) {
			value, err := url.QueryUnescape(string(m[1]))
			if err == nil && seriesOf(value) != nil && !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
	}
	return all
}

// shownName is a name, and how an answer shows it: with what stands around it, as a short one alone may stand anywhere.
type shownName struct {
	name []byte
	text string
}

// named are the names that an answer has where an object of the user has the user's: that of the user alone, or
// those of others.
func (n *neighbourhood) named(own, answer *message.Response, isUser bool) (all []shownName) {
	name := []byte(n.as.Name)
	for at, rest := 0, own.Body; len(all) < 5; {
		i := bytes.Index(rest, name)
		if i < 0 {
			break
		}
		at += i
		end := at + len(name)
		before, past := label(own.Body, at), own.Body[end:min(len(own.Body), end+ownPast)]
		at, rest = end, own.Body[end:]
		if len(before) == 0 {
			continue
		}
		there := regexp.MustCompile(regexp.QuoteMeta(string(before)) +
			`([\pL\pN@.+_-]{2,64})` + regexp.QuoteMeta(string(past)))
		for _, m := range there.FindAllSubmatch(answer.Body, 5) {
			if (string(m[1]) == n.as.Name) == isUser {
				all = append(all, shownName{m[1], string(m[0])})
			}
		}
	}
	return all
}

// namedInstead are the names of others, as they are shown, in an answer where an object of the user has the user's, and
// that neither that nor the answer for no object has.
func (n *neighbourhood) namedInstead(own, answer, missing *message.Response) (all []string) {
	for _, one := range n.named(own, answer, false) {
		if !bytes.Contains(own.Body, one.name) && !bytes.Contains(missing.Body, one.name) {
			all = append(all, one.text)
		}
	}
	return all
}

// label is what stands before a place in a page or in JSON, from the text that says what is there: >by or
// By</dt><dd> or "by":". Empty: there is none.
func label(body []byte, at int) []byte {
	letters, from := 0, at
	for from > 0 && at-from < maxLabel {
		c := body[from-1]
		switch {
		case letters > 0 && strings.IndexByte("<>\",{[\n", c) >= 0:
			return body[from-1 : at]
		case c == '>':
			if from = bytes.LastIndexByte(body[:from], '<'); from < 0 {
				return nil
			}
			continue
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80:
			letters++
		}
		from--
	}
	return nil
}
