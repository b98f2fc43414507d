package sitemap

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"golang.org/x/net/html"
)

// boundary separates the parts of multipart forms.
const boundary = "----geckoformboundary4d1f0c7b5a9e2"

// maxButtons are the named buttons of a form whose requests are kept apart.
const maxButtons = 4

// form is a form of a page.
type form struct {
	node                         *html.Node
	id, action, method, encoding string
	labels                       []string // what it says that it does
	fields                       []*field
	buttons                      []*field
	scripted                     bool  // a script takes what is typed, not the browser
	around                       *form // of what an element of htmx sends: the form with its fields
}

// field is a field of a form, or a button.
type field struct {
	name, kind, value string
	action, method    string // of a button
	text              bool   // people type into it
	current           bool   // it takes the password that somebody has
	options           []string
	min, pattern      string
	accept            string // types or endings of files
}

func newForm(n *html.Node) *form {
	a := attributes(n)
	f := &form{node: n, id: a["id"], action: strings.TrimSpace(a["action"]), method: strings.ToUpper(a["method"]),
		encoding: strings.ToLower(a["enctype"])}
	if f.method != http.MethodPost {
		f.method = http.MethodGet
	}
	f.labels = append(f.labels, a["id"], a["name"])
	f.scripted = a["onsubmit"] != "" || strings.HasPrefix(strings.ToLower(f.action), "javascript:")
	return f
}

// tokenValue is a value that only the application can know.
var tokenValue = regexp.MustCompile(`[0-9a-fA-F]{32,}`)

// formOf is the form that an element belongs to, as browsers see it.
func (p *page) formOf(n *html.Node, attrs map[string]string, byID map[string]*form) *form {
	if id := attrs["form"]; id != "" {
		return byID[id]
	}
	for parent := range n.Ancestors() {
		if parent.Type == html.ElementNode && parent.Data == "form" && len(p.forms) > 0 {
			return p.forms[len(p.forms)-1]
		}
	}
	// A form that begins inside a table is not around its fields in the tree, though they belong to it.
	if n.Parent != nil && len(p.forms) > 0 && len(p.forms[len(p.forms)-1].fields) == 0 && inTable(n) {
		return p.forms[len(p.forms)-1]
	}
	return nil
}

func inTable(n *html.Node) bool {
	for parent := range n.Ancestors() {
		if parent.Type == html.ElementNode && parent.Data == "table" {
			return true
		}
	}
	return false
}

// field takes in an element that is a field of a form.
func (p *page) field(n *html.Node, byID map[string]*form) {
	switch n.Data {
	case "input", "textarea", "select", "button":
	default:
		return
	}
	a := attributes(n)
	p.control(n, a)
	f := p.formOf(n, a, byID)
	if f == nil || len(f.fields) >= maxFields {
		return
	}
	one := &field{
		name:    a["name"],
		kind:    strings.ToLower(a["type"]),
		value:   a["value"],
		min:     a["min"],
		pattern: a["pattern"],
		accept:  strings.ToLower(a["accept"]),
		current: strings.EqualFold(a["autocomplete"], "current-password"),
	}
	switch n.Data {
	case "textarea":
		one.kind, one.value, one.text = "textarea", content(n), true
		f.labels = append(f.labels, "textarea")
	case "select":
		one.kind = "select"
		one.choose(n)
	case "button":
		if one.kind == "" {
			one.kind = "submit"
		}
		f.labels = append(f.labels, content(n))
	}
	switch one.kind {
	case "submit", "image":
		one.action, one.method = a["formaction"], strings.ToUpper(a["formmethod"])
		f.buttons = append(f.buttons, one)
		f.labels = append(f.labels, one.value)
		return
	case "button", "reset":
		f.scripted = f.scripted || a["onclick"] != ""
		f.labels = append(f.labels, one.value)
		return
	case "radio", "checkbox":
		f.choice(one, n)
		return
	}
	if one.name == "" && f.scripted {
		one.name = a["id"]
	}
	if one.name == "" {
		return
	}
	one.text = one.text || slices.Contains(textual, one.kind)
	f.fields = append(f.fields, one)
}

// textual are the types of fields into which people type.
var textual = []string{
	"",
	"text",
	"search",
	"email",
	"url",
	"tel",
	"number",
	"password",
	"date",
	"datetime-local",
	"month",
	"time",
	"week",
	"color",
	"range",
}

// choose reads the options of a select element: the selected one, else the first with a value.
func (f *field) choose(n *html.Node) {
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || d.Data != "option" || len(f.options) >= maxFields {
			continue
		}
		a := attributes(d)
		value, has := a["value"]
		if !has {
			value = strings.TrimSpace(content(d))
		}
		_, selected := a["selected"]
		if selected || f.value == "" {
			f.value = value
		}
		f.options = append(f.options, value)
	}
}

// choice takes a radio button, of which one of a name counts, or a checkbox.
func (f *form) choice(one *field, n *html.Node) {
	if one.name == "" {
		return
	}
	if one.value == "" {
		one.value = "on"
	}
	_, checked := attributes(n)["checked"]
	if one.kind == "checkbox" && !checked && tokenValue.MatchString(one.value) {
		return // such as "remember my selection" in a search, which is kept with this token against forged requests
	}
	if one.kind == "radio" {
		for _, other := range f.fields {
			if other.kind == "radio" && other.name == one.name {
				if checked {
					other.value = one.value
				}
				return
			}
		}
	}
	f.fields = append(f.fields, one)
}

// requests are the requests that a form can send, one for each of its named buttons.
func (f *form) requests(p *page) (out []*Entry) {
	buttons := []*field{{}}
	if len(f.buttons) > 0 {
		buttons = f.buttons
	}
	seen := map[string]bool{}
	for _, button := range buttons {
		e := f.request(p, button)
		if e == nil || seen[e.Request.Key()] || len(out) >= maxButtons {
			continue
		}
		seen[e.Request.Key()] = true
		out = append(out, e)
	}
	return out
}

func (f *form) request(p *page, button *field) *Entry {
	action, method := f.action, f.method
	if button.action != "" {
		action = button.action
	}
	if button.method != "" {
		method = button.method
	}
	if strings.HasPrefix(strings.ToLower(action), "javascript:") || action == "#" {
		action = ""
	}
	to := p.resolve(action)
	if to == nil {
		return nil
	}
	parts := f.values(button)
	r := message.From(method, to)
	f.encode(r, parts)
	for _, one := range f.fields {
		if one.kind == "password" && !one.current {
			r.Passwords++
		}
	}
	e := &Entry{Request: r, How: ByForm, Login: f.login(), Scripted: f.scripted}
	if e.Login {
		r.Login[0], r.Login[1] = f.names()
	}
	e.Writes = client.Writes(r, f.labels...) && !e.Login
	if token := f.token(p); token != nil {
		component, format := message.Body, message.Form
		if method == http.MethodGet {
			component = message.Query
		} else if f.encoding == "multipart/form-data" {
			format = message.Multipart
		}
		r.Token = &message.Token{Field: token.name, Value: token.value,
			Place: message.Place{Component: component, Format: format, Name: token.name}}
		// Applications protect what changes something; searches and logins are the exceptions.
		e.Writes = e.Writes || method == http.MethodPost && !e.Login && !client.Reads(r, f.labels...)
	}
	return e
}

// encode writes the fields into the request as the form's method and encoding say.
func (f *form) encode(r *message.Request, parts []message.Part) {
	pairs := make([]message.Pair, 0, len(parts))
	for _, part := range parts {
		value := part.Content
		if part.FileName != "" && f.encoding != "multipart/form-data" {
			value = part.FileName
		}
		pairs = append(pairs, message.Pair{Name: part.Name, Value: value})
	}
	switch {
	case r.Method == http.MethodGet:
		r.URL.RawQuery = message.EncodeForm(pairs)
	case f.encoding == "multipart/form-data":
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		r.Body = []byte(message.EncodeMultipart(parts, boundary))
	default:
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = []byte(message.EncodeForm(pairs))
	}
}

// picture are types and endings of which a field takes files where it takes pictures.
var picture = regexp.MustCompile(`image/(?:\*|png)|\.png\b`)

// pixel is a picture of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// values are what is sent, in the order of the fields.
func (f *form) values(button *field) (out []message.Part) {
	for _, one := range f.fields {
		part := message.Part{Name: one.name, Content: one.fill()}
		if one.kind == "file" {
			part.FileName, part.Type, part.Content = "vedette.txt", "text/plain", "vedette"
			if picture.MatchString(one.accept) {
				part.FileName, part.Type, part.Content = "vedette.png", "image/png", pixel
			}
		}
		out = append(out, part)
	}
	if button.name != "" {
		if button.kind == "image" {
			return append(
				out,
				message.Part{Name: button.name + ".x", Content: "1"},
				message.Part{Name: button.name + ".y", Content: "1"},
			)
		}
		out = append(out, message.Part{Name: button.name, Content: button.value})
	}
	return out
}

// known are values by what the name of a field says, the first that fits.
var known = []struct {
	name  *regexp.Regexp
	value string
}{
	{regexp.MustCompile(`(?i)e-?mail`), "tester@example.com"},
	{regexp.MustCompile(`(?i)passw|pwd|^pass$`), Password},
	{regexp.MustCompile(`(?i)phone|mobile|^tel`), "2025550123"},
	{regexp.MustCompile(`(?i)zip|postal|postcode`), "12345"},
	{regexp.MustCompile(`(?i)year`), "2024"},
	{regexp.MustCompile(`(?i)month|day|hour|age|count|qty|quantity|amount|price|number|num$|limit|size|^n$`), "1"},
	{regexp.MustCompile(`(?i)(?:^|[_-])ids?$|[a-z]I[dD]$`), "1"},
	{regexp.MustCompile(`(?i)date`), "2024-01-15"},
	{regexp.MustCompile(`(?i)url|website|homepage|link`), "http://example.com/"},
	{regexp.MustCompile(`(?i)^ip|address_?ip|hostip|ip_?addr`), "127.0.0.1"},
	{regexp.MustCompile(`(?i)host|domain|server`), "localhost"},
	{regexp.MustCompile(`(?i)country`), "US"},
	{regexp.MustCompile(`(?i)user|login|nick`), "tester"},
}

// Password is what stands in each field of the type of passwords, by which those are known whatever they are called.
const Password = "Vedette-1x"

// fill is a value that fits the field: its own, else one after its type, else after its name.
func (f *field) fill() string {
	if f.value != "" || f.kind == "hidden" || f.kind == "select" {
		return f.value
	}
	switch f.kind {
	case "number", "range":
		if _, err := strconv.ParseFloat(f.min, 64); err == nil {
			return f.min
		}
		return "1"
	case "password":
		return Password
	case "email":
		return "tester@example.com"
	case "url":
		return "http://example.com/"
	case "tel":
		return "2025550123"
	case "date":
		return "2024-01-15"
	case "datetime-local":
		return "2024-01-15T10:00"
	case "month":
		return "2024-01"
	case "week":
		return "2024-W03"
	case "time":
		return "10:00"
	case "color":
		return "#336699"
	}
	for _, k := range known {
		if k.name.MatchString(f.name) {
			return k.value
		}
	}
	if f.pattern == `\d+` || f.pattern == `[0-9]+` {
		return "1"
	}
	return "test"
}

// login reports whether the form asks for a user and one password, and, where that is not a new one, for more such as a
// tenant or a server.
func (f *form) login() bool {
	passwords, texts, most := 0, 0, 2
	for _, one := range f.fields {
		switch {
		case one.kind == "password":
			passwords++
			if one.current {
				most = 5
			}
		case one.text && one.kind != "textarea":
			texts++
		}
	}
	return passwords == 1 && texts <= most
}

// tokenName is the name of a field with a token against forged requests.
var tokenName = regexp.MustCompile(
	`(?i)csrf|xsrf|^_?token$|authenticity|requestverificationtoken|^nonce$|_nonce$|user_token|^__viewstate|formkey|form_token|form_build_id|anticsrf|^_wpnonce$|sesskey`,
)

// token is the field with a token; nil if the form has none.
func (f *form) token(*page) *field {
	for _, one := range f.fields {
		if one.kind == "hidden" && tokenName.MatchString(one.name) && len(one.value) >= 6 {
			return one
		}
	}
	return nil
}

// LoginForm is a form that takes a user and a password.
type LoginForm struct {
	Request        *message.Request
	User, Password message.Place
}

// LoginForms are the forms of a page that take a user and one password, the likeliest first.
func LoginForms(response *message.Response) (out []LoginForm) {
	p := parsePage(response.Request.URL, response.Body)
	for _, f := range p.forms {
		if !f.login() {
			continue
		}
		for _, e := range f.requests(p) {
			if e.Request.Token != nil {
				e.Request.Token.Page = response.Request
			}
			if found, ok := f.places(e.Request); ok {
				out = append(out, found)
				break
			}
		}
	}
	return out
}

// names are those of the fields of the user, which is the last text before the password, and of the password.
func (f *form) names() (user, password string) {
	for _, one := range f.fields {
		switch {
		case one.kind == "password":
			password = one.name
		case one.text && (user == "" || password == ""):
			user = one.name
		}
	}
	return user, password
}

// places are those of the user and the password in the form's request, in which other texts are what the page gives: a
// server or a tenant that nobody names is the usual one.
func (f *form) places(r *message.Request) (LoginForm, bool) {
	user, password := f.names()
	given := map[string]string{}
	for _, one := range f.fields {
		if one.text {
			given[one.name] = one.value
		}
	}
	found := LoginForm{Request: r}
	for _, p := range message.Places(r) {
		if p.Component != message.Query && p.Component != message.Body {
			continue
		}
		switch p.Name {
		case user:
			found.User = p
		case password:
			found.Password = p
		default:
			if value, ok := given[p.Name]; ok && value != p.Value {
				found.Request = found.Request.Put(p, value)
			}
		}
	}
	return found, password != "" && found.Password.Component != ""
}

// Forms are the requests that the forms of a page send.
func Forms(response *message.Response) (out []*message.Request) {
	p := parsePage(response.Request.URL, response.Body)
	for _, f := range p.forms {
		for _, e := range f.requests(p) {
			if e.Request.Token != nil {
				e.Request.Token.Page = response.Request
			}
			out = append(out, e.Request)
		}
	}
	return out
}
