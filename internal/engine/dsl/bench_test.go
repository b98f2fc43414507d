package dsl_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// page is a body of 24 KB that has none of what the benchmarks look for.
var page = "<html><head><title>Welcome</title></head><body>" +
	strings.Repeat("<p>Nothing to see here, move along.</p>\n", 600) + "</body></html>"

// One expression, evaluated for one response. On one core of an EPYC:
//
//	status           38 ns   0 allocations
//	contains        690 ns   0
//	known needle     50 ns   0
//	lower case      480 ns   2   (the page in lower case is cached)
//	many            2.0 µs   0
//	pattern         380 ns   0
func BenchmarkEval(b *testing.B) {
	vars := dsl.Map(map[string]any{"status_code": 200, "body": page, "header": "HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n"})
	for _, c := range []struct {
		name, source string
		known        bool
	}{
		{"status", "status_code == 404", false},
		{"contains", `status_code == 200 && contains(body, "phpinfo()")`, false},
		{"known needle", `status_code == 200 && contains(body, "phpinfo()")`, true},
		{"lower case", `contains(to_lower(body), "phpinfo()") && status_code == 200`, false},
		{"many", `contains_any(body, "phpMyAdmin", "wp-content", "/etc/passwd", "root:x:0", "Tomcat", "Jenkins")`, false},
		{"pattern", `regex("root:.*:0:0:", body)`, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := dsl.Compile(c.source)
			if err != nil {
				b.Fatal(err)
			}
			env := &dsl.Env{Vars: vars}
			if c.known {
				env.Needle = func(dsl.Needle) (bool, bool) { return false, true }
			}
			b.ReportAllocs()
			for b.Loop() {
				if v, err := e.Eval(env); v != false || err != nil {
					b.Fatal(v, err)
				}
			}
		})
	}
}

// A text with plain keys (190 ns, 1 allocation; 830 ns and 7 to read it), and one with
// expressions (640 ns, 9; 5 µs, 33).
func BenchmarkRender(b *testing.B) {
	env := &dsl.Env{Vars: dsl.Map(map[string]any{"BaseURL": "http://example.com", "file": "f", "Hostname": "example.com"})}
	for name, source := range map[string]string{
		"plain":      "{{BaseURL}}/admin/{{file}}?x={{Hostname}}",
		"expression": "{{BaseURL}}/{{to_upper(file)}}?x={{base64('{{Hostname}}:80')}}",
	} {
		text := dsl.Parse(source)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := text.Render(env); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dsl.Parse(source)
			}
		})
	}
}
