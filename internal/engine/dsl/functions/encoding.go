package functions

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

func encodingFunctions() []Function {
	return []Function{
		text1("base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		text1("base64_py", base64Lines),
		{Name: "base64_decode", Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
			b, err := base64.StdEncoding.DecodeString(String(args[0]))
			if err != nil {
				return nil, err
			}
			return string(b), nil
		}},
		{Name: "url_encode", Min: 1, Max: -1, Run: urlEncode},
		text1("url_decode", urlDecode),
		{Name: "hex_encode", Min: 1, Max: 2, Run: hexEncode},
		{Name: "hex_decode", Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
			b, err := hex.DecodeString(String(args[0]))
			if err != nil {
				return nil, err
			}
			return string(b), nil
		}},
		{Name: "html_escape", Min: 1, Max: -1, Run: htmlEscape},
		text1("html_unescape", html.UnescapeString),
		{Name: "json_minify", Min: 1, Max: 1, Run: jsonMinify},
		{Name: "json_prettify", Min: 1, Max: 1, Run: jsonPrettify},
	}
}

// base64Lines is base64 in lines of 76 characters, each with a line break.
func base64Lines(s string) string {
	all := base64.StdEncoding.EncodeToString([]byte(s))
	var b strings.Builder
	for len(all) > 76 {
		b.WriteString(all[:76])
		b.WriteByte('\n')
		all = all[76:]
	}
	b.WriteString(all)
	b.WriteByte('\n')
	return b.String()
}

const upperHex = "0123456789ABCDEF"

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
		var encoded [utf8.UTFMax]byte
		for _, x := range encoded[:utf8.EncodeRune(encoded[:], c)] {
			b.WriteByte('%')
			b.WriteByte(upperHex[x>>4])
			b.WriteByte(upperHex[x&15])
		}
	}
	return b.String(), nil
}

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
	var data []byte
	switch v := args[0].(type) {
	case string:
		data = []byte(v)
	case []byte:
		data = v
	}
	if len(args) < 2 || !strings.EqualFold(String(args[1]), "x") {
		return hex.EncodeToString(data), nil
	}
	var b strings.Builder
	for _, x := range data {
		b.WriteString(`\x` + hex.EncodeToString([]byte{x}))
	}
	return b.String(), nil
}

func jsonMinify(_ *Env, args []any) (any, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(String(args[0])), &object); err != nil {
		return nil, err
	}
	b, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return string(b), nil
}

const jsonIndent = "    "

func jsonPrettify(_ *Env, args []any) (any, error) {
	source := []byte(String(args[0]))
	if indented(source) > MaxResult {
		return nil, ErrTooLarge
	}
	var b bytes.Buffer
	if err := json.Indent(&b, source, "", jsonIndent); err != nil {
		return nil, err
	}
	return b.String(), nil
}

// indented is about the length of JSON with every value on its own line.
func indented(source []byte) int {
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
