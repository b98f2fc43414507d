package rawurl

import "strings"

// Resolve is the target of a Location (RFC 3986, 5.2), as tolerant as browsers; false if it cannot be requested. User
// names and fragments are dropped.
func (a URL) Resolve(location string) (URL, bool) {
	location = strings.Trim(location, " \t\r\n\x00")
	location, _, _ = strings.Cut(location, "#")
	switch scheme, rest, absolute := strings.Cut(location, ":"); {
	case location == "":
		return a, false
	case absolute && isScheme(scheme):
		scheme = strings.ToLower(scheme)
		if scheme != "http" && scheme != "https" || !strings.HasPrefix(rest, "//") {
			return a, false
		}
		location = rest
		a.Scheme = scheme
		fallthrough
	case strings.HasPrefix(location, "//"):
		location = location[2:]
		end := strings.IndexAny(location, "/?\\")
		if end < 0 {
			end = len(location)
		}
		authority := location[:end]
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = authority[at+1:]
		}
		to, err := Parse(a.Scheme + "://" + authority)
		if err != nil {
			return a, false
		}
		a = to
		a.Path, a.Query, _ = strings.Cut(location[end:], "?")
		if strings.HasPrefix(a.Path, "\\") {
			a.Path = "/" + a.Path[1:]
		}
	case location[0] == '/':
		a.Path, a.Query, _ = strings.Cut(location, "?")
	case location[0] == '?':
		a.Query = location[1:]
		return a, true
	default:
		dir := a.Path[:strings.LastIndexByte(a.Path, '/')+1]
		p, query, _ := strings.Cut(location, "?")
		a.Path, a.Query = "/"+strings.TrimPrefix(dir, "/")+p, query
	}
	a.Path = RemoveDots(a.Path)
	return a, true
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && s[i] != '+' && s[i] != '-' && s[i] != '.') {
			return false
		}
	}
	return s != ""
}

// RemoveDots removes the segments "." and ".." from a path.
func RemoveDots(p string) string {
	if !strings.Contains(p, "/.") {
		return p
	}
	segments := strings.Split(p, "/")
	out := segments[:1]
	for i, s := range segments[1:] {
		last := i == len(segments)-2
		switch {
		case s == "." && last, s == ".." && last && len(out) == 1:
			out = append(out, "")
		case s == ".":
		case s == "..":
			out = out[:max(1, len(out)-1)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return strings.Join(out, "/")
}
