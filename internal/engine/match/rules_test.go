package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

const (
	rulesHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: nginx\r\nX-Empty: \r\n\r\n"
	rulesBody = `<html><title>Admin Panel</title><a href="/one">One</a><a>Two</a> Version: 4.2.1 build 77 ÀB {{x}} root:x:0:0:</html>`
)

// rulesResponse is the answer that the tables are about.
func rulesResponse() *Response {
	return &Response{
		Status: 200, Body: []byte(rulesBody),
		Head: func() []byte { return []byte(rulesHead) },
		Raw:  func() []byte { return []byte("GET /asked HTTP/1.1\r\n\r\n") },
		Named: dsl.Map(map[string]any{
			"server": "nginx", "content_type": "text/html", "sid": "abc", "x_empty": "", "duration": 0.25,
			"body_1": "the first body", "status_code_1": 302, "tags": []string{"a", "b"},
			"json_part": `{"a":{"b":[1,2.5,12345678901,true,null,"s"]},"l":["x","y","x"]}`,
			"xml_part":  `<?xml version="1.0"?><r xmlns:n="u"><i n:k="kk" v="1">one</i><i>two</i></r>`, "flag": true,
		}),
	}
}

// vars are the template's variables.
var rulesVars = map[string]any{"Hostname": "example.com", "word": "Panel", "server": "overridden", "raw": "text",
	"Engine": "NGINX"}

// tell writes an outcome down.
func tell(o Outcome) string {
	var b strings.Builder
	switch {
	case o.Silent:
		b.WriteString("silent")
	case o.Matched:
		b.WriteString("yes")
	default:
		b.WriteString("no")
	}
	if o.FlowMatched != o.Matched {
		b.WriteString(" gate")
	}
	for _, f := range o.Findings {
		fmt.Fprintf(&b, " {%s%s", f.Matcher, strings.Repeat("/"+f.Extractor, min(len(f.Extractor), 1)))
		if f.Extracted != nil {
			fmt.Fprintf(&b, " %q", f.Extracted)
		}
		b.WriteString("}")
	}
	for _, v := range o.Internal {
		fmt.Fprintf(&b, " %s=%q", v.Name, v.Values)
	}
	return b.String()
}

type (
	ms = []syntax.Matcher
	xs = []syntax.Extractor
)

func words(list ...string) syntax.Matcher { return syntax.Matcher{Type: "word", Words: list} }

func regex(patterns ...string) syntax.Extractor {
	return syntax.Extractor{Type: "regex", Regex: patterns}
}

func check(t *testing.T, rule string, s Spec, want string) {
	t.Helper()
	o, err := Compile("t.yaml", s)
	if err != nil {
		t.Errorf("%s: %v", rule, err)
		return
	}
	if got := tell(o.Eval(rulesResponse(), dsl.Map(rulesVars))); got != want {
		t.Errorf("%s:\n got %s\nwant %s", rule, got, want)
	}
	// In a group, among others, it is the same.
	const others = 40
	var group []*Operators
	for i := range others {
		group = append(group, compile(t, "", ms{words(fmt.Sprintf("nothing-%d", i), "Nobody")}))
	}
	got := "no"
	NewGroup(append(group, o)).Eval(rulesResponse(), func(int) dsl.Lookup { return dsl.Map(rulesVars) },
		func(i int, out Outcome) {
			if i != others {
				t.Errorf("%s: %d of the others says %s", rule, i, tell(out))
			}
			got = tell(out)
		})
	if got != want {
		t.Errorf("%s, in a group:\n got %s\nwant %s", rule, got, want)
	}
}

// One matcher, section 4.3.
func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		rule string
		m    syntax.Matcher
		want bool
	}{
		{"status", syntax.Matcher{Type: "status", Status: []int{404, 200}}, true},
		{"status, condition does not count", syntax.Matcher{Type: "status", Condition: "and", Status: []int{404, 200}}, true},
		{"status of a missing part", syntax.Matcher{Type: "status", Part: "none", Status: []int{200}}, false},
		{"negative status", syntax.Matcher{Type: "status", Negative: true, Status: []int{200}}, false},
		{"size", syntax.Matcher{Type: "size", Size: []int{1, len(rulesBody)}}, true},
		{"size of a header", syntax.Matcher{Type: "size", Part: "server", Size: []int{5}}, true},
		{"word or", words("nothing", "Admin"), true},
		{"word and", syntax.Matcher{Type: "word", Condition: "and", Words: []string{"Admin", "Panel"}}, true},
		{"word and, one missing", syntax.Matcher{Type: "word", Condition: "and", Words: []string{"Admin", "nothing"}}, false},
		{"word and, none", syntax.Matcher{Type: "word", Condition: "and"}, false},
		{"word or with match-all needs one",
			syntax.Matcher{Type: "word", MatchAll: true, Words: []string{"nothing", "Admin"}}, true},
		{"word is case-sensitive", words("admin"), false},
		{"word in any case", syntax.Matcher{Type: "word", CaseInsensitive: true, Words: []string{"aDMIN"}}, true},
		{"word in any case outside ASCII", syntax.Matcher{Type: "word", CaseInsensitive: true, Words: []string{"àb"}}, true},
		{"negative word", syntax.Matcher{Type: "word", Negative: true, Words: []string{"nothing"}}, true},
		{"missing part", syntax.Matcher{Type: "word", Part: "none", Words: []string{"x"}}, false},
		{"missing part, negative", syntax.Matcher{Type: "word", Part: "none", Negative: true, Words: []string{"x"}}, false},
		{"placeholder of a variable", words("Admin {{word}}"), true},
		{"placeholder of the response", words("{{sid}}"), false},
		{"placeholder of the response, in the request",
			syntax.Matcher{Type: "word", Part: "server", Words: []string{"{{server}}"}}, true},
		{"placeholder without value is literal", words("{{x}}"), true},
		{"the response goes before the variables",
			syntax.Matcher{Type: "word", Part: "server", Words: []string{"overridden"}}, false},
		{"placeholders may be in any case with the word",
			syntax.Matcher{Type: "word", CaseInsensitive: true, Words: []string{"Admin {{WORD}}"}}, true},
		{"but are filled in as they were written",
			syntax.Matcher{Type: "word", Part: "server", CaseInsensitive: true, Words: []string{"{{Engine}}"}}, true},
		{"hexadecimal words", syntax.Matcher{Type: "word", Encoding: "hex", Words: []string{"41646d696e"}}, true},
		{"hexadecimal words that are none", syntax.Matcher{Type: "word", Encoding: "hex", Words: []string{"Admin"}}, true},
		{"hexadecimal words in any case",
			syntax.Matcher{Type: "word", Encoding: "hex", CaseInsensitive: true, Words: []string{"61444d494e"}}, true},
		{"binary", syntax.Matcher{Type: "binary", Binary: []string{"41646d696e"}}, true},
		{"binary and", syntax.Matcher{Type: "binary", Condition: "and", Binary: []string{"41646d696e", "00"}}, false},
		{"regex or", syntax.Matcher{Type: "regex", Regex: []string{"z{3}", "Version: [0-9.]+"}}, true},
		{"regex and", syntax.Matcher{Type: "regex", Condition: "and", Regex: []string{"z{3}", "Version: [0-9.]+"}}, false},
		{"regex match-all", syntax.Matcher{Type: "regex", MatchAll: true, Regex: []string{"z{3}", "Version: [0-9.]+"}},
			false},
		{"regex in any case", syntax.Matcher{Type: "regex", Regex: []string{"(?i)ADMIN panel"}}, true},
		{"regex on a header", syntax.Matcher{Type: "regex", Part: "header", Regex: []string{`(?m)^Server: ng`}}, true},
		{"xpath", syntax.Matcher{Type: "xpath", XPath: []string{"//none", "//a[@href='/one']"}}, true},
		{"xpath and", syntax.Matcher{Type: "xpath", Condition: "and", XPath: []string{"//none", "//a"}}, false},
		{"xpath of XML", syntax.Matcher{Type: "xpath", Part: "xml_part", Condition: "and",
			XPath: []string{"/r/i[@v='1']", "//i[2]"}}, true},
		{"header is all_headers", syntax.Matcher{Type: "word", Part: "all_headers", Words: []string{"Server: nginx\r\n"}},
			true},
		{"all is body, then header", syntax.Matcher{Type: "word", Part: "all", Words: []string{"</html>HTTP/1.1 200"}}, true},
		{"response is header, then body", syntax.Matcher{Type: "word", Part: "response", Words: []string{"\r\n\r\n<html>"}},
			true},
		{"request", syntax.Matcher{Type: "word", Part: "request", Words: []string{"/asked"}}, true},
		{"an earlier body", syntax.Matcher{Type: "word", Part: "body_1", Words: []string{"first"}}, true},
		{"an earlier body that is not there yet",
			syntax.Matcher{Type: "word", Part: "body_2", Negative: true, Words: []string{"first"}}, false},
		{"a list as text", syntax.Matcher{Type: "word", Part: "tags", Words: []string{"[a b]"}}, true},
		{"a number as text", syntax.Matcher{Type: "word", Part: "duration", Words: []string{"0.25"}}, true},
		{"a truth as text", syntax.Matcher{Type: "word", Part: "flag", Words: []string{"true"}}, true},
		{"the status as text", syntax.Matcher{Type: "word", Part: "status_code", Words: []string{"200"}}, true},
		{"an empty part exists", syntax.Matcher{Type: "word", Part: "x_empty", Negative: true, Words: []string{"x"}}, true},
		{"a variable as a part", syntax.Matcher{Type: "word", Part: "raw", Words: []string{"text"}}, true},
	} {
		want := "no"
		if c.want {
			want = "yes {}"
		}
		check(t, c.rule, Spec{Matchers: ms{c.m}}, want)
	}
}

// Between matchers, sections 4.4 and 4.5.
func TestCombining(t *testing.T) {
	admin, version, nothing := words("Admin"), words("Version"), words("nothing")
	admin.Name, version.Name, nothing.Name = "admin", "version", "nothing"
	gate := words("Admin")
	gate.Internal = true
	namedGate := gate
	namedGate.Name = "gate"
	token := regex("Version: ([0-9.]+)")
	token.Name, token.Internal, token.Group = "token", true, 1
	build := regex("build ([0-9]+)")
	build.Name, build.Group = "build", 1
	title := regex("<title>.*?<")
	for _, c := range []struct {
		rule      string
		condition string
		matchers  ms
		xs        xs
		want      string
	}{
		{"or is the default, one finding a name", "", ms{admin, nothing, version}, nil, "yes {admin} {version}"},
		{"or, a name twice", "or", ms{admin, admin}, nil, "yes {admin}"},
		{"or, names beside none", "or", ms{words("Admin"), version}, nil, "yes {version}"},
		{"or, only the nameless holds", "or", ms{words("Admin"), nothing}, nil, "yes {}"},
		{"and has no names", "and", ms{admin, version}, nil, "yes {}"},
		{"and, one no", "and", ms{admin, nothing}, nil, "no"},
		{"neither is or without names", "xor", ms{admin, nothing}, nil, "yes {}"},
		{"each name has all that was extracted", "", ms{admin, version}, xs{build, title},
			`yes {admin ["77" "<title>Admin Panel<"]} {version ["77" "<title>Admin Panel<"]}`},
		{"without names, one finding a named extractor", "and", ms{admin}, xs{build, title}, `yes {/build ["77"]}`},
		{"without any names, one finding", "and", ms{admin}, xs{title}, `yes { ["<title>Admin Panel<"]}`},
		{"matched, nothing extracted", "", ms{admin}, xs{regex("nothing")}, "yes {admin}"},
		{"extracted, but not matched", "", ms{nothing}, xs{title}, "no"},
		{"extracted alone", "", nil, xs{title}, `no gate { ["<title>Admin Panel<"]}`},
		{"named and extracted alone", "", nil, xs{build}, `no gate {/build ["77"]}`},
		{"nothing extracted alone", "", nil, xs{regex("nothing")}, "no"},
		{"no operators", "", nil, nil, "no gate"},
		{"internal values alone are no finding", "", nil, xs{token}, `no gate token=["4.2.1"]`},
		{"internal values and matched", "", ms{admin}, xs{token}, `yes {admin} token=["4.2.1"]`},
		{"internal values are carried without a match", "", ms{nothing}, xs{token}, `no token=["4.2.1"]`},
		{"and with and", "and", ms{nothing, admin}, xs{token}, `no token=["4.2.1"]`},
		{"internal beside visible: both", "", nil, xs{token, build}, `no gate {/build ["77"]} token=["4.2.1"]`},
		{"internal beside visible, not matched", "", ms{nothing}, xs{token, build}, `no token=["4.2.1"]`},
		{"all internal matchers: silent", "and", ms{gate}, xs{build}, "silent"},
		{"all internal matchers: values", "and", ms{gate}, xs{token}, `silent token=["4.2.1"]`},
		{"internal and other matchers are told", "", ms{namedGate, version}, nil, "yes {gate} {version}"},
	} {
		check(t, c.rule, Spec{Condition: c.condition, Matchers: c.matchers, Extractors: c.xs}, c.want)
	}
}

// Extractors, section 5.
func TestExtractors(t *testing.T) {
	named := func(name string, x syntax.Extractor) syntax.Extractor { x.Name = name; return x }
	internal := func(name string, x syntax.Extractor) syntax.Extractor { x.Name, x.Internal = name, true; return x }
	jq := func(filters ...string) syntax.Extractor {
		return syntax.Extractor{Type: "json", Part: "json_part", JSON: filters}
	}
	for _, c := range []struct {
		rule string
		xs   xs
		ms   ms
		want string
	}{
		{"each value once, in the order of the response", xs{regex(`[0-9]`)}, nil, `no gate { ["4" "2" "1" "7" "0"]}`},
		{"several patterns", xs{regex(`build`, `Panel`)}, nil, `no gate { ["build" "Panel"]}`},
		{"a group", xs{{Type: "regex", Group: 1, Regex: []string{`Version: (\S+)`, `build [0-9]+`, `(x){2}`}}}, nil,
			`no gate { ["4.2.1"]}`},
		{"a group that took no part", xs{{Type: "regex", Group: 1, Regex: []string{`Admin(x)?`}}}, nil, "no"},
		{"a part", xs{{Type: "regex", Part: "header", Regex: []string{`nginx`, `Version`}}}, nil, `no gate { ["nginx"]}`},
		{"a missing part", xs{{Type: "regex", Part: "none", Regex: []string{`.*`}}}, nil, "no"},
		{"kval: headers, cookies, facts, variables",
			xs{{Type: "kval", KVal: []string{"Content-Type", "SID", "none", "duration", "server", "word", "x_empty"}}}, nil,
			`no gate { ["text/html" "abc" "0.25" "nginx" "Panel"]}`},
		{"kval in lower case", xs{{Type: "kval", CaseInsensitive: true, KVal: []string{"word", "Hostname"}}}, nil,
			`no gate { ["panel" "example.com"]}`},
		{"json scalars", xs{jq(".a.b[]")}, nil, `no gate { ["1" "2.5" "12345678901" "true" "" "s"]}`},
		{"json lists and objects", xs{jq(".l", ".a")}, nil,
			`no gate { ["[\"x\",\"y\",\"x\"]" "{\"b\":[1,2.5,12345678901,true,null,\"s\"]}"]}`},
		{"json functions", xs{jq(`.l|length`, `.l[0]+"-"+.l[1]`, `.l[]|capture("(?<c>[x])").c`)}, nil,
			`no gate { ["3" "x-y" "x"]}`},
		{"json error ends the filter", xs{jq(`.l[0], error("x"), .l[1]`, ".l[1]")}, nil, `no gate { ["x" "y"]}`},
		{"no json", xs{{Type: "json", JSON: []string{"."}}}, nil, "no"},
		{"xpath text", xs{{Type: "xpath", XPath: []string{"//title", "//a"}}}, nil, `no gate { ["Admin Panel" "One" "Two"]}`},
		{"xpath attribute", xs{{Type: "xpath", Attribute: "href", XPath: []string{"//a"}}}, nil, `no gate { ["/one" ""]}`},
		{"xpath of attributes", xs{{Type: "xpath", XPath: []string{"//a/@href"}}}, nil, `no gate { ["/one"]}`},
		{"xpath of attributes by name", xs{{Type: "xpath", Attribute: "href", XPath: []string{"//a/@href"}}}, nil,
			`no gate { ["/one"]}`},
		{"xpath of XML", xs{{Type: "xpath", Part: "xml_part", XPath: []string{"//i"}}}, nil, `no gate { ["one" "two"]}`},
		{"xpath attribute of XML", xs{{Type: "xpath", Part: "xml_part", Attribute: "v", XPath: []string{"//i"}}}, nil,
			`no gate { ["1" ""]}`},
		{"xpath attribute of XML with a prefix",
			xs{{Type: "xpath", Part: "xml_part", Attribute: "n:k", XPath: []string{"//i[1]"}}}, nil, `no gate { ["kk"]}`},
		{"xpath that cannot be read", xs{{Type: "xpath", XPath: []string{"//[", "//title"}}}, nil,
			`no gate { ["Admin Panel"]}`},
		{"a name is a part for later ones",
			xs{named("v", regex(`Version: \S+`)), {Type: "regex", Part: "v", Regex: []string{`[0-9]`}}}, nil,
			`no gate {/v ["Version: 4.2.1"]}`},
		{"and all are listed", xs{named("v", regex(`Version: \S+`)), {Type: "regex", Part: "v", Regex: []string{`[0-9]`}}},
			ms{{Type: "status", Name: "s", Status: []int{200}}}, `yes {s ["Version: 4.2.1" "4" "2" "1"]}`},
		{"but not for earlier ones", xs{{Type: "regex", Part: "v", Regex: []string{`[0-9]`}},
			named("v", regex(`Version: \S+`))}, nil, `no gate {/v ["Version: 4.2.1"]}`},
		{"nor are theirs", xs{{Type: "regex", Part: "v", Name: "u", Regex: []string{`[0-9]`}},
			named("v", regex(`Version: \S+`)), {Type: "regex", Part: "u", Regex: []string{`[0-9]`}}}, ms{words("Admin")},
			`yes {/v ["Version: 4.2.1"]}`},
		{"nor for itself", xs{named("v", syntax.Extractor{Type: "regex", Part: "v", Regex: []string{`.`}})}, nil, "no"},
		{"a list is a part, too", xs{internal("n", regex(`[0-9]`))},
			ms{{Type: "word", Part: "n", Words: []string{"[4 2 1 7 0]"}}}, `yes {} n=["4" "2" "1" "7" "0"]`},
		{"and each of several has its number", xs{internal("n", regex(`[0-9]`))},
			ms{{Type: "word", Part: "n3", Words: []string{"7"}}}, `yes {} n=["4" "2" "1" "7" "0"]`},
		{"of which there is no more", xs{internal("n", regex(`[0-9]`))},
			ms{{Type: "word", Part: "n5", Negative: true, Words: []string{"7"}}}, `no n=["4" "2" "1" "7" "0"]`},
		{"nor with one value", xs{internal("n", regex(`build`))}, ms{{Type: "word", Part: "n0", Words: []string{"build"}}},
			`no n=["build"]`},
		{"internal ones of a name together", xs{internal("n", regex(`build`)), internal("n", regex(`Panel`))},
			ms{words("{{n1}}")}, `yes {} n=["build" "Panel"]`},
		{"a word with what was extracted", xs{internal("n", regex(`Panel`))}, ms{words("Admin {{n}}")}, `yes {} n=["Panel"]`},
		{"an extractor may take a part's name", xs{internal("body", regex(`Panel`))},
			ms{{Type: "word", Negative: true, Words: []string{"Admin"}}}, `yes {} body=["Panel"]`},
		{"same-named visible ones together", xs{named("n", regex(`build`)), named("n", regex(`Panel`))}, nil,
			`no gate {/n ["build" "Panel"]}`},
		{"without a name nothing is carried", xs{internal("", regex(`build`))}, nil, "no"},
	} {
		check(t, c.rule, Spec{Matchers: c.ms, Extractors: c.xs}, c.want)
	}
}

// What is wrong is refused with its key.
func TestRefused(t *testing.T) {
	for key, s := range map[string]Spec{
		"matchers.regex":   {Matchers: ms{{Type: "regex", Regex: []string{"("}}}},
		"matchers.binary":  {Matchers: ms{{Type: "binary", Binary: []string{"0g"}}}},
		"matchers.xpath":   {Matchers: ms{{Type: "xpath", XPath: []string{"//["}}}},
		"matchers.type":    {Matchers: ms{{Type: "weather"}}},
		"extractors.regex": {Extractors: xs{{Type: "regex", Regex: []string{"[z-a]"}}}},
		"extractors.json":  {Extractors: xs{{Type: "json", JSON: []string{".["}}}},
		"extractors.type":  {Extractors: xs{{Type: "weather"}}},
	} {
		if _, err := Compile("t.yaml", s); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A matcher that is excluded by name is as if it had not been written, but the operators
// are still some with matchers.
func TestExcluded(t *testing.T) {
	admin, nothing := words("Admin"), words("nothing")
	admin.Name, nothing.Name = "admin", "nothing"
	s := Spec{Condition: "and", Matchers: ms{admin, nothing},
		Excluded: func(name string) bool { return name == "nothing" }}
	check(t, "excluded", s, "yes {}")
	s.Excluded = func(string) bool { return true }
	s.Extractors = xs{regex("Admin")}
	check(t, "all excluded", s, "no")
}

// Where the protocol has no body, its own part stands for it.
func TestDefaultPart(t *testing.T) {
	r := &Response{Named: dsl.Map(map[string]any{"data": "banner", "header": "its own"})}
	for part, want := range map[string]bool{"": true, "body": true, "all": true, "data": true, "header": false,
		"response": false} {
		o, err := Compile("t.yaml", Spec{DefaultPart: "data",
			Matchers: ms{{Type: "word", Part: part, Words: []string{"banner"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Eval(r, nil).Matched; got != want {
			t.Errorf("part %q: %v", part, got)
		}
	}
	if !compile(t, "", ms{{Type: "word", Part: "header", Words: []string{"its own"}}}).Eval(r, nil).Matched {
		t.Error("a response without Head has what Named gives")
	}
}

func TestFacts(t *testing.T) {
	dslOf := func(source string) syntax.Matcher { return syntax.Matcher{Type: "dsl", DSL: []string{source}} }
	part := func(name string) syntax.Matcher {
		return syntax.Matcher{Type: "word", Part: name, Words: []string{"x"}}
	}
	for _, c := range []struct {
		name                          string
		s                             Spec
		page, history, oast, requires bool
	}{
		{"status", Spec{Matchers: ms{{Type: "status", Status: []int{200}}}}, true, false, false, false},
		{"body", Spec{Matchers: ms{words("x")}}, true, false, false, false},
		{"header", Spec{Matchers: ms{part("header")}}, false, false, false, false},
		{"an earlier body", Spec{Matchers: ms{part("body_2")}}, true, true, false, false},
		{"an earlier header in an extractor", Spec{Extractors: xs{{Type: "regex", Part: "header_1", Regex: []string{"x"}}}},
			false, true, false, false},
		{"interaction", Spec{Matchers: ms{part("interactsh_protocol")}}, false, false, true, false},
		{"interaction in an expression", Spec{Matchers: ms{dslOf(`contains(interactsh_protocol, "dns")`)}}, false, false,
			true, false},
		{"history in an expression", Spec{Matchers: ms{dslOf(`contains(header_2, "x")`)}}, false, true, false, false},
		{"of the special part alone", Spec{Matchers: ms{part("special")}}, false, false, false, true},
		{"of the special part or not", Spec{Matchers: ms{part("special"), part("header")}}, false, false, false, false},
		{"of the special part and another", Spec{Condition: "and", Matchers: ms{part("special"), part("header")}}, false,
			false, false, true},
		{"the special part taken out", Spec{Extractors: xs{{Type: "regex", Part: "special", Regex: []string{"x"}}}}, false,
			false, false, true},
		{"kval", Spec{Extractors: xs{{Type: "kval", KVal: []string{"special"}}}}, false, false, false, false},
		{"the title", Spec{Extractors: xs{{Type: "xpath", XPath: []string{"//title"}}}}, true, false, false, false},
	} {
		o, err := Compile("t.yaml", c.s)
		if err != nil {
			t.Fatal(err)
		}
		got := [4]bool{o.ReadsPage(), o.NeedsHistory(), o.UsesOAST(),
			o.Requires(func(part string) bool { return part == "special" })}
		if got != [4]bool{c.page, c.history, c.oast, c.requires} {
			t.Errorf("%s: page %v, history %v, oast %v, requires %v", c.name, got[0], got[1], got[2], got[3])
		}
	}
}
