package finding

import (
	"bytes"
	"encoding/json"
)

// Raw is a JSON value as it is stored: valid, compact, in the spelling of encoding/json;
// nil where there is none. It is good as long as the Document that it is of.
type Raw []byte

// Text is the text that a JSON string says; empty for any other value.
func (r Raw) Text() string { return string(r.said()) }

// said is Text where the string stands, if it is spelled as it is said.
func (r Raw) said() []byte {
	if len(r) < 2 || r[0] != '"' {
		return nil
	}
	if bytes.IndexByte(r, '\\') < 0 {
		return r[1 : len(r)-1]
	}
	var text string
	if json.Unmarshal(r, &text) != nil {
		return nil
	}
	return []byte(text)
}

// Texts are the texts of an array; nil for any other value.
func (r Raw) Texts() (out []string) {
	if len(r) < 3 || r[0] != '[' {
		return nil
	}
	for at := 1; at < len(r); at++ { // at a value; behind it stands , or ]
		next := at + end(r[at:])
		if r[at] != '"' { // no text: a JSON null, if that
			if json.Unmarshal(r, &out) != nil {
				return nil
			}
			return out
		}
		out = append(out, r[at:next].Text())
		at = next
	}
	return out
}

// Object is the members of a JSON object in their order. They are good as long as the
// Raw that they are of.
type Object []Member

// Member is one of an object.
type Member struct {
	Key   []byte // as it is said
	Value Raw
}

// Get is the value of a member; nil when there is none.
func (o Object) Get(key string) Raw {
	for _, m := range o {
		if string(m.Key) == key {
			return m.Value
		}
	}
	return nil
}

// Members reads the members of an object into the memory of into; none of what is no
// object. Nothing is decoded but keys, so that it costs little more than a copy.
func (r Raw) Members(into Object) Object {
	into, _ = r.members(into, nil)
	return into
}

// inner is a member whose own members, and those of the next in it, are read on the way
// past it: the end of an object is found by reading it.
type inner struct {
	key  string
	into *Object
	next *inner
}

// members is Members with those of an inner one, for the object that a text of compact JSON
// begins with, and the length of that.
func (r Raw) members(into Object, within *inner) (Object, int) {
	into = into[:0]
	if len(r) == 0 || r[0] != '{' {
		return into, end(r)
	}
	at := 1
	for at < len(r) && r[at] == '"' { // at a key; behind a value stands , or }
		colon := at + quoted(r[at:])
		if colon >= len(r) || r[colon] != ':' {
			break
		}
		m := Member{Key: r[at:colon].said(), Value: r[colon+1:]}
		var size int
		if within != nil && string(m.Key) == within.key {
			*within.into, size = m.Value.members(*within.into, within.next)
		} else {
			size = end(m.Value)
		}
		m.Value = m.Value[:size]
		into = append(into, m)
		if at = colon + 1 + size; at < len(r) && r[at] == ',' {
			at++
		}
	}
	return into, min(at+1, len(r))
}

// end is the length of the value that a text of compact JSON begins with.
func end(text Raw) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += quoted(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		default:
			continue
		}
		if depth == 0 && i < len(text) && text[i] != ',' && text[i] != ':' {
			return i + 1
		}
	}
	return len(text)
}

// quoted is the length of the string that a text begins with.
func quoted(text Raw) int {
	for i := 1; i < len(text); {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			break
		}
		i += next
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if i++; slashes%2 == 0 {
			return i
		}
	}
	return len(text)
}
