package message

import (
	"mime"
	"strings"
)

// multipartSpans are the values of the parts of a body. A part that names a file has two places: its content, and its
// name, which is called NAME.filename.
func multipartSpans(text, boundary string) (out []span) {
	if boundary == "" {
		return nil
	}
	delimiter := "--" + boundary
	at := 0
	for len(out) < maxPlaces {
		found := strings.Index(text[at:], delimiter)
		if found < 0 {
			return out
		}
		at += found + len(delimiter)
		if strings.HasPrefix(text[at:], "--") {
			return out
		}
		headEnd := strings.Index(text[at:], "\r\n\r\n")
		if headEnd < 0 {
			return out
		}
		start := at + headEnd + 4
		length := strings.Index(text[start:], "\r\n"+delimiter)
		if length < 0 {
			return out
		}
		out = append(out, partSpans(text, at, start, start+length)...)
		at = start + length
	}
	return out
}

// partSpans are those of the part whose head begins at head and whose content is from start to end.
func partSpans(text string, head, start, end int) (out []span) {
	for line := range strings.SplitSeq(text[head:start], "\r\n") {
		key, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(key), "Content-Disposition") {
			continue
		}
		_, parameters, err := mime.ParseMediaType(strings.TrimSpace(value))
		if err != nil {
			return nil
		}
		name := parameters["name"]
		file, isFile := parameters["filename"]
		place := Place{Component: Body, Format: Multipart, Name: name, Value: text[start:end], File: isFile}
		out = append(out, span{Place: place, start: start, end: end, write: func(s string) string { return s }})
		if quoted := `filename="`; isFile && strings.Contains(text[head:start], quoted) {
			from := head + strings.Index(text[head:start], quoted) + len(quoted)
			if length := strings.IndexByte(text[from:start], '"'); length >= 0 {
				place = Place{Component: Body, Format: Multipart, Name: name + ".filename", Value: file}
				out = append(out, span{Place: place, start: from, end: from + length, write: parameterValue})
			}
		}
		return out
	}
	return nil
}

// parameterValue encodes a value of a header's parameter as browsers do.
func parameterValue(text string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(text)
}

func addPart(text, boundary, name, value string) string {
	closing := "--" + boundary + "--"
	if boundary == "" || !strings.Contains(text, closing) {
		return text
	}
	part := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + parameterValue(name) + "\"\r\n\r\n" +
		value + "\r\n"
	return strings.Replace(text, closing, part+closing, 1)
}

// Part is a field of a multipart body; with a FileName it is a file.
type Part struct{ Name, FileName, Type, Content string }

// EncodeMultipart writes a multipart body. No content may have the boundary.
func EncodeMultipart(parts []Part, boundary string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + parameterValue(p.Name) + `"`)
		if p.FileName != "" {
			b.WriteString(`; filename="` + parameterValue(p.FileName) + `"`)
		}
		if p.Type != "" {
			b.WriteString("\r\nContent-Type: " + p.Type)
		}
		b.WriteString("\r\n\r\n" + p.Content + "\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.String()
}
