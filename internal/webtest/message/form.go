package message

import (
	"net/url"
	"strings"
)

// pairSpans are the values, and the names as keys, of a text in the format of forms.
func pairSpans(text string, component Component) (out []span) {
	start := 0
	for pair := range strings.SplitSeq(text, "&") {
		name, value, has := strings.Cut(pair, "=")
		if pair != "" && len(out) < maxPlaces {
			plain := decoded(name)
			place := Place{Component: component, Format: Form, Name: plain}
			at := start + len(pair)
			write := func(text string) string { return "=" + url.QueryEscape(text) }
			if has {
				at, write = start+len(name)+1, url.QueryEscape
			}
			place.Value = decoded(value)
			out = append(out, span{Place: place, start: at, end: start + len(pair), write: write})
			place.Key, place.Value = true, plain
			out = append(out, span{Place: place, start: start, end: start + len(name), write: url.QueryEscape})
		}
		start += len(pair) + 1
	}
	return out
}

func decoded(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

func addPair(text, name, value string) string {
	pair := url.QueryEscape(name) + "=" + url.QueryEscape(value)
	if text == "" {
		return pair
	}
	return text + "&" + pair
}

// Pair is a name and a value of a form, in its order.
type Pair struct{ Name, Value string }

// EncodeForm writes pairs in the format of forms, in their order.
func EncodeForm(pairs []Pair) string {
	text := ""
	for _, p := range pairs {
		text = addPair(text, p.Name, p.Value)
	}
	return text
}
