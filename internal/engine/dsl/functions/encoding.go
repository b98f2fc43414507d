package functions

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
)

func encodingFunctions() []Function {
	return []Function{
		text1("base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		text1("base64_py", base64Lines),
		decoder("base64_decode", base64.StdEncoding.DecodeString),
		slow(function("url_encode", 1, -1, urlEncode)),
		text1("url_decode", urlDecode),
		function("hex_encode", 1, 2, hexEncode),
		decoder("hex_decode", hex.DecodeString),
		slow(function("html_escape", 1, -1, htmlEscape)),
		text1("html_unescape", html.UnescapeString),
		slow(decoder("json_minify", jsonMinify)),
		slow(decoder("json_prettify", jsonPrettify)),
	}
}

// decoder makes a function of one text that may fail.
func decoder(name string, decode func(string) ([]byte, error)) Function {
	return Function{Name: name, Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
		b, err := decode(String(args[0]))
		if err != nil {
			return nil, err
		}
		return string(b), nil
	}}
}

// base64Lines is base64 in lines of 76 characters, each with a line break.
func base64Lines(s string) string {
	var b strings.Builder
	for line := range slices.Chunk(base64.StdEncoding.AppendEncode(nil, []byte(s)), 76) {
		b.Write(append(line, '\n'))
	}
	return cmp.Or(b.String(), "\n")
}

// urlEncode encodes all but letters, digits and a few marks; these, too, if the second argument is true.
func urlEncode(_ *Env, args []any) (any, error) {
	keep := "-_.!~*'()"
	if len(args) > 1 && args[1] == true {
		keep = ""
	}
	var b strings.Builder
	for _, c := range String(args[0]) {
		if c < 0x80 && (('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') || strings.IndexByte(keep, byte(c)) >= 0) {
			b.WriteByte(byte(c))
			continue
		}
		for _, x := range []byte(string(c)) {
			b.Write([]byte{'%', upperHex[x>>4], upperHex[x&15]})
		}
	}
	return b.String(), nil
}

const (
	upperHex = "0123456789ABCDEF"
	lowerHex = "0123456789abcdef"
)

// urlDecode decodes percent escapes only; + stays.
func urlDecode(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if x, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(x))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// hexEncode encodes strings and bytes; other types count as empty.
func hexEncode(_ *Env, args []any) (any, error) {
	data, _ := octets(args[0])
	if len(args) < 2 || !strings.EqualFold(String(args[1]), "x") {
		return hex.EncodeToString(data), nil
	}
	var b strings.Builder
	if 4*len(data) > MaxResult {
		return nil, ErrTooLarge
	}
	b.Grow(4 * len(data))
	for _, x := range data {
		b.Write([]byte{'\\', 'x', lowerHex[x>>4], lowerHex[x&15]})
	}
	return b.String(), nil
}

func jsonMinify(source string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(source), &object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

const jsonIndent = "    "

func jsonPrettify(source string) ([]byte, error) {
	if indented(source) > MaxResult {
		return nil, ErrTooLarge
	}
	var b bytes.Buffer
	err := json.Indent(&b, []byte(source), "", jsonIndent)
	return b.Bytes(), err
}

// indented is about the length of JSON with every value on its own line.
func indented(source string) int {
	size, depth, quoted := len(source), 0, false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += depth * len(jsonIndent)
		case c == '}' || c == ']':
			depth--
			size += depth * len(jsonIndent)
		case c == ',':
			size += depth * len(jsonIndent)
		}
	}
	return size
}
