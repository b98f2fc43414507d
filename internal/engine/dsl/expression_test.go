package dsl_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// scope are the variables of the tables below.
var scope = map[string]any{
	"body": "Hello World", "status_code": 200, "big": 12345678, "n": "42", "t": true, "none": nil,
	"list": []any{"a", "b"}, "one": []any{"x"}, "words": []string{"a", "b"}, "bytes": []byte("ab"),
	"x-y": "dash", "wide": int64(7), "user": "bob",
}

func eval(t *testing.T, source string) (any, error) {
	t.Helper()
	e, err := dsl.Compile(source)
	if err != nil {
		t.Errorf("%s: %v", source, err)
		return nil, err
	}
	// A generator and a clock of its own: the values are the same each time.
	host := &functions.Host{Rand: rand.New(rand.NewPCG(1, 2)), Now: func() time.Time { return time.Unix(1642091410, 0) }}
	return e.Eval(&dsl.Env{Vars: dsl.Map(scope), Host: host})
}

// check holds the values of expressions against a table; an error stands for any.
func check(t *testing.T, table map[string]any) {
	t.Helper()
	for source, want := range table {
		got, err := eval(t, source)
		if _, fails := want.(error); fails {
			if err == nil {
				t.Errorf("%s is %#v, want an error", source, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v (%T), want %#v (%T)", source, got, got, want, want)
		}
	}
}

// fails stands for any error in a table.
var fails = errors.New("fails") //nolint:staticcheck,errname // it reads as the table's word

func TestOperators(t *testing.T) {
	check(t, map[string]any{
		"1 + 2 * 3": 7.0, "(1 + 2) * 3": 9.0, "2**3**2": 64.0, "-2**2": 4.0, "10 - 4 - 3": 3.0, "7 % 4 * 2": 6.0,
		"1 << 2 + 1": 8.0, "6 & 3 | 8": 10.0, "5 ^ 1": 4.0, "16 >> 2": 4.0, "~0": -1.0, "100 / 8 / 2": 6.25,
		"1 < 2 == true": true, "0x1F + .5": 31.5, "1 == 1 && 2 != 2 || true": true,
		"'a' + 1": "a1", "status_code + ''": "200", "big + ''": "1.2345678e+07", "'' + t": "true", "'x' + none": "x<nil>",
		"list + ''": "[a b]", "wide + 1": 8.0, "1 + t": fails, "t + none": fails,
		"status_code == 200": true, "status_code == '200'": false, "status_code > '200'": fails, "'b' > 'a'": true,
		"bytes == 'ab'": false, "list == ('a', 'b')": true, "status_code >= 200 && status_code < 300": true,
		"body =~ 'W.rld$'": true, "body !~ 'x'": true, "1 =~ 'x'": fails, "body =~ n": false, "body =~ ('(')": fails,
		"status_code in (200, 302)": true, "status_code in (404)": false, "'a' in list": true, "'a' in ('a')": true,
		"1 in 1": fails,
		"!t":     false, "!1": fails, "-body": fails, "t && 1": fails, "1 || t": fails, "!(t && false)": true,
		"t ? 1 : 2": 1.0, "!t ? 1 : 2": 2.0, "!t ? 1": nil, "none ?? 'x'": "x", "n ?? 'x'": "42", "1 ? 2 : 3": fails,
		"t ? 1 : t ? 2 : 3": fails, // read from the left, like every other operator
		"(1, 'a')":          []any{1.0, "a"}, "list, 1": []any{"a", "b", 1.0}, "(1, list)": []any{1.0, []any{"a", "b"}},
		"[x-y]": "dash", `x\-y`: "dash", "()": nil, "(t == )": false, "(1) 2": 1.0,
	})
}

func TestShortCircuit(t *testing.T) {
	check(t, map[string]any{
		"t || missing": true, "missing || t": fails, "!t && missing": false, "t && missing": fails,
		"none ?? missing": fails, "n ?? missing": "42", "t ? 1 : missing": 1.0, "!t ? missing : 2": 2.0,
	})
	_, err := eval(t, "missing || t")
	var missing *dsl.Missing
	if !errors.As(err, &missing) || missing.Name != "missing" {
		t.Errorf("%v", err)
	}
	if _, err := eval(t, "contains(to_lower(gone), 'x')"); err == nil ||
		!strings.Contains(err.Error(), "No parameter 'gone' found.") {
		t.Errorf("%v", err)
	}
}

func TestLiterals(t *testing.T) {
	day := float64(time.Date(2024, 1, 2, 0, 0, 0, 0, time.Local).Unix()) //nolint:gosmopolitan // as the language has it
	check(t, map[string]any{
		`"a\n"`: "an", `"\\d"`: `\d`, `'it"s'`: `it"s`, "'\n'": "\n", `'\''`: "'", `''`: "",
		`"2024-01-02"`: day, "concat('2024-01-02')": functions.String(day), "'2024-01-0'": "2024-01-0", "'10:30'": "10:30",
		"'3:04PM' >= 0": false, "'2024-01-02T00:00:00Z'": "2024-01-02T00:00:00Z",
	})
}

func TestArguments(t *testing.T) {
	check(t, map[string]any{
		"contains(list)": false, "contains(one, 'x')": true, "concat(list, 1)": "ab1", "concat(1, list)": "1[a b]",
		"len(words)": 2.0, "len(list)": fails, "concat(words)": "[a b]", "concat()": "", "concat(none)": "",
		"len(body)":      11.0,
		"contains(body)": fails, "contains(body, 'a', 'b')": fails, "contains_any(list, 'a')": true, "tolower('A')": "a",
		"contains_all(body)": true, "contains_any(body)": false,
	})
}

func TestSyntaxErrors(t *testing.T) {
	for _, source := range []string{
		"", " ", "1e3", "a b", "1 2", "'a", `"a'`, "a&&!b", "1 +", "(1", "1)", "`x`", "md5", "md5 'x'", "nofunc(1)", "a.b",
		"a.",
		"!!a", "a in", "f(,1)", "concat(1,)", "=~ 'a'", "a =~ '('", "{a}", "a ]", "[a", "0x", "1.2.3", "'a' + '2024-01-02'",
		"_a",
		strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300),
		strings.Repeat("a.B(", 300) + "1" + strings.Repeat(")", 300),
		"'" + strings.Repeat("x", 1<<20) + "'",
	} {
		e, err := dsl.Compile(source)
		wrong, ok := errors.AsType[*dsl.SyntaxError](err)
		if !ok {
			t.Errorf("%.60q compiles to %v, %v", source, e, err)
		} else if wrong.At > len(source) || len(wrong.Error()) > 400 {
			t.Errorf("%.60q: at %d: %v", source, wrong.At, wrong)
		}
	}
	for _, source := range []string{"generate_java_gadget('dns', 'x', 'raw')",
		"1 + generatedotnetgadget('a', 'b', 'c', 'd')"} {
		var refused *dsl.Unsupported
		if _, err := dsl.Compile(source); !errors.As(err, &refused) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// Thousands of terms are no deeper than one.
func TestHugeExpressions(t *testing.T) {
	terms := make([]string, 20_000)
	for i := range terms {
		terms[i] = "contains(body, 'absent')"
	}
	check(t, map[string]any{
		strings.Join(terms, " || ") + " || t":                     true,
		strings.Join(terms, " || ") + " && t":                     false,
		"'' " + strings.Repeat("+ n ", 20_000):                    strings.Repeat("42", 20_000),
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200): 1.0,
	})
}

func TestMembers(t *testing.T) {
	check(t, map[string]any{"body.Len": fails, "gone.Len": fails, "body.Len(1) + 2": fails})
}

// What an expression says about itself.
func TestWhatAnExpressionTells(t *testing.T) {
	e, err := dsl.Compile(`contains(to_lower(body), "x") && status_code == 200 && body != host`)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Names(); !reflect.DeepEqual(got, []string{"body", "status_code", "host"}) {
		t.Errorf("names %q", got)
	}
	if !e.Pure() || e.String() != `contains(to_lower(body), "x") && status_code == 200 && body != host` {
		t.Errorf("%v, pure %v", e, e.Pure())
	}
	dearer := []string{
		"status_code == 200", "contains(body, 'x')", "contains_any(body, 'x', 'y', 'z')", "regex('a+b', body)",
		"cookie_unsign(body) == 'x'", "resolve(body) == ''",
	}
	before := -1
	for _, source := range dearer {
		e, err := dsl.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if e.Cost() <= before {
			t.Errorf("%s costs %d, the one before %d", source, e.Cost(), before)
		}
		before = e.Cost()
	}
	for source, pure := range map[string]bool{"rand_int()": false, "concat('{{rand_int()}}')": false, "unix_time()": false,
		"md5('a')": true} {
		if e, err := dsl.Compile(source); err != nil || e.Pure() != pure {
			t.Errorf("%s: pure is not %v (%v)", source, pure, err)
		}
	}
}

// Strings of expressions may hold placeholders; what they give is never an expression.
func TestFilledStrings(t *testing.T) {
	check(t, map[string]any{
		`contains(body, "{{zzz}}")`:            false,
		`concat("{{user}}", '§n§', "{{zzz}}")`: "bob42{{zzz}}",
		`"{{md5('a')}}" == md5('a')`:           true,
		`"{{to_number(user)}}"`:                fails,
		`len("{{7*7}}")`:                       7.0,
	})
	quoted, err := dsl.Compile(`"{{x}}" == 'it\'s "{{x}}"'`)
	if err != nil {
		t.Fatal(err)
	}
	v, err := quoted.Eval(&dsl.Env{Vars: dsl.Map(map[string]any{"x": `it's "{{x}}"`})})
	if err != nil || v != false {
		t.Errorf("%v, %v", v, err)
	}
}
