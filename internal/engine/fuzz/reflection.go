package fuzz

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// reflections says in what parts of an HTML page a payload stands as it was sent, each
// part once, in the order of the page: "text", "comment", "doctype", "tag" (outside of
// attribute values), "attribute", "url attribute" (href, src and the like), "event
// handler", "script", "script data" (not executed) or "style".
func reflections(page []byte, payload string) []string {
	if payload == "" || !bytes.Contains(page, []byte(payload)) {
		return nil
	}
	var found []string
	add := func(kind string) {
		if !slices.Contains(found, kind) {
			found = append(found, kind)
		}
	}
	z := html.NewTokenizer(bytes.NewReader(page))
	within := "text" // what text is here
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) || len(found) == 0 {
				add("text") // across tokens, or after what cannot be read
			}
			return found
		}
		raw := string(z.Raw())
		hit := strings.Contains(raw, payload)
		switch kind {
		case html.TextToken:
			if hit {
				add(within)
			}
			within = "text"
		case html.CommentToken:
			if hit {
				add("comment")
			}
		case html.DoctypeToken:
			if hit {
				add("doctype")
			}
		case html.EndTagToken:
			within = "text"
			if hit {
				add("tag")
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if hit {
				inTag(token, payload, add)
			}
			within = contentOf(token)
		}
	}
}

// inTag tells where in a tag a payload stands. Values are seen decoded, and the payload
// is looked for as it is and decoded.
func inTag(token html.Token, payload string, add func(kind string)) {
	plain := html.UnescapeString(payload)
	found := false
	for _, a := range token.Attr {
		if !strings.Contains(a.Val, payload) && !strings.Contains(a.Val, plain) {
			continue
		}
		found = true
		switch {
		case strings.HasPrefix(a.Key, "on"):
			add("event handler")
		case slices.Contains([]string{"href", "src", "action", "formaction", "data", "srcdoc", "xlink:href"}, a.Key):
			add("url attribute")
		case a.Key == "style":
			add("style")
		default:
			add("attribute")
		}
	}
	if !found {
		add("tag")
	}
}

// contentOf says what the text inside of an element is.
func contentOf(token html.Token) string {
	switch token.Data {
	case "style":
		return "style"
	case "script":
		for _, a := range token.Attr {
			kind := strings.ToLower(strings.TrimSpace(a.Val))
			if a.Key == "type" && kind != "" && kind != "module" && !strings.Contains(kind, "javascript") && !strings.Contains(kind, "ecmascript") {
				return "script data"
			}
		}
		return "script"
	}
	return "text"
}
