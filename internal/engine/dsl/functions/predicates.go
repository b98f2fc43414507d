package functions

import (
	"fmt"
	"reflect"
	"strings"

	version "github.com/hashicorp/go-version"
)

// anyOf makes a function that reports whether holds is true for the first argument and any other.
func anyOf(name string, least int, holds func(s, other string) bool) Function {
	return Function{Name: name, Min: least, Max: -1, Run: func(_ *Env, args []any) (any, error) {
		s := String(args[0])
		for _, other := range args[1:] {
			if holds(s, String(other)) {
				return true, nil
			}
		}
		return false, nil
	}}
}

func onLines(holds func(line, other string) bool) func(s, other string) bool {
	return func(s, other string) bool {
		for line := range strings.SplitSeq(s, "\n") {
			if holds(line, other) {
				return true
			}
		}
		return false
	}
}

func testFunctions() []Function {
	contains := anyOf("contains", 2, strings.Contains)
	contains.Max = 2
	return []Function{
		contains,
		anyOf("contains_any", 1, strings.Contains),
		{Name: "contains_all", Min: 1, Max: -1, Run: func(_ *Env, args []any) (any, error) {
			s := String(args[0])
			for _, other := range args[1:] {
				if !strings.Contains(s, String(other)) {
					return false, nil
				}
			}
			return true, nil
		}},
		anyOf("starts_with", 2, strings.HasPrefix),
		anyOf("ends_with", 2, strings.HasSuffix),
		anyOf("line_starts_with", 2, onLines(strings.HasPrefix)),
		anyOf("line_ends_with", 2, onLines(strings.HasSuffix)),
		anyOf("equals_any", 2, func(s, other string) bool { return s == other }),
		function("regex", 2, 2, regex(true)),
		function("regex_any", 2, -1, regex(true)),
		function("regex_all", 2, -1, regex(false)),
		atMost(maxShort, function("compare_versions", 2, -1, compareVersions)),
		function("len", 1, 1, length),
		{Name: "count", Min: 2, Max: -1, Run: func(_ *Env, args []any) (any, error) {
			return strings.Count(String(args[0]), String(args[1])), nil // an int, as the language has it
		}},
	}
}

// regex reports whether any input, or every one, matches.
func regex(one bool) func(*Env, []any) (any, error) {
	return func(env *Env, args []any) (any, error) {
		p, err := CompileRegexp(String(args[0]))
		if err != nil {
			return nil, err
		}
		for _, input := range args[1:] {
			hit, err := p.MatchStringContext(env.context(), String(input))
			if err != nil {
				return nil, err
			}
			if hit == one {
				return one, nil
			}
		}
		return !one, nil
	}
}

func compareVersions(_ *Env, args []any) (any, error) {
	v, err := version.NewVersion(String(args[0]))
	if err != nil {
		return nil, fmt.Errorf("error parsing argument value: %w", err)
	}
	constraint, err := version.NewConstraint(strings.Join(texts(args[1:]), ","))
	if err != nil {
		return nil, err
	}
	return constraint.Check(v), nil
}

func length(_ *Env, args []any) (any, error) {
	switch v := reflect.ValueOf(args[0]); v.Kind() {
	case reflect.Slice, reflect.Map:
		return float64(v.Len()), nil
	}
	return float64(len(String(args[0]))), nil
}
