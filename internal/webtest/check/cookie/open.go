package cookie

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/weakkey"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// kind is the type of a value.
type kind int

const (
	text kind = iota
	flag
	number
)

// field is a named value in a cookie, and how the cookie is written with another.
type field struct {
	cookie, name, value string
	kind                kind
	how                 string // the cookie is written
	all                 string // the content of the cookie
	write               func(value string) []pair
}

// pair is a cookie as it is sent.
type pair struct{ name, value string }

// in is a request with the cookies of a field with another value.
func (f *field) in(r *message.Request, value string) *message.Request {
	for _, p := range f.write(value) {
		r = r.Put(message.Place{Component: message.Cookie, Name: p.name}, p.value)
	}
	return r
}

// fieldsOf are the values in a user's cookies that the user can write.
func fieldsOf(cookies []*http.Cookie) (all []field) {
	for _, k := range cookies {
		content, how, write := opened(k, cookies)
		if content == nil {
			continue
		}
		read := ofJSON
		if serialized.Match(content) {
			read = ofPHP
		}
		for _, f := range read(content) {
			made := f.write
			all = append(all, field{cookie: k.Name, name: f.name, value: f.value, kind: f.kind, how: how, all: string(content),
				write: func(value string) []pair { return write(made(value)) }})
		}
	}
	return all
}

var serialized = regexp.MustCompile(`^[aO]:\d+:`)

// opened is the content of a cookie that its user can write, what is said of that, and the cookies with another
// content; nil where the content is not known, is signed with a secret, or is what package access reads: JSON as it is
// or in the alphabet of Base64 that most use.
func opened(k *http.Cookie, cookies []*http.Cookie) (content []byte, how string, write func([]byte) []pair) {
	for _, signed := range kit.Signed(k, cookies) {
		sealed, err := weakkey.Open(context.Background(), signed) // a moment
		if err != nil || sealed.By == weakkey.JWT {
			continue
		}
		if content, write := sealed.Content(); content != nil {
			return content, "signed by " + sealed.By + " with the key " + sealed.Key, func(b []byte) []pair {
				return pairs(k.Name, signed, write(b))
			}
		}
	}
	place := message.PlaceOfCookie(k.Name, k.Value)
	if len(place.Members()) > 0 {
		return nil, "", nil
	}
	if serialized.MatchString(place.Value) {
		return []byte(place.Value), "not sealed", func(b []byte) []pair { return []pair{{k.Name, string(b)}} }
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding,
		base64.RawStdEncoding} {
		raw, err := e.DecodeString(place.Value)
		if err == nil && (serialized.Match(raw) || strings.HasPrefix(string(raw), "{") && json.Valid(raw)) {
			return raw, "in Base64 and not sealed", func(b []byte) []pair { return []pair{{k.Name, e.EncodeToString(b)}} }
		}
	}
	return nil, "", nil
}

// pairs are the cookies of a text as weakkey writes it, in the form of the text that was read.
func pairs(name, read, written string) []pair {
	value, named := strings.CutPrefix(written, name+"=")
	if !named || !strings.HasPrefix(read, name+"=") {
		return []pair{{name, written}}
	}
	if data, signature, ok := strings.Cut(value, "^"); ok {
		return []pair{{name, data}, {name + ".sig", signature}}
	}
	return []pair{{name, value}}
}

// inner is a value of a content, and the content with another.
type inner struct {
	name, value string
	kind        kind
	write       func(value string) []byte
}

const (
	maxFields = 20
	maxDepth  = 3 // of objects in objects
)

// ofJSON are the values of an object of JSON and of objects within it.
func ofJSON(content []byte) (all []inner) {
	d := json.NewDecoder(strings.NewReader(string(content)))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil {
		return nil
	}
	var walk func(object map[string]any, depth int)
	walk = func(object map[string]any, depth int) {
		for name, value := range object {
			f := inner{name: name}
			switch v := value.(type) {
			case string:
				f.value = v
			case bool:
				f.value, f.kind = strconv.FormatBool(v), flag
			case json.Number:
				f.value, f.kind = v.String(), number
			case map[string]any:
				if depth < maxDepth {
					walk(v, depth+1)
				}
				continue
			default:
				continue
			}
			f.write = func(text string) []byte {
				var other any = text
				switch f.kind {
				case flag:
					other = text == "true"
				case number:
					other = json.Number(text)
				}
				was := object[name]
				object[name] = other
				defer func() { object[name] = was }()
				made, err := json.Marshal(root)
				if err != nil {
					return content
				}
				return made
			}
			all = append(all, f)
		}
	}
	walk(root, 1)
	slices.SortFunc(all, func(a, b inner) int { return strings.Compare(a.name, b.name) })
	return all[:min(len(all), maxFields)]
}

// phpValue is a named value of an array or an object of PHP. The name of a property that is not public has its class
// before it, between zero bytes.
var phpValue = regexp.MustCompile(`s:\d+:"(?:\x00[^\x00"]*\x00)?(\w{1,40})";(?:b:([01]);|i:(-?\d{1,9});|s:(\d{1,4}):")`)

// ofPHP are the values of an array or an object that PHP has serialized. No class is changed.
func ofPHP(content []byte) (all []inner) {
	for _, m := range phpValue.FindAllSubmatchIndex(content, maxFields) {
		f := inner{name: string(content[m[2]:m[3]])}
		at := func(i int) string { return string(content[m[i]:m[i+1]]) }
		from, to, written := 0, 0, func(v string) string { return v }
		switch {
		case m[4] >= 0:
			from, to, f.kind, f.value = m[4], m[5], flag, strconv.FormatBool(at(4) == "1")
			written = func(v string) string {
				if v == "true" {
					return "1"
				}
				return "0"
			}
		case m[6] >= 0:
			from, to, f.kind, f.value = m[6], m[7], number, at(6)
		default:
			size, err := strconv.Atoi(at(8))
			if from, to = m[8], m[1]+size; err != nil || to >= len(content) || content[to] != '"' {
				continue
			}
			f.value = string(content[m[1]:to])
			written = func(v string) string { return strconv.Itoa(len(v)) + `:"` + v }
		}
		f.write = func(v string) []byte {
			return slices.Concat(content[:from], []byte(written(v)), content[to:])
		}
		all = append(all, f)
	}
	return all
}
