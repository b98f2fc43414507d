package generate

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden writes a template of each request in testdata, as it went over the wire.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.http")
	if err != nil || len(cases) < 4 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, name := range cases {
		t.Run(filepath.Base(name), func(t *testing.T) {
			wire, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Read(strings.ReplaceAll(string(wire), "\n", "\r\n"), "shop.example:8080")
			if err != nil {
				t.Fatal(err)
			}
			text := Template{
				ID: "finding-1",
				Info: syntax.Info{Name: `A "name": of {{a}}`, Severity: "high", Description: "It leaks.\nMuch.",
					Tags: []string{"finding", "xss"}, Reference: []string{"https://a.example/"},
					Classification: &syntax.Classification{CWEID: []string{"cwe-79"}}},
				Requests: []Request{r},
				Operators: syntax.Operators{MatchersCondition: "and", Matchers: []syntax.Matcher{
					{Type: "status", Status: []int{200}},
					{Type: "word", Part: "body", Condition: "and", Words: []string{Literal("a {{b}} § \u0085\\", nil)}},
					{Type: "word", Part: "all", Negative: true, CaseInsensitive: true, Words: []string{"x"}},
				}},
			}.Text()
			golden := strings.TrimSuffix(name, ".http") + ".yaml"
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || text != string(want) {
				t.Errorf("%v\n%s", err, text)
			}
			parsed, err := syntax.Parse(golden, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := program.Compile(parsed); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTextsComeBack holds that whatever stands in a template is read as it was written.
func TestTextsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \n\r\t:#'"\\{}|>-]{1,20}`))
		one := text.Filter(func(s string) bool { return strings.TrimSpace(s) != "" && !strings.ContainsRune(s, 0) })
		tmpl := Template{
			ID: "finding-1", Info: syntax.Info{Name: one.Draw(t, "name"), Severity: "low",
				Description: one.Draw(t, "description"), Tags: []string{"finding"}},
			Requests: []Request{{Method: "POST", Target: "/x?a=1", Headers: []syntax.Pair{{Name: "X-A", Value: "b"}},
				Body: one.Draw(t, "body")}},
			Operators: syntax.Operators{MatchersCondition: "and",
				Matchers: []syntax.Matcher{{Type: "word", Part: "body", Words: []string{one.Draw(t, "word")}}}},
		}
		parsed, err := syntax.Parse("t.yaml", []byte(tmpl.Text()))
		if err != nil {
			t.Fatalf("%v\n%s", err, tmpl.Text())
		}
		if got := parsed.HTTP[0].Raw; !reflect.DeepEqual(got, []string{tmpl.Requests[0].message()}) {
			t.Errorf("raw %q, not %q", got, tmpl.Requests[0].message())
		}
		if got := parsed.HTTP[0].Matchers[0].Words; !reflect.DeepEqual(got, tmpl.Matchers[0].Words) {
			t.Errorf("words %q, not %q", got, tmpl.Matchers[0].Words)
		}
		if strings.TrimSpace(parsed.Info.Name) != strings.TrimSpace(tmpl.Info.Name) {
			t.Errorf("name %q, not %q", parsed.Info.Name, tmpl.Info.Name)
		}
	})
}

func TestLiteral(t *testing.T) {
	keep := func(name string) bool { return name == "TOKEN" }
	for text, want := range map[string]string{
		"plain":              "plain",
		"{{$TOKEN}}":         "{{$TOKEN}}",
		"{{$OTHER}}":         `{{concat("{","{")}}$OTHER}}`,
		"{{{{$TOKEN}}":       `{{concat("{","{")}}{{$TOKEN}}`,
		"{{{a}}}":            `{{concat("{","{")}}{a}}}`,
		"§a§":                `{{hex_decode("c2a7")}}a{{hex_decode("c2a7")}}`,
		"{{interactsh-url}}": `{{concat("{","{")}}interactsh-url}}`,
	} {
		if got := Literal(text, keep); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("GET /a?b=c HTTP/1.1\r\nHost: a\r\nX: {{y}}\r\n\r\nbody")
	f.Add("GET http://a/ HTTP/1.1\r\n\r\n")
	f.Add("\r\n\r\n: :")
	f.Fuzz(func(t *testing.T, wire string) {
		r, err := Read(wire, "a")
		if err == nil && (!strings.HasPrefix(r.Target, "/") ||
			strings.Contains(strings.ReplaceAll(strings.ReplaceAll(r.Target+r.Body, `{{concat("{","{")}}`, ""),
				`{{hex_decode("c2a7")}}`, ""), "{{")) {
			t.Errorf("%q became %+v", wire, r)
		}
	})
}
