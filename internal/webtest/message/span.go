package message

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPlaces bounds the values that are read from one component, and maxDepth how deep they are nested.
const (
	maxPlaces = 2000
	maxDepth  = 40
)

// span is a place and where its text is in its component.
type span struct {
	Place
	start, end int
	write      func(text string) string // how a value is written there
}

// Places are the values of a request, in the order of the components: path, query, cookies, headers, body. Headers that
// only the connection and the type of the body need are not among them.
func Places(r *Request) []Place {
	var out []Place
	for _, read := range []func(*Request) []span{pathSpans, querySpans, cookieSpans, headerSpans, bodySpans} {
		out = collect(out, read(r), false)
	}
	return out
}

// Names are the names of the parameters of a request, as places.
func Names(r *Request) []Place {
	return collect(collect(nil, querySpans(r), true), bodySpans(r), true)
}

func collect(out []Place, spans []span, keys bool) []Place {
	seen := map[Place]int{}
	for _, s := range spans {
		if s.Key != keys {
			continue
		}
		key := Place{Component: s.Component, Format: s.Format, Name: s.Name}
		s.Index = seen[key]
		seen[key]++
		out = append(out, s.Place)
	}
	return out
}

// find is the span of a place.
func find(spans []span, p Place) (span, bool) {
	index := 0
	for _, s := range spans {
		if !s.Same(p) {
			continue
		}
		if index == p.Index {
			return s, true
		}
		index++
	}
	return span{}, false
}

// Put is a copy of the request with another value at a place. A parameter, a header or a cookie that the request does
// not have is added; a place that cannot be added, such as a segment of a path, leaves the copy as it is.
func (r *Request) Put(p Place, text string) *Request {
	if p.Inner != "" {
		p, text = p.whole(text, false)
	}
	if p.Base64 {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return r.put(p, func(s span) string { return s.write(text) }, func() string { return text })
}

// PutRaw is Put with a text that is written as it is: the caller has encoded it. In JSON it is a value, such as
// {"$ne":1}.
func (r *Request) PutRaw(p Place, raw string) *Request {
	if p.Inner != "" {
		return r.Put(p.whole(raw, true))
	}
	return r.put(p, func(span) string { return raw }, func() string { return raw })
}

func (r *Request) put(p Place, write func(span) string, added func() string) *Request {
	out := r.Clone()
	if p.Step > 0 {
		if p.Step--; r.After != nil {
			out.After = r.After.put(p, write, added)
		}
		return out
	}
	switch p.Component {
	case Path:
		if s, ok := find(pathSpans(r), p); ok {
			setPath(out.URL, splice(r.URL.EscapedPath(), s, write(s)))
		}
	case Query:
		if s, ok := find(querySpans(r), p); ok {
			out.URL.RawQuery = splice(r.URL.RawQuery, s, write(s))
		} else if !p.Key {
			out.URL.RawQuery = addPair(r.URL.RawQuery, p.Name, added())
		}
	case Cookie:
		line := r.Header.Get("Cookie")
		if s, ok := find(cookieSpans(r), p); ok {
			line = splice(line, s, write(s))
		} else {
			line = strings.TrimPrefix(line+"; ", "; ") + p.Name + "=" + write(span{write: cookieValue})
		}
		out.Header.Set("Cookie", line)
	case Header:
		out.Header.Set(p.Name, added())
	case Body:
		if s, ok := find(bodySpans(r), p); ok {
			out.Body = []byte(splice(string(r.Body), s, write(s)))
		} else if !p.Key {
			out.Body = addToBody(r, p, write)
		}
	}
	return out
}

// addToBody is the body with one parameter more.
func addToBody(r *Request, p Place, write func(span) string) []byte {
	text := string(r.Body)
	switch bodyFormat(r) {
	case Form:
		return []byte(addPair(text, p.Name, write(span{write: func(s string) string { return s }})))
	case JSON:
		return []byte(addMember(text, p.Name, write(span{write: jsonString})))
	case Multipart:
		return []byte(addPart(text, boundary(r.Header), p.Name, write(span{write: func(s string) string { return s }})))
	}
	return r.Body
}

// Rename is a copy of the request in which the parameter of a place of a form or a query has another name and value.
func (r *Request) Rename(p Place, name, value string) *Request {
	out := r.Put(p, value)
	p.Key = true
	return out.Put(p, name)
}

func splice(text string, s span, with string) string { return text[:s.start] + with + text[s.end:] }

// setPath gives a URL an encoded path. What is no valid encoding is sent as it is.
func setPath(u *url.URL, escaped string) {
	if plain, err := url.PathUnescape(escaped); err == nil {
		u.Path, u.RawPath = plain, escaped
		return
	}
	u.Path, u.RawPath = escaped, ""
}

// pathSpans are the segments of the path that are not empty.
func pathSpans(r *Request) (out []span) {
	path, start, number := r.URL.EscapedPath(), 0, 0
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" && len(out) < maxPlaces {
			number++
			plain, err := url.PathUnescape(segment)
			if err != nil {
				plain = segment
			}
			out = append(out, span{
				Place: Place{Component: Path, Name: strconv.Itoa(number), Value: plain},
				start: start, end: start + len(segment), write: url.PathEscape,
			})
		}
		start += len(segment) + 1
	}
	return out
}

func querySpans(r *Request) []span {
	query := r.URL.RawQuery
	if query == "" {
		return nil
	}
	if !strings.Contains(query, "=") && !strings.Contains(query, "&") { // such as ?about.html
		plain, err := url.QueryUnescape(query)
		if err != nil {
			plain = query
		}
		return []span{{Place: Place{Component: Query, Value: plain}, end: len(query), write: url.QueryEscape}}
	}
	return pairSpans(query, Query)
}

// bodyFormat is how the body is written; Plain if that is not known.
func bodyFormat(r *Request) Format {
	if len(r.Body) == 0 && mediaType(r.Header) != "application/x-www-form-urlencoded" {
		return Plain
	}
	kind := mediaType(r.Header)
	switch {
	case kind == "application/x-www-form-urlencoded":
		return Form
	case kind == "multipart/form-data":
		return Multipart
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return JSON
	case kind == "text/xml", kind == "application/xml", strings.HasSuffix(kind, "+xml"):
		return XML
	}
	switch text := strings.TrimSpace(string(r.Body[:min(len(r.Body), 64)])); {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return JSON
	case strings.HasPrefix(text, "<"):
		return XML
	case kind == "" && strings.Contains(text, "="):
		return Form
	}
	return Plain
}

func bodySpans(r *Request) []span {
	text := string(r.Body)
	switch bodyFormat(r) {
	case Form:
		return pairSpans(text, Body)
	case Multipart:
		return multipartSpans(text, boundary(r.Header))
	case JSON:
		return jsonSpans(text)
	case XML:
		return xmlSpans(text)
	}
	if r.IsMessage() && text != "" {
		return []span{{Place: Place{Component: Body, Value: text}, end: len(text), write: asIs}}
	}
	return nil
}

func asIs(text string) string { return text }

// connection are headers that are not places.
var connection = map[string]bool{
	"Cookie": true, "Content-Type": true, "Content-Length": true, "Host": true, "Connection": true, "Authorization": true,
	"Accept-Encoding": true, "Transfer-Encoding": true, "Upgrade": true, "Te": true, "Expect": true,
}

func headerSpans(r *Request) (out []span) {
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !connection[name] && len(r.Header[name]) > 0 && len(out) < maxPlaces {
			out = append(out, span{Place: Place{Component: Header, Name: name, Value: r.Header[name][0]}})
		}
	}
	return out
}

func cookieSpans(r *Request) (out []span) {
	line, start := r.Header.Get("Cookie"), 0
	for pair := range strings.SplitSeq(line, ";") {
		name, value, ok := strings.Cut(pair, "=")
		if ok && len(out) < maxPlaces {
			from := start + len(name) + 1
			out = append(out, span{
				Place: PlaceOfCookie(strings.TrimSpace(name), value),
				start: from, end: from + len(value), write: cookieValue,
			})
		}
		start += len(pair) + 1
	}
	return out
}

// PlaceOfCookie is the place of a cookie with a value as it is sent: what it encodes is read, and written again by Put.
func PlaceOfCookie(name, value string) Place {
	plain, err := url.PathUnescape(value)
	if err != nil {
		plain = value
	}
	return Place{Component: Cookie, Name: name, Value: plain}
}

// cookieValue encodes what no cookie may have (RFC 6265, 4.1.1), and what is itself an encoding or read as a space.
func cookieValue(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`",;\%+`, c) >= 0 {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
