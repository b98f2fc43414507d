package functions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

const (
	maxItems    = 1 << 20 // of a list
	maxReplaced = 1 << 18 // matches that replace_regex replaces
)

func text1(name string, f func(string) string) Function {
	return Function{Name: name, Min: 1, Max: 1,
		Run: func(_ *Env, args []any) (any, error) { return f(String(args[0])), nil }}
}

func text2(name string, f func(a, b string) string) Function {
	return Function{Name: name, Min: 2, Max: 2, Run: func(_ *Env, args []any) (any, error) {
		return f(String(args[0]), String(args[1])), nil
	}}
}

func stringFunctions() []Function {
	return []Function{
		text1("to_upper", strings.ToUpper),
		function("to_lower", 1, 1, func(env *Env, args []any) (any, error) { return env.lower(String(args[0])), nil }),
		slow(function("to_title", 1, -1, toTitle)),
		text2("trim", func(s, chars string) string { return strings.TrimFunc(s, runeSet(chars)) }),
		text2("trim_left", func(s, chars string) string { return strings.TrimLeftFunc(s, runeSet(chars)) }),
		text2("trim_right", func(s, chars string) string { return strings.TrimRightFunc(s, runeSet(chars)) }),
		text1("trim_space", strings.TrimSpace),
		text2("trim_prefix", strings.TrimPrefix),
		text2("trim_suffix", strings.TrimSuffix),
		text1("reverse", func(s string) string { r := []rune(s); slices.Reverse(r); return string(r) }),
		function("repeat", 2, 2, repeat),
		function("replace", 3, 3, replace),
		slow(function("replace_regex", 3, 3, replaceRegex)),
		text2("remove_bad_chars", removeChars),
		function("concat", 0, -1, concat),
		function("split", 2, 3, split),
		function("join", 2, -1, join),
		function("substr", 2, -1, substr),
		function("index", 2, 2, index),
		slow(function("sort", 1, -1, sortValues)),
		slow(function("uniq", 1, -1, uniq)),
		function("padding", 4, 4, padding),
	}
}

const maxLanguage = 64 // bytes of the name of a language

func toTitle(_ *Env, args []any) (any, error) {
	lang := language.Und
	if len(args) > 1 && Size(args[1]) <= maxLanguage {
		if l, err := language.Parse(String(args[1])); err == nil {
			lang = l
		}
	}
	return cases.Title(lang).String(String(args[0])), nil
}

func integer(v any) (int, error) {
	n, err := strconv.Atoi(String(v))
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", Quote(v))
	}
	return n, nil
}

func repeat(_ *Env, args []any) (any, error) {
	s := String(args[0])
	n, err := integer(args[1])
	switch {
	case err != nil:
		return nil, err
	case n < 0:
		return nil, errors.New("the count is negative")
	case len(s) > 0 && n > MaxResult/len(s):
		return nil, ErrTooLarge
	}
	return strings.Repeat(s, n), nil
}

func replace(_ *Env, args []any) (any, error) {
	s, from, to := String(args[0]), String(args[1]), String(args[2])
	if len(to) > len(from) && len(s) > 0 && strings.Count(s, from) > (MaxResult-len(s))/len(to) {
		return nil, ErrTooLarge
	}
	return strings.ReplaceAll(s, from, to), nil
}

func replaceRegex(env *Env, args []any) (any, error) {
	s, to := String(args[0]), String(args[2])
	p, err := CompileRegexp(String(args[1]))
	if err != nil {
		return nil, err
	}
	re := p.Regexp()
	var out []byte
	last := 0
	all, err := p.FindAll(env.context(), []byte(s), maxReplaced)
	if err != nil {
		return nil, err
	}
	if len(all) == maxReplaced {
		return nil, ErrTooLarge
	}
	for _, m := range all {
		// Two bytes of the replacement name at most one group.
		if (m[1]-m[0]+1)*(len(to)+1)+len(out) > MaxResult {
			return nil, ErrTooLarge
		}
		out = append(out, s[last:m[0]]...)
		out = re.ExpandString(out, to, s, m)
		last = m[1]
	}
	return string(append(out, s[last:]...)), nil
}

func removeChars(s, chars string) string {
	in := runeSet(chars)
	return strings.Map(func(c rune) rune {
		if in(c) {
			return -1
		}
		return c
	}, s)
}

func concat(_ *Env, args []any) (any, error) {
	var b strings.Builder
	for _, a := range args {
		s := String(a)
		if b.Len()+len(s) > MaxResult {
			return nil, ErrTooLarge
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// split splits at a separator, or into pieces of so many characters if the second argument is a number.
func split(_ *Env, args []any) (any, error) {
	s, by := String(args[0]), String(args[1])
	if len(args) == 3 {
		n, err := integer(args[2])
		if err != nil {
			return nil, err
		}
		if (n < 0 || n > maxItems) && strings.Count(s, by) >= maxItems {
			return nil, ErrTooLarge
		}
		return strings.SplitN(s, by, n), nil
	}
	if n, err := strconv.Atoi(by); err == nil {
		return chunks(s, n)
	}
	if strings.Count(s, by) >= maxItems {
		return nil, ErrTooLarge
	}
	return strings.Split(s, by), nil
}

func chunks(s string, size int) (any, error) {
	if size <= 0 || size >= len(s) {
		return []string{s}, nil
	}
	if len(s)/size >= maxItems {
		return nil, ErrTooLarge
	}
	var all []string
	start, count := 0, 0
	for i := range s {
		if count == size {
			all = append(all, s[start:i])
			start, count = i, 0
		}
		count++
	}
	return append(all, s[start:]), nil
}

func join(_ *Env, args []any) (any, error) {
	if len(args) == 2 {
		items, ok := args[1].([]string)
		if !ok {
			return nil, errors.New("one argument to join must be a list")
		}
		return joined(items, String(args[0]))
	}
	var items []string
	for _, a := range args[1:] {
		if _, ok := a.([]string); ok {
			return nil, errors.New("more than one list cannot be joined")
		}
		items = append(items, String(a))
	}
	return joined(items, String(args[0]))
}

func joined(items []string, separator string) (any, error) {
	size := 0
	for _, item := range items {
		if size += len(item) + len(separator); size > MaxResult+len(separator) {
			return nil, ErrTooLarge
		}
	}
	return strings.Join(items, separator), nil
}

func substr(_ *Env, args []any) (any, error) {
	s := String(args[0])
	if s == "" {
		return nil, errors.New("the text is empty")
	}
	start, err := integer(args[1])
	if err != nil {
		return nil, err
	}
	end := len(s)
	if len(args) > 2 {
		if end, err = integer(args[2]); err != nil {
			return nil, err
		}
	}
	if start < 0 || end < start || end > len(s) {
		return nil, fmt.Errorf("%d to %d is not inside %d bytes", start, end, len(s))
	}
	return s[start:end], nil
}

func index(_ *Env, args []any) (any, error) {
	i, err := integer(args[1])
	if err != nil {
		return nil, err
	}
	if list, ok := args[0].([]string); ok {
		if i < 0 || i >= len(list) {
			return nil, fmt.Errorf("there is no item %d of %d", i, len(list))
		}
		return list[i], nil
	}
	s := String(args[0])
	if i < 0 || i >= len(s) {
		return nil, fmt.Errorf("there is no byte %d of %d", i, len(s))
	}
	return string(rune(s[i])), nil
}

func texts(args []any) []string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = String(a)
	}
	return all
}

func sortValues(_ *Env, args []any) (any, error) {
	if len(args) == 1 {
		r := []rune(String(args[0]))
		slices.Sort(r)
		return string(r), nil
	}
	all := texts(args)
	slices.Sort(all)
	return all, nil
}

func uniq(_ *Env, args []any) (any, error) {
	if len(args) == 1 {
		return string(unique([]rune(String(args[0])))), nil
	}
	return unique(texts(args)), nil
}

func unique[T comparable](all []T) []T {
	seen := map[T]bool{}
	return slices.DeleteFunc(all, func(v T) bool {
		before := seen[v]
		seen[v] = true
		return before
	})
}

// padding fills a text up to a length.
func padding(_ *Env, args []any) (any, error) {
	s, with := String(args[0]), String(args[1])
	length, err := strconv.ParseFloat(String(args[2]), 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is not a number", Quote(args[2]))
	case int64(length) == 0 || with == "":
		return nil, errors.New("padding needs a text and a length")
	case length > MaxResult:
		return nil, ErrTooLarge
	}
	missing := int(length) - len(s)
	if missing <= 0 {
		return s, nil
	}
	fill := strings.Repeat(with, missing/len(with)+1)[:missing]
	switch args[3] {
	case "prefix":
		return fill + s, nil
	case "suffix":
		return s + fill, nil
	}
	return nil, errors.New(`padding goes to "prefix" or "suffix"`)
}
