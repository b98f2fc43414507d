package tech

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

const maxElements = 1000 // scripts and meta elements of a page that are read

// match gives the version, or "", of each technology that is seen.
func (s *set) match(fields map[string][]string, body []byte) map[string]string {
	all, page := detections{}, detections{}
	values := make(map[string]string, len(fields))
	for name, list := range fields {
		values[strings.ToLower(name)] = strings.ToLower(strings.Join(list, ", "))
	}
	all.add(s.headers.match(values), s.apps)
	all.add(s.cookies.match(cookies(values["set-cookie"])), s.apps)
	lower := bytes.ToLower(body)
	page.match(&s.html, string(lower))
	all.add(page, s.apps)
	s.elements(lower, all)
	versions := map[string]string{}
	for name, seen := range all {
		if seen.sure {
			versions[name] = seen.version
		}
	}
	return versions
}

// match gives what the groups see in the values of their keys.
func (k keys) match(values map[string]string) detections {
	seen := detections{}
	for key, value := range values {
		if g := k[key]; g != nil {
			seen.match(g, value)
		}
	}
	return seen
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

// elements adds what a page's meta elements and the sources of its scripts show.
func (s *set) elements(page []byte, all detections) {
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
		if raw := tokens.Raw(); len(raw) < 2 || raw[1] != 's' && raw[1] != 'm' { // TagName allocates
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
			sources := detections{}
			sources.match(&s.scripts, a["src"])
			all.add(sources, s.apps)
			continue
		}
		all.add(s.meta.match(map[string]string{a["name"]: a["content"]}), s.apps)
	}
}

// attributes reads src, name and content of the current element (of two alike the last) and counts all.
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
