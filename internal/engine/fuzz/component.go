package fuzz

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// maxParameters bounds the parameters of one component; others stay as they are.
const maxParameters = 1000

// component is a part of a request with its parameters.
type component struct {
	position   string
	parameters []parameter

	// create makes the edit that adds a parameter; nil where none can be added.
	create func(name, value string) edit
	// apply makes the request with some edits done.
	apply func(edits []edit) web.Request
}

// parameter is where a parameter's value is.
type parameter struct {
	name  string
	value string // as rules see it
	line  int    // of the headers, for headers and cookies
	from  int    // the value's bytes in the component's text
	to    int
	write func(value string) string // encodes a new value; nil: as it is
}

// edit replaces bytes of a component's text.
type edit struct {
	line, from, to int
	name           string // of a header to be added: its line is -1
	text           string
}

func (c *component) edit(s setting, value string) edit {
	if s.parameter < 0 {
		return c.create(s.name, value)
	}
	p := &c.parameters[s.parameter]
	if p.write != nil {
		value = p.write(value)
	}
	return edit{line: p.line, from: p.from, to: p.to, text: value}
}

// parameterName is the public name of a parameter: a segment of the path is its own name.
func (c *component) parameterName(name, value string) string {
	if c.position == "path" && value != "" {
		return value
	}
	return name
}

// settings set the parameters of a name, or a new one where the component can have one.
func (c *component) settings(name, payload string) (list []setting, ok bool) {
	for i, p := range c.parameters {
		if p.name == name || c.position == "header" && strings.EqualFold(p.name, name) {
			list = append(list, setting{parameter: i, name: name, payload: payload})
		}
	}
	if len(list) == 0 && c.create != nil {
		list = []setting{{parameter: -1, name: name, payload: payload}}
	}
	return list, len(list) > 0
}

// splice applies edits to a text.
func splice(text string, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// discover finds the components of a request.
func discover(base *web.Request) []component {
	var found []component
	for _, find := range []func(*web.Request) component{body, query, path, header, cookie} {
		c := find(base)
		c.parameters = c.parameters[:min(len(c.parameters), maxParameters)]
		if len(c.parameters) > 0 {
			found = append(found, c)
		}
	}
	return found
}

func query(base *web.Request) component {
	text := base.Address.Query
	c := component{position: "query", parameters: pairs(text, "&")}
	c.create = appendPair(text, "&")
	c.apply = func(edits []edit) web.Request {
		r := *base
		r.Address.Query = splice(text, edits)
		return r
	}
	return c
}

// pairs finds name=value pairs. Names are decoded; values are as written.
func pairs(text, separator string) []parameter {
	var places []parameter
	at := 0
	for part := range strings.SplitSeq(text, separator) {
		end := at + len(part)
		trimmed := strings.TrimLeft(part, " ")
		name, value, assigned := strings.Cut(trimmed, "=")
		if trimmed != "" {
			p := parameter{name: name, value: value, from: end - len(value), to: end}
			if plain, err := url.QueryUnescape(name); err == nil {
				p.name = plain
			}
			if !assigned {
				p.write = func(value string) string { return "=" + value }
			}
			places = append(places, p)
		}
		at = end + len(separator)
	}
	return places
}

// appendPair makes the edit that appends a pair to a text.
func appendPair(text, separator string) func(name, value string) edit {
	return func(name, value string) edit {
		pair := name + "=" + value
		if text != "" {
			pair = separator + pair
		}
		return edit{from: len(text), to: len(text), text: pair}
	}
}

// path finds the segments of the URL's path, named by their numbers from 1.
func path(base *web.Request) component {
	text := base.Address.Path
	c := component{position: "path"}
	at := 0
	for segment := range strings.SplitSeq(text, "/") {
		if segment != "" {
			c.parameters = append(c.parameters, parameter{
				name: strconv.Itoa(len(c.parameters) + 1), value: segment, from: at, to: at + len(segment),
				write: strings.NewReplacer("?", "%3F", "#", "%23").Replace,
			})
		}
		at += len(segment) + 1
	}
	c.apply = func(edits []edit) web.Request {
		r := *base
		r.Address.Path = splice(text, edits)
		return r
	}
	return c
}

// reservedHeaders are headers that a request needs unchanged or that have a component of their own; rules without
// keys leave them alone.
var reservedHeaders = []string{
	"accept", "accept-charset", "accept-encoding", "accept-language", "access-control-request-headers",
	"access-control-request-method", "authorization", "cache-control", "connection", "content-encoding", "content-length",
	"content-type", "cookie", "date", "dnt", "expect", "forwarded", "from", "host", "if-match", "if-modified-since",
	"if-none-match", "if-range", "if-unmodified-since", "keep-alive", "max-forwards", "origin-agent-cluster", "pragma",
	"priority", "proxy-authorization", "proxy-connection", "range", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform",
	"sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "te", "trailer", "transfer-encoding",
	"upgrade",
	"upgrade-insecure-requests", "via", "warning", "x-access-token", "x-csrf-token", "x-refresh-token", "x-requested-with",
}

// header finds the headers that are not vital.
func header(base *web.Request) component {
	c := component{position: "header", apply: func(edits []edit) web.Request { return editHeaders(base, edits) }}
	for i, h := range base.Headers {
		if !slices.Contains(reservedHeaders, strings.ToLower(h.Name)) {
			c.parameters = append(c.parameters,
				parameter{name: h.Name, value: h.Value, line: i, to: len(h.Value), write: oneLine})
		}
	}
	c.create = func(name, value string) edit {
		for i, h := range base.Headers { // a vital one that the rule names
			if strings.EqualFold(h.Name, name) {
				return edit{line: i, to: len(h.Value), text: oneLine(value)}
			}
		}
		return edit{line: -1, name: name, text: oneLine(value)}
	}
	return c
}

// oneLine escapes what would end a header line.
func oneLine(value string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(value)
}

func editHeaders(base *web.Request, edits []edit) web.Request {
	r := *base
	r.Headers = slices.Clone(base.Headers)
	for i := range r.Headers {
		var here []edit
		for _, e := range edits {
			if e.line == i {
				here = append(here, e)
			}
		}
		if len(here) > 0 {
			r.Headers[i].Value = splice(r.Headers[i].Value, here)
		}
	}
	for _, e := range edits {
		if e.line < 0 {
			r.Headers = append(r.Headers, web.Header{Name: e.name, Value: e.text})
		}
	}
	return r
}

// tracking are prefixes of cookies that measure, balance load or hold a session: no parameters of the application.
var tracking = []string{
	"__utm", "_ga", "_gid", "_gat", "_gcl_au", "_fbp", "_pk_", "_hj", "__hs", "hubspotutk", "AWSALB", "awsELB", "__cf",
	"cf_",
	"JSESSIONID", "NREUM", "optimizely",
}

// cookie finds the cookies that do not track.
func cookie(base *web.Request) component {
	c := component{position: "cookie", apply: func(edits []edit) web.Request { return editHeaders(base, edits) }}
	for i, h := range base.Headers {
		if !strings.EqualFold(h.Name, "Cookie") {
			continue
		}
		for _, p := range pairs(h.Value, ";") {
			if slices.ContainsFunc(tracking, func(prefix string) bool { return strings.HasPrefix(p.name, prefix) }) {
				continue
			}
			p.line = i
			plain := p.write
			p.write = func(value string) string {
				if plain != nil {
					value = plain(value)
				}
				return strings.ReplaceAll(oneLine(value), ";", "%3B")
			}
			c.parameters = append(c.parameters, p)
		}
		add := appendPair(h.Value, "; ")
		c.create = func(name, value string) edit {
			e := add(name, strings.ReplaceAll(oneLine(value), ";", "%3B"))
			e.line = i
			return e
		}
	}
	return c
}
