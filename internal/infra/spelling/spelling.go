// Package spelling knows how servers repeat a value that they were given: raw, in JSON, HTML and URLs, in hexadecimal,
// and in base64 at any position. What hides a value from a reader has to hide all of them.
package spelling

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Least is the length in bytes of the shortest spelling: shorter texts occur in others by chance.
const Least = 4

// Of are the spellings of a value, perhaps with the value itself and with repetitions, each of at least Least bytes.
// Those in base64 are the characters that depend on nothing beside the value.
func Of(value string) []string {
	var ascii, percent strings.Builder
	for _, unit := range utf16.Encode([]rune(value)) {
		if unit < utf8.RuneSelf {
			ascii.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	for _, b := range []byte(value) {
		fmt.Fprintf(&percent, "%%%02X", b)
	}
	query, path, digits := url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))
	all := []string{
		inJSON(value, false), inJSON(value, true), ascii.String(), strings.ReplaceAll(value, "/", `\/`),
		html.EscapeString(value),
		query, path, url.QueryEscape(query), lowerHex(query), lowerHex(path), percent.String(),
		strings.ToLower(percent.String()),
		digits, strings.ToUpper(digits),
	}
	for shift := range 3 {
		all = append(all, inBase64(base64.StdEncoding, value, shift), inBase64(base64.URLEncoding, value, shift))
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < Least })
}

// encode writes JSON; forHTML escapes <, > and &.
func encode(v any, forHTML bool) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(forHTML)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

func inJSON(value string, forHTML bool) string {
	text, _ := encode(value, forHTML)
	return string(text[1 : len(text)-1])
}

func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// inBase64 is the part of a base64 text that depends only on value, after shift bytes (modulo three). Less than six
// characters are not specific enough.
func inBase64(enc *base64.Encoding, value string, shift int) string {
	text := enc.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	from, to := (shift*8+5)/6, (shift+len(value))*8/6
	if to-from < 6 {
		return ""
	}
	return text[from:to]
}
