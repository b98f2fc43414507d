package sitemap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What scripts do, as far as their text shows it.
var (
	// literal is a string that is an address: a path, or a relative name of a page.
	literal = regexp.MustCompile(
		"[\"'`]((?:https?:)?//[\\w.:-]+/[^\"'`<>\\s]*|\\.{0,2}/[\\w$-][^\"'`<>\\s\\\\]*|[\\w-]+(?:/[\\w$-][\\w.${}-]*)+/?(?:\\?[^\"'`<>\\s]*)?|[\\w-]+\\.(?:php|jspx?|aspx?|do|action|cgi|html?|json|xml)(?:\\?[^\"'`<>\\s]*)?)[\"'`]",
	)
	// call sends a request; the address follows.
	call = regexp.MustCompile(
		"(?i)(?:\\bfetch|axios(?:\\.(get|post|put|patch|delete|request))?|\\$(?:http)?\\.(get|post|put|delete|patch|ajax|getJSON)|\\b(?:http|api|client|this\\.http)\\.(get|post|put|patch|delete))\\s*(?:<[^>()]*>)?\\(\\s*[\"'`]([^\"'`\\s]{1,500})[\"'`]",
	)
	// opened is a request of XMLHttpRequest.
	opened = regexp.MustCompile(
		"(?i)\\.open\\(\\s*[\"'`](GET|POST|PUT|PATCH|DELETE)[\"'`]\\s*,\\s*[\"'`]([^\"'`\\s]{1,500})[\"'`]",
	)
	// ajax is an object with an address.
	ajax = regexp.MustCompile("(?i)\\b(?:url|endpoint)\\s*:\\s*[\"'`]([^\"'`\\s]{1,500})[\"'`]")

	method = regexp.MustCompile("(?i)\\b(?:method|type)\\s*:\\s*[\"'`](GET|POST|PUT|PATCH|DELETE)[\"'`]")
	isJSON = regexp.MustCompile(`(?i)JSON\.stringify|application/json`)
	asJSON = regexp.MustCompile(`(?i)axios|http`) // libraries that send objects so
	object = regexp.MustCompile(`\{([^{}]{1,600})\}`)
	member = regexp.MustCompile(
		"(?:^|,)\\s*[\"']?([A-Za-z_$][\\w$-]*)[\"']?\\s*(?::\\s*([\"'`][^\"'`]*[\"'`]|-?\\d+(?:\\.\\d+)?|true|false))?",
	)
	encoded   = regexp.MustCompile(`[?&"'` + "`" + `]([A-Za-z_][\w\[\]-]*)=["'` + "`" + `]?\s*\+`)
	hole      = regexp.MustCompile(`\$\{[^}]*\}|\{\{[^}]*\}\}|\{[\w.]+\}|:[a-zA-Z_]\w*`)
	setHeader = regexp.MustCompile("(?i)setRequestHeader\\(\\s*[\"'`]([\\w-]+)[\"'`](?:\\s*,\\s*[\"'`]([^\"'`\\r\\n]{1,200})[\"'`])?")
	headersOf = regexp.MustCompile(`\bheaders["']?\s*:\s*\{([^{}]{1,500})\}`)
	headerOf  = regexp.MustCompile("[\"'`]?([A-Za-z][\\w-]*)[\"'`]?\\s*:\\s*[\"'`]([^\"'`\\r\\n]*)[\"'`]")
	bodyOf    = regexp.MustCompile(`\bbody["']?\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\"]|\\.)*')\s*[,}]`)
	setCookie = regexp.MustCompile("document\\.cookie\\s*=\\s*[\"'`]([\\w.-]+)=([^;\"'`\\s]{0,200})")
	readQuery = regexp.MustCompile(
		"(?:searchParams|URLSearchParams\\([^)]*\\)|params|query|urlParams)\\.(?:get|has)\\(\\s*[\"'`]([\\w.-]+)[\"'`]",
	)
	mapOf = regexp.MustCompile(`[#@]\s*sourceMappingURL=([^\s'"*]+)`)
)

// The bounds of one script.
const (
	maxEndpoints = 500
	callLength   = 800 // bytes behind a call in which its options are looked for
)

// readScript queues what a script calls and names; at is what its addresses are relative to: the page, for most.
func (c *crawler) readScript(from *Entry, at *url.URL, name, text string) {
	if len(text) > maxScript || c.Scripts[name] != nil {
		return
	}
	if len(c.Scripts) < maxEntries {
		c.Scripts[name] = []byte(text)
	}
	page := &page{base: at}
	of := c.shown[from.Request.URL.String()]
	if of == nil {
		of = c.shown[from.From]
	}
	if of != nil {
		page.forms, page.typedIn, page.documents, page.data = of.forms, of.typedIn, of.documents, of.data
	}
	if from.From != "" && strings.HasSuffix(at.Path, ".js") {
		if u, err := url.Parse(from.From); err == nil { // the document counts, not the file
			page.base = u
		}
	}
	for _, e := range append(scriptRequests(page, text), socketMessages(page, text)...) {
		e.How, e.From, e.Depth = ByScript, from.Request.URL.String(), from.Depth+1
		for name := range e.Request.Header {
			if name != "Content-Type" {
				c.Headers[name] = cmp.Or(e.Request.Header.Get(name), "1")
			}
		}
		c.add(e)
	}
	for _, m := range setHeader.FindAllStringSubmatch(text, maxEndpoints) {
		c.Headers[http.CanonicalHeaderKey(m[1])] = cmp.Or(m[2], "1")
	}
	for _, m := range setCookie.FindAllStringSubmatch(text, maxEndpoints) {
		c.Cookies[m[1]] = cmp.Or(m[2], "1")
	}
	c.queryReads(from, text)
	if m := mapOf.FindStringSubmatch(text); m != nil && !strings.HasPrefix(m[1], "data:") {
		if to := (&pageAt{at}).resolve(m[1]); to != nil {
			c.follow(from, to, ByScript)
		}
	}
}

// pageAt resolves addresses that are relative to a file.
type pageAt struct{ base *url.URL }

func (p *pageAt) resolve(text string) *url.URL { return (&page{base: p.base}).resolve(text) }

// queryReads queues the page with the parameters that its own script reads.
func (c *crawler) queryReads(from *Entry, text string) {
	if from.Request.Method != http.MethodGet || from.Response == nil && from.How != ByStart && from.How != ByLink {
		return
	}
	r := from.Request
	had := false
	for _, m := range readQuery.FindAllStringSubmatch(text, 20) {
		if !r.URL.Query().Has(m[1]) {
			r = r.Put(message.Place{Component: message.Query, Format: message.Form, Name: m[1]}, "1")
			had = true
		}
	}
	if had && !strings.HasSuffix(r.URL.Path, ".js") {
		c.add(&Entry{Request: r, How: ByScript, From: from.Request.URL.String(), Depth: from.Depth + 1})
	}
}

// scriptRequests are the requests that the text of a script shows, as it stands and with its addresses put together.
func scriptRequests(p *page, text string) []*Entry {
	if isXML.MatchString(text) {
		own := *p
		own.documents = append(markup.DocumentsOfScript(text), p.documents...)
		p = &own
	}
	out := shownRequests(p, text)
	whole := inline(text)
	if whole == text {
		return out
	}
	seen := map[string]bool{}
	for _, e := range out {
		seen[e.Request.Key()] = true
	}
	for _, e := range shownRequests(p, whole) {
		if !seen[e.Request.Key()] && len(out) < maxEndpoints {
			out = append(out, e)
		}
	}
	return out
}

// ScriptCalls are the requests that a script of a page at an address shows.
func ScriptCalls(at *url.URL, text string) (out []*message.Request) {
	for _, e := range scriptRequests(&page{base: at}, text) {
		out = append(out, e.Request)
	}
	return out
}

func shownRequests(p *page, text string) (out []*Entry) {
	seen := map[string]bool{}
	add := func(verb, address string, rest string) {
		if e := scriptRequest(p, strings.ToUpper(verb), address, rest); e != nil && !seen[e.Request.Key()] &&
			len(out) < maxEndpoints {
			seen[e.Request.Key()] = true
			out = append(out, e)
		}
	}
	called := map[string]bool{} // addresses that are not also tried with GET
	behind := func(at int) string { return text[at:min(len(text), at+callLength)] }
	for _, m := range call.FindAllStringSubmatchIndex(text, maxEndpoints) {
		verb := ""
		for _, group := range []int{2, 4, 6} {
			if m[group] >= 0 {
				verb = text[m[group]:m[group+1]]
			}
		}
		called[text[m[8]:m[9]]] = true
		rest := endOfCall(behind(m[1]))
		if asJSON.MatchString(text[m[0]:m[8]]) {
			rest += " JSON.stringify"
		}
		add(verb, text[m[8]:m[9]], rest)
	}
	for _, m := range opened.FindAllStringSubmatchIndex(text, maxEndpoints) {
		called[text[m[4]:m[5]]] = true
		add(text[m[2]:m[3]], text[m[4]:m[5]], sentBehind(behind(m[1])))
	}
	for _, m := range ajax.FindAllStringSubmatchIndex(text, maxEndpoints) {
		address := text[m[2]:m[3]]
		if strings.ContainsAny(address, "/.") && !called[address] {
			called[address] = true
			start := max(0, m[0]-200)
			if brace := strings.LastIndexByte(text[start:m[0]], '{'); brace >= 0 {
				add("", address, behind(start+brace+1))
			} else {
				add("", address, behind(m[1]))
			}
		}
	}
	for _, m := range literal.FindAllStringSubmatch(text, maxEndpoints) {
		if !called[m[1]] && !isMedia(m[1]) && !strings.Contains(m[1], "text/") && !strings.HasPrefix(m[1], "application/") {
			add(http.MethodGet, m[1], "")
		}
	}
	return out
}

// sentBehind is what a script sends on a request that it has opened, up to the next one.
func sentBehind(text string) string {
	if next := opened.FindStringIndex(text); next != nil {
		text = text[:next[0]]
	}
	_, rest, ok := strings.Cut(text, ".send(")
	if !ok {
		return text
	}
	rest = endOfCall(rest)
	if isJSON.MatchString(text) {
		rest += " JSON.stringify"
	}
	var headers strings.Builder
	for _, m := range setHeader.FindAllStringSubmatch(text, 20) {
		if m[2] != "" && !strings.EqualFold(m[1], "Content-Type") {
			fmt.Fprintf(&headers, "%q: %q, ", m[1], m[2])
		}
	}
	if headers.Len() > 0 {
		rest += " headers: {" + headers.String() + "}"
	}
	return rest + " " + isXML.FindString(text)
}

// scriptRequest is one request: its method and fields are those that the text behind the call shows.
func scriptRequest(p *page, verb, address, rest string) *Entry {
	if address == "" || strings.HasPrefix(address, "data:") || strings.ContainsAny(address, "<>\\^|") {
		return nil
	}
	protocol := ""
	if scheme, after, ok := strings.Cut(address, "://"); ok {
		protocol, address = scheme+"://", after
	}
	filled := hole.ReplaceAllString(address, "1")
	if protocol != "" { // a port is no parameter
		host, path, _ := strings.Cut(address, "/")
		filled = host + "/" + hole.ReplaceAllString(path, "1")
	}
	to := p.resolve(protocol + filled)
	if to == nil {
		return nil
	}
	rest = endOfCall(rest)
	switch verb {
	case "", "AJAX", "REQUEST":
		verb = http.MethodGet
		if m := method.FindStringSubmatch(rest); m != nil {
			verb = strings.ToUpper(m[1])
		}
	case "GETJSON":
		verb = http.MethodGet
	}
	r := message.From(verb, to)
	if verb != http.MethodGet {
		scriptBody(p, r, rest)
	} else if names := sentNames(rest); len(names) > 0 && to.RawQuery == "" && strings.Contains(rest, "{") {
		r.URL.RawQuery = message.EncodeForm(names)
	}
	p.scriptHeaders(r, rest)
	p.scriptDocument(r, rest)
	return &Entry{Request: r, Writes: client.Writes(r)}
}

// scriptHeaders puts in the headers that a script names with their values, or takes from its page, and the body that it
// has as a text.
func (p *page) scriptHeaders(r *message.Request, rest string) {
	if m := headersOf.FindStringSubmatch(rest); m != nil {
		for name, value := range markup.FromPage(m[1], p.data) {
			r.Header.Set(name, value)
		}
		for _, h := range headerOf.FindAllStringSubmatch(m[1], 20) {
			if !strings.Contains(h[2], "${") &&
				(r.Header.Get("Content-Type") == "" || !strings.EqualFold(h[1], "Content-Type")) {
				r.Header.Set(h[1], h[2])
			}
		}
	}
	m := bodyOf.FindStringSubmatch(rest)
	if m == nil || r.Method == http.MethodGet {
		return
	}
	text := m[1]
	if text[0] == '\'' {
		text = `"` + strings.ReplaceAll(text[1:len(text)-1], `\'`, "'") + `"`
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil && plain != "" {
		r.Body = []byte(plain)
	}
}

// isXML is how a script says that it sends XML.
var isXML = regexp.MustCompile("(?i)content-?type[\"'`]?\\s*[:,]\\s*[\"'`]((?:text|application)/(?:[\\w.-]+\\+)?xml)")

// scriptDocument puts in a document where a script sends XML and does not show which: one that stands in the script or
// that the page shows, else one of no application, which a parser reads all the same.
func (p *page) scriptDocument(r *message.Request, rest string) {
	m := isXML.FindStringSubmatch(rest)
	if m == nil || r.Method == http.MethodGet || strings.HasPrefix(string(r.Body), "<") {
		return
	}
	r.Header.Set("Content-Type", m[1])
	r.Body = []byte(`<?xml version="1.0"?><data><item><name>test</name></item></data>`)
	if len(p.documents) > 0 {
		r.Body = []byte(p.documents[0])
	}
}

// endOfCall cuts the text at the end of the call: where its brackets close.
func endOfCall(text string) string {
	depth := 1
	for i, ch := range text {
		switch ch {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		}
		if depth == 0 {
			return text[:i]
		}
	}
	return text
}

// optionNames are members of the options of a call, and not of what it sends.
var optionNames = map[string]bool{
	"method": true, "type": true, "headers": true, "body": true, "data": true, "url": true, "success": true,
	"error": true, "dataType": true, "contentType": true, "credentials": true, "mode": true, "cache": true,
	"params": true, "async": true, "Accept": true, "Authorization": true, "return": true, "function": true,
	"complete": true, "redirect": true, "then": true, "catch": true, "if": true, "processData": true,
	"signal": true,
}

// sentNames are the members of the objects behind a call, with values where the text has them.
func sentNames(rest string) (out []message.Pair) {
	seen := map[string]bool{}
	for _, o := range object.FindAllStringSubmatch(rest, 10) {
		if strings.ContainsAny(o[1], ";") {
			continue // the body of a function
		}
		for _, m := range member.FindAllStringSubmatch(o[1], 50) {
			if optionNames[m[1]] || seen[m[1]] || strings.Contains(m[1], "-") {
				continue
			}
			seen[m[1]] = true
			value := strings.Trim(m[2], "\"'`")
			if value == "" || strings.Contains(value, "${") {
				value = (&field{name: m[1]}).fill()
			}
			out = append(out, message.Pair{Name: m[1], Value: value})
		}
	}
	for _, m := range encoded.FindAllStringSubmatch(rest, 50) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, message.Pair{Name: m[1], Value: (&field{name: m[1]}).fill()})
		}
	}
	return out
}

// formData is what a form has, as a script sends it.
var formData = regexp.MustCompile(`new\s+FormData\(\s*([A-Za-z_$][\w$.]*)?`)

// typed are the fields of the form that a script names by its id, else of the only one of the page.
func (p *page) typed(name string) (out []message.Pair) {
	for _, f := range p.forms {
		if f.id == name && name != "" || len(p.forms) == 1 {
			for _, one := range f.fields {
				out = append(out, message.Pair{Name: one.name, Value: one.fill()})
			}
		}
	}
	return out
}

// shown is the value that a form of the page shows for a field of a name; otherwise the one that is given.
func (p *page) shown(name, otherwise string) string {
	for _, f := range p.forms {
		for _, one := range f.fields {
			if one.name == name && one.value != "" && one.kind != "password" {
				return one.value
			}
		}
	}
	return otherwise
}

func scriptBody(p *page, r *message.Request, rest string) {
	rest = p.withTyped(rest)
	names := sentNames(rest)
	if m := formData.FindStringSubmatch(rest); m != nil && len(names) == 0 {
		names = p.typed(m[1])
	}
	if !isJSON.MatchString(rest) {
		if len(names) > 0 {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = []byte(message.EncodeForm(names))
		}
		return
	}
	values := map[string]any{}
	for _, n := range names {
		values[n.Name] = n.Value
	}
	if _, argument, ok := strings.Cut(rest, "JSON.stringify("); ok { // with objects in it, as it stands
		if whole, ok := literalOf(firstArgument(endOfCall(argument)), "").(map[string]any); ok && len(whole) > 0 {
			values = whole
		}
	}
	for name, value := range values { // what nobody knows is as the form of the page has it
		if text, ok := value.(string); ok && text == (&field{name: name}).fill() {
			values[name] = p.shown(name, text)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body, _ = json.Marshal(values) //nolint:errchkjson // texts, numbers and objects of them
}
