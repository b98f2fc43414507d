package markup

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
)

var (
	shownAsText = regexp.MustCompile(`(?is)<(?:pre|textarea|code|samp|xmp)\b[^>]*>(.*?)</(?:pre|textarea|code|samp|xmp)\s*>`)
	element     = regexp.MustCompile(`<[^>]*>`)
	textOfCode  = regexp.MustCompile("(?s)`\\s*(<[^`]{5,})`" + `|"\s*(<(?:[^"\\\n]|\\.){5,})"|'\s*(<(?:[^'\\\n]|\\.){5,})'`)
	unescapes   = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\'`, `'`, `\/`, "/", `\t`, " ")
	ofHTML      = regexp.MustCompile(`(?i)^(?:html|head|body|div|p|span|a|b|i|em|strong|small|ul|ol|li|dl|dt|dd|table|t(?:r|d|h|body|head)|form|` +
		`input|select|option|button|label|h[1-6]|img|svg|path|g|section|article|nav|header|footer|main|aside|pre|code|style|script)$`)
	insertion = regexp.MustCompile(`\$\{[^{}]*\}`)
)

// maxDocuments is how many documents are taken from one page or script.
const maxDocuments = 3

// Documents are the documents of XML that a page shows its readers as text, such as the example of what an interface
// takes: three at most, each well formed and with a text in an element.
func Documents(page string) (all []string) {
	for _, m := range shownAsText.FindAllStringSubmatch(page, maxContexts) {
		text := m[1]
		if !strings.Contains(strings.ToLower(m[0][:9]), "textarea") { // where words may be coloured
			text = element.ReplaceAllString(text, "")
		}
		all = addDocument(all, html.UnescapeString(text))
	}
	return all
}

// DocumentsOfScript are those that stand in a script as texts, with 1 for what it puts in. Elements of HTML are none.
func DocumentsOfScript(script string) (all []string) {
	for _, m := range textOfCode.FindAllStringSubmatch(script, maxContexts) {
		all = addDocument(all, insertion.ReplaceAllString(m[1]+unescapes.Replace(m[2]+m[3]), "1"))
	}
	return all
}

func addDocument(all []string, text string) []string {
	text = strings.TrimSpace(text)
	if len(all) >= maxDocuments || !IsDocument(text) || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// IsDocument reports whether a text is a well-formed document of XML, other than one of HTML, in which an element has a
// text.
func IsDocument(text string) bool {
	if !strings.HasPrefix(text, "<") {
		return false
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth, roots, hasText := 0, 0, false
	for {
		token, err := decoder.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && roots == 1 && hasText
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			if depth++; depth > maxContexts || depth == 1 && isHTML(t.Name) {
				return false
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			isText := strings.TrimSpace(string(t)) != ""
			if isText && depth == 0 {
				return false
			}
			hasText = hasText || isText
		}
	}
}

// isHTML reports whether a name is that of an element of HTML or SVG.
func isHTML(name xml.Name) bool {
	return ofHTML.MatchString(name.Local) && (name.Space == "" || strings.Contains(name.Space, "www.w3.org"))
}
