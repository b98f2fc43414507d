// Package draft writes a template from a request, and proposes matchers from its response: the status, the type of the
// content, and texts of the body that look as if they said what the page is. Texts that change from one answer to the
// next (numbers, dates, tokens) and those that every page has are left out. What is proposed is tried: it must match
// the response, and must not match a page that is not found.
package draft

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/engine/generate"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/trial"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// Details are what a request does not say.
type Details struct {
	ID, Name, Author string // empty: made of the request
	Severity         syntax.Severity
}

// Draft is a template that was written.
type Draft struct {
	ID    string
	Text  string
	Notes []string // what the reader should look at
}

// headers that browsers and tools send of themselves.
var ordinary = regexp.MustCompile(`(?i)^(accept|accept-language|user-agent|sec-.*|upgrade-insecure-requests|` +
	`cache-control|pragma|referer|origin|dnt|if-.*|priority|te|via|x-forwarded-.*|traceparent|tracestate)$`)

// credentials are headers that hold somebody's session.
var credentials = regexp.MustCompile(`(?i)^(cookie|authorization|proxy-authorization|x-api-key|x-.*token|` +
	`x-csrf.*|x-xsrf.*)$`)

// Write writes a template. The error is about the request, or says that what was proposed did not hold.
func Write(ctx context.Context, x recorded.Exchange, d Details) (Draft, error) {
	u, err := url.Parse(x.URL)
	if err != nil {
		return Draft{}, errs.Field("from-request", "%v.", err)
	}
	out := Draft{}
	r := generate.Request{Method: cmp.Or(x.Method, http.MethodGet), Target: generate.Literal(u.RequestURI(), nil),
		Body: generate.Literal(string(x.Body), nil)}
	r.Target = strings.ReplaceAll(r.Target, "%7B%7B", `%7B{{concat("%7","B")}}`) // else it counts as a placeholder
	if !strings.HasPrefix(r.Target, "/") {
		r.Target = "/" + r.Target
	}
	for _, h := range x.Headers {
		switch {
		case credentials.MatchString(h.Name):
			out.Notes = append(out.Notes, "left out: the header "+h.Name+", which holds somebody's session or secret")
		case !ordinary.MatchString(h.Name) && !strings.EqualFold(h.Name, "Host"):
			r.Headers = append(r.Headers, syntax.Pair{Name: generate.Literal(h.Name, nil),
				Value: generate.Literal(h.Value, nil)})
		}
	}
	out.ID = cmp.Or(d.ID, idOf(u))
	t := generate.Template{ID: out.ID, Draft: true, Requests: []generate.Request{r}, Info: syntax.Info{
		Name: cmp.Or(d.Name, "Answer of "+u.Path), Severity: cmp.Or(d.Severity, syntax.SeverityInfo),
		Tags: []string{"draft"}}}
	if d.Author != "" {
		t.Info.Author = []string{d.Author}
	}
	if x.Response == nil {
		t.MatchersCondition = "and"
		t.Matchers = []syntax.Matcher{{Type: "status", Status: []int{http.StatusOK}}}
		out.Notes = append(out.Notes, "there was no response: the template asks for the status 200 alone, which many pages "+
			"have; add what only the weakness shows")
	} else if err := propose(&t, x.Response, &out); err != nil {
		return out, err
	}
	out.Text = t.Text()
	return out, try(ctx, out, x.Response)
}

var noWord = regexp.MustCompile(`[^a-z0-9]+`)

// maxID bounds an id that is made of a path.
const maxID = 60

func idOf(u *url.URL) string {
	id := strings.Trim(noWord.ReplaceAllString(strings.ToLower(u.Path), "-"), "-")
	if id == "" {
		id = strings.Trim(noWord.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-")
	}
	return "draft-" + strings.Trim(cmp.Or(id, "request")[:min(maxID, len(cmp.Or(id, "request")))], "-")
}

// propose adds the matchers that a response suggests.
func propose(t *generate.Template, response []byte, out *Draft) error {
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), nil)
	if err != nil {
		return errs.Field("from-request", "its response cannot be read: %v.", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return errs.Field("from-request", "its response cannot be read: %v.", err)
	}
	t.MatchersCondition = "and"
	t.Matchers = []syntax.Matcher{{Type: "status", Status: []int{r.StatusCode}}}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" then
	if kind != "" && kind != "text/html" {
		t.Matchers = append(t.Matchers, syntax.Matcher{Type: "word", Part: "content_type", Words: []string{kind}})
	}
	words := wordsOf(kind, body)
	if at := r.Header.Get("Location"); at != "" && len(words) == 0 {
		if u, err := url.Parse(at); err == nil && len(u.Path) > 1 {
			t.Matchers = append(t.Matchers, syntax.Matcher{Type: "word", Part: "header", Words: []string{
				generate.Literal(u.Path, nil)}})
		}
	}
	if len(words) == 0 {
		out.Notes = append(out.Notes, "nothing in the body says by itself what the page is: add what only the weakness shows")
		return nil
	}
	m := syntax.Matcher{Type: "word", Part: "body", Condition: "and"}
	for _, word := range words {
		m.Words = append(m.Words, generate.Literal(word, nil))
	}
	t.Matchers = append(t.Matchers, m)
	out.Notes = append(out.Notes, "read the matchers: they describe this answer, and not yet the weakness")
	return nil
}

// What is taken from a body.
const (
	maxWords = 3
	minWord  = 8 // bytes
	maxWord  = 80
)

// wordsOf are texts of a body that say what it is.
func wordsOf(kind string, body []byte) []string {
	text := strings.ToValidUTF8(string(body), "\n")
	if strings.HasSuffix(kind, "json") || json.Valid(body) {
		if keys := keysOf(body); len(keys) > 0 {
			return keys
		}
	}
	var words []string
	if title := titleForm.FindString(text); title != "" && steady(title) && !strings.ContainsAny(title, "\r\n") {
		words = append(words, title)
	}
	for line := range strings.SplitSeq(text[:min(len(text), 1<<20)], "\n") {
		if len(words) == maxWords {
			break
		}
		line = strings.TrimSpace(line)
		if secret := setting.FindString(line); secret != "" {
			line = secret
		}
		if len(line) < minWord || len(line) > maxWord || !steady(line) || boilerplate.MatchString(line) ||
			strings.Count(text, line) > 1 ||
			slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) }) {
			continue
		}
		words = append(words, line)
	}
	return words
}

var (
	titleForm = regexp.MustCompile(`(?i)<title>[^<]{3,80}</title>`)
	// boilerplate are lines that every page, script or style may have.
	boilerplate = regexp.MustCompile(`(?i)^(<!doctype|</?(html|head|body|div|span|table|tr|td|th|ul|ol|li|p|` +
		`br|hr|form|center|meta|link|script|style|nav|main|header|footer|section|noscript)\b[^>]*/?>$|(</[a-z0-9]+>\s*)+$|` +
		`<meta\b|<link\b|<script\b|<style\b|[{}();,.*/#-]|@|` +
		`var |let |const |function\b|return\b|if\b)`)
	// changing are what differs from one answer to the next: numbers, dates, tokens.
	changing = regexp.MustCompile(`[0-9]{3,}|[0-9]{1,2}[:/-][0-9]{1,2}|[0-9a-fA-F]{8,}|[A-Za-z0-9+/_-]{25,}|[?&][a-z]+=`)
)

// setting is the name of a setting whose value is a secret, which a template need not hold.
var setting = regexp.MustCompile(`(?i)^[\w.-]*(pass|pwd|secret|token|key)[\w.-]*["']?\s*[=:]`)

// steady reports whether a text has letters, and nothing that looks as if it changed.
func steady(text string) bool {
	return !changing.MatchString(text) && strings.ContainsFunc(text, unicode.IsLetter) &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// keysOf are the longest keys at the top of a JSON object, or of the first object of a list, as they are written.
func keysOf(body []byte) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		var list []map[string]json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return nil
		}
		object = list[0]
	}
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(object)), func(key string) bool {
		return len(key) < 2 || len(key) > maxWord || !steady(key) || !bytes.Contains(body, []byte(`"`+key+`"`))
	})
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	keys = keys[:min(maxWords, len(keys))]
	for i, key := range keys {
		keys[i] = `"` + key + `"`
	}
	return keys
}

// try compiles a draft and runs it against its own response and pages that it must not match.
func try(ctx context.Context, d Draft, response []byte) error {
	t, err := syntax.Parse(d.ID+".yaml", []byte(d.Text))
	if err != nil {
		return err
	}
	p, err := program.Compile(t)
	if err != nil || response == nil {
		return err
	}
	for _, c := range []struct {
		text     []byte
		positive bool
	}{{response, true}, {[]byte("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<h1>Not found</h1>"), false}} {
		one, err := trial.Answer(d.ID, c.positive, c.text)
		if err != nil {
			return err
		}
		if !c.positive && bytes.Contains(response[:min(len(response), 64)], []byte(" 404 ")) {
			continue // the page itself may be one that is not found
		}
		o, err := trial.Run(ctx, p, one)
		switch {
		case err != nil:
			return fmt.Errorf("trying the template: %w", err)
		case o.Reason != "":
			return errors.New("what was proposed does not hold on the response itself: " + o.Reason)
		}
	}
	return nil
}
