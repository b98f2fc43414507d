package fuzz

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// reflections finds where in an HTML page a payload is, in any case of letters; each kind once, in page order:
// HTMLBody (text), HTMLAttribute, HTMLAttributeURL (href, src and the like), HTMLAttributeEvent, Script, ScriptData
// (a script that is not executed), Style and Comment. A payload that works as markup is in the HTMLBody.
func reflections(page []byte, payload string) []string {
	payload = strings.ToLower(payload)
	page = bytes.ToLower(page)
	if payload == "" || !bytes.Contains(page, []byte(payload)) {
		return nil
	}
	r := reflection{payload: payload, plain: html.UnescapeString(payload)}
	z := html.NewTokenizer(bytes.NewReader(page))
	within := "HTMLBody" // what text is here
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(r.found) == 0 {
				r.add("HTMLBody")
			}
			return r.found
		case html.TextToken:
			if r.in(string(z.Raw())) {
				r.add(within)
			}
			within = "HTMLBody"
		case html.CommentToken:
			if r.in(string(z.Raw())) {
				r.add("Comment")
			}
		case html.EndTagToken:
			within = "HTMLBody"
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			for _, a := range token.Attr {
				switch {
				case r.in(a.Val):
					r.add(attributeKind(token.Data, a))
				case r.in(a.Key):
					r.add("HTMLAttribute")
				}
			}
			within = contentOf(token)
		}
	}
}

// reflection is a payload, raw and decoded, and where it was found.
type reflection struct {
	payload, plain string
	found          []string
}

func (r *reflection) in(text string) bool {
	return strings.Contains(text, r.payload) || strings.Contains(text, r.plain)
}

func (r *reflection) add(kind string) {
	if !slices.Contains(r.found, kind) {
		r.found = append(r.found, kind)
	}
}

var (
	// urlAttributes hold URLs; executedURLs are the elements where a URL of some schemes is executed.
	urlAttributes = []string{
		"href", "src", "action", "formaction", "data", "poster", "codebase", "cite", "background", "manifest", "icon", "ping",
		"longdesc", "xlink:href",
	}
	executedURLs = map[string][]string{
		"href": {"a", "area"}, "src": {"iframe", "frame", "embed"}, "action": {"form"}, "formaction": {"button", "input"},
		"data": {"object"},
	}
)

func attributeKind(element string, a html.Attribute) string {
	switch {
	case strings.HasPrefix(a.Key, "on"):
		return "HTMLAttributeEvent"
	case a.Key == "style":
		return "Style"
	case a.Key == "srcdoc":
		return "HTMLBody"
	case !slices.Contains(urlAttributes, a.Key):
		return "HTMLAttribute"
	}
	for _, scheme := range []string{"javascript:", "vbscript:", "data:text/html", "data:application/xhtml+xml",
		"data:image/svg+xml"} {
		if strings.HasPrefix(strings.TrimSpace(a.Val), scheme) && slices.Contains(executedURLs[a.Key], element) {
			return "Script"
		}
	}
	return "HTMLAttributeURL"
}

// contentOf is the kind of text inside an element.
func contentOf(token html.Token) string {
	switch token.Data {
	case "style":
		return "Style"
	case "script":
		for _, a := range token.Attr {
			kind, _, _ := strings.Cut(strings.TrimSpace(a.Val), ";")
			if a.Key == "type" && kind != "" && kind != "module" && !strings.Contains(kind, "javascript") &&
				!strings.Contains(kind, "ecmascript") {
				return "ScriptData"
			}
		}
		return "Script"
	}
	return "HTMLBody"
}
