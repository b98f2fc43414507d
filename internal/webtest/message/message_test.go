package message_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"pgregory.net/rapid"
)

// boundary is that of the multipart bodies here.
const boundary = "xYz"

func request(t *testing.T, method, address, kind, body string) *message.Request {
	t.Helper()
	r, err := message.New(method, address)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Body = []byte(body)
	return r
}

// samples are requests in each format, with the name of one of their places and its value.
func samples(t *testing.T) map[string]sample {
	t.Helper()
	file := message.EncodeMultipart([]message.Part{
		{Name: "note", Content: "hello"}, {Name: "up", FileName: "a.txt", Type: "text/plain", Content: "text"},
	}, boundary)
	cookies := request(t, "GET", "http://h/", "", "")
	cookies.Header.Set("Cookie", "a=1; lang=en%20gb")
	header := request(t, "GET", "http://h/", "", "")
	header.Header.Set("X-Api-Version", "3")
	multi := "multipart/form-data; boundary=" + boundary
	return map[string]sample{
		"query":    {request(t, "GET", "http://h/p?a=1&id=x%2By+z&b", "", ""), "id", "x+y z"},
		"no value": {request(t, "GET", "http://h/p?a=1&b", "", ""), "b", ""},
		"bare":     {request(t, "GET", "http://h/p?about.html", "", ""), "", "about.html"},
		"path":     {request(t, "GET", "http://h/users/a%2Fb/x", "", ""), "2", "a/b"},
		"form":     {request(t, "POST", "http://h/", "application/x-www-form-urlencoded", "u=1&p=%27"), "p", "'"},
		"part":     {request(t, "POST", "http://h/", multi, file), "note", "hello"},
		"file":     {request(t, "POST", "http://h/", multi, file), "up", "text"},
		"filename": {request(t, "POST", "http://h/", multi, file), "up.filename", "a.txt"},
		"json":     {request(t, "POST", "http://h/", "application/json", `{"u": {"r": [1, {"n":"<x>"}], "a.b":null}}`), "u.r[1].n", "<x>"},
		"number":   {request(t, "POST", "http://h/", "application/json", `{"u": {"r": [ 17 ]}}`), "u.r[0]", "17"},
		"quoted":   {request(t, "POST", "http://h/", "application/json", `{"u": {"a.b":"c"}}`), `u["a.b"]`, "c"},
		"xml":      {request(t, "POST", "http://h/", "text/xml", `<?xml version="1.0"?><o><i>1</i><i k="v">a &amp; b</i><e/></o>`), "o.i[1]", "a & b"},
		"cdata":    {request(t, "POST", "http://h/", "text/xml", `<o><i><![CDATA[<1>]]></i></o>`), "o.i", "<1>"},
		"attr":     {request(t, "POST", "http://h/", "text/xml", `<o><i k='v'/></o>`), "o.i@k", "v"},
		"variable": {request(t, "POST", "http://h/", "application/json", `{"query":"query($i:ID){u(id:$i){n}}","variables":{"i":"7"}}`), "variables.i", "7"},
		"literal":  {request(t, "POST", "http://h/", "application/json", `{"query":"{u(name:\"bob\", n: 3){id}}"}`), "query:name", "bob"},
		"cookie":   {cookies, "lang", "en gb"},
		"header":   {header, "X-Api-Version", "3"},
	}
}

type sample struct {
	r           *message.Request
	name, value string
}

func placed(t *testing.T, r *message.Request, name string) message.Place {
	t.Helper()
	for _, p := range message.Places(r) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no place %q in %+v", name, message.Places(r))
	return message.Place{}
}

// TestPutIsRead puts texts at a place of each format and reads them back, and everything else must stay.
func TestPutIsRead(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			p := placed(t, s.r, s.name)
			if p.Value != s.value {
				t.Fatalf("it is %q, want %q", p.Value, s.value)
			}
			if same := s.r.Put(p, p.Value); len(message.Places(same)) != len(message.Places(s.r)) {
				t.Errorf("putting the value itself gives %+v", message.Places(same))
			}
			before := s.r.Key()
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.StringOf(rapid.RuneFrom([]rune("ab0 '\"<>&=;%\\/+#?{}[]()$|.,é"))).Draw(t, "text")
				switch name {
				case "filename": // browsers do not say how to write a %
					text = strings.ReplaceAll(strings.ReplaceAll(text, `"`, ""), `\`, "")
				case "path":
					text = "x" + text
				case "bare":
					text = strings.NewReplacer("=", "", "&", "").Replace(text) + "x"
				case "literal":
					text = strings.ReplaceAll(text, `\/`, "/")
				}
				changed := s.r.Put(p, text)
				for i, q := range message.Places(changed) {
					want := message.Places(s.r)[i]
					if want.Same(p) && want.Index == p.Index {
						want.Value = text
					}
					if q != want {
						t.Fatalf("after %q: %+v, want %+v in %s", text, q, want, changed.Text())
					}
				}
			})
			if s.r.Key() != before {
				t.Error("Put changed its request")
			}
		})
	}
}

func TestPutKeepsTypesOfJSON(t *testing.T) {
	r := request(t, "POST", "http://h/", "application/json", `{"n":1,"b":true,"s":"x","z":null}`)
	for _, c := range []struct{ name, text, want string }{
		{"n", "2", `{"n":2,"b":true,"s":"x","z":null}`},
		{"n", "1 or 1=1", `{"n":"1 or 1=1","b":true,"s":"x","z":null}`},
		{"b", "false", `{"n":1,"b":false,"s":"x","z":null}`},
		{"s", "2", `{"n":1,"b":true,"s":"2","z":null}`},
		{"s", "<'\"", `{"n":1,"b":true,"s":"<'\"","z":null}`},
		{"z", "q", `{"n":1,"b":true,"s":"x","z":"q"}`},
	} {
		if got := string(r.Put(placed(t, r, c.name), c.text).Body); got != c.want {
			t.Errorf("%s=%s: %s, want %s", c.name, c.text, got, c.want)
		}
	}
	if got := string(r.PutRaw(placed(t, r, "s"), `{"$ne":1}`).Body); got != `{"n":1,"b":true,"s":{"$ne":1},"z":null}` {
		t.Error(got)
	}
}

func TestPutAddsWhatIsMissing(t *testing.T) {
	get := request(t, "GET", "http://h/?a=1", "", "")
	add := func(r *message.Request, c message.Component, f message.Format) *message.Request {
		return r.Put(message.Place{Component: c, Format: f, Name: "new"}, "x y;")
	}
	if got := add(get, message.Query, message.Form).URL.String(); got != "http://h/?a=1&new=x+y%3B" {
		t.Error(got)
	}
	if got := add(get, message.Cookie, message.Plain).Header.Get("Cookie"); got != "new=x%20y%3B" {
		t.Error(got)
	}
	if got := add(get, message.Header, message.Plain).Header.Get("new"); got != "x y;" {
		t.Error(got)
	}
	for kind, body := range map[string]string{"application/json": `{"a":1}`, "application/x-www-form-urlencoded": "a=1",
		"multipart/form-data; boundary=" + boundary: message.EncodeMultipart([]message.Part{{Name: "a"}}, boundary)} {
		changed := add(request(t, "POST", "http://h/", kind, body), message.Body, message.Form)
		if p := placed(t, changed, "new"); p.Value != "x y;" {
			t.Errorf("%s: %+v", kind, p)
		}
		placed(t, changed, "a")
	}
}

func TestNamesArePlaces(t *testing.T) {
	r := request(t, "POST", "http://h/?q=1", "application/x-www-form-urlencoded", "a=1&b=2")
	var got []string
	for _, p := range message.Names(r) {
		changed := r.Put(p, "x'")
		got = append(got, p.String()+" "+changed.URL.RawQuery+" "+string(changed.Body))
	}
	want := "query name of the parameter q x%27=1 a=1&b=2|body name of the parameter a q=1 x%27=1&b=2|" +
		"body name of the parameter b q=1 a=1&x%27=2"
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	if got := string(r.Rename(placed(t, r, "a"), "a[$ne]", "z").Body); got != "a%5B%24ne%5D=z&b=2" {
		t.Error(got)
	}
}

// A parameter names the page when its value is the last part of the path, with or without an ending.
func TestNamesPage(t *testing.T) {
	for address, want := range map[string]bool{"/checks/Check21?a=check21": true, "/view.php?a=view.php": true, "/view.php?a=view": true,
		"/checks/Check21?a=Check2": false, "/checks/Check21?b=Check21": false, "/it?a=it": false} {
		at, err := url.Parse("http://h" + address)
		if err != nil {
			t.Fatal(err)
		}
		if got := message.NamesPage(message.From(http.MethodGet, at), "a"); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}

func TestRepeatedParameters(t *testing.T) {
	r := request(t, "GET", "http://h/?a=1&a=2", "", "")
	places := message.Places(r)
	if len(places) != 2 || places[1].Index != 1 || !places[0].Same(places[1]) {
		t.Fatalf("%+v", places)
	}
	if got := r.Put(places[1], "3").URL.RawQuery; got != "a=1&a=3" {
		t.Error(got)
	}
}

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		"http://h/p/12/x?b=1&a=2&a=3":                         "http://h/p/{n}/x?a&b",
		"http://h/2024-05-01/":                                "http://h/{date}/",
		"http://h/u/550e8400-e29b-41d4-a716-446655440000.pdf": "http://h/u/{id}.pdf",
		"http://h/a.jsp;jsessionid=AB12?x=1":                  "http://h/a.jsp?x",
		"http://h/(S(abcdefgh12345))/x.aspx":                  "http://h//x.aspx",
		"http://h/Case12-Injection-In-Page.jsp?v=1":           "http://h/Case12-Injection-In-Page.jsp?v",
		"http://h/?f[0]=1&f[1]=2":                             "http://h/?f[]",
		"http://h/v1.2/x":                                     "http://h/v1.2/x",
		"http://h/s/aB3dE5fG7hI9jK1lM3nO":                     "http://h/s/{token}",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := message.Shape(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func skeleton(kind, body string) string {
	return message.Skeleton(&message.Response{Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)})
}

func TestSkeleton(t *testing.T) {
	page := func(items, field string) string {
		return skeleton("text/html; charset=utf-8",
			`<h1>T</h1><ul id="l1">`+items+`</ul><form><input name="`+field+`"></form>`)
	}
	one := page("<li><a>1</a></li>", "q")
	if page("<li><a>5</a></li><li><a>7</a></li>", "q") != one {
		t.Error("more of the same makes another skeleton")
	}
	if page("<li><a>1</a></li>", "id") == one || page("<li><b>1</b></li>", "q") == one {
		t.Error("another field or element is not in the skeleton")
	}
	a := skeleton("application/json", `{"items":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}`)
	if a != skeleton("application/json", `{"items":[{"id":9,"n":""}]}`) || a == skeleton("application/json", `{"items":[{"id":9}]}`) {
		t.Error("JSON is not known by its keys")
	}
}

func TestJournalled(t *testing.T) {
	r := request(t, "POST", "http://h/a%2Fb?x=%zz", "text/plain", "\x00\xff")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back message.Request
	if err := json.Unmarshal(text, &back); err != nil || back.Key() != r.Key() {
		t.Errorf("%v: %q, want %q", err, back.Key(), r.Key())
	}
}

// FuzzPlaces reads bodies of all types, and puts a text at each place.
func FuzzPlaces(f *testing.F) {
	for _, body := range []string{`{"a":[1,"x",{"b":null}]}`, "a=1&b", "<a b='c'>d<e/></a>", "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n--b--"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range []string{"", "application/json", "text/xml", "multipart/form-data; boundary=b"} {
			r := request(t, "POST", "http://h/", kind, body)
			for _, p := range message.Places(r) {
				r.Put(p, "x'\"<")
			}
			r.Shape()
		}
		for _, kind := range []string{"text/html", "application/json"} {
			skeleton(kind, body)
		}
	})
}

// A value that is Base64 of a text is a place of that text, too, and Put encodes what is put there; a word that is
// Base64 by chance is not.
func TestBase64(t *testing.T) {
	r := request(t, "GET", "http://a.test/?item=Y2hhaXI%3D&name=chair&word=password&id=MQ%3D%3D", "", "")
	var got []string
	for _, p := range message.Places(r) {
		if inner, ok := p.Decoded(); ok {
			got = append(got, inner.Name+"="+inner.Value)
			if sent := r.Put(inner, "a'b").URL.Query().Get(inner.Name); sent != "YSdi" {
				t.Errorf("%s: sent is %q", inner, sent)
			}
		}
	}
	if strings.Join(got, " ") != "item=chair id=1" {
		t.Error(got)
	}
}

// TestPutBefore puts values into the requests that belong before another, and nowhere else.
func TestPutBefore(t *testing.T) {
	first := request(t, "POST", "http://x/one", "application/x-www-form-urlencoded", "a=1")
	second := request(t, "POST", "http://x/two", "application/x-www-form-urlencoded", "a=2")
	second.After = first
	third := request(t, "GET", "http://x/three?a=3", "", "")
	third.After = second
	p := message.Place{Component: message.Body, Format: message.Form, Name: "a"}
	for step, want := range []string{"3 2 1", "3 new 1", "3 2 new", "3 2 1"} {
		if p.Step = step; step == 0 {
			continue
		}
		out := third.Put(p, "new")
		got := out.URL.Query().Get("a") + " " + strings.TrimPrefix(string(out.After.Body), "a=") + " " +
			strings.TrimPrefix(string(out.After.After.Body), "a=")
		if got != want {
			t.Errorf("step %d: %s, want %s", step, got, want)
		}
	}
	if string(third.After.Body) != "a=2" || string(third.After.After.Body) != "a=1" {
		t.Error("the request itself has changed")
	}
}

// The members of an object that a parameter or a cookie has are places, plain and in Base64, and the rest of the object
// stays as it is.
func TestMembers(t *testing.T) {
	for value, want := range map[string]string{
		`{"page":1,"kind":"chair"}`:            `{"page":1,"kind":"x'\"y"}`,
		"eyJwYWdlIjoxLCJraW5kIjoiY2hhaXIifQ==": "eyJwYWdlIjoxLCJraW5kIjoieCdcInkifQ==",
	} {
		for _, component := range []message.Component{message.Query, message.Cookie} {
			r, err := message.New(http.MethodGet, "http://a.test/list")
			if err != nil {
				t.Fatal(err)
			}
			place := message.Place{Component: component, Name: "state", Value: value}
			if component == message.Query {
				place.Format = message.Form
			}
			members := place.Members()
			if len(members) != 2 || members[1].Inner != "kind" || members[1].Value != "chair" {
				t.Fatalf("%s: %+v", value, members)
			}
			got := message.Places(r.Put(members[1], `x'"y`))
			if len(got) == 0 || got[len(got)-1].Value != want {
				t.Errorf("%s of %s: %q, want %s", value, component, got[len(got)-1].Value, want)
			}
			if raw := message.Places(r.PutRaw(members[1], `{"$ne":1}`)); len(raw) == 0 || raw[len(raw)-1].Value == got[len(got)-1].Value {
				t.Errorf("raw: %+v", raw)
			}
		}
	}
	for _, value := range []string{"{", "[1]", "chair", "{}"} {
		if m := (message.Place{Component: message.Query, Name: "a", Value: value}).Members(); len(m) > 0 {
			t.Errorf("%s has %v", value, m)
		}
	}
}

// A cookie that is sent encoded, as PHP's are, is a place with what it says, and is not encoded twice.
func TestPlaceOfCookie(t *testing.T) {
	r, err := message.New(http.MethodGet, "http://h.test/")
	if err != nil {
		t.Fatal(err)
	}
	for sent, says := range map[string]string{"a%3A1%3A%7B%7D": "a:1:{}", "eA%3D%3D": "eA==", "plain": "plain", "50%": "50%"} {
		p := message.PlaceOfCookie("prefs", sent)
		if p.Value != says {
			t.Errorf("%s says %q", sent, p.Value)
		}
		put := r.Put(p, p.Value)
		if again := message.Places(put); len(again) == 0 || again[0].Value != says {
			t.Errorf("%s is sent as %s", sent, put.Header.Get("Cookie"))
		}
	}
}

// Classes and ids that are made of a value of the request are not in a skeleton; others are.
func TestSkeletonWithoutValues(t *testing.T) {
	page := func(title, class string) string {
		return message.Skeleton(&message.Response{Request: request(t, "GET", "http://h/index.php?title="+title, "", ""),
			Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(`<body class="` + class + `"><p>x</p>`)})
	}
	one := page("Talk:Main_Page", "wiki page-Talk_Main_Page edit")
	if page("People", "wiki page-People edit") != one {
		t.Error("pages that differ in their name have other skeletons")
	}
	if page("People", "wiki page-People history") == one {
		t.Error("pages that differ in their action have the same skeleton")
	}
}

// A query of GraphQL is known by its text; what changes something, and what is only called so, is none.
func TestIsQuery(t *testing.T) {
	for name, c := range map[string]struct {
		method, kind, body string
		want               bool
	}{
		"a query":           {"POST", "application/json", `{"query":"{ notes { id } }"}`, true},
		"one with a name":   {"POST", "application/json; charset=utf-8", `{"query":"query all { notes { id } }","variables":{"n":1}}`, true},
		"a mutation":        {"POST", "application/json", `{"query":"mutation { add(id: 1) { id } }"}`, false},
		"a form":            {"POST", "application/x-www-form-urlencoded", `query=notes`, false},
		"no text":           {"POST", "application/json", `{"query":""}`, false},
		"a list":            {"POST", "application/json", `[{"query":"{ notes { id } }"}]`, false},
		"by another method": {"PUT", "application/json", `{"query":"{ notes { id } }"}`, false},
	} {
		r, err := message.New(c.method, "http://lab.example/graphql")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		r.Body = []byte(c.body)
		if got := r.IsQuery(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
