package web

import (
	"fmt"
	"net/url"
	"strings"
)

// Encoded is the address in the spelling in which templates expect it to be sent and
// told (template language 2.2): a path that no URL can hold is decoded and written anew
// as a whole; parameters without a value lose their equals sign, those of one name stand
// together at the place of the first, and nothing but what cannot be sent is escaped.
func (a Address) Encoded() Address {
	a.Path, a.Query = encodedPath(a.Path), encodedQuery(a.Query)
	return a
}

// encodedPath is a path as net/url writes it: valid spellings stay.
func encodedPath(p string) string {
	plain, err := url.PathUnescape(p)
	if err == nil && strings.IndexFunc(p, notInPath) < 0 {
		return p
	}
	if err != nil {
		plain = p
	}
	var b strings.Builder
	for _, c := range []byte(plain) {
		if isAlphanumeric(c) || strings.IndexByte("-_.~$&+,/:;=@", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// notInPath says whether a character may not stand in a URL's path as it is.
func notInPath(r rune) bool {
	return r >= 0x80 || !isAlphanumeric(byte(r)) && strings.IndexByte("-_.~$&+,/:;=@!'()*[]%", byte(r)) < 0
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// encodedQuery groups and spells parameters. Nothing is changed in the common case that
// nothing has to be.
func encodedQuery(q string) string {
	if tidyQuery(q) {
		return q
	}
	pairs := strings.Split(strings.TrimSuffix(q, "&"), "&")
	var names []string
	values := map[string][]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if _, known := values[name]; !known {
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

// tidyQuery says whether a query is of one parameter that has a value and nothing to
// escape, or empty.
func tidyQuery(q string) bool {
	if q == "" {
		return true
	}
	name, value, _ := strings.Cut(q, "=")
	return name != "" && value != "" && strings.IndexFunc(q, func(r rune) bool { return r == '&' || r <= ' ' || r >= 0x7f }) < 0
}

func writeParam(b *strings.Builder, s string) {
	for _, c := range []byte(s) {
		switch {
		case c == ' ':
			b.WriteByte('+')
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(b, "%%%02x", c)
		default:
			b.WriteByte(c)
		}
	}
}
