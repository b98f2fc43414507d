package fuzz

import (
	"mime"
	"strings"
)

// multipart finds the named parts of a form; the value of a file is its content.
func (c *component) multipart(text, boundary string) bool {
	delimiter := "--" + boundary
	at := strings.Index(text, delimiter)
	if boundary == "" || at < 0 || at > 0 && text[at-1] != '\n' {
		return false
	}
	for len(c.parameters) < maxParameters {
		at += len(delimiter)
		if strings.HasPrefix(text[at:], "--") {
			c.create = multipartField(text, at-len(delimiter), delimiter)
			break
		}
		line := "\r\n"
		if !strings.HasPrefix(text[at:], line) {
			line = "\n"
		}
		end := strings.Index(text[at:], line+delimiter)
		head := strings.Index(text[at:], line+line)
		if end < 0 || head < 0 || head > end {
			break
		}
		if name, ok := partName(text[at : at+head]); ok {
			from := min(at+head+2*len(line), at+end)
			c.parameters = append(c.parameters, parameter{name: name, value: text[from : at+end], from: from, to: at + end})
		}
		at += end + len(line)
	}
	return len(c.parameters) > 0
}

func partName(head string) (string, bool) {
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(key), "Content-Disposition") {
			_, parameters, _ := mime.ParseMediaType(strings.TrimSpace(value))
			name, ok := parameters["name"]
			return name, ok
		}
	}
	return "", false
}

// multipartField makes the edit that adds a field before the last delimiter.
func multipartField(text string, at int, delimiter string) func(name, value string) edit {
	line := "\r\n"
	if !strings.HasSuffix(text[:at], line) {
		line = "\n"
	}
	return func(name, value string) edit {
		name = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(name)
		field := delimiter + line + `Content-Disposition: form-data; name="` + name + `"` + line + line + value + line
		return edit{from: at, to: at, text: field}
	}
}
