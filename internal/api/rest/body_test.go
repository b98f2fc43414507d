package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
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
		`{"a": [1, {"b c": 1e999}]}`:    "a[1].b c",
		`-1e400`:                        "body",
		`{"a": 1e-400}`:                 "",
		strings.Repeat(`{"a":`, maxDepth+1) + `1`: clip(strings.Repeat("a.", maxDepth) + "a"),
	} {
		e := errs.From(checkJSON(t.Context(), "application/json", []byte(body), nil, fields{}))
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
		if err := checkJSON(t.Context(), media, []byte("{}"), nil, fields{}); (err == nil) != good || err != nil && !errs.Is(err, errs.Unsupported) {
			t.Errorf("%q: %v", media, err)
		}
	}
}

func TestBadURLs(t *testing.T) {
	for raw, param := range map[string]string{"/a?b=%00": "b", "/a?b=%ff": "b", "/%ff": "path", "/a%00": "path",
		"/a?%00=1": "query", "/a?b=%zz": "b", "/a?c=1&b=%2": "b", "/a?b=1;c=2": "b", "/a?b;c": "b", "/a?;": "query",
		"/a?%zz=1": "query", "/a?" + strings.Repeat("a=1&", 20_000): "query"} {
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
		err := checkJSON(t.Context(), "application/json", body, nil, fields{})
		if err != nil {
			if e := errs.From(err); e.Kind != errs.Invalid || e.Param == "" || len(e.Param) > 130 ||
				!utf8.ValidString(e.Error()) {
				t.Errorf("%q is refused with %+v", body, e)
			}
		}
		// NUL can only stand as an escape: in the text itself JSON does not allow it.
		sound := json.Valid(body) && utf8.Valid(body) && !bytes.Contains(bytes.ToLower(body), []byte(`\u0000`)) &&
			bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= maxDepth
		var plain any
		sound = sound && json.Unmarshal(body, &plain) == nil // fails for numbers out of range
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

// shapes are documents of about n bytes on which a careless reader does more work than they have bytes.
func shapes(n int) map[string]string {
	half, long := n/2, strings.Repeat("k", n/2)
	var different strings.Builder
	for i := range n / 9 {
		fmt.Fprintf(&different, `"%05x":0,`, i)
	}
	return map[string]string{
		"a long key over many numbers":  `{"` + long + `":[` + strings.Repeat("0,", half/2) + `0]}`,
		"a long key over many objects":  `{"` + long + `":[` + strings.Repeat(`{"a":0},`, half/8) + `0]}`,
		"a long key over many mistakes": `{"` + long + `":[` + strings.Repeat("0,", half/2) + `"\u0000"]}`,
		"long keys, one in the other":   strings.Repeat(`{"`+strings.Repeat("k", n/maxDepth)+`":[0,0,`, 30) + "0" + strings.Repeat("]}", 30),
		"many keys":                     `{` + strings.Repeat(`"a":0,`, n/6) + `"b":0}`,
		"many different keys":           `{` + different.String() + `"b":0}`,
		"many long keys":                `{` + strings.Repeat(`"`+strings.Repeat("k", 1000)+`":0,`, n/1005) + `"b":0}`,
		"many deep values":              `[` + strings.Repeat(strings.Repeat("[", 60)+strings.Repeat("]", 60)+",", n/121) + `0]`,
		"a long number":                 `{"a":` + strings.Repeat("9", n) + `}`,
		"many long numbers":             `[` + strings.Repeat(strings.Repeat("9", 300)+",", n/301) + `0]`,
		"a long escape":                 `{"a":"` + strings.Repeat(`\u00e9`, n/6) + `"}`,
		"a key of escapes":              `{"` + strings.Repeat(`\u00e9`, half/6) + `":[` + strings.Repeat("0,", half/2) + `0]}`,
		"blanks":                        `{"a":` + strings.Repeat(" ", n) + `0}`,
		"never closed":                  `{"` + long + `":[` + strings.Repeat("0,", half/2),
	}
}

// TestWorkGrowsWithTheBody: what the reader of bodies allocates is bounded by the length of the body, whatever its shape,
// and so is what it computes: comparing 55,000 keys with each other would take several seconds of the processor.
func TestWorkGrowsWithTheBody(t *testing.T) {
	check := func(t testing.TB, name, body string) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := cputime.Now()
		err := checkJSON(t.Context(), "application/json", []byte(body), nil, fields{})
		if err == nil {
			var parsed any
			err = decodeJSON([]byte(body), &parsed)
		}
		runtime.ReadMemStats(&after)
		const perByte, fixed, most = 150, 1 << 20, 2 * time.Second
		if took := began.Computed(); took > most {
			t.Errorf("%s: %d bytes of body take %s of the processor", name, len(body), took)
		}
		if work := after.TotalAlloc - before.TotalAlloc; work > uint64(perByte*len(body)+fixed) {
			t.Errorf("%s: %d bytes of body cost %d bytes (%v)", name, len(body), work, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	for name, body := range shapes(500_000) {
		check(t, name, body)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 5).Draw(rt, "levels") {
			key := strings.Repeat("k", rapid.IntRange(0, 20_000).Draw(rt, "key"))
			item := rapid.SampledFrom([]string{"0,", `"x",`, "{},", "[],", `{"a":1e9},`, "1e999,", `"\u0000",`}).Draw(rt, "item")
			fmt.Fprintf(&text, `{"%s":[%s`, key, strings.Repeat(item, rapid.IntRange(0, 3000).Draw(rt, "items")))
		}
		check(t, "generated", text.String()+"0")
	})
}

func TestWorkEndsWhenTheClientIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := checkJSON(ctx, "application/json", []byte(`[`+strings.Repeat("0,", 100_000)+`"\u0000"]`), nil, fields{})
	if e := errs.From(err); e == nil || e.Code != "unreadable_body" {
		t.Errorf("%v", err)
	}
}

func TestNumberThatDoesNotFitIsNamed(t *testing.T) {
	var doc struct {
		Budget struct{ Tokens int64 } `json:"budget"`
		Ports  []int                  `json:"ports"`
	}
	for body, want := range map[string]string{
		`{"budget":{"Tokens":9223372036854775808}}`: "budget.Tokens", `{"ports":[1,-9223372036854775809]}`: "ports[1]",
		`{"ports":[1.5]}`: "ports[0]", `{"ports":[0,0,1e2]}`: "ports[2]",
	} {
		err := decodeJSON([]byte(body), &doc)
		if err == nil {
			t.Errorf("%s is taken", body)
			continue
		}
		field, problem := problemOf(&huma.ErrorDetail{Location: "body", Message: err.Error()})
		if field != want || problem == "" || strings.Contains(problem, "Go") {
			t.Errorf("%s: %s: %s", body, field, problem)
		}
	}
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

// TestFieldsGivenTwiceAreRefused: the schema is held against one value of a field, and decoding may take another.
func TestFieldsGivenTwiceAreRefused(t *testing.T) {
	inner := &huma.Schema{Type: "object", AdditionalProperties: true, Properties: map[string]*huma.Schema{"b": {Type: "integer"}}}
	schema := &huma.Schema{Type: "object", AdditionalProperties: true, Properties: map[string]*huma.Schema{
		"a": inner, "list": {Type: "array", Items: inner}, "free": {Type: "object"},
		"named": {Type: "object", AdditionalProperties: inner},
	}}
	closed := &huma.Schema{Type: "object", AdditionalProperties: false, Properties: inner.Properties}
	for _, c := range []struct {
		schema     *huma.Schema
		body, want string
	}{
		{schema, `{"a":{"b":1},"list":[{"b":1},{"b":2}],"free":{"b":1},"x":1}`, ""},
		{schema, `{"a":{"b":1},"a":{"b":2}}`, "a"},
		{schema, `{"a":{"b":1},"A":{}}`, "A"},
		{schema, `{"a":null,"a":{"b":2}}`, "a"},
		{schema, `{"a":{"b":1,"x":0,"B":2}}`, "a.B"},
		{schema, `{"list":[{"b":1},{"b":1,"b":1}]}`, "list[1].b"},
		{schema, `{"named":{"x":{"b":1},"y":{"b":1,"B":1}}}`, "named.y.B"},
		{schema, `{"free":{"b":1,"b":2}}`, ""}, // no schema to hold against it
		{nil, `{"a":1,"a":2}`, ""},
		{closed, `{"b":1}`, ""},
		{closed, `{"B":1}`, "B"},
		{closed, `{"b":1,"B":2}`, "B"},
		{closed, `{"b":1,"c":null}`, "c"},
	} {
		known := fields{warn: func(string) {}}
		e := errs.From(checkJSON(t.Context(), "application/json", []byte(c.body), c.schema, known))
		if c.want == "" && e != nil || c.want != "" && (e == nil || e.Param != c.want || e.Kind != errs.Invalid) {
			t.Errorf("%s: %+v, want %q at fault", c.body, e, c.want)
		}
	}
}

// TestFieldsWithoutEffectAreNamedWhateverTheirCapitals: decoding takes Agent_ID for agent_id.
func TestFieldsWithoutEffectAreNamedWhateverTheirCapitals(t *testing.T) {
	schema := &huma.Schema{Type: "object", AdditionalProperties: true, Properties: map[string]*huma.Schema{"agent_id": {Type: "string"}}}
	for body, want := range map[string]int{`{"agent_id":"a"}`: 1, `{"Agent_ID":"a"}`: 1, `{"AGENT_ID":""}`: 0, `{"agentid":"a"}`: 1} {
		var said []string
		known := fields{without: map[string]string{"agent_id": "there are none."}, warn: func(text string) { said = append(said, text) }}
		if err := checkJSON(t.Context(), "application/json", []byte(body), schema, known); err != nil || len(said) != want {
			t.Errorf("%s: %v, %q", body, err, said)
		}
	}
}
