package domflow

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of objects of the browser.
const (
	kindWindow   = "window"
	kindDocument = "document"
	kindLocation = "location"
	kindAddress  = "URL"
	kindParams   = "URLSearchParams"
	kindElement  = "element"
)

// globals are the names of the browser that have a meaning here.
func (e *evaluation) globalOf(name string) (value, bool) {
	switch name {
	case "window", "self", "top", "parent", "globalThis":
		return &object{kind: kindWindow}, true
	case "document":
		return &object{kind: kindDocument}, true
	case "location":
		return &object{kind: kindLocation}, true
	case "undefined":
		return nothing{}, true
	case "decodeURIComponent", "decodeURI", "unescape", "encodeURIComponent", "encodeURI", "escape", "String", "eval",
		"setTimeout", "setInterval", "Function", "Number", "parseInt", "addEventListener", "URL", "URLSearchParams",
		"requestAnimationFrame", "queueMicrotask", "fetch":
		return &function{name: name}, true
	}
	return nil, false
}

// href is the address as a browser writes it: what may not stand in a part of it is escaped.
func (e *evaluation) href() string {
	out := e.at.Scheme + "://" + e.at.Host + e.path() + e.search()
	return out + e.hash()
}

func (e *evaluation) path() string {
	if p := e.at.EscapedPath(); p != "" {
		return p
	}
	return "/"
}

var (
	inQuery    = strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E", "'", "%27", " ", "%20")
	inFragment = strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E", "`", "%60", " ", "%20")
)

func (e *evaluation) search() string {
	if e.at.RawQuery == "" {
		return ""
	}
	return "?" + inQuery.Replace(e.at.RawQuery)
}

func (e *evaluation) hash() string {
	fragment := e.at.RawFragment
	if fragment == "" {
		fragment = e.at.EscapedFragment()
	}
	if fragment == "" {
		return ""
	}
	return "#" + inFragment.Replace(fragment)
}

// partOf is a member of location or of a URL of the page.
func (e *evaluation) partOf(name string) (value, bool) {
	switch name {
	case "href", "toString", "toJSON":
		return text{s: e.href()}, true
	case "search":
		return text{s: e.search()}, true
	case "hash":
		return text{s: e.hash()}, true
	case "pathname":
		return text{s: e.path()}, true
	case "host":
		return text{s: e.at.Host}, true
	case "hostname":
		return text{s: e.at.Hostname()}, true
	case "port":
		return text{s: e.at.Port()}, true
	case "protocol":
		return text{s: e.at.Scheme + ":"}, true
	case "origin":
		return text{s: e.at.Scheme + "://" + e.at.Host}, true
	case "searchParams":
		return &object{kind: kindParams, params: e.at.Query()}, true
	}
	return nil, false
}

// decode is decodeURIComponent, decodeURI or unescape of a text; unknown where that fails, as it then throws.
func (e *evaluation) decode(t text) value {
	s, err := url.PathUnescape(t.s)
	if err != nil || !utf8.ValidString(s) {
		return e.without(t)
	}
	return text{s, t.partial}
}

// paramsOf are the parameters that a text says.
func (e *evaluation) paramsOf(args []value) value {
	if len(args) == 0 {
		return &object{kind: kindParams, params: url.Values{}}
	}
	if o, ok := args[0].(*object); ok && o.kind == kindParams {
		return o
	}
	t, ok := args[0].(text)
	if !ok || t.partial {
		return e.without(args...)
	}
	q, err := url.ParseQuery(strings.TrimPrefix(t.s, "?"))
	if err != nil {
		return e.without(args...)
	}
	return &object{kind: kindParams, params: q}
}

// alone are events that need nobody's hand.
var alone = []string{"load", "DOMContentLoaded", "hashchange", "popstate", "pageshow", "readystatechange", "ready"}

// handlers are methods of libraries that keep a function for an event which somebody has to cause.
var handlers = regexp.MustCompile(`^(?:click|dblclick|submit|change|input|key\w+|mouse\w+|focus|blur|hover|touch\w+|delegate|live)$`)

// listens reports whether a call hands its functions to an event that needs somebody's hand.
func listens(method string, args []value) bool {
	if handlers.MatchString(method) {
		return true
	}
	if method != "addEventListener" && method != "on" && method != "bind" && method != "one" || len(args) < 2 {
		return false
	}
	t, ok := args[0].(text)
	return !ok || !slices.Contains(alone, strings.TrimPrefix(t.s, "on"))
}

// sinkOf is what setting a member of an element, of the document or of the window writes.
func sinkOf(of value, name string) (Kind, bool) {
	o, _ := of.(*object)
	switch name {
	case "innerHTML", "outerHTML", "srcdoc":
		return Markup, o == nil || o.kind == kindElement
	case "location":
		return Address, o != nil && (o.kind == kindWindow || o.kind == kindDocument)
	case "href":
		return Address, o != nil && o.kind == kindLocation
	}
	return "", false
}

// calledSink is what a call of a method writes with its arguments.
func calledSink(of value, name string, args []value) (kind Kind, text value) {
	o, _ := of.(*object)
	last := value(nothing{})
	if len(args) > 0 {
		last = args[len(args)-1]
	}
	switch {
	case (name == "write" || name == "writeln") && o != nil && o.kind == kindDocument:
		return Document, last
	case name == "insertAdjacentHTML" && len(args) == 2, name == "createContextualFragment" && len(args) == 1:
		return Markup, last
	case name == "html" && len(args) == 1 && o == nil: // of a library, on what it has found
		return Document, last
	case (name == "assign" || name == "replace") && o != nil && o.kind == kindLocation && len(args) == 1:
		return Address, last
	}
	return "", nil
}
