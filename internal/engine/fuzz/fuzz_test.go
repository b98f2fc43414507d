package fuzz_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// request reads a request as it stands on the wire; its URL is absolute.
func request(t testing.TB, text string) *web.Request {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	method, url, _ := strings.Cut(lines[0], " ")
	address, err := rawurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	r := &web.Request{Address: address, Method: method, Body: []byte(body)}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Headers = append(r.Headers, web.Header{Name: name, Value: value})
	}
	return r
}

// written is the reverse of request.
func written(r *web.Request) string {
	text := r.Method + " " + r.Address.String()
	for _, h := range r.Headers {
		text += "\n" + h.Name + ": " + h.Value
	}
	if len(r.Body) > 0 {
		text += "\n\n" + string(r.Body)
	}
	return text
}

// renders gives one Render for each set of values.
func renders(sets ...map[string]string) iter.Seq[fuzz.Render] {
	if len(sets) == 0 {
		sets = []map[string]string{nil}
	}
	return func(yield func(fuzz.Render) bool) {
		for _, set := range sets {
			render := func(text dsl.Text, value string) (string, error) {
				return text.Render(&dsl.Env{Vars: dsl.First(dsl.Map(set), dsl.Map(map[string]string{"value": value}))})
			}
			if !yield(render) {
				return
			}
		}
	}
}

// mutations are the mutations of a base request as text, by position and parameter.
func mutations(t testing.TB, base string, sets []map[string]string, rules ...syntax.FuzzRule) []string {
	t.Helper()
	plan, err := fuzz.CompileRules("t.yaml", rules)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, base)
	var all []string
	for m, err := range plan.All(fuzz.Source{Base: r, Payloads: renders(sets...)}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s: %s", m.Position, m.Parameter, written(&m.Request)))
	}
	if got := written(r); got != base {
		t.Errorf("the base request has changed:\n%s", got)
	}
	return all
}

func rule(part, mode, kind string, payloads ...string) syntax.FuzzRule {
	return syntax.FuzzRule{Part: part, Mode: mode, Type: kind, Fuzz: syntax.Fuzz{Values: payloads}}
}

func TestAll(t *testing.T) {
	for _, c := range []struct {
		name string
		base string
		rule syntax.FuzzRule
		want []string
	}{
		{
			"one by one", "GET http://h/p?a=1&b=%32&&c&a=x", rule("query", "single", "", "<'>"),
			[]string{
				"query a: GET http://h/p?a=<'>&b=%32&&c&a=x", "query b: GET http://h/p?a=1&b=<'>&&c&a=x",
				"query c: GET http://h/p?a=1&b=%32&&c=<'>&a=x", "query a: GET http://h/p?a=1&b=%32&&c&a=<'>",
			},
		},
		{"all at once is the default", "GET http://h/?a=1&b=2", rule("query", "", "", "x"),
			[]string{"query a,b: GET http://h/?a=x&b=x"}},
		{"prefix", "GET http://h/?a=12", rule("query", "single", "prefix", "x", "y"),
			[]string{"query a: GET http://h/?a=x12", "query a: GET http://h/?a=y12"}},
		{"postfix", "GET http://h/?a=12", rule("query", "single", "postfix", "x"), []string{"query a: GET http://h/?a=12x"}},
		{"infix", "GET http://h/?a=123&b=1&c=", rule("query", "", "infix", "x"),
			[]string{"query a,b,c: GET http://h/?a=1x23&b=1x&c=x"}},
		{"value", "GET http://h/?a=12", rule("query", "single", "", "{{value}}{{to_upper('x')}}"),
			[]string{"query a: GET http://h/?a=12X"}},
		{
			"replace-regex", "GET http://h/?a=x12y3&b=z",
			syntax.FuzzRule{Part: "query", Mode: "single", Type: "replace-regex", ReplaceRegex: "([0-9]+)",
				Fuzz: syntax.Fuzz{Values: []string{"<$1>"}}},
			[]string{"query a: GET http://h/?a=x<12>y<3>&b=z", "query b: GET http://h/?a=x12y3&b=z"},
		},
		{
			"keys in any case", "GET http://h/?File=1&b=2",
			syntax.FuzzRule{Part: "query", Keys: []string{"fILE"}, Fuzz: syntax.Fuzz{Values: []string{"x"}}},
			[]string{"query File: GET http://h/?File=x&b=2"},
		},
		{
			"any filter will do", "GET http://h/?a=1&xmlns=2&c=http%3A%2F%2Fy&d=4",
			syntax.FuzzRule{Part: "query", Mode: "single", Keys: []string{"d"}, KeysRegex: []string{"xml"},
				Values: []string{"^https?://"}, Fuzz: syntax.Fuzz{Values: []string{"x"}}},
			[]string{
				"query xmlns: GET http://h/?a=1&xmlns=x&c=http%3A%2F%2Fy&d=4", "query c: GET http://h/?a=1&xmlns=2&c=x&d=4",
				"query d: GET http://h/?a=1&xmlns=2&c=http%3A%2F%2Fy&d=x",
			},
		},
		{"no parameter", "GET http://h/p", rule("query", "", "", "x"), nil},
		{"no parameter qualifies", "GET http://h/?a=1",
			syntax.FuzzRule{Part: "query", Keys: []string{"b"}, Fuzz: syntax.Fuzz{Values: []string{"x"}}}, nil},
		{
			"path", "GET http://h/user//55/?q", rule("path", "single", "postfix", " OR 1?#"),
			[]string{"path user: GET http://h/user OR 1%3F%23//55/?q", "path 55: GET http://h/user//55 OR 1%3F%23/?q"},
		},
		{"the root has no segment", "GET http://h/", rule("path", "", "", "x"), nil},
		{
			"header", "GET http://h/\nHost: h\nUser-Agent: me\nX-Y: z\nCookie: a=b", rule("header", "single", "", "a\r\nb"),
			[]string{
				"header User-Agent: GET http://h/\nHost: h\nUser-Agent: a%0D%0Ab\nX-Y: z\nCookie: a=b",
				"header X-Y: GET http://h/\nHost: h\nUser-Agent: me\nX-Y: a%0D%0Ab\nCookie: a=b",
			},
		},
		{
			"cookie", "GET http://h/\nCookie: a=1;  b=2; _ga=3; flag", rule("cookie", "single", "postfix", ";x"),
			[]string{
				"cookie a: GET http://h/\nCookie: a=1%3Bx;  b=2; _ga=3; flag",
				"cookie b: GET http://h/\nCookie: a=1;  b=2%3Bx; _ga=3; flag",
				"cookie flag: GET http://h/\nCookie: a=1;  b=2; _ga=3; flag=%3Bx",
			},
		},
		{
			"form", "POST http://h/\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 7\n\na=1&b=2",
			rule("body", "single", "postfix", "'"),
			[]string{
				"body a: POST http://h/\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 8\n\na=1'&b=2",
				"body b: POST http://h/\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 8\n\na=1&b=2'",
			},
		},
		{"form by its looks", "POST http://h/\n\na=1&b", rule("body", "", "", "x"),
			[]string{"body a,b: POST http://h/\n\na=x&b=x"}},
		{"raw", "POST http://h/\nContent-Type: text/plain\n\nhello you", rule("body", "", "postfix", "'"),
			[]string{"body value: POST http://h/\nContent-Type: text/plain\n\nhello you'"}},
		{
			"json", "POST http://h/\n\n{ \"a\" : \"\\u0041\", \"n\":1,\"l\":[true,{\"k\":null}] }",
			rule("body", "single", "postfix", "\"1"),
			[]string{
				"body a: POST http://h/\n\n{ \"a\" : \"A\\\"1\", \"n\":1,\"l\":[true,{\"k\":null}] }",
				"body n: POST http://h/\n\n{ \"a\" : \"\\u0041\", \"n\":\"1\\\"1\",\"l\":[true,{\"k\":null}] }",
				"body l~0: POST http://h/\n\n{ \"a\" : \"\\u0041\", \"n\":1,\"l\":[\"true\\\"1\",{\"k\":null}] }",
				"body l~1~k: POST http://h/\n\n{ \"a\" : \"\\u0041\", \"n\":1,\"l\":[true,{\"k\":\"\\\"1\"}] }",
			},
		},
		{"json numbers and booleans stay such", "POST http://h/\n\n{\"a\":1,\"b\":false,\"c\":\"1\"}",
			rule("body", "", "", "7"), []string{"body a,b,c: POST http://h/\n\n{\"a\":7,\"b\":\"7\",\"c\":\"7\"}"}},
		{"json list", "POST http://h/\n\n[1, 2]", rule("body", "", "", "x"),
			[]string{"body 0,1: POST http://h/\n\n[\"x\", \"x\"]"}},
		{"broken json is raw", "POST http://h/\n\n{\"a\":1", rule("body", "", "", "x"),
			[]string{"body value: POST http://h/\n\nx"}},
		{
			"xml", "POST http://h/\n\n<?xml version=\"1.0\"?><r xmlns:x='u'><a k='v' l = \"w\"> t </a><b></b><c/><!-- n --><d><![CDATA[<e>]]></d></r>", rule("body", "", "", "&x;"),
			[]string{"body r~a~-k,r~a~-l,r~a,r~b,r~d: POST http://h/\n\n<?xml version=\"1.0\"?><r xmlns:x='u'><a k='&x;' l = \"&x;\"> &x; </a><b>&x;</b><c/><!-- n --><d><![CDATA[&x;]]></d></r>"},
		},
		{
			"multipart",
			"POST http://h/\nContent-Type: multipart/form-data; boundary=\"B c\"\n\n--B c\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B c\r\nContent-Type: image/png\r\ncontent-disposition: form-data; name=f; filename=x.png\r\n\r\n\r\n\x89PNG\r\n\r\n--B c--\r\nrest",
			rule("body", "single", "postfix", "'"),
			[]string{
				"body a: POST http://h/\nContent-Type: multipart/form-data; boundary=\"B c\"\n\n--B c\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1'\r\n--B c\r\nContent-Type: image/png\r\ncontent-disposition: form-data; name=f; filename=x.png\r\n\r\n\r\n\x89PNG\r\n\r\n--B c--\r\nrest",
				"body f: POST http://h/\nContent-Type: multipart/form-data; boundary=\"B c\"\n\n--B c\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B c\r\nContent-Type: image/png\r\ncontent-disposition: form-data; name=f; filename=x.png\r\n\r\n\r\n\x89PNG\r\n'\r\n--B c--\r\nrest",
			},
		},
		{
			"request is all parts", "POST http://h/p?q=1\nUser-Agent: me\nCookie: c=1\n\na=1", rule("request", "", "", "x"),
			[]string{
				"body a: POST http://h/p?q=1\nUser-Agent: me\nCookie: c=1\n\na=x",
				"query q: POST http://h/p?q=x\nUser-Agent: me\nCookie: c=1\n\na=1",
				"path p: POST http://h/x?q=1\nUser-Agent: me\nCookie: c=1\n\na=1",
				"header User-Agent: POST http://h/p?q=1\nUser-Agent: x\nCookie: c=1\n\na=1",
				"cookie c: POST http://h/p?q=1\nUser-Agent: me\nCookie: c=x\n\na=1",
			},
		},
		{
			"several parts", "POST http://h/p?q=1\n\na=1",
			syntax.FuzzRule{Parts: []string{"query", "body"}, Fuzz: syntax.Fuzz{Values: []string{"x"}}},
			[]string{"body a: POST http://h/p?q=1\n\na=x", "query q: POST http://h/p?q=x\n\na=1"},
		},
	} {
		if got := mutations(t, c.base, nil, c.rule); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	keys := func(part, mode string, names ...string) syntax.FuzzRule {
		r := syntax.FuzzRule{Part: part, Mode: mode}
		for _, name := range names {
			r.Fuzz.Pairs = append(r.Fuzz.Pairs, syntax.Pair{Name: name, Value: "x{{value}}"})
		}
		return r
	}
	for _, c := range []struct {
		base string
		rule syntax.FuzzRule
		want []string
	}{
		{"GET http://h/?a=1&b=2", keys("query", "single", "b", "n"),
			[]string{"query b: GET http://h/?a=1&b=x", "query n: GET http://h/?a=1&b=2&n=x"}},
		{"GET http://h/?a=1", keys("query", "", "n", "a"),
			[]string{"query n: GET http://h/?a=1&n=x", "query a: GET http://h/?a=x", "query n,a: GET http://h/?a=x&n=x"}},
		{"GET http://h/?a=1", keys("query", "multiple", "n"), []string{"query n: GET http://h/?a=1&n=x"}},
		{"GET http://h/?a=1&a=2", keys("query", "", "a"), []string{"query a: GET http://h/?a=x&a=x"}},
		{"GET http://h/\nX-A: 1\nHost: h", keys("header", "", "x-a", "HOST", "N"), []string{
			"header x-a: GET http://h/\nX-A: x\nHost: h", "header HOST: GET http://h/\nX-A: 1\nHost: x",
			"header N: GET http://h/\nX-A: 1\nHost: h\nN: x", "header x-a,HOST,N: GET http://h/\nX-A: x\nHost: x\nN: x",
		}},
		{"GET http://h/\nCookie: a=1", keys("cookie", "", "n"), []string{"cookie n: GET http://h/\nCookie: a=1; n=x"}},
		{"POST http://h/\n\n{\"a\":1}", keys("body", "", "n", "a"), []string{
			"body n: POST http://h/\n\n{\"n\":\"x\",\"a\":1}", "body a: POST http://h/\n\n{\"a\":\"x\"}",
			"body n,a: POST http://h/\n\n{\"n\":\"x\",\"a\":\"x\"}",
		}},
		{"POST http://h/\n\na=1", keys("body", "", "n"), []string{"body n: POST http://h/\n\na=1&n=x"}},
		{"POST http://h/\n\n<a>1</a>", keys("body", "", "n"), nil},
		{"GET http://h/p", keys("path", "", "2", "1"), []string{"path 1: GET http://h/x"}},
		{
			"POST http://h/\nContent-Type: multipart/form-data; boundary=B\n\n--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--B--", keys("body", "", "n"),
			[]string{"body n: POST http://h/\nContent-Type: multipart/form-data; boundary=B\n\n--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nx\r\n--B--"},
		},
	} {
		if got := mutations(t, c.base, nil, c.rule); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.base, got, c.want)
		}
	}
}

func TestPayloadsComeOneByOneForEachRuleAndComponent(t *testing.T) {
	sets := []map[string]string{{"p": "1"}, {"p": "2"}}
	got := mutations(t, "GET http://h/d?a=x&b=y", sets,
		syntax.FuzzRule{Parts: []string{"path", "query"}, Mode: "single",
			Fuzz: syntax.Fuzz{Values: []string{"{{p}}", "-{{p}}"}}},
		rule("path", "", "", "{{p}}+"))
	want := []string{
		"query a: GET http://h/d?a=1&b=y", "query b: GET http://h/d?a=x&b=1", "query a: GET http://h/d?a=-1&b=y",
		"query b: GET http://h/d?a=x&b=-1",
		"query a: GET http://h/d?a=2&b=y", "query b: GET http://h/d?a=x&b=2", "query a: GET http://h/d?a=-2&b=y",
		"query b: GET http://h/d?a=x&b=-2",
		"path d: GET http://h/1?a=x&b=y", "path d: GET http://h/-1?a=x&b=y", "path d: GET http://h/2?a=x&b=y",
		"path d: GET http://h/-2?a=x&b=y",
		"path d: GET http://h/1+?a=x&b=y", "path d: GET http://h/2+?a=x&b=y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestIterationEndsWithTheReaderAndWithAnError(t *testing.T) {
	plan, err := fuzz.CompileRules("t.yaml",
		[]syntax.FuzzRule{rule("query", "single", "", "x", "{{nothing}}", "y"), rule("path", "", "", "z")})
	if err != nil {
		t.Fatal(err)
	}
	source := fuzz.Source{Base: request(t, "GET http://h/d?a=1&b=2"), Payloads: renders()}
	for range plan.All(source) {
		break
	}
	n, last := 0, error(nil)
	for _, last = range plan.All(source) {
		n++
	}
	var unresolved *dsl.Unresolved
	if n != 3 || !errors.As(last, &unresolved) {
		t.Error(n, last)
	}
	source.Skip = func(position, parameter string) bool { return position == "path" || parameter == "a" }
	plan, _ = fuzz.CompileRules("t.yaml", []syntax.FuzzRule{rule("request", "single", "", "x")})
	n = 0
	for m := range plan.All(source) {
		if n++; m.Parameter != "b" {
			t.Error(m.Parameter)
		}
	}
	if n != 1 {
		t.Error(n)
	}
}

func TestRefusals(t *testing.T) {
	for key, block := range map[string]syntax.HTTP{
		"keys-regex":    {Fuzzing: []syntax.FuzzRule{{Part: "query", KeysRegex: []string{"("}}}},
		"values":        {Fuzzing: []syntax.FuzzRule{{Part: "query", Values: []string{"(?=x)"}}}},
		"replace-regex": {Fuzzing: []syntax.FuzzRule{{Part: "query", Type: "replace-regex", ReplaceRegex: "["}}},
		"sleep_duration": {Analyzer: &syntax.Analyzer{Name: "time_delay",
			Parameters: []syntax.Variable{{Name: "sleep_duration", Value: "3600"}}}},
		"requests_limit": {Analyzer: &syntax.Analyzer{Name: "time_delay",
			Parameters: []syntax.Variable{{Name: "requests_limit", Value: "x"}}}},
		"regex": {PreCondition: []syntax.Matcher{{Type: "regex", Regex: []string{"("}}}},
	} {
		if _, err := fuzz.Compile("t.yaml", &block); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestFits(t *testing.T) {
	base := request(t, "POST http://h.example:81/a/b?x=1\nUser-Agent: me\nCookie: s=1\nContent-Type: application/json\n\n{}")
	for expression, want := range map[string]bool{
		`method == "POST" && path == "/a/b" && query == "x=1" && body == "{}"`:                      true,
		`user_agent == "me" && cookie == "s=1" && contains(content_type, "json")`:                   true,
		`host == "h.example" && hostname == "h.example:81" && baseurl == "http://h.example:81/a/b"`: true,
		`contains(header, "User-Agent: me")`:                                                        true,
		`method == "GET"`:                                                                           false,
		`len(query_params) > 0`:                                                                     false,
	} {
		plan, err := fuzz.Compile("t.yaml",
			&syntax.HTTP{PreCondition: []syntax.Matcher{{Type: "dsl", DSL: []string{expression}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Fits(fuzz.Input(base), &dsl.Env{}); got != want {
			t.Errorf("%s: %v", expression, got)
		}
	}
	for operator, want := range map[string]bool{"": true, "or": true, "and": false} {
		plan, err := fuzz.Compile("t.yaml", &syntax.HTTP{PreConditionOperator: operator, PreCondition: []syntax.Matcher{
			{Type: "word", Part: "method", Words: []string{"POST"}}, {Type: "word", Part: "body", Words: []string{"nothing"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Fits(fuzz.Input(base), &dsl.Env{}); got != want {
			t.Errorf("%q: %v", operator, got)
		}
	}
	if plan, _ := fuzz.Compile("t.yaml", &syntax.HTTP{}); !plan.Fits(fuzz.Input(base), nil) {
		t.Error("without a pre-condition every request fits")
	}
}
