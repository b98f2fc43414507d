package program

import (
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// EventURL writes an address as events name it (template language 8.1, matched-at): parameters of one name together, no
// equals sign after them without value, and escapes as nuclei writes them. Requests are not affected.
func EventURL(a rawurl.URL, fragment string) string { return eventURL(a, escapePath(a.Path), fragment) }

func eventURL(a rawurl.URL, path, fragment string) string {
	text := a.Scheme + "://" + a.Host + path
	if query := eventQuery(a.Query); query != "" {
		text += "?" + query
	}
	if fragment != "" {
		text += "#" + (&url.URL{Fragment: fragment}).EscapedFragment()
	}
	return text
}

// RedirectURL writes the address of a redirect, with its query unchanged.
func RedirectURL(a rawurl.URL) string {
	a.Path = escapePath(a.Path)
	return a.String()
}

// escapePath escapes a path that no URL can hold.
func escapePath(path string) string {
	if u, err := url.Parse("http://h" + path); err == nil {
		return u.EscapedPath()
	}
	return rawurl.URL{Path: path}.Target()
}

func eventQuery(query string) string {
	if query == "" {
		return ""
	}
	values := map[string][]string{}
	var names []string
	for pair := range strings.SplitSeq(strings.TrimSuffix(query, "&"), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	}
	var b strings.Builder
	for _, name := range names {
		for _, value := range values[name] {
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			writeParam(&b, name)
			if value != "" {
				b.WriteByte('=')
				writeParam(&b, value)
			}
		}
	}
	return b.String()
}

// writeParam escapes control characters and non-ASCII; a blank becomes a plus.
func writeParam(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	for _, c := range []byte(s) {
		switch {
		case c == ' ':
			b.WriteByte('+')
		case c < 20 || c == 0x7f:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		case c > 0x7f:
			b.Write([]byte{'%', hex[c>>4] | 0x20, hex[c&15] | 0x20})
		default:
			b.WriteByte(c)
		}
	}
}
