package syntax

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PURGE", "DEBUG"}

// httpLater are the keys of a request block that no engine runs yet.
var httpLater = []string{
	"raw", "payloads", "attack", "protocol-redirects", "read-all", "unsafe", "race", "race_count",
	"pipeline", "pipeline-concurrent-connections", "pipeline-requests-per-connection",
	"skip-variables-check", "iterate-all", "digest-username", "digest-password", "signature",
	"self-contained", "disable-path-automerge", "fuzzing", "analyzer", "pre-condition",
	"pre-condition-operator", "global-matchers",
}

func (r *reader) http(n *yaml.Node, at string) (HTTP, error) {
	b := HTTP{Line: n.Line}
	want := fields{
		"id":                  r.text(&b.ID),
		"name":                r.text(&b.Name),
		"method":              r.word(&b.Method, methods...),
		"path":                r.texts(&b.Path),
		"headers":             r.pairs(&b.Headers, "http.headers with lists"),
		"body":                r.text(&b.Body),
		"redirects":           r.boolean(&b.Redirects),
		"host-redirects":      r.boolean(&b.HostRedirects),
		"max-redirects":       r.count(&b.MaxRedirects),
		"max-size":            r.count(&b.MaxSize),
		"stop-at-first-match": r.boolean(&b.StopAtFirstMatch),
		"matchers-condition":  r.word(&b.MatchersCondition, "and", "or"),
		"matchers": func(n *yaml.Node, at string) error {
			return r.list(n, at, func(n *yaml.Node, at string) error {
				m, err := r.matcher(n, at)
				b.Matchers = append(b.Matchers, m)
				return err
			})
		},
		"extractors": func(n *yaml.Node, at string) error {
			return r.list(n, at, func(n *yaml.Node, at string) error {
				x, err := r.extractor(n, at)
				b.Extractors = append(b.Extractors, x)
				return err
			})
		},
		// No effect in today's language: the first two are the default, the third counts
		// only with payloads, the fourth has no secrets to skip, and no jar outlives a chain.
		"cookie-reuse":     r.ignored,
		"req-condition":    r.ignored,
		"threads":          r.ignored,
		"skip-secret-file": r.ignored,
		"disable-cookie":   r.ignored,
	}
	for _, key := range httpLater {
		want[key] = r.unrun("http." + key)
	}
	if err := r.mapping(n, at, want); err != nil {
		return b, err
	}
	if b.Redirects && b.HostRedirects {
		return b, r.fault(n, at+".host-redirects", "redirects and host-redirects exclude each other")
	}
	return b, nil
}

// matcherLists says which list a matcher type reads its values from.
var matcherLists = map[string]string{
	"status": "status", "size": "size", "word": "words", "regex": "regex",
	"binary": "binary", "dsl": "dsl", "xpath": "xpath",
}

func (r *reader) matcher(n *yaml.Node, at string) (Matcher, error) {
	m := Matcher{Line: n.Line}
	lists := fields{
		"status": r.integers(&m.Status),
		"size":   r.integers(&m.Size),
		"words":  r.texts(&m.Words),
		"regex":  r.texts(&m.Regex),
		"binary": r.texts(&m.Binary),
		"dsl":    r.texts(&m.DSL),
		"xpath":  r.texts(&m.XPath),
	}
	want := fields{
		"type":             r.word(&m.Type, "status", "size", "word", "regex", "binary", "dsl", "xpath"),
		"name":             r.text(&m.Name),
		"part":             r.text(&m.Part),
		"condition":        r.word(&m.Condition, "and", "or"),
		"encoding":         r.word(&m.Encoding, "hex"),
		"negative":         r.boolean(&m.Negative),
		"internal":         r.boolean(&m.Internal),
		"match-all":        r.boolean(&m.MatchAll),
		"case-insensitive": r.boolean(&m.CaseInsensitive),
	}
	var written []string
	for name, read := range lists {
		want[name] = func(n *yaml.Node, at string) error {
			written = append(written, name)
			return read(n, at)
		}
	}
	if err := r.mapping(n, at, want); err != nil {
		return m, err
	}
	m.Part = strings.TrimSpace(m.Part)
	if m.Type == "" {
		return m, r.fault(n, at+".type", "a matcher needs a type")
	}
	for _, list := range written {
		if list != matcherLists[m.Type] {
			return m, r.fault(n, at+"."+list, "a %s matcher has no %s", m.Type, list)
		}
	}
	if m.CaseInsensitive && m.Type != "word" {
		return m, r.fault(n, at+".case-insensitive", "only word matchers can be case-insensitive; a regex can begin with (?i)")
	}
	if m.Encoding != "" && m.Type != "word" {
		return m, r.fault(n, at+".encoding", "only word matchers have an encoding")
	}
	if number.MatchString(m.Part) {
		r.later = append(r.later, Later{Key: "http.matchers.part with a request number", Line: m.Line})
	}
	return m, nil
}

// number is the form of parts that name an earlier request, such as body_2.
var number = regexp.MustCompile(`^[a-z_]+_[0-9]+$`)

func (r *reader) extractor(n *yaml.Node, at string) (Extractor, error) {
	x := Extractor{Line: n.Line}
	err := r.mapping(n, at, fields{
		"type":             r.word(&x.Type, "regex", "kval", "json", "xpath", "dsl"),
		"name":             r.text(&x.Name),
		"part":             r.text(&x.Part),
		"group":            r.count(&x.Group),
		"internal":         r.boolean(&x.Internal),
		"case-insensitive": r.boolean(&x.CaseInsensitive),
		"attribute":        r.text(&x.Attribute),
		"regex":            r.texts(&x.Regex),
		"kval":             r.texts(&x.KVal),
		"json":             r.texts(&x.JSON),
		"xpath":            r.texts(&x.XPath),
		"dsl":              r.texts(&x.DSL),
	})
	if err != nil {
		return x, err
	}
	x.Part = strings.TrimSpace(x.Part)
	if x.Type == "" {
		return x, r.fault(n, at+".type", "an extractor needs a type")
	}
	if x.CaseInsensitive && x.Type != "kval" {
		return x, r.fault(n, at+".case-insensitive", "only kval extractors can be case-insensitive")
	}
	if number.MatchString(x.Part) {
		r.later = append(r.later, Later{Key: "http.extractors.part with a request number", Line: x.Line})
	}
	return x, nil
}
