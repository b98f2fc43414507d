package web

import (
	"bytes"
	"io"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/vedette-sec/vedette/internal/discover"
)

// The bounds of what is taken from a page.
const (
	maxTitle  = 512  // bytes of a title
	maxLinks  = 1000 // links of a page
	maxLink   = 2048 // bytes of a link
	maxTokens = 200_000
)

// Page is the content of a page. Links are as written, not resolved.
type Page struct {
	Title string   // one line, valid UTF-8, no control characters, at most 512 bytes
	Icon  string   // of the favicon
	Base  string   // that links are relative to
	Links []string // of anchors, forms by GET, frames, scripts and styles
}

// ReadPage reads an HTML page. contentType may name its character set.
func ReadPage(body []byte, contentType string) Page {
	r := pageReader{tokens: html.NewTokenizer(bytes.NewReader(toUTF8(body, contentType)))}
	r.tokens.SetMaxBuf(maxBody)
	for range maxTokens {
		kind := r.tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		r.token(kind)
	}
	r.page.Title = discover.Clean(r.title.String(), maxTitle)
	return r.page
}

type pageReader struct {
	tokens   *html.Tokenizer
	page     Page
	title    strings.Builder
	inTitle  bool
	hasTitle bool
	drawing  int // depth of svg elements, which have titles of their own
}

func (r *pageReader) token(kind html.TokenType) {
	if kind != html.TextToken && !r.matters() {
		return
	}
	switch kind {
	case html.TextToken:
		if r.inTitle && r.title.Len() < 4*maxTitle {
			text := r.tokens.Text()
			r.title.Write(text[:min(len(text), 4*maxTitle)])
		}
	case html.EndTagToken:
		name, _ := r.tokens.TagName()
		switch atom.Lookup(name) {
		case atom.Title:
			r.inTitle = false
		case atom.Svg:
			r.drawing = max(0, r.drawing-1)
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := r.tokens.TagName()
		tag := atom.Lookup(name)
		switch {
		case tag == atom.Title && !r.hasTitle && r.drawing == 0:
			r.inTitle, r.hasTitle = true, true
		case tag == atom.Svg && kind == html.StartTagToken:
			r.drawing++
		}
		if more {
			r.element(tag, r.attributes())
		}
	}
}

// matters reports whether the current tag may be one of interest, by its first letter: TagName allocates.
func (r *pageReader) matters() bool {
	name := bytes.TrimLeft(r.tokens.Raw(), "</")
	return len(name) > 0 && strings.IndexByte("abfilst", name[0]|0x20) >= 0
}

func (r *pageReader) attributes() map[string]string {
	found := map[string]string{}
	for range 100 {
		key, value, more := r.tokens.TagAttr()
		switch k := string(key); k {
		case "href", "src", "action", "rel", "method":
			if _, twice := found[k]; !twice && len(value) <= 2*maxBody {
				found[k] = strings.TrimSpace(string(value))
			}
		}
		if !more {
			break
		}
	}
	return found
}

func (r *pageReader) element(tag atom.Atom, a map[string]string) {
	switch tag {
	case atom.Base:
		if r.page.Base == "" && len(a["href"]) <= maxLink {
			r.page.Base = a["href"]
		}
	case atom.Link:
		switch rel := strings.ToLower(a["rel"]); {
		case isIcon(rel) && r.page.Icon == "":
			r.page.Icon = a["href"]
		case rel == "stylesheet", rel == "alternate", rel == "canonical", rel == "next", rel == "manifest":
			r.link(a["href"])
		}
	case atom.A, atom.Area:
		r.link(a["href"])
	case atom.Form:
		if m := strings.ToLower(a["method"]); m == "" || m == "get" || m == "post" {
			r.link(a["action"])
		}
	case atom.Script, atom.Iframe, atom.Frame:
		r.link(a["src"])
	}
}

func (r *pageReader) link(href string) {
	if href != "" && len(href) <= maxLink && len(r.page.Links) < maxLinks {
		r.page.Links = append(r.page.Links, href)
	}
}

func isIcon(rel string) bool {
	return slices.Contains(strings.Fields(rel), "icon")
}

// Resolve makes a link of a page at from absolute, without its fragment; nil for what is no web address.
func (p *Page) Resolve(from *url.URL, link string) *url.URL {
	if p.Base != "" {
		if base, err := from.Parse(p.Base); err == nil {
			from = base
		}
	}
	return resolve(from, link)
}

// resolve gives nil for what is no web address.
func resolve(from *url.URL, link string) *url.URL {
	if len(link) > maxLink {
		return nil
	}
	u, err := from.Parse(strings.Map(noBreaks, strings.TrimSpace(link)))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	return u
}

// noBreaks drops what browsers drop within a link.
func noBreaks(c rune) rune {
	if c == '\n' || c == '\r' || c == '\t' {
		return -1
	}
	return c
}

var metaCharset = regexp.MustCompile(`(?i)<meta[^>]{0,256}charset\s*=\s*["']?\s*([a-z0-9_:.-]{1,40})`)

// toUTF8 decodes a body by its byte order mark, its header, its meta element, or what it looks like.
func toUTF8(body []byte, contentType string) []byte {
	name := ""
	_, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return body[3:]
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		name = "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		name = "utf-16be"
	case err == nil && parameters["charset"] != "":
		name = parameters["charset"]
	default:
		start := body[:min(len(body), 4096)]
		if bytes.Contains(bytes.ToLower(start), []byte("charset")) { // the expression is slow
			if m := metaCharset.FindSubmatch(start); m != nil {
				name = string(m[1])
			}
		}
		if strings.HasPrefix(strings.ToLower(name), "utf-16") { // then the meta element could not have been read
			name = ""
		}
	}
	if name == "" {
		if utf8.Valid(body) || utf8.Valid(body[:max(0, len(body)-3)]) {
			return body
		}
		name = "windows-1252"
	}
	if strings.EqualFold(name, "utf-8") && utf8.Valid(body) {
		return body
	}
	encoding, err := htmlindex.Get(name)
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(io.LimitReader(encoding.NewDecoder().Reader(bytes.NewReader(body)), 2*maxBody))
	if err != nil {
		return body
	}
	return plain
}
