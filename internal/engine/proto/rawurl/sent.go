package rawurl

import (
	"net/url"
	"strings"
)

// Sent is the URL as all requests but unsafe ones send it, and as events name it (template language 2.2, 8.1): the path
// of EscapePath; parameters of one name together, where the first of them is; no equals sign after them without value.
// Templates were written against that, and servers such as Tomcat refuse the bytes that are escaped.
func (a URL) Sent() URL {
	a.Path, a.Query = EscapePath(a.Path), groupParams(a.Query)
	return a
}

// EscapePath escapes a path as nuclei does. One that consists of what paths may have stays as it is. In any other, what
// is escaped needlessly loses its escapes, and the rest is escaped, the marks !'()*[] too; where an escape is not
// valid, each percent sign is escaped.
func EscapePath(p string) string {
	if isPath(p) {
		return p
	}
	if u, err := url.Parse("http://h" + p); err == nil && u.RawQuery == "" && u.Fragment == "" {
		return u.EscapedPath()
	}
	return (&url.URL{Path: p}).EscapedPath()
}

// isPath reports whether a path has only letters, digits, marks and valid escapes.
func isPath(p string) bool {
	for i := range len(p) {
		switch c := p[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-_.~!$&'()*+,;=:@[]/", c) >= 0:
		case c == '%' && i+2 < len(p) && isHex(p[i+1]) && isHex(p[i+2]):
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// groupParams writes the parameters of a query, those of one name together.
func groupParams(query string) string {
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
		case c < ' ' || c == 0x7f:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		case c > 0x7f:
			b.Write([]byte{'%', hex[c>>4] | 0x20, hex[c&15] | 0x20})
		default:
			b.WriteByte(c)
		}
	}
}
