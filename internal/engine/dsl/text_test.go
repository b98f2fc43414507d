package dsl_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

func TestText(t *testing.T) {
	values := dsl.Map(map[string]string{"a": "1", "b": "{{a}}", "x-y": "2"})
	for in, want := range map[string]string{
		"":                    "",
		"plain":               "plain",
		"{{a}}":               "1",
		"<{{a}}{{ b }}>":      "<1{{a}}>",
		"§a§ § §b§x":          "1 § {{a}}x",
		"{{x-y}}{{none}}":     "2{{none}}",
		"{{":                  "{{",
		"{{a":                 "{{a",
		"{{}} {{ }} {{{}}}":   "{{}} {{ }} {{{}}}",
		`{"a":{"b":"{{a}}"}}`: `{"a":{"b":"1"}}`,
		"{{{a}}}":             "{1}",
	} {
		text := dsl.Parse(in)
		if got, _ := text.Render(&dsl.Env{Vars: values}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if text.String() != in {
			t.Errorf("%q is written as %q", in, text.String())
		}
	}
}

func TestBindStepByStep(t *testing.T) {
	text := dsl.Parse("{{a}}/{{host}}/{{a}}/{{b}}")
	inner := dsl.Parse("<{{host}}>")
	bound := text.Bind(func(name string) (any, bool) {
		switch name {
		case "a":
			return dsl.Literal("{{b}}"), true // looks like a placeholder, is none
		case "b":
			return inner, true
		}
		return nil, false
	})
	if names := bound.Names(); !slices.Equal(names, []string{"host"}) {
		t.Errorf("open: %q", names)
	}
	if _, ok := bound.Const(); ok {
		t.Error("an open text is constant")
	}
	got, err := bound.Render(&dsl.Env{Vars: dsl.Map(map[string]string{"host": "h"})})
	if got != "{{b}}/h/{{b}}/<h>" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var missing *dsl.Unresolved
	if _, err := bound.Render(nil); !errors.As(err, &missing) || missing.Name != "host" {
		t.Errorf("missing %v", err)
	}
	if text.String() != "{{a}}/{{host}}/{{a}}/{{b}}" {
		t.Error("binding changed the text it began with")
	}
}

// Keys are equal for equal meaning only.
func TestKey(t *testing.T) {
	open := dsl.Parse("a{{x}}")
	blanks := dsl.Parse("a{{ x }}")
	if open.Key() != blanks.Key() {
		t.Error("the same text in two spellings has two keys")
	}
	if x := dsl.Parse("{{x}}"); x.Key() == dsl.Literal("x").Key() {
		t.Error("a variable has the key of a literal")
	}
	for _, other := range []dsl.Text{dsl.Literal("a{{x}}"), dsl.Literal("a"), {}} {
		if open.Key() == other.Key() {
			t.Errorf("%q has the key of %q", other, open)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	text := dsl.Parse("{{BaseURL}}/admin/{{file}}?x={{Hostname}}")
	values := dsl.Map(map[string]string{"BaseURL": "http://example.com", "file": "f", "Hostname": "example.com"})
	b.ReportAllocs()
	for b.Loop() {
		text.Render(&dsl.Env{Vars: values})
	}
}
