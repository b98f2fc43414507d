package lab

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var numberedName = regexp.MustCompile(`\b([a-zA-Z_]+)_(\d+)\b`)

// extractor adds a value to the answers that the extractor finds. An internal extractor without a number
// finds one in every answer; a visible one after several requests only in the last.
func (s *solver) extractor(x *Extractor) bool {
	counted := s.counted
	s.counted = s.steps && !x.Internal
	defer func() { s.counted = counted }()
	part, number := splitPart(x.Part)
	given := s.values[x.Name]
	value := cmp.Or(given, "lab"+strconv.Itoa(s.variant))
	switch x.Type {
	case "regex":
		for i := range x.Regex {
			pattern := x.Regex[(i+s.variant)%len(x.Regex)]
			text, ok := matching(pattern, s.variant, x.Group, given)
			if !ok {
				text, ok = matching(pattern, s.variant, 0, "")
			}
			if ok && s.every(func(a *Answer) bool { return a.JSON == nil }) && s.place(part, number, pattern, text) || ok &&
				s.hold(part, number, text, true) {
				return true
			}
		}
	case "kval":
		for _, key := range x.Kval {
			name := headerOf(strings.ReplaceAll(strings.ToLower(key), "-", "_"))
			if !isHeader(name) {
				s.all(func(a *Answer) { a.setHeader("Set-Cookie", key+"="+value+"; Path=/") })
			} else if name != "Content-Type" {
				s.on(number, func(a *Answer) bool { return a.setHeader(name, value) })
			}
		}
	case "json":
		for _, query := range x.JSON {
			if path, ok := jsonPath(query); ok {
				s.on(number, func(a *Answer) bool { a.JSON = grow(a.JSON, path, value); return true })
			}
		}
	case "xpath":
		for _, path := range x.XPath {
			s.xpath(number, path, x.Attribute, value)
		}
	}
	return true
}

// isHeader distinguishes names of headers from names of cookies, which kval treats alike.
func isHeader(name string) bool {
	return strings.Contains(name, "-") ||
		slices.Contains([]string{"Server", "Location", "Link", "Allow", "Date", "Via", "Refresh"}, name)
}

func (s *solver) all(f func(*Answer)) {
	for i := range s.answers {
		f(&s.answers[i])
	}
}

func (s *solver) every(f func(*Answer) bool) bool {
	for i := range s.answers {
		if !f(&s.answers[i]) {
			return false
		}
	}
	return true
}

var jsonStep = regexp.MustCompile(`^\.?(?:"([^"]+)"|\["([^"]+)"\]|([A-Za-z_][A-Za-z0-9_-]*)|\[(\d*)\])`)

// jsonPath reads a plain path of the jq language; the steps are names, and "[]" for lists.
func jsonPath(query string) (steps []string, ok bool) {
	query, _, _ = strings.Cut(strings.TrimSpace(query), "|")
	query = strings.ReplaceAll(strings.TrimSpace(query), "?", "")
	for query != "" && query != "." {
		m := jsonStep.FindStringSubmatch(query)
		if m == nil {
			return nil, false
		}
		if name := m[1] + m[2] + m[3]; name != "" {
			steps = append(steps, name)
		} else {
			steps = append(steps, "[]")
		}
		query = query[len(m[0]):]
	}
	return steps, true
}

// grow is document with value at the end of the path.
func grow(document any, path []string, value string) any {
	if len(path) == 0 {
		if document != nil {
			return document
		}
		return value
	}
	if path[0] == "[]" {
		items, _ := document.([]any)
		if len(items) == 0 {
			items = []any{nil}
		}
		items[0] = grow(items[0], path[1:], value)
		return items
	}
	object, ok := document.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[path[0]] = grow(object[path[0]], path[1:], value)
	return object
}

var xpathStep = regexp.MustCompile(`^(//?)([a-zA-Z*][a-zA-Z0-9]*)((?:\[[^\]]*\])*)`)
var xpathTest = regexp.MustCompile(`@([a-zA-Z:-]+)\s*=\s*["']([^"']*)["']|contains\(\s*(@[a-zA-Z-]+|text\(\)|\.)\s*,\s*["']([^"']*)["']|text\(\)\s*=\s*["']([^"']*)["']|\[(\d+)\]`)

// xpath adds HTML in which the path finds value.
func (s *solver) xpath(number int, path, attribute, value string) bool {
	if last := strings.LastIndex(path, "/@"); last > 0 {
		path, attribute = path[:last], path[last+2:]
	}
	path = strings.TrimSuffix(path, "/text()")
	open, closing, inner := "", "", value
	for rest := path; rest != ""; {
		m := xpathStep.FindStringSubmatch(rest)
		if m == nil {
			return false
		}
		rest = rest[len(m[0]):]
		tag := m[2]
		if tag == "*" {
			tag = "div"
		}
		attributes, position := "", 1
		for _, test := range xpathTest.FindAllStringSubmatch(m[3], -1) {
			switch {
			case test[1] != "":
				attributes += " " + test[1] + `="` + test[2] + `"`
			case strings.HasPrefix(test[3], "@"):
				attributes += " " + test[3][1:] + `="` + test[4] + `"`
			case test[3] != "":
				inner = test[4]
			case test[5] != "":
				inner = test[5]
			case test[6] != "":
				position, _ = strconv.Atoi(test[6])
			}
		}
		if rest == "" && attribute != "" {
			attributes += " " + attribute + `="` + value + `"`
		}
		if tag == "html" || tag == "body" {
			continue
		}
		open += strings.Repeat("<"+tag+"></"+tag+">", max(position-1, 0)) + "<" + tag + attributes + ">"
		closing = "</" + tag + ">" + closing
	}
	if s.need() {
		return true
	}
	return s.on(number, func(a *Answer) bool { return a.addBody(open + inner + closing) })
}
