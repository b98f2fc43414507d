package fuzz

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

type rule struct {
	parts  []string
	kind   string // as in syntax.FuzzRule.Type; "" means replace
	single bool

	keys        []string // in lower case
	keyRegexes  []*regexp.Regexp
	textRegexes []*regexp.Regexp // of values
	replaced    *regexp.Regexp   // for the kind replace-regex

	values []dsl.Text
	pairs  []pair
}

// pair is a payload for a named parameter.
type pair struct {
	key  string
	text dsl.Text
}

func newRule(file string, s syntax.FuzzRule) (rule, error) {
	r := rule{parts: s.Parts, kind: s.Type, single: s.Mode == "single"}
	if s.Part != "" {
		r.parts = append(slices.Clone(s.Parts), s.Part)
	}
	var err error
	compile := func(key string, sources ...string) (list []*regexp.Regexp) {
		for _, source := range sources {
			re, fault := regexp.Compile(source)
			if fault != nil && err == nil {
				err = syntax.Fault(file, s.Line, 0, key, "%v", fault)
			}
			list = append(list, re)
		}
		return list
	}
	r.keyRegexes = compile("fuzzing.keys-regex", s.KeysRegex...)
	r.textRegexes = compile("fuzzing.values", s.Values...)
	if s.Type == "replace-regex" {
		r.replaced = compile("fuzzing.replace-regex", s.ReplaceRegex)[0]
	}
	for _, key := range s.Keys {
		r.keys = append(r.keys, strings.ToLower(key))
	}
	for _, text := range s.Fuzz.Values {
		r.values = append(r.values, dsl.Parse(text))
	}
	for _, p := range s.Fuzz.Pairs {
		r.pairs = append(r.pairs, pair{p.Name, dsl.Parse(p.Value)})
	}
	return r, err
}

// appliesTo reports whether the rule applies to a parameter of a component.
func (r *rule) appliesTo(c *component) bool {
	if !slices.Contains(r.parts, c.position) && !slices.Contains(r.parts, "request") {
		return false
	}
	return slices.ContainsFunc(c.parameters, func(p parameter) bool { return r.selects(p.name, p.value) })
}

// selects reports whether a parameter passes one of the rule's filters, or there are none. Values count as written
// and decoded.
func (r *rule) selects(name, value string) bool {
	if len(r.keys)+len(r.keyRegexes)+len(r.textRegexes) == 0 {
		return true
	}
	if slices.Contains(r.keys, strings.ToLower(name)) {
		return true
	}
	hits := func(list []*regexp.Regexp, text string) bool {
		return text != "" && slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(text) })
	}
	if hits(r.keyRegexes, name) || hits(r.textRegexes, value) {
		return true
	}
	plain, err := url.QueryUnescape(value)
	return err == nil && plain != value && hits(r.textRegexes, plain)
}

// explodes reports whether the new value of a parameter is larger than any other text of a template may be.
func (r *rule) explodes(value, payload string) bool {
	if r.kind != "replace-regex" {
		return false
	}
	size := len(r.replaced.FindAllStringIndex(value, -1))*len(payload) + strings.Count(payload, "$")*len(value)
	return size > functions.MaxResult
}

// combine makes the new value of a parameter.
func (r *rule) combine(value, payload string) string {
	switch r.kind {
	case "prefix":
		return payload + value
	case "postfix":
		return value + payload
	case "infix":
		if len(value) <= 1 {
			return value + payload
		}
		return value[:len(value)/2] + payload + value[len(value)/2:]
	case "replace-regex":
		return r.replaced.ReplaceAllString(value, payload)
	}
	return payload
}
