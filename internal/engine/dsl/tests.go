package dsl

import (
	"fmt"
	"reflect"
	"strings"

	version "github.com/hashicorp/go-version"
)

// anyOf makes a function that asks one question of its first argument for each other
// argument, until one answer is yes.
func anyOf(name string, least int, holds func(s, other string) bool) fn {
	return fn{name: name, min: least, max: -1, run: func(_ *Env, args []any) (any, error) {
		s := String(args[0])
		for _, other := range args[1:] {
			if holds(s, String(other)) {
				return true, nil
			}
		}
		return false, nil
	}}
}

// onLines asks the question of every line.
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

func testFunctions() []fn {
	contains := anyOf("contains", 2, strings.Contains)
	contains.max = 2
	return []fn{
		contains,
		anyOf("contains_any", 1, strings.Contains),
		{name: "contains_all", min: 1, max: -1, run: func(_ *Env, args []any) (any, error) {
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
		{name: "regex", min: 2, max: 2, run: regex(true)},
		{name: "regex_any", min: 2, max: -1, run: regex(true)},
		{name: "regex_all", min: 2, max: -1, run: regex(false)},
		{name: "compare_versions", min: 2, max: -1, run: compareVersions},
		{name: "len", min: 1, max: 1, run: length},
		{name: "count", min: 2, max: -1, run: func(_ *Env, args []any) (any, error) {
			return strings.Count(String(args[0]), String(args[1])), nil // an int, as the language has it
		}},
	}
}

// regex asks whether some input, or each, matches.
func regex(one bool) func(*Env, []any) (any, error) {
	return func(_ *Env, args []any) (any, error) {
		p, err := compileRegex(String(args[0]))
		if err != nil {
			return nil, err
		}
		for _, input := range args[1:] {
			if p.MatchString(String(input)) == one {
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
