package domflow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
)

// groups are what an expression finds in a text, and nothing where it does not.
func groups(re *regexp.Regexp, s string) value {
	m := re.FindStringSubmatch(s)
	if m == nil {
		return nothing{}
	}
	l := &list{}
	for _, g := range m {
		l.all = append(l.all, text{s: g})
	}
	return l
}

// number is an argument that is a whole number, or what it is without one.
func number(args []value, i, without int) (int, bool) {
	if i >= len(args) {
		return without, true
	}
	switch n := args[i].(type) {
	case float64:
		return int(max(min(n, maxText), -maxText)), true
	case nothing:
		return without, true
	}
	return 0, false
}

// ofText calls a method of a text.
func (e *evaluation) ofText(t text, name string, args []value) value {
	e.steps += len(t.s) / 64
	all := append([]value{t}, args...)
	switch name {
	case "toString", "valueOf", "normalize":
		return t
	case "trim":
		return text{strings.TrimSpace(t.s), t.partial}
	case "toLowerCase", "toLocaleLowerCase":
		return text{strings.ToLower(t.s), t.partial}
	case "toUpperCase", "toLocaleUpperCase":
		return text{strings.ToUpper(t.s), t.partial}
	case "concat":
		out := value(t)
		for _, a := range args {
			out = e.add(out, a)
		}
		return out
	case "replace", "replaceAll":
		return e.replaced(t, name, args)
	}
	if t.partial {
		return e.without(all...)
	}
	switch name {
	case "substring", "substr", "slice":
		return e.part(t, name, args)
	case "charAt":
		if i, ok := number(args, 0, 0); ok {
			return charAt(t, i)
		}
	case "match":
		if m, ok := argument[*matcher](args); ok && !m.all {
			return groups(m.re, t.s)
		}
	case "split":
		if by, ok := argument[text](args); ok && !by.partial {
			l := &list{}
			for _, one := range strings.Split(t.s, by.s)[:min(strings.Count(t.s, by.s)+1, maxLoop)] {
				l.all = append(l.all, text{s: one})
			}
			return l
		}
	default:
		if of, ok := argument[text](args); ok && !of.partial {
			if v, known := asks(t.s, name, of.s); known {
				return v
			}
		}
	}
	return e.without(all...)
}

// asks is a method that asks where a text has another.
func asks(s, name, of string) (v value, known bool) {
	switch name {
	case "indexOf":
		return float64(strings.Index(s, of)), true
	case "lastIndexOf":
		return float64(strings.LastIndex(s, of)), true
	case "includes":
		return strings.Contains(s, of), true
	case "startsWith":
		return strings.HasPrefix(s, of), true
	case "endsWith":
		return strings.HasSuffix(s, of), true
	}
	return nil, false
}

func argument[T any](args []value) (v T, ok bool) {
	if len(args) > 0 {
		v, ok = args[0].(T)
	}
	return v, ok
}

// part is a part of a text by its offsets.
func (e *evaluation) part(t text, name string, args []value) value {
	size := len(t.s)
	from, ok := number(args, 0, 0)
	to, also := number(args, 1, size)
	if !ok || !also {
		return e.without(append([]value{t}, args...)...)
	}
	if name == "substr" {
		if from < 0 {
			from = max(size+from, 0)
		}
		if len(args) > 1 {
			to = from + to
		}
	}
	if name == "slice" {
		if from < 0 {
			from += size
		}
		if to < 0 {
			to += size
		}
	}
	from, to = max(0, min(from, size)), max(0, min(to, size))
	if name == "substring" && from > to {
		from, to = to, from
	}
	return text{s: t.s[from:max(from, to)]}
}

// replaced is a text in which another or an expression is replaced.
func (e *evaluation) replaced(t text, name string, args []value) value {
	if len(args) < 2 {
		return e.without(t)
	}
	with, ok := args[1].(text)
	if !ok || with.partial || strings.Contains(with.s, "$") {
		return e.without(append([]value{t}, args...)...)
	}
	times := 1
	if name == "replaceAll" {
		times = -1
	}
	out := t.s
	switch of := args[0].(type) {
	case text:
		if of.partial || of.s == "" {
			return e.without(append([]value{t}, args...)...)
		}
		out = strings.Replace(t.s, of.s, with.s, times)
	case *matcher:
		if of.all {
			out = of.re.ReplaceAllLiteralString(t.s, with.s)
		} else if at := of.re.FindStringIndex(t.s); at != nil {
			out = t.s[:at[0]] + with.s + t.s[at[1]:]
		}
	default:
		return e.without(append([]value{t}, args...)...)
	}
	if len(out) > maxText {
		return e.without(t)
	}
	return text{out, t.partial}
}

// ofList calls a method of a list.
func (e *evaluation) ofList(l *list, name string, args []value) value {
	switch name {
	case "join":
		by, ok := argument[text](args)
		if len(args) == 0 {
			by, ok = text{s: ","}, true
		}
		if t, known := joined(l, by.s); ok && known && !by.partial {
			return t
		}
	case "push":
		if len(l.all)+len(args) <= maxLoop*4 {
			l.all = append(l.all, args...)
		}
		return float64(len(l.all))
	case "pop", "shift":
		if len(l.all) == 0 {
			return nothing{}
		}
		i := 0
		if name == "pop" {
			i = len(l.all) - 1
		}
		v := l.all[i]
		l.all = slices.Delete(slices.Clone(l.all), i, i+1)
		return v
	case "slice":
		from, ok := number(args, 0, 0)
		to, also := number(args, 1, len(l.all))
		if ok && also && from >= 0 && to >= from && to <= len(l.all) {
			return &list{slices.Clone(l.all[from:to])}
		}
	case "includes", "indexOf":
		at := -1
		for i, one := range l.all {
			is, known := equal(one, first(args))
			if !known {
				return e.without(append([]value{l}, args...)...)
			}
			if is {
				at = i
				break
			}
		}
		if name == "includes" {
			return at >= 0
		}
		return float64(at)
	case "forEach", "map":
		return e.each(l, args)
	}
	return e.apply(nil, l, name, args)
}

func first(args []value) value {
	if len(args) == 0 {
		return nothing{}
	}
	return args[0]
}

// each calls a function with each value of a list, and is the list of what it gives.
func (e *evaluation) each(l *list, args []value) value {
	f, ok := argument[*function](args)
	if !ok {
		return e.without(l)
	}
	out := &list{}
	for i, one := range l.all[:min(len(l.all), maxLoop)] {
		out.all = append(out.all, e.apply(f, nil, "", []value{one, float64(i)}))
	}
	return out
}

// expressionOf is a regular expression, where Go knows it, too.
func expressionOf(x *ast.RegExpLiteral) value {
	flags := ""
	if strings.Contains(x.Flags, "i") {
		flags += "i"
	}
	if strings.Contains(x.Flags, "m") {
		flags += "m"
	}
	if strings.Contains(x.Flags, "s") {
		flags += "s"
	}
	pattern := x.Pattern
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return unknown{}
	}
	return &matcher{re, strings.Contains(x.Flags, "g")}
}
