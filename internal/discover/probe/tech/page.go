package tech

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

const maxElements = 1000 // scripts and meta elements of a page that are looked at

// match gives the version, or "", of each technology that is seen.
func (s *set) match(fields map[string][]string, body []byte) map[string]string {
	t := tally{}
	values := make(map[string]string, len(fields))
	for name, list := range fields {
		values[strings.ToLower(name)] = strings.ToLower(strings.Join(list, ", "))
	}
	t.add(keyed(s.headers, values), s.apps)
	t.add(keyed(s.cookies, cookies(values["set-cookie"])), s.apps)
	lower := bytes.ToLower(body)
	t.add(s.html.match(string(lower)), s.apps)
	s.elements(lower, t)
	versions := map[string]string{}
	for name, seen := range t {
		if seen.sure {
			versions[name] = seen.version
		}
	}
	return versions
}

// keyed holds patterns against the values of their keys.
func keyed(groups keys, values map[string]string) round {
	r := round{}
	for key, value := range values {
		if g := groups[key]; g != nil {
			g.hold(value, r)
		}
	}
	return r
}

// cookies reads the names and values out of joined Set-Cookie fields, attributes among them.
func cookies(joined string) map[string]string {
	found := map[string]string{}
	for word := range strings.SplitSeq(joined, " ") {
		separator := ";"
		if strings.Contains(word, ",") {
			separator = ","
		}
		for part := range strings.SplitSeq(word, separator) {
			if name, value, ok := strings.Cut(part, "="); ok {
				found[name] = value
			}
		}
	}
	return found
}

// elements looks at the sources of the scripts of a page, and at its meta elements. What
// comes twice says nothing new.
func (s *set) elements(page []byte, t tally) {
	seen := map[[2]string]bool{}
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for len(seen) < maxElements {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if raw := tokens.Raw(); len(raw) < 2 || raw[1] != 's' && raw[1] != 'm' { // to ask for the name allocates
			continue
		}
		tag, more := tokens.TagName()
		script, meta := string(tag) == "script" && kind == html.StartTagToken, string(tag) == "meta"
		if !more || !script && !meta {
			continue
		}
		a, count := attributes(tokens)
		if meta && count < 2 {
			continue
		}
		key := [2]string{a["name"], a["content"]}
		if script {
			key = [2]string{"\x00script", a["src"]} // no name has a zero byte
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		if script {
			t.add(s.scripts.match(a["src"]), s.apps)
			continue
		}
		t.add(keyed(s.meta, map[string]string{a["name"]: a["content"]}), s.apps)
	}
}

// attributes reads the attributes that matter of the element at hand; of those that come
// twice the last counts. count is that of all.
func attributes(tokens *html.Tokenizer) (found map[string]string, count int) {
	found = map[string]string{}
	for more := true; more; count++ {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		switch string(key) {
		case "src", "name", "content":
			found[string(key)] = string(value)
		}
	}
	return found, count
}
