package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// skeletonBytes is how much of a body is read for its skeleton.
const skeletonBytes = 512 << 10

// Skeleton is equal for answers of one structure: in HTML the elements with their classes, ids and names of fields, of
// which equal siblings count once; in JSON the keys; else the type. It has neither texts nor values, nor classes and
// ids that are made of a value of the request, as those of a page of a wiki are of its title.
func Skeleton(r *Response) string {
	body := r.Body[:min(len(r.Body), skeletonBytes)]
	text := ""
	switch kind := r.Type(); {
	case r.IsHTML():
		if root, err := html.Parse(bytes.NewReader(body)); err == nil {
			text = skeletonOf{valuesOf(r.Request)}.node(root, 0)
		}
	case strings.Contains(kind, "json"):
		var value any
		if json.Unmarshal(body, &value) == nil {
			text = valueSkeleton(value, 0)
		}
	}
	sum := sha256.Sum256([]byte(r.Type() + "\n" + text))
	return hex.EncodeToString(sum[:8])
}

// skeletonOf reads pages that were asked for with values.
type skeletonOf struct{ values []string }

// valuesOf are the values of a request as classes and ids may have them.
func valuesOf(r *Request) (out []string) {
	if r == nil {
		return nil
	}
	for _, p := range Places(r) {
		if p.Component != Query && p.Component != Path {
			continue
		}
		if value := plain(p.Value); len(value) >= 3 && len(out) < 30 && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

// plain is a text without what classes and ids have no room for.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
}

// named are classes or an id without those that are made of a value.
func (s skeletonOf) named(text string) string {
	if len(s.values) == 0 {
		return text
	}
	kept := strings.Fields(text)
	kept = slices.DeleteFunc(kept, func(word string) bool {
		word = plain(word)
		return slices.ContainsFunc(s.values, func(value string) bool { return strings.Contains(word, value) })
	})
	return strings.Join(kept, " ")
}

// node is an element with its different children. Deep nests are read as far as browsers nest elements.
func (s skeletonOf) node(n *html.Node, depth int) string {
	var own strings.Builder
	if n.Type == html.ElementNode {
		own.WriteString(n.Data)
		for _, a := range n.Attr {
			switch a.Key {
			case "id", "class":
				own.WriteString("|" + anyDigits.ReplaceAllString(s.named(a.Val), "0"))
			case "name", "type", "method":
				own.WriteString("|" + a.Key + "=" + anyDigits.ReplaceAllString(a.Val, "0"))
			}
		}
	}
	if depth > 200 {
		return own.String()
	}
	seen := map[string]bool{}
	for child := range n.ChildNodes() {
		if child.Type != html.ElementNode {
			continue
		}
		if inner := s.node(child, depth+1); !seen[inner] {
			seen[inner] = true
			own.WriteString("(" + inner + ")")
		}
	}
	if own.Len() > 256 { // of a large tree its sum is enough
		sum := sha256.Sum256([]byte(own.String()))
		return hex.EncodeToString(sum[:8])
	}
	return own.String()
}

func valueSkeleton(value any, depth int) string {
	if depth > maxDepth {
		return "…"
	}
	switch v := value.(type) {
	case map[string]any:
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(anyDigits.ReplaceAllString(key, "0") + ":" + valueSkeleton(v[key], depth+1) + ",")
		}
		return "{" + b.String() + "}"
	case []any:
		seen := map[string]bool{}
		var b strings.Builder
		for _, item := range v {
			if s := valueSkeleton(item, depth+1); !seen[s] {
				seen[s] = true
				b.WriteString(s + ",")
			}
		}
		return "[" + b.String() + "]"
	}
	return "." // a scalar
}
