package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
	o, err := Compile("t.yaml", Spec{Condition: condition, Matchers: matchers, Extractors: extractors})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

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
	for _, m := range o.rules().matchers {
		order = append(order, m.order)
	}
	if !slices.Equal(order, []int{6, 5, 4, 3, 2, 1, 0}) {
		t.Errorf("order %v", order)
	}
	r, made := response(404, "h", "x")
	if out := o.Eval(r, nil); out.Matched || *made != 0 {
		t.Errorf("matched %v, header made %d times", out.Matched, *made)
	}
}

// Views are made once for all operators that look at one response, and what one
// template extracts is not seen by the next.
func TestSharedResponse(t *testing.T) {
	r, made := response(200, "Server: nginx\r\n\r\n", "Token: abc")
	first := compile(t, "", []syntax.Matcher{{Type: "word", Part: "token", Words: []string{"abc"}}},
		syntax.Extractor{Type: "regex", Name: "token", Internal: true, Group: 1, Regex: []string{"Token: (.*)"}})
	second := compile(t, "", []syntax.Matcher{{Type: "word", Part: "token", Words: []string{"abc"}}})
	third := compile(t, "and", []syntax.Matcher{{Type: "word", Part: "response", Words: []string{"Token"}},
		{Type: "word", Part: "all", Words: []string{"nginx"}}})
	for i, c := range []struct {
		o    *Operators
		want bool
	}{{first, true}, {second, false}, {third, true}, {third, true}} {
		if out := c.o.Eval(r, nil); out.Matched != c.want {
			t.Errorf("%d: %v", i, out.Matched)
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
	findings := o.Eval(r, nil).Findings
	if len(findings) != 2 || findings[0].Matcher != "dear" || findings[1].Matcher != "cheap" {
		t.Errorf("%+v", findings)
	}
}

// An extractor that reads the part of its own name ends.
func TestExtractorOfItself(t *testing.T) {
	r, _ := response(200, "", "x")
	o := compile(t, "", nil, syntax.Extractor{Type: "regex", Name: "loop", Part: "loop", Regex: []string{"."}})
	if out := o.Eval(r, nil); len(out.Findings) != 0 || out.FlowMatched {
		t.Errorf("%+v", out)
	}
}

func TestExtractorIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxValues + 5000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	r, _ := response(200, "", b.String())
	findings := compile(t, "", nil, syntax.Extractor{Type: "regex", Regex: []string{`\d+`}}).Eval(r, nil).Findings
	if got := findings[0].Extracted; len(got) != maxValues || got[maxValues-1] != fmt.Sprint(maxValues-1) {
		t.Errorf("%d values", len(got))
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Word", "a wORD here", true)
	f.Add("\u212a", "k", true)
	f.Add("kelvin", "\u212aELVIN", true)
	f.Add("ſ", "S", true)
	f.Add("\xff", "\xff\xfe", false)
	f.Fuzz(func(t *testing.T, word, body string, fold bool) {
		if _, constant := dsl.Parse(word).Const(); !constant {
			return
		}
		o := compile(t, "", []syntax.Matcher{{Type: "word", Words: []string{word}, CaseInsensitive: fold}})
		r, _ := response(200, "", body)
		got := o.Eval(r, nil).Matched
		want := strings.Contains(body, word)
		if fold {
			want = strings.Contains(strings.ToLower(body), strings.ToLower(word)) ||
				strings.Contains(asciiLower(body), asciiLower(word)) && asciiLower(word) == strings.ToLower(word)
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
