package kit

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// ObjectValue is a value that names an object: a number, with a few letters before it, a UUID or a long hexadecimal
// number.
var ObjectValue = regexp.MustCompile(`^(?:(?:[A-Za-z]{1,5}[-_])?\d{1,18}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-fA-F]{16,64})$`)

// IsObject reports whether a value names an object: as it is, or in base64 with the kind of object before its number,
// as node ids of GraphQL are written.
func IsObject(value string) bool {
	if ObjectValue.MatchString(value) {
		return true
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		if raw, err := e.DecodeString(value); err == nil && encodedObject.Match(raw) {
			return true
		}
	}
	return false
}

var encodedObject = regexp.MustCompile(`^[A-Za-z_]{0,20}[:/=|#-]?\d{1,18}$`)

// Describes reports whether an answer is a description of the API: its examples are nobody's objects.
func Describes(r *message.Response) bool {
	head := r.Body[:min(len(r.Body), 300)]
	return bytes.Contains(head, []byte("openapi")) || bytes.Contains(head, []byte("swagger")) || bytes.Contains(head, []byte(`"__schema"`))
}

// Nonexistent is a value of the same form that names nothing.
func Nonexistent(v string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '9' - (r-'0')%3
		case r >= 'a' && r <= 'f':
			return 'f' - (r-'a')%3
		}
		return r
	}, v)
}
