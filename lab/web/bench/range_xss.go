package bench

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// shown is a place of a page where its input appears.
type shown struct {
	name   string
	filter func(string) string // what is done to the input; nil for nothing
	text   string              // what is shown, with @@ where the input stands
	proof  string
	expect string
	kind   string // the type of the answer; of HTML without, in a page around it
	status int    // 200 without
}

func (x *shown) page(folder string, weak bool) page {
	return page{folder: folder, name: x.name, class: "xss", weak: weak, param: "userinput", value: "oak", proof: x.proof, expect: x.expect,
		serve: func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
			if x.filter != nil {
				in = x.filter(in)
			}
			text, status := strings.ReplaceAll(x.text, "@@", in), max(x.status, 200)
			if head, ok := strings.CutPrefix(text, "HEAD"); ok {
				write(w, status, htmlType, doc("Shop", head, "<p>Come in.</p>"))
				return
			}
			if x.kind != "" {
				if strings.HasPrefix(x.kind, "!") {
					w.Header().Set("X-Content-Type-Options", "nosniff")
				}
				write(w, status, strings.TrimPrefix(x.kind, "!"), text)
				return
			}
			show(w, status, "Shop", text)
		}}
}

func xssPages() (all []page) {
	for _, x := range append(xssPlaces(), xssFilters()...) {
		all = append(all, x.page("script", true))
	}
	return all
}

func xssLooks() (all []page) {
	for _, x := range xssSafe() {
		all = append(all, x.page("script-looks", false))
	}
	return all
}

// xssPlaces are places without a filter, or with an encoding that is for another place.
func xssPlaces() []shown {
	return []shown{
		{name: "in-text", text: "<p>Hello @@, welcome.</p>", proof: "<b>q7", expect: "Hello <b>q7"},
		{name: "in-attribute-double", text: `<input name="a" value="@@">`, proof: `"><b>q7`, expect: `value=""><b>q7`},
		{name: "in-attribute-single", text: `<input name='a' value='@@'>`, proof: `' onfocus='q7()`, expect: `value='' onfocus='q7\(\)'`},
		{name: "in-attribute-bare", filter: enc, text: `<input name=a value=@@>`, proof: "x onfocus=q7()", expect: `value=x onfocus=q7\(\)>`},
		{name: "in-attribute-name", filter: enc, text: `<input name=a @@>`, proof: "onfocus=q7()", expect: `name=a onfocus=q7\(\)>`},
		{name: "in-link", filter: enc, text: `<a href="@@">Go back</a>`, proof: "javascript:q7()", expect: `href="javascript:q7\(\)"`},
		{name: "in-frame", filter: enc, text: `<iframe src="@@"></iframe>`, proof: "javascript:q7()", expect: `src="javascript:q7\(\)"`},
		{name: "in-handler", filter: enc, text: `<button onclick="choose('@@')">Choose</button>`, proof: "');q7();//", expect: `choose\('&#39;\);q7\(\);//`},
		{name: "in-script-single", text: `<script>var wood = '@@'; var n = 1;</script>`, proof: "';q7();//", expect: `wood = '';q7\(\);//`},
		{name: "in-script-double", text: `<script>var wood = "@@"; var n = 1;</script>`, proof: `";q7();//`, expect: `wood = "";q7\(\);//`},
		{name: "in-script-number", filter: enc, text: `<script>var n = @@; var wood = "oak";</script>`, proof: "1;q7()", expect: `n = 1;q7\(\);`},
		{name: "in-script-line-comment", filter: angles, text: "<script>\n// asked for: @@\nvar n = 1;</script>", proof: "x\nq7()", expect: `\nq7\(\)\n`},
		{name: "in-script-block-comment", filter: enc, text: "<script>/* asked for: @@ */ var n = 1;</script>", proof: "*/q7()/*", expect: `: \*/q7\(\)/\* \*/`},
		{name: "in-script-template", filter: enc, text: "<script>var wood = `@@`;</script>", proof: "${q7()}", expect: "`\\$\\{q7\\(\\)\\}`"},
		{name: "in-script-data", filter: quotes, text: `<script type="application/json">{"wood":"@@"}</script>`, proof: "</script><b>q7", expect: `</script><b>q7`},
		{name: "in-script-address", filter: enc, text: `<script src="@@"></script><p>Thank you.</p>`, proof: "//q7.example/x.js", expect: `<script src="//q7.example/x.js">`},
		{name: "in-style", text: "HEAD<style>h1 { color: @@ }</style>", proof: "</style><b>q7", expect: `</style><b>q7 \}`},
		{name: "in-style-attribute", text: `<p style="color: @@">Wood</p>`, proof: `"><b>q7`, expect: `color: "><b>q7`},
		{name: "in-comment", text: "<!-- asked for @@ --><p>Wood</p>", proof: "--><b>q7", expect: `--><b>q7 -->`},
		{name: "in-title", text: "HEAD<title>Wood of @@</title>", proof: "</title><b>q7", expect: "</title><b>q7</title>"},
		{name: "in-textarea", text: `<textarea name="a">@@</textarea>`, proof: "</textarea><b>q7", expect: "</textarea><b>q7</textarea>"},
		{name: "in-option", text: `<select name="a"><option>@@</option></select>`, proof: "</option></select><b>q7", expect: "</select><b>q7"},
		{name: "in-frame-document", filter: enc, text: `<iframe srcdoc="Wood: @@"></iframe>`, proof: "<b>q7", expect: `srcdoc="Wood: &lt;b&gt;q7"`},
		{name: "in-form-action", filter: enc, text: `<form action="@@"><button>Send</button></form>`, proof: "javascript:q7()", expect: `action="javascript:q7\(\)"`},
		{name: "in-data-as-html", kind: htmlType, text: `{"wood":"@@","price":5}`, proof: "<b>q7", expect: `^200 text/html(?s).*<b>q7`},
		{name: "in-drawing", kind: "image/svg+xml", text: `<svg xmlns="http://www.w3.org/2000/svg"><text y="20">@@</text></svg>`, proof: "<script>q7()</script>",
			expect: `svg\+xml(?s).*<script>q7`},
		{name: "in-error", status: 500, text: "<p>There is no @@.</p>", proof: "<b>q7", expect: "^500(?s).*no <b>q7"},
		{name: "in-missing", status: 404, text: "<p>There is no @@.</p>", proof: "<b>q7", expect: "^404(?s).*no <b>q7"},
	}
}

var (
	tag      = regexp.MustCompile(`<[^>]*>?`)
	scripts  = regexp.MustCompile(`(?i)</?script[^>]*>?`)
	known    = regexp.MustCompile(`(?i)</?(script|img|svg|iframe|body|object|embed|video|audio)`)
	handlers = regexp.MustCompile(`(?i)\son\w+\s*=`)
	calls    = regexp.MustCompile(`(?i)alert|prompt|confirm|eval|document|cookie`)
	spaces   = regexp.MustCompile(`\s`)
)

func angles(in string) string { return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(in) }
func quotes(in string) string { return strings.NewReplacer(`"`, "", `\`, "").Replace(in) }

// xssFilters are places with a filter that leaves a way.
func xssFilters() []shown {
	hello, value := "<p>Hello @@, welcome.</p>", `<input name="a" value="@@">`
	drop := func(re *regexp.Regexp) func(string) string {
		return func(in string) string { return re.ReplaceAllString(in, "") }
	}
	without := func(words ...string) func(string) string {
		return func(in string) string {
			for _, word := range words {
				in = strings.ReplaceAll(in, word, "")
			}
			return in
		}
	}
	img, imgSeen := "<img src=x onerror=q7()>", `Hello <img src=x onerror=q7\(\)>`
	return []shown{
		{name: "without-script-lower", filter: without("<script>", "</script>"), text: hello, proof: "<SCRIPT>q7()</SCRIPT>", expect: "Hello <SCRIPT>q7"},
		{name: "without-script", filter: drop(scripts), text: hello, proof: img, expect: imgSeen},
		{name: "without-script-once", filter: func(in string) string { return strings.Replace(in, "<script>", "", 1) }, text: hello,
			proof: "<scr<script>ipt>q7()", expect: `Hello <script>q7`},
		{name: "angles-in-attribute", filter: angles, text: value, proof: `" onfocus="q7()`, expect: `value="" onfocus="q7\(\)"`},
		{name: "double-quotes-in-single", filter: quotes, text: `<input name='a' value='@@'>`, proof: "' onfocus='q7()", expect: `'' onfocus='q7\(\)'`},
		{name: "angles-in-script", filter: angles, text: `<script>var wood = '@@';</script>`, proof: "';q7();//", expect: "wood = '';q7"},
		{name: "quote-escaped-alone", filter: func(in string) string { return strings.ReplaceAll(angles(in), "'", `\'`) },
			text: `<script>var wood = '@@';</script>`, proof: `\';q7();//`, expect: `wood = '\\\\';q7\(\)`},
		{name: "slashes-in-script", filter: func(in string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`).Replace(in) },
			text: `<script>var wood = '@@';</script>`, proof: "</script><b>q7", expect: "</script><b>q7"},
		{name: "capitals", filter: strings.ToUpper, text: hello, proof: "<b>q7", expect: "Hello <B>Q7"},
		{name: "sixty-letters", filter: func(in string) string { return in[:min(len(in), 60)] }, text: hello, proof: img, expect: imgSeen},
		{name: "decoded-after", filter: func(in string) string {
			out, err := url.QueryUnescape(enc(in))
			if err != nil {
				return enc(in)
			}
			return out
		}, text: hello, proof: "%3Cb%3Eq7", expect: "Hello <b>q7"},
		{name: "first-element", filter: func(in string) string {
			if at := tag.FindStringIndex(in); at != nil {
				return in[:at[0]] + in[at[1]:]
			}
			return in
		}, text: hello, proof: "<i><b>q7", expect: "Hello <b>q7"},
		{name: "without-brackets", filter: without("(", ")"), text: hello, proof: "<img src=x onerror=q7`1`>", expect: "<img src=x onerror=q7`1`>"},
		{name: "without-blanks", filter: drop(spaces), text: hello, proof: "<svg/onload=q7()>", expect: `Hello <svg/onload=q7\(\)>`},
		{name: "link-with-http", filter: func(in string) string {
			if !strings.Contains(in, "http") {
				return "#"
			}
			return enc(in)
		}, text: `<a href="@@">Go back</a>`, proof: "javascript:q7()//http", expect: `href="javascript:q7\(\)//http"`},
		{name: "link-lower", filter: func(in string) string { return enc(strings.ReplaceAll(in, "javascript:", "")) },
			text: `<a href="@@">Go back</a>`, proof: "JavaScript:q7()", expect: `href="JavaScript:q7`},
		{name: "without-calls", filter: drop(calls), text: hello, proof: img, expect: imgSeen},
		{name: "first-angles", filter: func(in string) string {
			return strings.Replace(strings.Replace(in, "<", "&lt;", 1), ">", "&gt;", 1)
		}, text: hello, proof: "<><b>q7", expect: "Hello &lt;&gt;<b>q7"},
		{name: "known-elements", filter: drop(known), text: hello, proof: "<details open ontoggle=q7()>", expect: `Hello <details open ontoggle=q7\(\)>`},
		{name: "without-handlers", filter: func(in string) string { return handlers.ReplaceAllString(scripts.ReplaceAllString(in, ""), " ") }, text: hello,
			proof: `<iframe src="javascript:q7()">`, expect: `Hello <iframe src="javascript:q7`},
	}
}

var word = regexp.MustCompile(`[^A-Za-z0-9]`)

// xssSafe are places whose encoding is right for them.
func xssSafe() []shown {
	hello := "<p>Hello @@, welcome.</p>"
	entities := func(in string) string {
		return word.ReplaceAllStringFunc(in, func(c string) string { return "&#" + strconv.Itoa(int([]rune(c)[0])) + ";" })
	}
	asJSON := func(in string) string {
		text, _ := json.Marshal(in) // a string always can be
		return strings.ReplaceAll(string(text), "'", `\u0027`)
	}
	oneOf := func(in string) string {
		if in == "oak" || in == "elm" {
			return in
		}
		return "wood"
	}
	address := func(in string) string {
		if u, err := url.Parse(in); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "/home.html"
		}
		return enc(in)
	}
	return []shown{
		{name: "text-encoded", filter: enc, text: hello, proof: "<b>q7", expect: "<b>q7"},
		{name: "double-encoded", filter: enc, text: `<input name="a" value="@@">`, proof: `"><b>q7`, expect: `""|<b>q7`},
		{name: "single-encoded", filter: enc, text: `<input name='a' value='@@'>`, proof: "' onfocus='q7()", expect: "' onfocus"},
		{name: "bare-encoded", filter: entities, text: `<input name=a value=@@>`, proof: "x onfocus=q7()", expect: "value=x onfocus"},
		{name: "script-encoded", filter: asJSON, text: `<script>var wood = @@;</script>`, proof: `</script><b>q7";q7();//`, expect: `</script><b>|"";q7`},
		{name: "template-encoded", filter: asJSON, text: `<script>var wood = "of " + @@ + " wood";</script>`, proof: "${q7()}</script><b>q7", expect: "<b>q7"},
		{name: "number", filter: func(in string) string { n, _ := strconv.Atoi(in); return strconv.Itoa(n) }, text: `<script>var n = @@;</script>`,
			proof: "1;q7()", expect: `q7`},
		{name: "handler-encoded", filter: func(in string) string { return enc(asJSON(in)) }, text: `<button onclick="choose(@@)">Choose</button>`,
			proof: `");q7();//'`, expect: `choose\(&#34;&#34;\);q7`},
		{name: "plain-text", kind: "!text/plain; charset=utf-8", text: "Hello @@, welcome.", proof: "<b>q7", expect: "^200 text/html"},
		{name: "data", kind: "!application/json", filter: asJSON, text: `{"wood":@@}`, proof: "<b>q7", expect: "<b>q7"},
		{name: "data-raw", kind: "!application/json", filter: func(in string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(in) },
			text: `{"wood":"@@"}`, proof: "<b>q7", expect: "^200 text/html"},
		{name: "comment-encoded", filter: entities, text: "<!-- asked for @@ --><p>Wood</p>", proof: "--><b>q7", expect: "<b>q7"},
		{name: "title-encoded", filter: enc, text: "HEAD<title>Wood of @@</title>", proof: "</title><b>q7", expect: "<b>q7"},
		{name: "area-encoded", filter: enc, text: `<textarea name="a">@@</textarea>`, proof: "</textarea><b>q7", expect: "<b>q7"},
		{name: "link-checked", filter: address, text: `<a href="@@">Go back</a>`, proof: "javascript:q7()//http", expect: "javascript:"},
		{name: "style-listed", filter: oneOf, text: "HEAD<style>h1 { color: @@ }</style>", proof: "</style><b>q7", expect: "<b>q7"},
		{name: "name-listed", filter: oneOf, text: `<input name=a @@>`, proof: "onfocus=q7()", expect: "onfocus"},
		{name: "letters-alone", filter: func(in string) string { return word.ReplaceAllString(in, "") }, text: hello, proof: "<b>q7", expect: "<b>q7"},
		{name: "document-encoded-twice", filter: func(in string) string { return enc(enc(in)) }, text: `<iframe srcdoc="Wood: @@"></iframe>`, proof: "<b>q7",
			expect: "<b>q7|&lt;b&gt;q7"},
		{name: "error-encoded", status: 500, filter: enc, text: "<p>There is no @@.</p>", proof: "<b>q7", expect: "<b>q7"},
	}
}
