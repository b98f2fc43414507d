package dsl_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

func TestNeedles(t *testing.T) {
	for source, want := range map[string][]dsl.Needle{
		"contains(body, 'A') && status_code == 200": {{Var: "body", Text: "A"}},
		"contains_any(to_lower(header), 'a', 'b')": {{Var: "header", Text: "a", Fold: true},
			{Var: "header", Text: "b", Fold: true}},
		"!contains_all(body, 'a', 7) || regex('x\\\\.y', body)": {{Var: "body", Text: "a"}, {Var: "body", Text: "7"},
			{Var: "body", Text: "x.y"}},
		"regex('(?i)abc', body)":                 {{Var: "body", Text: "abc", Fold: true}},
		"contains(tolower(body), 'Upper')":       nil,
		"contains(tolower(body), 'é')":           nil,
		"contains(body, host)":                   nil,
		"contains(body, '')":                     nil,
		"contains(replace(body, 'a', 'b'), 'x')": nil,
		"regex('a+', body)":                      nil,
		"regex(body, 'x')":                       nil,
		"contains(body, '{{host}}')":             nil,
	} {
		e, err := dsl.Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := e.Needles(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// Answering the literal tests from outside changes no value, whichever are answered.
func TestNeedlesAgree(t *testing.T) {
	literal := rapid.SampledFrom([]string{"a", "ab", "B", "é", "aB", "ba"})
	term := rapid.Custom(func(t *rapid.T) string {
		lit := func() string { return "'" + literal.Draw(t, "literal") + "'" }
		return rapid.SampledFrom([]func() string{
			func() string { return "contains(body, " + lit() + ")" },
			func() string { return "contains(to_lower(body), " + lit() + ")" },
			func() string { return "!contains_all(body, " + lit() + ", " + lit() + ")" },
			func() string { return "contains_any(to_lower(body), " + lit() + ", " + lit() + ", " + lit() + ")" },
			func() string { return "regex(" + lit() + ", body)" },
			func() string { return "regex(concat('(?i)', " + lit() + "), body)" },
			func() string { return "len(body) > 3" },
		}).Draw(t, "form")()
	})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(term, 1, 5).Draw(t, "terms"),
			rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "operator"))
		body := rapid.StringMatching(`[abABé ]{0,10}`).Draw(t, "body")
		e, err := dsl.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		env := &dsl.Env{Vars: dsl.Map(map[string]string{"body": body})}
		want, err := e.Eval(env)
		if err != nil {
			t.Fatal(err)
		}
		needles := e.Needles()
		known := rapid.SliceOfN(rapid.Bool(), len(needles), len(needles)).Draw(t, "known")
		env.Needle = func(n dsl.Needle) (bool, bool) {
			i := slices.Index(needles, n)
			text := body
			if n.Fold {
				text = strings.ToLower(text)
			}
			return strings.Contains(text, n.Text), known[i]
		}
		if got, err := e.Eval(env); got != want || err != nil {
			t.Fatalf("%s on %q: %v, %v, want %v", source, body, got, err, want)
		}
	})
}

// A needle speaks of the response's variable, not of one that is bound in a text.
func TestNeedlesSkipBoundVariables(t *testing.T) {
	text := dsl.Parse("{{contains(body, 'a') && other == 1}}").Bind(dsl.Map(map[string]string{"body": "a"}))
	env := &dsl.Env{
		Vars:   dsl.Map(map[string]any{"body": "b", "other": 1}),
		Needle: func(dsl.Needle) (bool, bool) { return false, true },
	}
	if got, err := text.Render(env); got != "true" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
