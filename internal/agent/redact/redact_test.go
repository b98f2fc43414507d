package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedact(t *testing.T) {
	s := New(map[string]string{"KEY": "p@ss/wörd", "LONG": "p@ss/wörd-2", "PIN": "12", "NONE": ""})
	for text, want := range map[string]string{
		"p@ss/wörd":                     "{{$KEY}}",
		"p@ss/wörd-2":                   "{{$LONG}}",
		"a p@ss/wördp@ss/wörd b":        "a {{$KEY}}{{$KEY}} b",
		"?k=p%40ss%2Fw%C3%B6rd&x":       "?k=[secret KEY]&x",
		"?k=p%40ss%2fw%c3%b6rd&x":       "?k=[secret KEY]&x",
		"?k=p%2540ss%252Fw%25C3%25B6rd": "?k=[secret KEY]",
		`{"k":"p@ss\/wörd"}`:            `{"k":"[secret KEY]"}`,
		`{"k":"p@ss/w\u00f6rd"}`:        `{"k":"[secret KEY]"}`,
		"704073732f77c3b67264":          "[secret KEY]",
		"pin 12, 123, a12, (12)":        "pin {{$PIN}}, 123, a12, ({{$PIN}})",
		"nothing":                       "nothing",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q became %q instead of %q", text, got, want)
		}
	}
}

// TestRedactFindsEverySpelling of any value, in any surroundings, in one piece or many.
func TestRedactFindsEverySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9/+"<& =ü€😀\\%-]{8,40}`).Draw(t, "value")
		quoted, _ := json.Marshal(value)
		before, after := rapid.StringMatching(`[a-z:]{0,5}`).Draw(t, "before"),
			rapid.StringMatching(`[a-z:]{0,5}`).Draw(t, "after")
		full := func(enc *base64.Encoding) string { return enc.EncodeToString([]byte(before + value + after)) }
		spelt := rapid.SampledFrom([]string{
			value, url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value), string(quoted[1 : len(quoted)-1]),
			hex.EncodeToString([]byte(value)), full(base64.StdEncoding), full(base64.RawURLEncoding),
		}).Draw(t, "spelt")
		s := New(map[string]string{"X": value})
		whole := s.Redact(before + spelt + after)
		if whole == before+spelt+after || strings.Contains(whole, value) {
			t.Fatalf("%q is still in %q", value, whole)
		}
		var pieces strings.Builder
		in := Stream{Secrets: s}
		for rest := before + spelt + after; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.WriteString(in.Add(rest[:n]))
			rest = rest[n:]
		}
		pieces.WriteString(in.End())
		if pieces.String() != whole {
			t.Fatalf("in pieces %q, as a whole %q", pieces.String(), whole)
		}
	})
}

func TestRedactJSON(t *testing.T) {
	s := New(map[string]string{"PIN": "4711"})
	doc, err := s.RedactJSON([]byte(`{"took":4711,"finding":{"pin":4711,"4711":[1.50,"a4711"]},"text":"4711"}`))
	if want := `{"finding":{"pin":"{{$PIN}}","{{$PIN}}":[1.50,"a{{$PIN}}"]},"text":"{{$PIN}}","took":4711}`; err != nil ||
		string(doc) != want {
		t.Errorf("%s, %v", doc, err)
	}
}

func TestSubstitute(t *testing.T) {
	s := New(map[string]string{"A": `q"uote`})
	doc, err := s.Substitute(json.RawMessage(`{"h":"Bearer {{$A}}","{{$A}}":["{{$A}}{{$A}}",1,"{{A}}"]}`))
	if want := `{"h":"Bearer q\"uote","{{$A}}":["q\"uoteq\"uote",1,"{{A}}"]}`; err != nil || string(doc) != want {
		t.Errorf("%s, %v", doc, err)
	}
	if _, err := s.Substitute(json.RawMessage(`{"h":"{{$B}}"}`)); err == nil || !strings.Contains(err.Error(), "B") {
		t.Errorf("a secret that was not given: %v", err)
	}
}

// FuzzSecrets: no document becomes another kind of document, and no value stays in it.
func FuzzSecrets(f *testing.F) {
	s := New(map[string]string{"A": "hunter22", "B": "xyz"})
	f.Add([]byte(`{"a":"hunter22","args":{"n":1e400,"hunter22":null}}`))
	f.Add([]byte(`"{{$A}} {{$"`))
	f.Add([]byte(`[[[[{"a":{"b":"\u0068unter22"}}]]]]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		clean, err := s.RedactJSON(doc)
		if err != nil {
			return
		}
		if !json.Valid(clean) || strings.Contains(string(clean), "hunter22") {
			t.Fatalf("%q became %q", doc, clean)
		}
		again, err := s.RedactJSON(clean)
		if err != nil || string(again) != string(clean) {
			t.Fatalf("%q became %q, then %q", doc, clean, again)
		}
		if _, err := s.Substitute(clean); err == nil {
			if filled, err := s.Substitute(clean); err != nil || !json.Valid(filled) {
				t.Fatalf("%q became %q", clean, filled)
			}
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	s := New(map[string]string{"A": "correct-horse-battery-staple", "B": "another/secret+value", "C": "0123456789abcdef"})
	doc, _ := json.Marshal(map[string]string{"text": strings.Repeat("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n<html>a page</html>\n", 1000)})
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := s.RedactJSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}
