package remote

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// png are the first bytes of such a picture.
const png = "\x89PNG\r\n\x1a\n"

// uploads are files that do something where they are run or shown: {a} and {b} are numbers, {f} is a function. Some
// look like pictures, by their type, their first bytes, or one of two endings, to those who check only that.
var uploads = []struct{ ext, kind, content string }{
	{".php", "application/x-php", "{f}<?php echo {a}*{b}; ?>"},
	{".jsp", "application/octet-stream", "{f}<%= {a}*{b} %>"},
	{".php", "image/gif", "GIF89a{f}<?php echo {a}*{b}; ?>"},
	{".phtml", "image/png", png + "{f}<?php echo {a}*{b}; ?>"},
	{".pHp", "image/gif", "GIF89a{f}<?php echo {a}*{b}; ?>"},
	{".png.php", "image/png", png + "{f}<?php echo {a}*{b}; ?>"}, // where a name must have the ending of a picture somewhere
	{".php.png", "image/png", png + "{f}<?php echo {a}*{b}; ?>"}, // where a server runs what has the ending anywhere
	{".html", "text/html", "<p>{f}</p><script>{f}()</script>"},
	{".html", "image/png", "<p>{f}</p><script>{f}()</script>"},
	{".svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><script>{f}()</script></svg>`},
}

// upload is the check for files of types that are run, or shown as pages. It stores files of ours, whose only effect is
// a product of two numbers; where they can be read, they are asked for. At level active only, and what is left is said.
// Nine requests for each of eight kinds of file, at most.
func upload() kit.Check {
	c := kit.Check{ID: "file-upload", Class: "file-upload", Level: client.Active}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if !p.File {
			return nil
		}
		for _, file := range uploads {
			found, err := uploadOne(ctx, &c, w, t, p, file.ext, file.kind, file.content)
			if err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

func uploadOne(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place,
	ext, kind, content string,
) (bool, error) {
	word, a, b := kit.Word(), kit.Number(), kit.Number()
	name := word + ext
	text := strings.NewReplacer("{f}", word, "{a}", strconv.Itoa(a), "{b}", strconv.Itoa(b)).Replace(content)
	r := named(t.Request.Put(p, text), p.Name, name, kind)
	sent, err := w.Client.Send(ctx, r, client.Options{As: t.User, Writes: true})
	if sent, err = kit.Broken(ctx, r, sent, err); err != nil || sent.Status == 0 || sent.Status >= 400 {
		return false, err
	}
	listed, err := listing(ctx, w, t, sent, word)
	if err != nil {
		return false, err
	}
	for _, at := range append(placesOf(listed, t.Request.URL, word, name), newLinks(w, t, sent)...) {
		get := message.From(http.MethodGet, at)
		answer, err := w.Client.Send(ctx, get, client.Options{As: t.User})
		if answer, err = kit.Broken(ctx, get, answer, err); err != nil {
			return false, err
		}
		if answer.Status != http.StatusOK || !bytes.Contains(answer.Body, []byte(word)) {
			continue
		}
		product := strconv.Itoa(a * b)
		_, runs := markup.Runs(string(answer.Body), word)
		runs = runs && (answer.IsHTML() || answer.Type() == "image/svg+xml") &&
			!strings.HasPrefix(strings.ToLower(answer.Header.Get("Content-Disposition")), "attachment")
		f := kit.Finding{Request: r, Place: p, Payload: text, Variant: ext,
			Detail:   "a file of ours was left at " + at.String(),
			Evidence: []kit.Evidence{{Request: r, Response: sent, Note: "a file with the ending " + ext + " is accepted"}}}
		switch {
		case strings.Contains(content, "{a}") && bytes.Contains(answer.Body, []byte(product)):
			f.Severity = kit.Critical
			f.Evidence = append(f.Evidence, kit.Evidence{Request: get, Response: answer, Match: product,
				Note: "it was run: it has the product of its numbers"})
		case runs:
			f.Evidence = append(f.Evidence, kit.Evidence{Request: get, Response: answer, Match: kit.Around(answer.Body, word),
				Note: "it is served as a page, with its script"})
		default:
			continue
		}
		w.Found(c, f)
		return true, nil
	}
	return false, nil
}

// named is a request whose part has another name of its file, and another type.
func named(r *message.Request, part, name, kind string) *message.Request {
	out := r.Clone()
	head := regexp.MustCompile(`(?i)(Content-Disposition:[^\r\n]*name="` + regexp.QuoteMeta(part) +
		`"[^\r\n]*filename=")[^"\r\n]*(")([^\r\n]*\r?\n)(?:Content-Type:[^\r\n]*\r?\n)?`)
	out.Body = head.ReplaceAll(out.Body, []byte("${1}"+name+"${2}${3}Content-Type: "+kind+"\r\n"))
	return out
}

// listing is the answer that names a file that was sent: that to the form, the page that it leads to, or the one that
// shows the form.
func listing(ctx context.Context, w *kit.World, t *kit.Target, sent *message.Response,
	word string) (*message.Response, error) {
	if bytes.Contains(sent.Body, []byte(word)) {
		return sent, nil
	}
	pages := []*url.URL{t.Request.URL}
	if to := sent.Redirect(); to != nil && to.Host == t.Request.URL.Host {
		pages = []*url.URL{to, t.Request.URL}
	}
	if from, err := url.Parse(t.Request.Header.Get("Referer")); err == nil && from.Host == t.Request.URL.Host {
		pages = append(pages, from)
	}
	for i, at := range pages {
		if i > 0 && at.String() == pages[0].String() {
			continue
		}
		get := message.From(http.MethodGet, at)
		answer, err := w.Ask(ctx, get, t.User)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(answer.Body, []byte(word)) {
			return answer, nil
		}
	}
	return sent, nil
}

// placesOf are where a stored file may be read: what the answer says of it, and folders that are usual.
func placesOf(sent *message.Response, form *url.URL, word, name string) (all []*url.URL) {
	said := regexp.MustCompile(`[^\s"'<>()=,\\]*` + word + `[^\s"'<>(),\\]*`)
	texts := said.FindAllString(strings.ReplaceAll(string(sent.Body), `\/`, "/"), 3)
	texts = append(texts, said.FindAllString(sent.Header.Get("Location"), 1)...)
	for _, folder := range []string{"uploads", "upload", "files"} {
		texts = append(texts, path.Join(path.Dir(form.Path), folder, name))
	}
	seen := map[string]bool{}
	for _, text := range texts {
		if at, err := sent.Request.URL.Parse(text); err == nil && at.Host == form.Host && !seen[at.String()] {
			seen[at.String()] = true
			all = append(all, at)
		}
	}
	return all
}

// maxNew are how many links of an answer are followed that no page has had before.
const maxNew = 6

var href = regexp.MustCompile(`(?i)(?:href|src)\s*=\s*["']?([^"'\s>]+)`)

// newLinks are where the answer to an upload leads that is neither in the map nor on the page of the form: a file that
// was given another name.
func newLinks(w *kit.World, t *kit.Target, sent *message.Response) (all []*url.URL) {
	known := map[string]bool{}
	for _, r := range w.Pages() {
		known[r.URL.RequestURI()] = true
	}
	for _, m := range href.FindAllSubmatch(sent.Body, 200) {
		at, err := sent.Request.URL.Parse(string(m[1]))
		if err != nil || at.Host != t.Request.URL.Host || known[at.RequestURI()] || len(all) >= maxNew ||
			t.Response != nil && bytes.Contains(t.Response.Body, m[1]) {
			continue
		}
		known[at.RequestURI()] = true
		all = append(all, at)
	}
	return all
}
