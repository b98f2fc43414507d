package message

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Identifiers in paths.
var (
	sessionPart = regexp.MustCompile(`(?i);(?:jsessionid|phpsessid|sid|sessionid)=[^/;]*`)
	sessionPath = regexp.MustCompile(`(?i)\((?:[SAF]\([a-z0-9_-]{8,}\))+\)`) // of ASP.NET
	digits      = regexp.MustCompile(`^-?\d+$`)
	dateLike    = regexp.MustCompile(`^\d{4}[-_.]\d{1,2}(?:[-_.]\d{1,2})?$`)
	uuidLike    = regexp.MustCompile(`(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$`)
	hexLike     = regexp.MustCompile(`(?i)^[0-9a-f]{12,}$`)
	tokenLike   = regexp.MustCompile(`^[A-Za-z0-9_=-]{20,}$`)
	arrayPart   = regexp.MustCompile(`\[\d*\]`)
	anyDigits   = regexp.MustCompile(`\d+`)
)

// Shape is what addresses of one kind of page have in common: the host, the path with identifiers replaced by their
// kind, and the names of the parameters in order. The values are not in it.
func Shape(u *url.URL) string {
	names := []string{}
	for _, s := range pairSpans(u.RawQuery, Query) {
		if name := arrayPart.ReplaceAllString(s.Name, "[]"); !s.Key && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	shape := u.Scheme + "://" + u.Host + PathShape(u.EscapedPath())
	if len(names) > 0 {
		shape += "?" + strings.Join(names, "&")
	}
	return shape
}

// PathShape is a path with identifiers replaced by their kind and without session identifiers.
func PathShape(path string) string {
	segments := strings.Split(WithoutSession(path), "/")
	for i, segment := range segments {
		segments[i] = SegmentKind(segment)
	}
	return strings.Join(segments, "/")
}

// NamesPage reports whether the value of a parameter is the name of the page that a request asks for: a page that tells
// its parameter by that may read its name as input.
func NamesPage(r *Request, name string) bool {
	segments := strings.Split(r.URL.Path, "/")
	last := segments[len(segments)-1]
	page, _, _ := strings.Cut(last, ".")
	return len(page) >= 3 && slices.ContainsFunc(Places(r), func(p Place) bool {
		return p.Name == name && !p.Key && (p.Component == Query || p.Component == Body) &&
			(strings.EqualFold(p.Value, page) || strings.EqualFold(p.Value, last))
	})
}

// WithoutSession is a path without the identifiers of sessions that servers write into paths.
func WithoutSession(path string) string {
	return sessionPath.ReplaceAllString(sessionPart.ReplaceAllString(path, ""), "")
}

// SegmentKind is {n}, {date}, {id} or {token} for a segment of a path that identifies something; else the segment.
func SegmentKind(segment string) string {
	name, extension := segment, ""
	if dot := strings.LastIndexByte(segment, '.'); dot > 0 && len(segment)-dot <= 6 {
		if plain := segment[dot+1:]; !digits.MatchString(plain) {
			name, extension = segment[:dot], segment[dot:]
		}
	}
	switch {
	case digits.MatchString(name):
		name = "{n}"
	case dateLike.MatchString(name):
		name = "{date}"
	case uuidLike.MatchString(name), hexLike.MatchString(name) && anyDigits.MatchString(name):
		name = "{id}"
	case tokenLike.MatchString(name) && mixed(name):
		name = "{token}"
	}
	return name + extension
}

// mixed reports whether a text has digits among letters more than once, as random text has and names do not.
func mixed(text string) bool {
	return len(anyDigits.FindAllString(text, 4)) >= 4
}

// Shape is Shape of the URL of the request, with its method and the names of what its body has.
func (r *Request) Shape() string {
	names := []string{}
	for _, s := range bodySpans(r) {
		if name := arrayPart.ReplaceAllString(s.Name, "[]"); !s.Key && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	shape := r.Method + " " + Shape(r.URL)
	if len(names) > 0 {
		shape += " " + string(bodyFormat(r)) + ":" + strings.Join(names, "&")
	}
	return shape
}
