package dsl_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// patience is more than any text of a few kilobytes may take.
const patience = 20 * time.Second

// No text is too odd to be read, and what compiles can be evaluated.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"contains(body, 'x') && status_code == 200", "a ? b : c ?? d", "-1 ** ~2 << 3", "(1, 2), 3", "x in ('a')", "[a b].C",
		`"\'`, "'{{a}}§b§'",
		"repeat('a', 1e9)", "substr(body, len(body))", "split(body, 0)", "unpack('>I', body)", "0x", "a =~ '('",
		"padding(1, 2, 3, 'prefix')", "ip_format('::1', 3)",
		"date_time('%Y', -1e18)", "rand_ip('::/0')", "rand_int(-9, 9223372036854775807)", "json_prettify(body)",
		"html_escape(body, true)", "compare_versions('1', '~> 1')",
		"index(sort(body, n), 0) + uniq(body)", "zip(body, n)", "replace_regex(body, '(a)*', '$1$2')",
		"generate_jwt('{}', 'HS256')", "to_title('ß', 'tr')", "xor('a', body)",
	} {
		f.Add(s, "a body")
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		if strings.Contains(source, "wait") {
			return // that one takes its time
		}
		start := time.Now()
		e, err := dsl.Compile(source)
		var wrong *dsl.SyntaxError
		var refused *dsl.Unsupported
		if err != nil {
			if !errors.As(err, &wrong) && !errors.As(err, &refused) {
				t.Errorf("%q: %v", source, err)
			}
			return
		}
		vars := dsl.Map(map[string]any{"body": body, "n": 7, "list": []any{body, 1}, "words": []string{body},
			"bytes": []byte(body), "none": nil, "flag": true})
		v, err := e.Eval(&dsl.Env{Vars: vars, Host: &functions.Host{}})
		if err == nil {
			_ = functions.String(v)
		}
		if took := time.Since(start); took > patience {
			t.Errorf("%q took %v", source, took)
		}
		if e.Cost() < 0 || len(e.Names()) > len(source) {
			t.Errorf("%q: cost %d, names %q", source, e.Cost(), e.Names())
		}
	})
}

// A text is written as it was read, whole or bound, and a value that looks like a
// placeholder stays what it is.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"{{a}}", "§a§", "{{{{a}}}}", "{{", "}}", "{{}}§", "\xff{{a}}", "{{md5(a)}}", "{{base64('{{a}}:{{b}}')}}",
		"{{'}}'}}", "%7B%7Binteractsh-url%7D%7D", "{{interactsh-url_1}}",
		"{{rand_int()}}{{a + b}}", "{{a-b}}", "{{7*7}}", strings.Repeat("{{\"", 50), strings.Repeat("{{'}}", 50),
	} {
		f.Add(s, "{{b}}")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		if strings.Contains(source, "wait") {
			return
		}
		start := time.Now()
		text := dsl.Parse(source)
		if text.String() != source {
			t.Errorf("%q is written as %q", source, text.String())
		}
		if c, ok := text.Const(); ok && (c != source || len(text.Names()) > 0) {
			t.Errorf("%q: constant %q with names %q", source, c, text.Names())
		}
		vars := dsl.Map(map[string]any{"a": value, "b": "B"})
		got, err := text.Render(&dsl.Env{Vars: vars})
		if text.Pure() {
			bound, boundErr := text.Bind(vars).Render(&dsl.Env{Vars: vars})
			if bound != got || (err == nil) != (boundErr == nil) {
				t.Errorf("%q bound gives %q, %v; unbound %q, %v", source, bound, boundErr, got, err)
			}
		}
		if text.Bind(dsl.Map[any](nil)).Key() != text.Key() {
			t.Errorf("%q: binding nothing changes the key", source)
		}
		if took := time.Since(start); took > patience {
			t.Errorf("%q took %v", source, took)
		}
	})
}
