package match

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func exprs(list ...string) syntax.Matcher { return syntax.Matcher{Type: "dsl", DSL: list} }

func all(list ...string) syntax.Matcher {
	return syntax.Matcher{Type: "dsl", Condition: "and", DSL: list}
}

// Expressions as matchers, section 4.3.
func TestExpressions(t *testing.T) {
	negative := exprs(`contains(none, "x")`)
	negative.Negative = true
	for _, c := range []struct {
		m    syntax.Matcher
		want bool
	}{
		{exprs(`status_code == 200 && contains(body, "Admin")`), true},
		{exprs(`status_code == 404 && contains(body, "Admin")`), false},
		{exprs(`contains(header, "nginx") && contains(all_headers, "nginx")`), true},
		{exprs(`contains(response, "nginx") && contains(response, "Admin") && contains(request, "/asked")`), true},
		{exprs(`contains(to_lower(body), "admin panel")`), true},
		{exprs(`contains_all(body, "Admin", "Panel") && !contains_any(body, "x1", "x2")`), true},
		{exprs(`regex("Version: [0-9]", body)`), true},
		{exprs(`regex("(?i)ADMIN", body)`), true},
		{exprs(`len(body) == ` + fmt.Sprint(len(rulesBody))), true},
		{exprs(`duration < 1 && server == "nginx" && flag`), true},
		{exprs(`server == "overridden"`), false},
		{exprs(`Hostname == "example.com"`), true},
		{exprs(`contains(body_1, "first") && status_code_1 == 302`), true},
		{exprs(`contains(body_2, "first")`), false},
		{exprs(`contains(all, "Admin")`), false},
		{exprs(`contains(body_2, "first")`, `status_code == 200`), true}, // with or an error is passed over
		{all(`contains(body_2, "first")`, `status_code == 200`), false},
		{all(`status_code == 200`, `contains(body, "Admin")`), true},
		{all(`status_code == 200`, `contains(body, "nothing")`), false},
		{all(`len(body)`, `status_code == 200`), true},       // no truth value: passed over
		{all(`status_code == 200`, `len(body)`), false},      // but the last one must give one
		{exprs(`len(body)`), false},                          //
		{negative, true},                                     // an expression has no part to be missing
		{exprs(`contains(body, "Admin {{word}}")`), true},    // placeholders in strings
		{exprs(`contains(body, "Admin §word§")`), true},      //
		{exprs(`contains(body, "Admin {{nobody}}")`), false}, //
		{exprs(`contains(tags, "a")`, `len(tags) == 2`), true},
	} {
		want := "no"
		if c.want {
			want = "yes {}"
		}
		check(t, strings.Join(c.m.DSL, " ; "), Spec{Matchers: ms{c.m}}, want)
	}
}

// Expressions and what is extracted, section 5.
func TestExtractedByExpressions(t *testing.T) {
	of := func(name string, internal bool, list ...string) syntax.Extractor {
		return syntax.Extractor{Type: "dsl", Name: name, Internal: internal, DSL: list}
	}
	digits := syntax.Extractor{Type: "regex", Name: "n", Internal: true, Regex: []string{`[0-9]`}}
	version := syntax.Extractor{Type: "regex", Name: "v", Internal: true, Group: 1, Regex: []string{`Version: (\S+)`}}
	taken := syntax.Extractor{Type: "regex", Name: "body", Internal: true, Regex: []string{`Panel`}}
	for _, c := range []struct {
		rule string
		xs   xs
		ms   ms
		want string
	}{
		{"as text", xs{of("", false, `status_code`, `12345678 + 0`, `to_upper(server)`, `tags`)}, nil,
			`no gate { ["200" "1.2345678e+07" "NGINX" "[a b]"]}`},
		{"nothing and missing are passed over", xs{of("", false, `""`, `none`, `"x"`)}, nil, `no gate { ["x"]}`},
		{"another error ends it", xs{of("", false, `"x"`, `status_code > "a"`, `"y"`)}, nil, `no gate { ["x"]}`},
		{"of what was extracted before", xs{version, of("w", false, `concat("v", v)`)}, nil,
			`no gate {/w ["v4.2.1"]} v=["4.2.1"]`},
		{"a matcher of what was extracted", xs{version}, ms{exprs(`v == "4.2.1"`)}, `yes {} v=["4.2.1"]`},
		{"a matcher of versions", xs{version}, ms{exprs(`compare_versions(v, ">= 4.0", "< 5.0")`)}, `yes {} v=["4.2.1"]`},
		{"a matcher of several", xs{digits}, ms{all(`len(n) == 5`, `n0 == "4"`, `n4 == "0"`)},
			`yes {} n=["4" "2" "1" "7" "0"]`},
		{"a taken name", xs{taken}, ms{exprs(`body == "Panel"`, `contains(body, "Admin")`)}, `yes {} body=["Panel"]`},
		{"a taken name is not the body", xs{taken}, ms{exprs(`contains(body, "Admin")`)}, `no body=["Panel"]`},
	} {
		check(t, c.rule, Spec{Matchers: c.ms, Extractors: c.xs}, c.want)
	}
}

// A variable of the template may be a text, with expressions of its own.
func TestTextVariables(t *testing.T) {
	vars := dsl.Map(map[string]any{"marker": dsl.Parse(`{{to_upper("adm")}}{{contains(body, "nothing")}}`)})
	operators := make([]*Operators, 40)
	for i := range operators {
		operators[i] = compile(t, "", ms{exprs(fmt.Sprintf(`marker == "ADMfalse" && contains(body, "Panel") && !contains(body, "nothing-%d")`, i))})
	}
	yes := 0
	NewGroup(operators).Eval(rulesResponse(), func(int) dsl.Lookup { return vars }, func(int, Outcome) { yes++ })
	if yes != len(operators) {
		t.Errorf("%d of %d", yes, len(operators))
	}
}

// A string of an expression may hold another expression, with needles of its own; and
// letters outside ASCII may be in lower case what a needle has.
func TestNeedlesOfOthers(t *testing.T) {
	var operators []*Operators
	for i := range 40 {
		operators = append(operators,
			compile(t, "", ms{exprs(fmt.Sprintf(`contains(body, "Panel") && "false" == "{{contains(body, 'nothing-%d')}}"`,
				i))}),
			compile(t, "", ms{exprs(`contains(to_lower(body), "kelvin")`)}),
			compile(t, "", ms{{Type: "word", CaseInsensitive: true, Words: []string{"kelvin"}}}))
	}
	r := rulesResponse()
	r.Body = append(r.Body, "\u212aELVIN"...)
	yes := 0
	NewGroup(operators).Eval(r, nil, func(int, Outcome) { yes++ })
	if yes != len(operators) {
		t.Errorf("%d of %d", yes, len(operators))
	}
}

// Two groups may judge one response, and each of the operators has variables of its own.
func TestGroupsAndVariables(t *testing.T) {
	r := rulesResponse()
	for g := range 2 {
		var operators []*Operators
		for i := range 60 {
			operators = append(operators, compile(t, "and",
				ms{words([]string{"Nobody", "Panel"}[g], fmt.Sprintf("%d-%d", g, i), "Panel"), words("{{which}} 4.2")}))
		}
		var said []int
		NewGroup(operators).Eval(r, func(i int) dsl.Lookup {
			return dsl.Map(map[string]any{"which": []string{"Version:", "Release:"}[i%2]})
		}, func(i int, o Outcome) {
			if said = append(said, i); !o.Matched {
				t.Errorf("%d: %s", i, tell(o))
			}
		})
		if len(said) != 30 || said[0]%2 != 0 {
			t.Errorf("group %d: %v", g, said)
		}
	}
}

// A group is shared by goroutines from its first response on.
func TestGroupIsShared(t *testing.T) {
	var operators []*Operators
	for i := range 200 {
		operators = append(operators, compile(t, "", ms{words(fmt.Sprintf("nothing-%d", i), "Panel")}))
	}
	g := NewGroup(operators)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			yes := 0
			g.Eval(rulesResponse(), nil, func(int, Outcome) { yes++ })
			if yes != len(operators) {
				t.Errorf("%d of %d", yes, len(operators))
			}
		})
	}
	wait.Wait()
}

// Operators say the same alone and in a group of any size.
func TestGroupAgrees(t *testing.T) {
	parts := rapid.SampledFrom([]string{"", "body", "header", "all", "response", "server", "none", "found"})
	text := rapid.SampledFrom([]string{"Admin", "admin", "Panel", "nginx", "<html>", "zzz-%d", "4.2", "A", "", "Àb",
		"{{word}}", "k", "\u212a", "Version: 4", "text/html"})
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		texts := func() []string {
			list := rapid.SliceOfN(text, 1, 4).Draw(t, "texts")
			for i, s := range list {
				n++
				list[i] = strings.ReplaceAll(s, "%d", fmt.Sprint(n))
			}
			return list
		}
		matcher := func() syntax.Matcher {
			m := syntax.Matcher{
				Type:      rapid.SampledFrom([]string{"word", "word", "regex", "dsl", "status"}).Draw(t, "type"),
				Part:      parts.Draw(t, "part"),
				Condition: rapid.SampledFrom([]string{"and", "or"}).Draw(t, "condition"),
				Negative:  rapid.IntRange(0, 4).Draw(t, "negative") == 0,
				Name:      rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"),
			}
			switch m.Type {
			case "word":
				m.Words, m.CaseInsensitive = texts(), rapid.Bool().Draw(t, "fold")
			case "regex":
				for _, s := range texts() {
					m.Regex = append(m.Regex, rapid.SampledFrom([]string{"", "(?i)", "^.*"}).Draw(t, "flag")+
						strings.NewReplacer("{", "", "}", "").Replace(s)+
						rapid.SampledFrom([]string{"", "[0-9.]*", "|Panel"}).Draw(t, "tail"))
				}
			case "dsl":
				for _, s := range texts() {
					m.DSL = append(m.DSL, fmt.Sprintf(rapid.SampledFrom([]string{`contains(body, "%s")`,
						`contains(to_lower(header), "%s") || status_code == 200`, `!contains(response, "%s")`,
						`contains(none, "%s")`}).Draw(t, "form"), s))
				}
			default:
				m.Status = []int{rapid.SampledFrom([]int{200, 404}).Draw(t, "status")}
			}
			return m
		}
		var operators []*Operators
		for range rapid.IntRange(1, 40).Draw(t, "operators") {
			s := Spec{Condition: rapid.SampledFrom([]string{"and", "or"}).Draw(t, "condition")}
			for range rapid.IntRange(0, 3).Draw(t, "matchers") {
				s.Matchers = append(s.Matchers, matcher())
			}
			if rapid.Bool().Draw(t, "extract") {
				s.Extractors = xs{{Type: "regex", Name: rapid.SampledFrom([]string{"", "found", "body"}).Draw(t, "name"),
					Internal: rapid.Bool().Draw(t, "internal"), Regex: []string{`[A-Z]\w+`}}}
			}
			o, err := Compile("t.yaml", s)
			if err != nil {
				t.Fatal(err)
			}
			operators = append(operators, o)
		}
		odd := rapid.SampledFrom([]string{"", "\u212a ſ"}).Draw(t, "odd")
		response := func() *Response {
			r := rulesResponse()
			r.Body = append([]byte(odd), r.Body...)
			return r
		}
		want, shared := response(), response()
		vars := dsl.Map(rulesVars)
		g := NewGroup(operators)
		for range 2 { // the second time with what was remembered
			got := make([]string, len(operators))
			g.Eval(shared, func(int) dsl.Lookup { return vars }, func(i int, o Outcome) { got[i] = tell(o) })
			for i, o := range operators {
				if alone := tell(o.Eval(want, vars)); got[i] != alone && !(got[i] == "" && alone == "no") {
					t.Fatalf("operators %d: %q in the group, %q alone", i, got[i], alone)
				}
			}
			shared = want
		}
	})
}

// What a target may write to make documents expensive costs neither much time nor much
// memory, and nothing fails.
func TestHostileDocuments(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	refused := "deep, deep enough, reopened, wide, deep JSON, wide JSON" // to be read at all
	formatting := strings.Builder{}
	for i := range 400 {
		fmt.Fprintf(&formatting, "<b a=%d>", i)
	}
	for name, body := range map[string]string{
		"deep":          many("<div>", 1_000_000),
		"deep enough":   many("<div>", 29_000),
		"deep and wide": many("<div>", 400) + many("<div><a>x</a></div>", 9_000),
		"reopened":      formatting.String() + many("<p>x", 20_000),
		"wide":          many("<a>x</a>", 1_000_000),
		"tables":        many("<table><tr><td>", 9_000),
		"unclosed tag":  "<a " + many("b=c ", 1_000_000),
		"deep XML":      `<?xml version="1.0"?>` + many("<a>", 29_000),
		"XML entities": `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "` + many("x", 1000) +
			`"><!ENTITY b "&a;&a;&a;">]><r>` + many("&b;", 1000) + `</r>`,
		"deep JSON":   many("[", 3_000_000),
		"wide JSON":   "[" + many("[],", 1_000_000) + "1]",
		"long JSON":   "[" + many("1,", 200_000) + "1]",
		"nested JSON": many(`{"a":`, 9_000) + "1" + many("}", 9_000),
		"not a text":  many("\x00\xff<", 10_000),
		"comment":     "<!--" + many("-", 3_000_000),
		"long":        many("a", 2<<20),
	} {
		s := Spec{
			Matchers: ms{{Type: "xpath", XPath: []string{"//none", "count(//a) > 1", "//a[substring('x', 1, 'y')]"}}},
			Extractors: xs{
				{Type: "xpath", Name: "x", Internal: true, XPath: []string{"//*", "//a//b", "//div/ancestor::*"}},
				{Type: "json", Name: "j", Internal: true,
					JSON: []string{"..", "[.. | numbers] | add", "[range(1e12)]", "def f: f; f"}},
				{Type: "regex", Name: "r", Internal: true, Regex: []string{`(a|aa)+$`, `(?s).*`, `x*`}},
			},
		}
		o, err := Compile("t.yaml", s)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		r := &Response{Status: 200, Body: []byte(body), Head: func() []byte { return nil }, Ctx: ctx}
		out := o.Eval(r, nil) // one that does not end is ended by the test's own deadline
		if v, _ := r.part(partRef{index: viewBody}); strings.Contains(refused, name) &&
			(v.doc.valid || v.doc.html != nil && !strings.Contains(name, "JSON")) {
			t.Errorf("%s was read", name)
		}
		for _, v := range out.Internal {
			if len(v.Values) > maxValues {
				t.Errorf("%s: %d values", name, len(v.Values))
			}
		}
		cancel()
	}
}

// FuzzDocument reads anything as markup and as JSON; nothing may fail or run away.
func FuzzDocument(f *testing.F) {
	f.Add(`<a href="x">y</a>`, "//a[@href]", ".a")
	f.Add(`<?xml version="1.0"?><r><i/></r>`, "count(//i) > 1", "..")
	f.Add(`{"a":[1,{"b":null}]}`, "//*[substring('a',1,'b')]", ".a[]|tojson")
	f.Add("<b><p><table><b></table></p>", "//b/ancestor::p", "[limit(3; repeat(1))]")
	f.Fuzz(func(t *testing.T, body, path, filter string) {
		if len(body)+len(path)+len(filter) > 2000 {
			return
		}
		o, err := Compile("t.yaml", Spec{Extractors: xs{
			{Type: "xpath", Name: "x", Internal: true, Attribute: "href", XPath: []string{path}},
			{Type: "json", Name: "j", Internal: true, JSON: []string{filter}},
		}})
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		o.Eval(&Response{Body: []byte(body), Head: func() []byte { return nil }, Ctx: ctx}, nil)
	})
}
