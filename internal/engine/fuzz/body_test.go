package fuzz_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// decode reads JSON; null is the empty string, which a payload of nothing makes of it.
func decode(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	var fill func(v any) any
	fill = func(v any) any {
		switch v := v.(type) {
		case nil:
			return ""
		case []any:
			for i := range v {
				v[i] = fill(v[i])
			}
		case map[string]any:
			for key := range v {
				v[key] = fill(v[key])
			}
		}
		return v
	}
	return fill(v)
}

// FuzzBody checks that a body with its own values put in is the same body, byte for byte
// where the form of a value is not its own, and that putting in other values changes
// nothing but them.
func FuzzBody(f *testing.F) {
	for _, seed := range [][2]string{
		{"application/json", `{"a": "b", "n": -1.5e3, "l": [true, null, {"x~y": "ü\n"}], "": ""}`},
		{"application/json", `[1,[2,["x"]]] `},
		{"application/json", `{"a":1}{"b":2}`},
		{"", `{"a":`},
		{"text/xml", `<?xml version="1.0" encoding="latin1"?><!DOCTYPE r [<!ENTITY e "x">]><r a="1" b='2'>&e;<c/><d></d> t <e><![CDATA[x]]></e></r>`},
		{"text/xml", `<a></b></a>`},
		{"application/x-www-form-urlencoded", "a=1&b=%zz&&c&=d&e=f=g&a=2+3"},
		{"", "a=1;b=2"},
		{"multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\n\r\n--B--"},
		{"multipart/form-data; boundary=B", "--B\nContent-Disposition: form-data; name=a\n\n1\n--B--\n"},
		{"multipart/form-data; boundary=B", "--B\r\n\r\n--B--"},
		{"text/plain", "\x00\xff"},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	plan := func(kind string) *fuzz.Plan {
		p, err := fuzz.CompileRules("t.yaml",
			[]syntax.FuzzRule{{Part: "body", Type: kind, Fuzz: syntax.Fuzz{Values: []string{"x"}}}})
		if err != nil {
			f.Fatal(err)
		}
		return p
	}
	same, other := plan("postfix"), plan("")
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		base := &web.Request{Body: body, Headers: []web.Header{{Name: "Content-Type", Value: contentType}}}
		n := 0
		render := func(payload string) func(yield func(fuzz.Render) bool) {
			return func(yield func(fuzz.Render) bool) {
				yield(func(dsl.Text, string) (string, error) { n++; return payload, nil })
			}
		}
		for m := range same.All(fuzz.Source{Base: base, Payloads: render("")}) {
			if json.Valid(body) && (body[0] == '{' || body[0] == '[' || strings.HasPrefix(contentType, "application/json")) {
				if before, after := decode(t, body), decode(t, m.Request.Body); !reflect.DeepEqual(before, after) {
					t.Fatalf("%q\nbecame %q", body, m.Request.Body)
				}
			} else if got := string(m.Request.Body); strings.ReplaceAll(got, "=", "") != strings.ReplaceAll(string(body), "=",
				"") {
				t.Fatalf("%q\nbecame %q", body, got)
			}
		}
		places := n
		for m := range other.All(fuzz.Source{Base: base, Payloads: render("")}) {
			if len(m.Request.Body) > len(body)+6*places {
				t.Fatalf("%d places emptied: %q\nbecame %q", places, body, m.Request.Body)
			}
		}
		if len(body) > 0 && n == 0 {
			t.Fatalf("%q has no place", body)
		}
	})
}
