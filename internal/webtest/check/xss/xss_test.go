package xss

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

func same(s string) string { return s }

func without(chars string) func(string) string {
	return func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(chars, r) {
				return -1
			}
			return r
		}, s)
	}
}

// tag takes out what an expression matches.
func tag(is string) func(string) string {
	expression := regexp.MustCompile(is)
	return func(s string) string { return expression.ReplaceAllString(s, "") }
}

func jsEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`, "<", `\x3c`, "\n", `\n`, "\r", `\r`).Replace(s)
}

func quotesOnly(s string) string { return strings.NewReplacer(`'`, `\'`, `"`, `\"`).Replace(s) }

// cases are pages that show a value: how it is changed, where it stands, and the payload that must be found ("" none).
var cases = map[string]struct {
	change func(string) string
	page   string
	want   string
}{
	"text":                        {same, "<p>%s</p>", "svg"},
	"text, escaped":               {html.EscapeString, "<p>%s</p>", ""},
	"text, script taken out":      {func(s string) string { return strings.ReplaceAll(s, "script", "") }, "<p>%s</p>", "svg"},
	"text, no parentheses":        {without("()"), "<p>%s</p>", "no-parentheses"},
	"text, no spaces":             {without(" "), "<p>%s</p>", "script"},
	"text, tags taken out":        {tag("<[^>]*>"), "<p>%s</p>", "unclosed"},
	"text, letters' tags out":     {tag("(?i)</?[a-z][^>]*>"), "<td>%s, and more</td>", "unclosed"},
	"text, open tags out":         {tag("<[^>]*>?"), "<p>%s</p>", ""},
	"text, entities decoded":      {func(s string) string { return html.UnescapeString(without("<>")(s)) }, "<p>%s</p>", "entities"},
	"double, backslashes":         {func(s string) string { return quotesOnly(without("<>")(s)) }, `<input value="%s">`, "focus-bare"},
	"single, backslashes":         {func(s string) string { return quotesOnly(without("<>")(s)) }, `<input value='%s'>`, "focus-bare"},
	"title":                       {same, "<title>%s</title>", "close"},
	"textarea, no slash":          {without("/"), "<textarea>%s</textarea>", ""},
	"comment":                     {same, "<!-- %s -->", "close"},
	"comment, no >":               {without(">"), "<!-- %s -->", ""},
	"double quotes":               {same, `<input value="%s">`, "close"},
	"double quotes, <> escaped":   {func(s string) string { return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s) }, `<input value="%s">`, "focus"},
	"double quotes, \" escaped":   {func(s string) string { return strings.ReplaceAll(s, `"`, "&quot;") }, `<input value="%s">`, ""},
	"single quotes":               {same, `<input value='%s'>`, "close"},
	"single in double":            {without(`"`), `<input value="%s">`, ""},
	"bare":                        {without("<>"), `<input value=%s>`, "focus"},
	"name":                        {without("<>"), `<input %s>`, "attribute"},
	"element":                     {without("<>"), `<%s>`, "attribute"},
	"address":                     {html.EscapeString, `<a href="%s">x</a>`, "script"},
	"address, not at its start":   {html.EscapeString, `<a href="/%s">x</a>`, ""},
	"picture":                     {html.EscapeString, `<img src="%s">`, ""},
	"event, string":               {html.EscapeString, `<b onclick="f('%s')">x</b>`, "minus"},
	"event, escaped for scripts":  {func(s string) string { return html.EscapeString(jsEscape(s)) }, `<b onclick="f('%s')">x</b>`, ""},
	"script, code":                {same, "<script>var a = %s;</script>", "call"},
	"script, single":              {same, "<script>var a = '%s';</script>", "minus"},
	"script, double":              {same, `<script>var a = "%s";</script>`, "minus"},
	"script, escaped":             {jsEscape, `<script>var a = "%s";</script>`, ""},
	"script, only quotes escaped": {quotesOnly, `<script>var a = '%s';</script>`, "backslash"},
	"script, escaped for HTML":    {html.EscapeString, `<script>var a = "%s";</script>`, ""},
	"script, template":            {without("<>`"), "<script>var a = `%s`;</script>", "expression"},
	"script, line comment":        {without("<>"), "<script>a(); // %s\n</script>", "line"},
	"script, comment":             {without("<>"), "<script>/* %s */</script>", "close"},
	"script, pattern":             {without("<>"), "<script>var a = /%s/;</script>", "close"},
	"script, quotes escaped":      {func(s string) string { return strings.ReplaceAll(jsEscape(s), `\x3c`, "<") }, "<script>var a = '%s';</script>", "close"},
	"data":                        {same, `<script type="application/json">{"a":"%s"}</script>`, "close"},
	"data, escaped":               {jsEscape, `<script type="application/json">{"a":"%s"}</script>`, ""},
	"basic":                       {same, "<script language=vbscript>a = \"%s\"</script>", "statement"},
	"style":                       {same, "<style>a{color:%s}</style>", "close"},
	"some elements pass":          {func(s string) string { return allowed(s, "bi") }, "<p>%s</p>", "elements"},
	"paragraphs pass":             {func(s string) string { return allowed(s, "p") }, "<p>%s</p>", "elements"},
	"elements pass alone":         {func(s string) string { return bare.ReplaceAllString(allowed(s, "bip"), "<$1>") }, "<p>%s</p>", ""},
	"no element passes":           {func(s string) string { return allowed(s, "") }, "<p>%s</p>", ""},
	"decoded twice":               {func(s string) string { s = html.EscapeString(s); s, _ = url.QueryUnescape(s); return s }, "<p>%s</p>", "twice-decoded"},
	"nested": {func(s string) string {
		return strings.NewReplacer("<script>", "", "</script>", "", "onload", "", "onerror", "", "ontoggle", "", "onfocus", "").Replace(s)
	}, "<p>%s</p>", "case"},
	"words taken out once":  {func(s string) string { return words.ReplaceAllString(s, "") }, "<p>%s</p>", "doubled"},
	"events taken out once": {func(s string) string { return refused.ReplaceAllString(events.ReplaceAllString(s, ""), "") }, "<p>%s</p>", "doubled-event"},
	"elements with attributes refused": {func(s string) string {
		return attributed.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s), "script", ""), "")
	},
		"<p>%s</p>", "doubled"},
	"names of events taken out": {func(s string) string { return refused.ReplaceAllString(noEvents.Replace(s), "") }, "<p>%s</p>", "doubled-event"},
	"words refused":             {func(s string) string { return anyWord.ReplaceAllString(s, "-") }, "<p>%s</p>", ""},
	"markdown":                  {func(s string) string { return linked.ReplaceAllString(html.EscapeString(s), `<a href="$2">$1</a>`) }, "<p>%s</p>", "markdown"},
	"markdown, web alone":       {func(s string) string { return toWeb.ReplaceAllString(html.EscapeString(s), `<a href="$2">$1</a>`) }, "<p>%s</p>", ""},
	"code of a picture":         {pictures(without("<>")), "<p>%s</p><small>[img]/x.png[/img]", "code-picture"},
	"code, quotes escaped":      {pictures(html.EscapeString), "<p>%s</p><small>[img]/x.png[/img]", ""},
	"code of a link":            {func(s string) string { return urls.ReplaceAllString(html.EscapeString(s), `<a href="$1">$2</a>`) }, "<p>%s</p><small>[url=…]", "code-link"},
	"code of a link, its scheme refused": {func(s string) string {
		return urls.ReplaceAllString(strings.ReplaceAll(without("<>\"'")(s), "javascript:", ""), `<a class='out' href='$1'>$2</a>`)
	}, "<p>%s</p><a href=/help>[url=https://example.org]our page[/url]</a>", "code-link"},
	"in capitals":            {strings.ToUpper, "<p>%s</p>", "svg"},
	"in capitals, quoted":    {capitals(without("<>")), `<input value="%s">`, "focus"},
	"in capitals, in code":   {capitals(without("<>")), "<script>var a = '%s';</script>", ""},
	"in capitals, escaped":   {func(s string) string { return strings.ToUpper(html.EscapeString(s)) }, "<p>%s</p>", ""},
	"in capitals, in a name": {func(s string) string { return strings.ToUpper(html.EscapeString(s)) }, `<input value="%s">`, ""},
	"srcdoc":                 {html.EscapeString, `<iframe srcdoc="%s"></iframe>`, "svg"},
	"source of a script":     {html.EscapeString, `<script src="%s"></script>`, "data"},
	"source, capitals":       {capitals(html.EscapeString), `<script src="%s"></script>`, ""},
	"source, prefixed":       {html.EscapeString, `<script src="/js/%s"></script>`, ""},
	"first signs escaped":    {first("<", ">"), "<p>%s</p>", "second"},
	"first element removed":  {func(s string) string { return once.ReplaceAllString(s, "$2") }, "<p>%s</p>", "second"},
	"first quote escaped":    {func(s string) string { return first("'")(without("<>")(s)) }, "<script>var a = '%s';</script>", "second"},
	"first double, escaped":  {first(`"`, "<", ">"), `<input value="%s">`, "second"},
	"frameset":               {same, `<frameset><frame src="%s"></frameset>`, "script"},
}

var (
	element = regexp.MustCompile(`<[^>]*>?`)
	bare    = regexp.MustCompile(`<(\w)[^>]*>`)
)

// allowed takes elements out, but those whose names are one of some letters.
func allowed(s, names string) string {
	return element.ReplaceAllStringFunc(s, func(tag string) string {
		name, _, _ := strings.Cut(strings.Trim(tag, "</>"), " ")
		if len(name) == 1 && strings.Contains(names, name) {
			return tag
		}
		return ""
	})
}

// Filters of words, and the links and pictures that applications make of text.
var (
	words      = regexp.MustCompile(`(?i)script|on\w+\s*=|javascript:`)
	events     = regexp.MustCompile(`(?i)on\w+\s*=`)
	refused    = regexp.MustCompile(`(?i)<[a-z]*(?:script|[^>]*(?:javascript|srcdoc))[^>]*>`)
	noEvents   = strings.NewReplacer("onload=", "", "onerror=", "", "onfocus=", "", "ontoggle=", "")
	attributed = regexp.MustCompile(`<\w+[\s/][^>]*>`)
	anyWord    = regexp.MustCompile(`(?i)script|onload|on\w+|srcdoc`)
	linked     = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*\)?)\)`)
	toWeb      = regexp.MustCompile(`\[([^\]]*)\]\((https?://[^)\s]*)\)`)
	urls       = regexp.MustCompile(`\[url=([^\]]*)\](.*?)\[/url\]`)
	image      = regexp.MustCompile(`\[img\](/[^\r\n]*?)\[/img\]`)
)

func pictures(escape func(string) string) func(string) string {
	return func(s string) string { return image.ReplaceAllString(escape(s), `<img src="$1">`) }
}

// once is the first element and what follows it.
var once = regexp.MustCompile(`(?s)^([^<]*)<[^>]*>(.*)$`)

// first escapes the first of each sign alone.
func first(signs ...string) func(string) string {
	return func(s string) string {
		for _, sign := range signs {
			s = strings.Replace(s, sign, html.EscapeString(sign), 1)
		}
		return s
	}
}

func app(change func(string) string, page string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><body>"+page+"</body></html>", change(r.FormValue("q")))
	})
}

func TestContexts(t *testing.T) {
	reflected := Checks()[0]
	for name, c := range cases {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				lab := kittest.New(t, app(c.change, c.page))
				target := lab.Target(t, http.MethodGet, "/?q=hello", "")
				if method == http.MethodPost {
					target = lab.Target(t, method, "/", "q=hello")
				}
				found := lab.Run(t, reflected, target)
				if c.want == "" {
					if len(found) > 0 {
						t.Fatalf("reports %s", kittest.Titles(found))
					}
					if sent := lab.Sent.Load() - 5; sent > 30 {
						t.Errorf("%d requests for a clean place", sent)
					}
					return
				}
				if len(found) != 1 || found[0].Variant != c.want || found[0].Confidence != kit.Proved {
					t.Fatalf("found %s, want %s", kittest.Titles(found), c.want)
				}
				runner := proof.Runner{Send: lab.World.Client.Send}
				if out, err := runner.Run(t.Context(), found[0].Proof); err != nil || !out.Holds {
					t.Errorf("the proof does not hold: %s, %v", out.Failed, err)
				}
			})
		}
	}
}

// A page that keeps what it is sent shows the script of before beside the word of the control: the control comes first.
func TestProofOfPagesThatKeep(t *testing.T) {
	for name, keeps := range map[string]int{"all entries": 1000, "the last two": 2} {
		var mu sync.Mutex
		var entries []string
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			entries = append(entries, "<p>"+r.FormValue("q")+"</p>")
			entries = entries[max(0, len(entries)-keeps):]
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.Join(entries, ""))
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodPost, "/", "q=hello"))
		if len(found) != 1 {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		mu.Lock()
		entries = nil // the proof is run against another copy
		mu.Unlock()
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A script in a document of XML is one where the document is well-formed and the element has a namespace with scripts.
func TestDocumentsOfXML(t *testing.T) {
	for name, c := range map[string]struct{ kind, page, want string }{
		"drawing":     {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><text>%s</text></svg>`, "script"},
		"data":        {"application/xml", `<wood><name>%s</name></wood>`, "xml"},
		"not closed":  {"application/xml", `<wood><name>%s</wood>`, ""},
		"a character": {"text/xml", `<wood><![CDATA[%s]]></wood>`, ""},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			fmt.Fprintf(w, c.page, r.FormValue("q"))
		}))
		got := ""
		for _, f := range lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/?q=oak", "")) {
			got += f.Variant
			lab.Holds(t, f)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNoDocument(t *testing.T) {
	for name, header := range map[string]http.Header{
		"json": {"Content-Type": {"application/json"}}, "text": {"Content-Type": {"text/plain"}},
		"file":    {"Content-Type": {"text/html"}, "Content-Disposition": {"attachment; filename=a.html"}},
		"leading": {"Content-Type": {"text/html"}, "Location": {"/home"}},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = header["Content-Type"]
			w.Header()["Content-Disposition"] = header["Content-Disposition"]
			if to := header.Get("Location"); to != "" {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusFound)
			}
			fmt.Fprintf(w, "%s", r.FormValue("q"))
		}))
		if found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/?q=a", "")); len(found) > 0 {
			t.Errorf("%s: reports %s", name, kittest.Titles(found))
		}
	}
}

func TestPolicyMakesItProbable(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprintf(w, "<p>%s", r.FormValue("q"))
	}))
	found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/?q=a", ""))
	if len(found) != 1 || found[0].Confidence != kit.Probable || found[0].Severity != kit.Low {
		t.Errorf("found %+v", found)
	}
}

// board stores messages and shows them on another page.
// capitals writes what another function makes in capitals.
func capitals(then func(string) string) func(string) string {
	return func(s string) string { return strings.ToUpper(then(s)) }
}

func board(escape func(string) string) http.Handler {
	var mu sync.Mutex
	var all []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.FormValue("text"))
		http.Redirect(w, r, "/board", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /board", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		for _, one := range all {
			fmt.Fprintf(w, "<p>%s</p>", escape(one))
		}
	})
	return mux
}

// commonest are the elements that most filters know.
var commonest = regexp.MustCompile(`(?i)<\s*/?\s*(?:script|scr|img|svg|iframe|body|a|i)\b`)

func TestStored(t *testing.T) {
	for name, escape := range map[string]func(string) string{"weak": same, "escaped": html.EscapeString,
		"some elements refused": func(s string) string {
			if commonest.MatchString(s) {
				return ""
			}
			return s
		}, "links": func(s string) string { return linked.ReplaceAllString(html.EscapeString(s), `<a href="$2">$1</a>`) },
		"weak, in capitals": strings.ToUpper, "escaped, in capitals": capitals(html.EscapeString)} {
		lab := kittest.New(t, board(escape))
		target := lab.Target(t, http.MethodPost, "/say", "text=hello")
		shown, err := message.New(http.MethodGet, lab.URL+"/board")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request, shown} }
		if found := lab.Run(t, Checks()[0], target); len(found) != 0 {
			t.Errorf("%s: reflected %s", name, kittest.Titles(found))
		}
		found := lab.Run(t, Checks()[1], target)
		if want := map[string]int{"weak": 1, "weak, in capitals": 1, "some elements refused": 1, "links": 1}[name]; len(found) != want {
			t.Fatalf("%s: %d findings, want %d", name, len(found), want)
		}
		if len(found) == 1 {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), found[0].Proof); err != nil || !out.Holds {
				t.Errorf("the proof does not hold: %s, %v", out.Failed, err)
			}
		}
	}
}

func TestDOMWithoutBrowserIsSaid(t *testing.T) {
	lab := kittest.New(t, app(same, "<script>document.write(location.hash)</script>%s"))
	lab.Run(t, Checks()[2], lab.Target(t, http.MethodGet, "/", ""))
	if len(lab.Skipped()) != 1 {
		t.Errorf("skipped: %v", lab.Skipped())
	}
}

func TestDOM(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	pool := browser.New(browser.Config{Nobody: true})
	t.Cleanup(pool.Close)
	for name, c := range map[string]struct {
		page string
		want int
	}{
		"writes the fragment": {"<body><script>document.write(decodeURIComponent(location.hash.slice(1)))</script>", 1},
		"inner":               {"<body><p id=a></p><script>document.getElementById('a').innerHTML = new URLSearchParams(location.search).get('q')</script>", 1},
		"goes there":          {"<body><script>if (location.hash) location.href = decodeURIComponent(location.hash.slice(1))</script>", 1},
		"route": {"<body><a href='#/greet/you'>hi</a><p id=a></p><script>onhashchange = go; function go() { const [, v, n] = " +
			"location.hash.split('/'); if (v === 'greet') a.innerHTML = 'Hi ' + decodeURIComponent(n) } go()</script>", 1},
		"text": {"<body><p id=a></p><script>document.getElementById('a').textContent = decodeURIComponent(location.hash)</script>", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, c.page)
		}))
		lab.World.Browser = pool
		found := lab.Run(t, Checks()[2], lab.Target(t, http.MethodGet, "/?q=a", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %d, want %d (skipped %v)", name, len(found), c.want, lab.Skipped())
		}
	}
}

func TestExecutesForms(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	pool := browser.New(browser.Config{Nobody: true})
	t.Cleanup(pool.Close)
	lab := kittest.New(t, app(same, "<p>%s</p>"))
	lab.World.Browser = pool
	target := lab.Target(t, http.MethodPost, "/", "q=hello&other=a+b")
	place := target.Places[0]
	for _, p := range target.Places {
		if p.Name == "q" {
			place = p
		}
	}
	for text, want := range map[string]bool{"<svg onload=called()>": true, "called()": false} {
		got, err := Executes(t.Context(), lab.World, (*client.User)(nil), target.Request.Put(place, text), "called")
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
