package brief

import (
	"bytes"
	"unicode/utf8"
)

// IsText reports whether bytes are UTF-8 without NUL, apart from characters cut at the ends.
func IsText(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	for range utf8.UTFMax - 1 { // cut at the beginning
		if len(data) > 0 && !utf8.RuneStart(data[0]) {
			data = data[1:]
		}
	}
	for range utf8.UTFMax { // cut at the end
		if r, size := utf8.DecodeLastRune(data); r != utf8.RuneError || size != 1 {
			break
		}
		data = data[:len(data)-1]
	}
	return utf8.Valid(data)
}
