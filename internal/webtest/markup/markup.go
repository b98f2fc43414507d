// Package markup says where in a document a text stands, and whether a document runs a script.
//
// Documents are read with a tokenizer of HTML as browsers have it; what is script in them (elements, event attributes,
// addresses, documents in attributes) is read with a lexer of JavaScript. So a quoted "<" in an attribute is known to
// be no element, and a name in a string or a comment to be no call.
package markup

import (
	"html"
	"strings"

	nethtml "golang.org/x/net/html"
)

// Kind is what a text is part of.
type Kind string

// Kinds of places in documents.
const (
	Text      Kind = "text"
	Raw       Kind = "text of an element without markup" // title, textarea, style, noscript, iframe and their like
	Comment   Kind = "comment"
	Value     Kind = "attribute" // Quote says in which quotes
	Name      Kind = "name of an attribute"
	TagName   Kind = "name of an element"
	Script    Kind = "script"          // of an element: State says where in it
	Handler   Kind = "event attribute" // State, Quote
	Address   Kind = "address"         // Quote, Start
	Data      Kind = "data in a script element"
	Directive Kind = "declaration"
)

// Context is where a text stands.
type Context struct {
	Kind      Kind
	Tag, Attr string
	Quote     string // of Value, Handler and Address: ", ' or nothing
	State     State  // of Script, Handler, and Address of a script
	Basic     bool   // the script is VBScript
	Start     bool   // the value begins with the text
}

// maxContexts is how many are looked for.
const maxContexts = 40

// Find is where a text of letters and digits stands in a document, each different context once.
func Find(document, text string) []Context {
	if !strings.Contains(document, text) {
		return nil
	}
	var all []Context
	seen := map[Context]bool{}
	walk(document, func(p part) {
		if len(all) >= maxContexts {
			return
		}
		for from := 0; ; {
			at := strings.Index(p.text[from:], text)
			if at < 0 {
				return
			}
			c := p.context
			if p.code {
				c.State = stateAt(p.text, c.Basic, from+at)
			}
			c.Start = c.Kind == Address && from+at == 0
			if !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
			from += at + len(text)
		}
	})
	return all
}

// Run is a script that would run in a document.
type Run struct {
	Where string // for people
	Click bool   // only when somebody clicks or moves over it
	Basic bool   // only where VBScript is known
}

// Runs says whether a document runs a function of that name when a browser shows it.
func Runs(document, name string) (best Run, ok bool) {
	if !strings.Contains(document, name) && !strings.Contains(html.UnescapeString(document), name) {
		return Run{}, false
	}
	walk(document, func(p part) {
		if !p.code || p.context.Kind == Data || !runs(p.text, p.context.Basic, name) {
			return
		}
		c := p.context
		r := Run{Basic: c.Basic}
		switch c.Kind {
		case Handler:
			r.Where, r.Click = "attribute "+c.Attr+" of <"+c.Tag+">", !alone[c.Attr]
		case Address:
			r.Where = "attribute " + c.Attr + " of <" + c.Tag + ">"
			r.Click = c.Tag == "a" || c.Tag == "form" || c.Tag == "button" || c.Tag == "input" || c.Tag == "area"
		default:
			r.Where = "script"
		}
		if !ok || best.Click && !r.Click || best.Basic && !r.Basic {
			best, ok = r, true
		}
	})
	return best, ok
}

// alone are event attributes that need nobody's hand.
var alone = map[string]bool{"onload": true, "onerror": true, "ontoggle": true, "onfocus": true, "onpageshow": true,
	"onbegin": true, "onstart": true, "onanimationstart": true, "onloadstart": true}

// part is a piece of a document with one context. The text is as the next reader sees it: attributes are decoded.
type part struct {
	context Context
	text    string
	code    bool // of a script language: has States
}

// inert elements have no markup in them, besides script and style.
var inert = map[string]bool{"title": true, "textarea": true, "noscript": true, "iframe": true, "noembed": true,
	"noframes": true, "xmp": true, "plaintext": true, "style": true}

func walk(document string, visit func(part)) {
	walkDepth(document, visit, 2)
}

func walkDepth(document string, visit func(part), depth int) {
	z := nethtml.NewTokenizer(strings.NewReader(document))
	z.SetMaxBuf(4 << 20)
	inside := ""      // the element whose text has no markup
	var opened []attr // its attributes
	templates := 0    // that are open: what is in them does not run
	send := func(p part) {
		if templates > 0 {
			p.code = false
		}
		visit(p)
	}
	for {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			return
		}
		raw := string(z.Raw())
		switch kind {
		case nethtml.TextToken:
			textPart(inside, opened, raw, send)
		case nethtml.CommentToken:
			send(part{context: Context{Kind: Comment}, text: raw})
		case nethtml.DoctypeToken:
			send(part{context: Context{Kind: Directive}, text: raw})
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, attrs := parseTag(raw)
			tagParts(name, attrs, send, depth)
			inside = ""
			if kind == nethtml.StartTagToken && (name == "script" || inert[name]) {
				inside, opened = name, attrs
			}
			if name == "template" && kind == nethtml.StartTagToken {
				templates++
			}
		case nethtml.EndTagToken:
			name, attrs := parseTag(strings.Replace(raw, "/", "", 1))
			if name == "template" && templates > 0 {
				templates--
			}
			send(part{context: Context{Kind: TagName, Tag: name}, text: name})
			for _, a := range attrs {
				send(part{context: Context{Kind: Value, Tag: name, Attr: a.name, Quote: a.quote}, text: a.value})
			}
			inside = ""
		}
	}
}

// textPart visits text, which is that of an element without markup or of the page.
func textPart(inside string, attrs []attr, raw string, visit func(part)) {
	switch inside {
	case "script":
		c := Context{Kind: Script, Tag: inside}
		kind, language := value(attrs, "type"), value(attrs, "language")
		switch {
		case strings.Contains(kind, "vbs"), strings.Contains(language, "vbs"):
			c.Basic = true
		case kind == "" || kind == "module" || strings.Contains(kind, "javascript") || strings.Contains(kind, "ecmascript"):
		default:
			c.Kind = Data
		}
		visit(part{c, raw, true})
	case "":
		visit(part{context: Context{Kind: Text}, text: raw})
	default:
		visit(part{context: Context{Kind: Raw, Tag: inside}, text: raw})
	}
}

// addresses are attributes whose address a browser follows, by element; * is any.
var addresses = map[string][]string{
	"href": {"a", "area", "base", "math", "svg", "use", "link", "animate"}, "xlink:href": {"*"},
	"src":    {"iframe", "frame", "embed", "script", "img", "input", "object", "video", "audio", "source"},
	"action": {"form"}, "formaction": {"button", "input"}, "data": {"object"}, "background": {"body", "table"},
}

// runsAddress are elements whose address may be a script.
var runsAddress = map[string]bool{"a": true, "area": true, "base": true, "math": true, "svg": true, "use": true,
	"iframe": true, "frame": true, "embed": true, "form": true, "button": true, "input": true, "object": true}

// tagParts visits the name and the attributes of a tag.
func tagParts(name string, attrs []attr, visit func(part), depth int) {
	visit(part{context: Context{Kind: TagName, Tag: name}, text: name})
	basic := strings.Contains(value(attrs, "language"), "vbs")
	for _, a := range attrs {
		visit(part{context: Context{Kind: Name, Tag: name, Attr: ""}, text: a.name})
		c := Context{Kind: Value, Tag: name, Attr: a.name, Quote: a.quote}
		text := html.UnescapeString(a.value)
		switch {
		case strings.HasPrefix(a.name, "on") && len(a.name) > 3:
			c.Kind, c.Basic = Handler, basic
			trimmed := strings.ToLower(strings.TrimSpace(text))
			if rest, ok := cutScheme(text, "vbscript"); ok {
				text, c.Basic = rest, true
			} else if rest, ok := cutScheme(text, "vbs"); ok {
				text, c.Basic = rest, true
			} else if strings.HasPrefix(trimmed, "javascript:") {
				text = text[strings.Index(text, ":")+1:]
			}
			visit(part{c, text, true})
		case a.name == "srcdoc" && depth > 0:
			visit(part{context: c, text: text})
			walkDepth(text, func(p part) {
				if p.code {
					visit(p)
				}
			}, depth-1)
		case isAddress(name, a.name):
			c.Kind = Address
			if code, ok := cutScheme(text, "javascript"); ok && runsAddress[name] && (name != "input" || a.name != "src") {
				visit(part{c, unescapeAddress(code), true})
				continue
			}
			if data, ok := cutScheme(text, "data"); ok && name == "script" && a.name == "src" { // RFC 2397
				_, code, _ := strings.Cut(data, ",")
				visit(part{c, unescapeAddress(code), true})
				continue
			}
			visit(part{context: c, text: text})
		default:
			visit(part{context: c, text: text})
		}
	}
}

func isAddress(tag, attribute string) bool {
	for _, t := range addresses[attribute] {
		if t == "*" || t == tag {
			return true
		}
	}
	return false
}

// cutScheme is an address without a scheme, as browsers read it: white space and control characters do not count.
func cutScheme(address, scheme string) (rest string, ok bool) {
	at := 0
	for i := range len(address) {
		c := address[i]
		switch {
		case c <= ' ' && (at == 0 || c == '\t' || c == '\n' || c == '\r'):
			continue
		case at < len(scheme) && (c|0x20) == scheme[at]:
			at++
		case at == len(scheme) && c == ':':
			return address[i+1:], true
		default:
			return "", false
		}
	}
	return "", false
}

// unescapeAddress decodes %XX.
func unescapeAddress(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := hex(s[i+1]), hex(s[i+2]); hi >= 0 && lo >= 0 {
				_ = b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		_ = b.WriteByte(s[i])
	}
	return b.String()
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
