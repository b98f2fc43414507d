package yamltext

import (
	"strings"
	"testing"
)

func TestMapping(t *testing.T) {
	m, err := Mapping([]byte("a: [x, 1, true, null]\nb: y\nc: {d: e}\nf: [[g]]"))
	if err != nil {
		t.Fatal(err)
	}
	if words, err := Words(m["a"]); err != nil || strings.Join(words, " ") != "x 1 true" {
		t.Errorf("%q, %v", words, err)
	}
	if words, err := Words(m["b"]); err != nil || len(words) != 1 {
		t.Errorf("%q, %v", words, err)
	}
	for _, name := range []string{"c", "f"} {
		if _, err := Words(m[name]); err == nil {
			t.Errorf("%s has words", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"- a": "not a mapping", "a": "neither a mapping", "a: \x00": "not text", "a: [b": "", "a: &x [1]\nb: *x": "aliases",
		"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40): "too deep",
	} {
		if _, err := Mapping([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.HasPrefix(err.Error(), "yaml:") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
