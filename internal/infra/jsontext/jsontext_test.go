package jsontext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type inner struct {
	Depth int8    `json:"depth"`
	Names []any   `json:"names"`
	B     []int   `json:"b"`
	C     [][]int `json:"c"`
}

type document struct {
	inner
	Ports []int            `json:"ports"`
	A     []inner          `json:"a"`
	M     map[string][]int `json:"m"`
	F     []float32        `json:"f"`
	S     []string         `json:"s"`
}

func TestMistakesAreNamedWithTheirIndexes(t *testing.T) {
	const big, outOfRange, fraction = "9223372036854775808", "out of range", "a whole number"
	for _, c := range []struct{ text, field, why string }{
		{`{"ports": [1, 2, 3 , ` + big + ` ]}`, "ports[3]", outOfRange},
		{`{"ports":[-` + big + `9]}`, "ports[0]", outOfRange},
		{`{"ports":[0,1.5]}`, "ports[1]", fraction},
		{`{"ports":[0,1e2]}`, "ports[1]", fraction},
		{`{"f":[1,1e40]}`, "f[1]", outOfRange},
		{`{"a":[{},{"b":[1]},{"b":[` + big + `]}]}`, "a[2].b[0]", outOfRange},
		{`{"a":[{"c":[[],[[1]]]}]}`, "a[0].c[1][0]", "expected number"},
		{`{"s":["x",{"ports":[1]},"y"]}`, "s[1]", "expected string"},
		{`{"s":["x",["y"]]}`, "s[1]", "expected string"},
		{`{"s":["]}{[",  7]}`, "s[1]", ""},
		{`{"a":[{"names":[{"q":[1,2]},[3]]},5]}`, "a[1]", ""},
		{`{"a":{"b":1}}`, "a", "expected array"},
		{`{"m":{"x":[1],"y":[1,"2"]}}`, "m.y[1]", "expected number"},
		{`{"depth": 300}`, "depth", outOfRange}, // of an embedded struct
		{`{"unknown":[1e5,{"ports":["x"]}],"ports":["x"]}`, "ports[0]", "expected number"},
		{`[1]`, "", "expected object"},
		{`"text"`, "", "expected object"},
	} {
		var into document
		err := json.Unmarshal([]byte(c.text), &into)
		field, why, ok := Mistake([]byte(c.text), err)
		if !ok || field != c.field || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %q, %v (%v); want %q, %q", c.text, field, why, ok, err, c.field, c.why)
		}
	}
	var list []document
	text := []byte(`[{},{"a":[{"depth":-129}]}]`)
	if field, _, _ := Mistake(text, json.Unmarshal(text, &list)); field != "[1].a[0].depth" {
		t.Errorf("%q", field)
	}
	if _, _, ok := Mistake([]byte(`{`), json.Unmarshal([]byte(`{`), &list)); ok {
		t.Error("a syntax error is taken for a mistake")
	}
	if _, _, ok := Mistake(nil, errors.New("other")); ok {
		t.Error("another error is taken for a mistake")
	}
}
