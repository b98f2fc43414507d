package match

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// response is a Response that counts how often its header is made.
func response(status int, head, body string) (*Response, *int) {
	made := 0
	return &Response{
		Status: status, Body: []byte(body),
		Head:  func() []byte { made++; return []byte(head) },
		Raw:   func() []byte { return []byte("GET / HTTP/1.1\r\n\r\n") },
		Named: dsl.Map(map[string]string{"server": "nginx"}),
	}, &made
}

func compile(t testing.TB, condition string, matchers []syntax.Matcher, extractors ...syntax.Extractor) *Operators {
	t.Helper()
	o, err := Compile("t.yaml", condition, matchers, extractors)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var noVars = dsl.Map[any](nil)

// The cheap matchers come first, wherever they were written, and with and the dear ones
// are not asked after a no.
func TestCheapestFirst(t *testing.T) {
	o := compile(t, "and", []syntax.Matcher{
		{Type: "regex", Regex: []string{"a+"}},
		{Type: "word", Part: "all", Words: []string{"x"}},
		{Type: "word", Words: []string{"x"}, CaseInsensitive: true},
		{Type: "word", Words: []string{"x"}},
		{Type: "word", Part: "header", Words: []string{"x"}},
		{Type: "size", Size: []int{1}},
		{Type: "status", Status: []int{200}},
	})
	var order []int
	for _, m := range o.matchers {
		order = append(order, m.order)
	}
	if !slices.Equal(order, []int{6, 5, 4, 3, 2, 1, 0}) {
		t.Errorf("order %v", order)
	}
	r, made := response(404, "h", "x")
	if matched, _ := o.Eval(r, noVars); matched || *made != 0 {
		t.Errorf("matched %v, header made %d times", matched, *made)
	}
}

// Views are made once for all operators that look at one response, and what one
// template extracts is not seen by the next.
func TestSharedResponse(t *testing.T) {
	r, made := response(200, "Server: nginx\r\n\r\n", "Token: abc")
	first := compile(t, "", []syntax.Matcher{{Type: "word", Part: "token", Words: []string{"abc"}}},
		syntax.Extractor{Type: "regex", Name: "token", Internal: true, Group: 1, Regex: []string{"Token: (.*)"}})
	second := compile(t, "", []syntax.Matcher{{Type: "word", Part: "token", Words: []string{"abc"}}})
	third := compile(t, "and", []syntax.Matcher{{Type: "word", Part: "response", Words: []string{"Token"}}, {Type: "word", Part: "all", Words: []string{"nginx"}}})
	for i, c := range []struct {
		o    *Operators
		want bool
	}{{first, true}, {second, false}, {third, true}, {third, true}} {
		if matched, _ := c.o.Eval(r, noVars); matched != c.want {
			t.Errorf("%d: %v", i, matched)
		}
	}
	if *made != 1 {
		t.Errorf("the header was made %d times", *made)
	}
}

// Named matchers are told of in written order, not in that of their cost.
func TestNamesInWrittenOrder(t *testing.T) {
	r, _ := response(200, "", "abc")
	o := compile(t, "or", []syntax.Matcher{
		{Type: "regex", Name: "dear", Regex: []string{"a.c"}},
		{Type: "status", Name: "cheap", Status: []int{200}},
		{Type: "word", Name: "dear", Words: []string{"b"}},
	})
	_, findings := o.Eval(r, noVars)
	if len(findings) != 2 || findings[0].Matcher != "dear" || findings[1].Matcher != "cheap" {
		t.Errorf("%+v", findings)
	}
}

// An extractor that reads the part of its own name ends.
func TestExtractorOfItself(t *testing.T) {
	r, _ := response(200, "", "x")
	o := compile(t, "", nil, syntax.Extractor{Type: "regex", Name: "loop", Part: "loop", Regex: []string{"."}})
	if _, findings := o.Eval(r, noVars); len(findings) != 0 {
		t.Errorf("%+v", findings)
	}
}

func TestExtractorIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	r, _ := response(200, "", b.String())
	_, findings := compile(t, "", nil, syntax.Extractor{Type: "regex", Regex: []string{`\d+`}}).Eval(r, noVars)
	if len(findings[0].Extracted) != maxValues {
		t.Errorf("%d values", len(findings[0].Extracted))
	}
}

func TestRequiredLiterals(t *testing.T) {
	for source, want := range map[string]string{
		`abc`:                  "abc",
		`(?i)ABC`:              "~abc",
		`a[0-9]+bcd`:           "bcd",
		`(?:foo|bar)x*`:        "foo|bar",
		`(?i)(foo)+[a-z]`:      "~foo",
		`(?:abcd){2,}`:         "abcd",
		`(?:abcd){0,3}`:        "",
		`x?y*`:                 "",
		`[a-z]+`:               "",
		`foo|[a-z]`:            "",
		`(?i)ünï`:              "",
		`^\s*root:x:(\d+):\d+`: "root:x:",
		`(?s)<title>.*nginx.*`: "<title>",
		`x\x{FFFD}y`:           "",
	} {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range p.need {
			if l.fold {
				l.text = "~" + l.text
			}
			got = append(got, l.text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s needs %q, want %q", source, got, want)
		}
	}
}

// agrees checks that a pattern with its prefilter says what the expression says.
func agrees(t interface{ Errorf(string, ...any) }, source, text string) {
	re, err := regexp.Compile(source)
	if err != nil {
		return
	}
	p, err := compilePattern(source)
	if err != nil {
		t.Errorf("%q compiles only once: %v", source, err)
		return
	}
	if got, want := p.match(&view{data: []byte(text)}), re.MatchString(text); got != want {
		t.Errorf("%q on %q: %v, want %v (needs %+v)", source, text, got, want, p.need)
	}
}

func TestPrefilterAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		atom := rapid.SampledFrom([]string{"a", "B", "ks", "(?i:ks)", "[ab]", ".", "ü", "(?i:Kß)", "x{0,2}", "(ab)+", "(?:s|k)", "\\x00", "^", "$", "(?i)Ab"})
		source := strings.Join(rapid.SliceOfN(atom, 1, 5).Draw(t, "atoms"), rapid.SampledFrom([]string{"", "|", "*"}).Draw(t, "glue"))
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abABksKSſ\u212aüÜx\x00\n")), 0, 12, -1).Draw(t, "text")
		agrees(t, source, text)
	})
}

func FuzzRegex(f *testing.F) {
	for _, s := range [][2]string{{"(?i)kelvin", "\u212aELVIN"}, {"(?i)s", "ſ"}, {"a|b", "b"}, {"(ab){2}", "abab"}, {"", ""}, {"\\Qa.b\\E", "a.b"}, {"(?i)a\\x80", "A\x80"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) < 200 && len(text) < 10_000 {
			agrees(t, source, text)
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("Word", "a wORD here", true)
	f.Add("\u212a", "k", true)
	f.Add("ſ", "S", true)
	f.Add("\xff", "\xff\xfe", false)
	f.Fuzz(func(t *testing.T, word, body string, fold bool) {
		o, err := Compile("t.yaml", "", []syntax.Matcher{{Type: "word", Words: []string{word}, CaseInsensitive: fold}}, nil)
		if err != nil {
			return
		}
		r, _ := response(200, "", body)
		got, _ := o.Eval(r, noVars)
		want := strings.Contains(body, word)
		if fold {
			want = strings.Contains(strings.ToLower(body), strings.ToLower(word)) || isASCII(word) && strings.Contains(asciiLower(body), asciiLower(word))
		}
		if got != want {
			t.Errorf("%q in %q (fold %v): %v", word, body, fold, got)
		}
	})
}

func asciiLower(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

func benchmark(b *testing.B, m syntax.Matcher) {
	body := bytes.Repeat([]byte("<div class=\"row\">Some ordinary text of a page, 1234.</div>\n"), 1000)
	o := compile(b, "", []syntax.Matcher{m})
	head := []byte("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := Response{Status: 200, Body: body, Head: func() []byte { return head }, Named: noVars}
		if matched, _ := o.Eval(&r, noVars); matched {
			b.Fatal("matched")
		}
	}
}

func BenchmarkStatus(b *testing.B) { benchmark(b, syntax.Matcher{Type: "status", Status: []int{404}}) }
func BenchmarkHeaderWord(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "word", Part: "header", Words: []string{"Apache"}})
}
func BenchmarkWord(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "word", Words: []string{"phpMyAdmin"}})
}
func BenchmarkWordFolded(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "word", CaseInsensitive: true, Words: []string{"phpmyadmin"}})
}
func BenchmarkRegexPrefiltered(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "regex", Regex: []string{`phpMyAdmin ([0-9.]+)`}})
}
func BenchmarkRegexFolded(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "regex", Regex: []string{`(?i)phpmyadmin\s+([0-9.]+)`}})
}
func BenchmarkRegexBare(b *testing.B) {
	benchmark(b, syntax.Matcher{Type: "regex", Regex: []string{`[0-9]{6}`}})
}
