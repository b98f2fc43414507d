package remote

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// An application that shows a picture from elsewhere within a page, or keeps a file in a text of JSON, writes what it
// has read in base64.

// packed is what may be such a text.
var packed = regexp.MustCompile(`[A-Za-z0-9+/]{40,}|[A-Za-z0-9_-]{40,}`)

// maxPacked are how many such texts of an answer are read.
const maxPacked = 10

// unpacked are the texts of an answer that stand in it in base64, by how they stand there.
func unpacked(r *message.Response) map[string]string {
	all := map[string]string{}
	for _, text := range packed.FindAllString(strings.ReplaceAll(string(r.Body), `\/`, "/"), maxPacked) {
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(text, "-_") {
			encoding = base64.RawURLEncoding
		}
		if raw, err := encoding.DecodeString(text); err == nil && utf8.Valid(raw) {
			all[text] = string(raw)
		}
	}
	return all
}

// content is all that an answer shows: its body, and what stands in it in base64.
func content(r *message.Response) string {
	out := []string{message.Shown(r.Body)}
	for _, text := range unpacked(r) {
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// standing is how a line stands in an answer: as it is, or the part of a text in base64 that says it.
func standing(r *message.Response, line string) string {
	for text, raw := range unpacked(r) {
		if at := strings.Index(raw, line); at >= 0 {
			return text[(at+2)/3*4 : (at+len(line))/3*4]
		}
	}
	return line
}
