package rest

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestBadJSONIsRefusedByName(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	for body, want := range map[string]string{ // the field at fault, or "" where the body is good
		`{"a": 1}`:                      "",
		`[]`:                            "",
		` "x" `:                         "",
		deep(maxDepth):                  "",
		`{"a": "\\u0000"}`:              "", // a backslash and letters
		deep(maxDepth + 1):              strings.Repeat("[0]", 40) + "…",
		`{"a": {"b": ["x", "\u0000"]}}`: "a.b[1]",
		`{"a": {"b\u0000": 1}}`:         "a",
		`{"\u0000": 1}`:                 "body",
		`"\u0000"`:                      "body",
		`{"a": 1`:                       "body",
		`{"a": 1}}`:                     "body",
		`{"a": 1} 2`:                    "body",
		``:                              "body",
		`{a: 1}`:                        "body",
		`{"a": 01}`:                     "body",
		"\xff":                          "body",
		strings.Repeat(`{"a":`, maxDepth+1) + `1`: clip(strings.Repeat("a.", maxDepth) + "a"),
	} {
		e := errs.From(checkJSON("application/json", []byte(body)))
		switch {
		case want == "" && e != nil:
			t.Errorf("%.60s is refused: %v", body, e)
		case want != "" && (e == nil || e.Param != want || e.Kind != errs.Invalid):
			t.Errorf("%.60s: %+v, want %s at fault", body, e, want)
		}
	}
}

func TestContentTypes(t *testing.T) {
	for media, good := range map[string]bool{
		"": true, "application/json": true, "application/json; charset=utf-8": true, "APPLICATION/JSON": true,
		"application/merge-patch+json": true,
		"text/json":                    false, "text/plain": false, "application/jsonx": false, "application/json;": true,
		"application/json; a": false, "json": false,
	} {
		if err := checkJSON(media, []byte("{}")); (err == nil) != good || err != nil && !errs.Is(err, errs.Unsupported) {
			t.Errorf("%q: %v", media, err)
		}
	}
}

func TestBadURLs(t *testing.T) {
	for raw, param := range map[string]string{"/a?b=%00": "b", "/a?b=%ff": "b", "/%ff": "path", "/a%00": "path",
		"/a?%00=1": "", "/a?b=%zz": ""} {
		path, query, _ := strings.Cut(raw, "?")
		path, err := url.PathUnescape(path)
		if err != nil {
			t.Fatal(err)
		}
		if e := errs.From(checkURL(&url.URL{Path: path, RawQuery: query})); e == nil || e.Param != param {
			t.Errorf("%s: %+v, want %q at fault", raw, e, param)
		}
	}
	if err := checkURL(&url.URL{Path: "/ä", RawQuery: "b=%C3%A4&c"}); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// FuzzCheckJSON: what passes is JSON without NUL, and what is refused is at fault.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null,{"b":true}]}`, `"\u0000"`, strings.Repeat("[", 100), `{"a":1}{}`,
		"\xff", `{"a":1e999}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := checkJSON("application/json", body)
		if err != nil {
			if e := errs.From(err); e.Kind != errs.Invalid || e.Param == "" || len(e.Param) > 130 ||
				!utf8.ValidString(e.Error()) {
				t.Errorf("%q is refused with %+v", body, e)
			}
		}
		// NUL can only stand as an escape: in the text itself JSON does not allow it.
		sound := json.Valid(body) && utf8.Valid(body) && !bytes.Contains(bytes.ToLower(body), []byte(`\u0000`)) &&
			bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= maxDepth
		switch {
		case err == nil && !json.Valid(body):
			t.Errorf("%q passes", body)
		case err != nil && sound:
			t.Errorf("%q is refused: %v", body, err)
		}
		if err != nil {
			return
		}
		var doc any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if derr := dec.Decode(&doc); derr != nil {
			t.Fatal(derr)
		}
		if hasNUL(doc) {
			t.Errorf("%q passes with NUL", body)
		}
	})
}

func hasNUL(doc any) bool {
	switch v := doc.(type) {
	case string:
		return strings.Contains(v, "\x00")
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for key, item := range v {
			if hasNUL(key) || hasNUL(item) {
				return true
			}
		}
	}
	return false
}
