package bench

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/antchfx/xmlquery"

	"github.com/vedette-sec/vedette/lab/web"
)

// check is a test of the suite: a form, and an address to which it submits its value.
type check struct {
	number int
	class  string
	source string // query, form, header, cookie, name
	weak   bool
	flow   func(in string) string // what the value goes through; a safe check may drop it there
	sink   sink
	proof  string
	expect string
}

// sink is what a check does with its value. A safe one does it rightly when the value arrives.
type sink func(s *site, w http.ResponseWriter, r *http.Request, in string)

func (c *check) name() string   { return fmt.Sprintf("Check%05d", c.number) }
func (c *check) folder() string { return "/checks/" + c.class + "-00/" }
func (c *check) path() string   { return c.folder() + c.name() }

// header is the header of a check whose value comes in one: of scripts, one that a browser sends to other sites, too.
func (c *check) header() string {
	if c.class == "xss" {
		return "Referer"
	}
	return "X-" + c.name()
}

// keeps are helpers that keep a value, and drops are those that drop it: which one it is, only their code tells.
func keeps() []func(string) string {
	return []func(string) string{
		func(in string) string { return in },
		func(in string) string { // a map
			m := map[string]string{"keyA": "a-value", "keyB": in, "keyC": "another-value"}
			return m["keyB"]
		},
		func(in string) string { // a list whose first is removed
			list := []string{"safe", in, "moresafe"}
			list = list[1:]
			return list[0]
		},
		func(in string) string { // there and back
			plain, err := base64.StdEncoding.DecodeString(base64.StdEncoding.EncodeToString([]byte(in)))
			if err != nil {
				return ""
			}
			return string(plain)
		},
		func(in string) string { // a condition that is always true
			number := 106
			if out := "never"; 7*18+number <= 200 {
				return out
			}
			return in
		},
		func(in string) string { // a choice that always takes the value
			switch guess := "ABC"; guess[1] {
			case 'A':
				return "bob"
			case 'B':
				return in
			default:
				return "uncle"
			}
		},
		func(in string) string { // parts that are put together again
			var b strings.Builder
			for part := range strings.SplitAfterSeq("x"+in, "") {
				b.WriteString(part)
			}
			return b.String()[1:]
		},
	}
}

func drops() []func(string) string {
	return []func(string) string{
		func(in string) string {
			m := map[string]string{"keyA": "a-value", "keyB": in}
			m["keyB"] = m["keyA"]
			return m["keyB"]
		},
		func(in string) string {
			list := []string{"safe", in, "moresafe"}
			list = list[1:]
			return list[1]
		},
		func(in string) string {
			if number := 86; 7*42-number > 200 {
				return "safe"
			}
			return in
		},
		func(in string) string {
			switch guess := "ABC"; guess[2] {
			case 'A':
				return in
			case 'C':
				return "safe"
			default:
				return "uncle"
			}
		},
	}
}

// kind is a class of the suite with its sinks.
type kind struct {
	class, value  string
	sources       []string
	weak, safe    []sink // a safe sink is right with any value
	proof, expect string
}

// checks are all tests: for each class and source, weak ones, and safe ones whose value is dropped or used rightly.
func checks() (all []check) {
	number := 0
	add := func(k *kind, source string, weak bool, flow func(string) string, s sink) {
		number += 1 + number%3 // numbers say nothing
		all = append(all, check{number, k.class, source, weak, flow, s, k.proof, k.expect})
	}
	keep, drop, turn := keeps(), drops(), 0
	for _, k := range suiteKinds() {
		for i, source := range k.sources {
			turn++
			weakSink := k.weak[i%len(k.weak)]
			if turn%2 == 0 {
				add(&k, source, true, keep[turn%len(keep)], weakSink)
			}
			add(&k, source, false, drop[turn%len(drop)], weakSink)
			if turn%2 == 1 {
				add(&k, source, true, keep[turn%len(keep)], weakSink)
			}
			if i%2 == 0 {
				add(&k, source, true, keep[(turn+3)%len(keep)], k.weak[(i+1)%len(k.weak)])
				add(&k, source, false, keep[(turn+4)%len(keep)], k.safe[i/2%len(k.safe)])
			}
		}
	}
	return all
}

func suiteCases(string) (all []web.Case) {
	for _, c := range checks() {
		value, proof := url.QueryEscape(c.proof), ""
		switch c.source {
		case "query":
			proof = "- GET " + c.path() + "?" + c.name() + "=" + value
		case "form":
			proof = "- POST " + c.path() + " " + c.name() + "=" + value
		case "header":
			proof = "- [" + c.header() + ": " + value + "] GET " + c.path()
		case "cookie":
			proof = "- [Cookie: " + c.name() + "=" + value + "] GET " + c.path()
		case "name":
			proof = "- POST " + c.path() + " " + value + "=" + c.name()
		}
		all = append(all, web.Case{Path: c.path(), Class: c.class, True: c.weak, Proof: proof, Expect: c.expect})
	}
	for i, weak := range cookieChecks() {
		path := fmt.Sprintf("/checks/cookie-00/Check%05d", 900+i)
		all = append(all, web.Case{Path: path, Class: "cookie", True: weak, Proof: "- GET " + path, Expect: `head: (?m)^Set-Cookie: SomeCookie=[\w-]+; Path=[\w/-]+\r?$`})
	}
	return all
}

// cookieChecks are the tests of cookies: whether each is weak.
func cookieChecks() []bool { return []bool{true, false, false, true} }

func buildSuite(s *site) {
	all := checks()
	folders, indexes := []string{}, map[string]string{}
	list := func(folder, path string) {
		if indexes[folder] == "" {
			folders = append(folders, folder)
		}
		indexes[folder] += link(path+".html", strings.TrimPrefix(path, folder))
	}
	for i := range all {
		c := &all[i]
		list(c.folder(), c.path())
		s.HandleFunc("GET "+c.path()+".html", func(w http.ResponseWriter, _ *http.Request) { write(w, 200, htmlType, doc(c.name(), "", c.form())) })
		s.HandleFunc(c.path(), func(w http.ResponseWriter, r *http.Request) { c.sink(s, w, r, c.flow(c.taken(r))) })
	}
	for i, weak := range cookieChecks() {
		folder := "/checks/cookie-00/"
		path := fmt.Sprintf("%sCheck%05d", folder, 900+i)
		list(folder, path)
		s.HandleFunc("GET "+path+".html", func(w http.ResponseWriter, _ *http.Request) {
			show(w, 200, "Cookie", `<form action="`+path+`" method="get"><input type="submit" value="Send"></form>`)
		})
		s.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			c := &http.Cookie{Name: "SomeCookie", Value: "some-secret-value", Path: path}
			if !weak {
				c.Secure, c.HttpOnly, c.SameSite = true, true, http.SameSiteStrictMode
			}
			http.SetCookie(w, c)
			show(w, 200, "Cookie", "<p>A cookie was made.</p>")
		})
	}
	var front strings.Builder
	for _, f := range folders {
		front.WriteString(link(f, strings.Trim(f, "/")))
		s.HandleFunc("GET "+f+"{$}", func(w http.ResponseWriter, _ *http.Request) {
			show(w, 200, strings.Trim(f, "/"), "<ul>"+indexes[f]+"</ul>")
		})
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, 200, "The suite", "<ul>"+front.String()+"</ul>") })
}

// taken is the value of a request.
func (c *check) taken(r *http.Request) string {
	decoded := func(text string) string {
		if out, err := url.QueryUnescape(text); err == nil {
			return out
		}
		return text
	}
	switch c.source {
	case "header":
		return decoded(r.Header.Get(c.header()))
	case "cookie":
		if cookie, err := r.Cookie(c.name()); err == nil {
			return decoded(cookie.Value)
		}
		return ""
	case "name":
		_ = r.ParseForm() // what cannot be read is not there
		for name, values := range r.Form {
			for _, v := range values {
				if v == c.name() {
					return name
				}
			}
		}
		return ""
	case "query":
		return r.URL.Query().Get(c.name())
	}
	return r.PostFormValue(c.name())
}

// form is the page of a check that submits its value.
func (c *check) form() string {
	value := values()[c.class]
	submit := `<p><input type="submit" value="Submit"></p></form>`
	field := fmt.Sprintf(`<label>Value <input type="text" name="%s" value="%s"></label>`, c.name(), value)
	switch c.source {
	case "query":
		return `<form action="` + c.path() + `" method="GET">` + field + submit
	case "form":
		return `<form action="` + c.path() + `" method="POST">` + field + submit
	case "name":
		return `<form action="` + c.path() + `" method="POST">` + fmt.Sprintf(`<label>Value <input type="text" name="%s" value="%s"></label>`, value, c.name()) + submit
	case "cookie":
		return `<script>document.cookie = "` + c.name() + "=" + url.QueryEscape(value) + `; path=` + c.path() + `";</script>` +
			`<form action="` + c.path() + `" method="POST"><input type="hidden" name="sent" value="yes">` + submit
	}
	if c.header() == "Referer" {
		return `<p><a href="` + c.path() + `">Submit</a></p>`
	}
	return `<p id="answer"></p><button onclick="submitForm()">Submit</button><script>
function submitForm() {
  var call = new XMLHttpRequest();
  call.open("GET", "` + c.path() + `", true);
  call.setRequestHeader("` + c.header() + `", "` + url.QueryEscape(value) + `");
  call.onload = function () { document.getElementById("answer").textContent = call.responseText; };
  call.send();
}
</script>`
}

// values are what the value of a check usually is, by class.
func values() map[string]string {
	out := map[string]string{}
	for _, k := range suiteKinds() {
		out[k.class] = k.value
	}
	return out
}

// staff is the document that paths of XPath select from.
const staff = `<employees><employee id="0001"><name>anna</name><seat>3</seat></employee><employee id="0002"><name>ben</name><seat>7</seat></employee>` +
	`<employee id="0003"><name>root</name><seat>1</seat></employee></employees>`

// selected is the names that a path selects.
func selected(w http.ResponseWriter, path string) {
	top, err := xmlquery.Parse(strings.NewReader(staff))
	if err != nil {
		panic(err) // it is written above
	}
	nodes, err := xmlquery.QueryAll(top, path)
	if err != nil {
		show(w, 500, "Staff", "<p>XPath: "+enc(err.Error())+"</p>")
		return
	}
	var names strings.Builder
	for _, n := range nodes {
		names.WriteString("<li>" + enc(n.InnerText()) + "</li>")
	}
	show(w, 200, "Staff", "<p>Your query selects:</p><ul>"+names.String()+"</ul>")
}
