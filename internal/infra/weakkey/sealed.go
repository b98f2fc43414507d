package weakkey

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"strings"
)

// Sealed is a cookie whose key is a public one: with it anybody writes others.
type Sealed struct {
	Key, By string

	form *signed
}

// maxContent bounds what a compressed cookie holds.
const maxContent = 64 << 10

// encodings are those of contents, in the order in which they are tried: the length of a content may leave open whether
// others are filled up, which frameworks with the alphabet for addresses do not.
func (s *Sealed) encodings() []*base64.Encoding {
	filled := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding}
	bare := []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding}
	if s.By == "Express" || s.By == "Starlette" || s.By == "Tornado" {
		return append(filled, bare...)
	}
	return append(bare, filled...)
}

// Content is the object of JSON that the cookie holds, and a function that writes a cookie with another; nil for a
// cookie that holds something else, such as an identifier or a serialized object.
func (s *Sealed) Content() (content []byte, write func([]byte) string) {
	head, body, tail := s.split()
	seal := func(text string) string {
		data := head + text + tail
		return s.form.join(data, s.form.sign(s.Key, data))
	}
	if object, ok := strings.CutPrefix(body, "j:"); ok && isObject([]byte(object)) { // cookie-parser
		return []byte(object), func(b []byte) string { return seal("j:" + string(b)) }
	}
	packed, isPacked := strings.CutPrefix(body, ".")
	for _, e := range s.encodings() {
		raw, err := e.DecodeString(packed)
		if err != nil {
			continue
		}
		if isPacked { // it may be written unpacked
			if raw = unpacked(raw); raw == nil {
				return nil, nil
			}
		}
		if isObject(raw) {
			return raw, func(b []byte) string { return seal(e.EncodeToString(b)) }
		}
	}
	return nil, nil
}

// split are the parts of what is signed: what stands before the content, the content, and what stands behind it, such
// as the time.
func (s *Sealed) split() (head, body, tail string) {
	data := s.form.data
	switch s.By {
	case JWT:
		at := strings.IndexByte(data, '.') + 1
		return data[:at], data[at:], ""
	case "Django":
		at := strings.LastIndexByte(data, ':')
		return "", data[:at], data[at:]
	case "Flask", "Starlette", "itsdangerous":
		if at := strings.LastIndexByte(data, '.'); at > 0 {
			return "", data[:at], data[at:]
		}
	case "Express":
		if at := strings.IndexByte(data, '='); at > 0 && !strings.HasPrefix(data, "j:") { // name=data of cookie-session
			return data[:at+1], data[at+1:], ""
		}
	}
	return "", data, ""
}

func isObject(b []byte) bool {
	return bytes.HasPrefix(b, []byte("{")) && bytes.HasSuffix(b, []byte("}"))
}

// unpacked is what zlib has packed; nil for something else.
func unpacked(b []byte) []byte {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, maxContent))
	if err != nil {
		return nil
	}
	return out
}
