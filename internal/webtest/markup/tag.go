package markup

import "strings"

// attr is an attribute as it is written: its value is not decoded.
type attr struct{ name, value, quote string }

func value(attrs []attr, name string) string {
	for _, a := range attrs {
		if a.name == name {
			return strings.ToLower(a.value)
		}
	}
	return ""
}

// parseTag reads a tag from its < on, as browsers do. Names are in lower case; of attributes of one name the first
// counts.
func parseTag(raw string) (name string, attrs []attr) {
	raw = strings.TrimSuffix(strings.TrimPrefix(raw, "<"), ">")
	end := strings.IndexAny(raw, " \t\r\n\f/")
	if end < 0 {
		return strings.ToLower(raw), nil
	}
	name = strings.ToLower(raw[:end])
	seen := map[string]bool{}
	for at := end; at < len(raw); {
		if strings.IndexByte(" \t\r\n\f/", raw[at]) >= 0 {
			at++
			continue
		}
		var a attr
		a, at = parseAttr(raw, at)
		if !seen[a.name] {
			seen[a.name] = true
			attrs = append(attrs, a)
		}
	}
	return name, attrs
}

const space = " \t\r\n\f"

// parseAttr reads the attribute at an offset and says where the next begins.
func parseAttr(raw string, at int) (a attr, next int) {
	start := at
	for at++; at < len(raw) && strings.IndexByte(space+"/=", raw[at]) < 0; at++ {
	}
	a.name = strings.ToLower(raw[start:at])
	after := at
	for after < len(raw) && strings.IndexByte(space, raw[after]) >= 0 {
		after++
	}
	if after >= len(raw) || raw[after] != '=' {
		return a, at
	}
	at = after + 1
	for at < len(raw) && strings.IndexByte(space, raw[at]) >= 0 {
		at++
	}
	if at >= len(raw) {
		return a, at
	}
	if q := raw[at]; q == '"' || q == '\'' {
		a.quote = string(q)
		end := strings.IndexByte(raw[at+1:], q)
		if end < 0 {
			a.value = raw[at+1:]
			return a, len(raw)
		}
		a.value = raw[at+1 : at+1+end]
		return a, at + end + 2
	}
	start = at
	for at < len(raw) && strings.IndexByte(space, raw[at]) < 0 {
		at++
	}
	a.value = raw[start:at]
	return a, at
}
