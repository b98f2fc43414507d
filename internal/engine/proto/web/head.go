package web

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxFields bounds the parsed header lines of a response; the rest is kept as text only.
const maxFields = 200_000

// framing is what a head says about the body and the connection.
type framing struct {
	length   int64 // as declared; -1 when not, or not understood
	chunked  bool
	close    bool // by the rules of its HTTP version
	closes   bool // a Connection line contains close
	keep     bool // a Connection line contains keep-alive
	single   bool // the connection cannot carry another response
	encoding string
	kind     string // the content type
	cookies  bool
}

// parseHead parses a status line, which some servers repeat, and header lines.
func (x *Exchange) parseHead(head []byte) (framing, error) {
	if err := notHTTP(head); err != nil {
		return framing{}, err
	}
	x.raw = string(head)
	line, after := cutLine(x.raw)
	if !x.statusLine(line) {
		err := fmt.Errorf("the status line is %q", errs.Clip(line, maxQuoted))
		return framing{}, &Error{Kind: KindMalformed, Err: err}
	}
	for range maxDuplicate {
		again, next := cutLine(after)
		if !strings.HasPrefix(again, "HTTP/") || !x.statusLine(again) {
			break
		}
		after = next
	}
	x.lines = after
	f := framing{length: -1}
	for name, value := range eachField(x.lines) {
		f.note(name, value)
	}
	f.close = f.closes || !f.keep && (x.Proto == "HTTP/1.0" || x.Proto == "HTTP/0.9")
	if f.chunked {
		f.single = f.single || f.length >= 0
		f.length = -1
	}
	f.single = f.single || f.close
	return f, nil
}

func (f *framing) note(name, value string) {
	is := func(other string) bool { return strings.EqualFold(name, other) }
	switch len(name) { // cheaper than comparing each with all
	case len("Connection"):
		switch {
		case is("Connection"):
			f.closes = f.closes || hasToken(value, "close")
			f.keep = f.keep || hasToken(value, "keep-alive")
		case is("Set-Cookie"):
			f.cookies = true
		}
	case len("Content-Type"):
		if f.kind == "" && is("Content-Type") {
			f.kind = value
		}
	case len("Content-Length"):
		if is("Content-Length") {
			n := parseLength(value)
			f.single = f.single || f.length >= 0 && n != f.length
			f.length = max(f.length, n)
		}
	case len("Content-Encoding"):
		if f.encoding == "" && is("Content-Encoding") {
			f.encoding = strings.ToLower(value)
		}
	case len("Transfer-Encoding"):
		f.chunked = f.chunked || is("Transfer-Encoding") && hasToken(value, "chunked")
	}
}

// statusLine parses a status line: any version, a number of up to six digits, and an optional reason.
func (x *Exchange) statusLine(line string) bool {
	proto, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " \t")
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 6 || len(proto) < len("HTTP/") || digits < len(rest) && rest[digits] != ' ' &&
		rest[digits] != '\t' {
		return false
	}
	x.Status, _ = strconv.Atoi(rest[:digits]) // six digits
	x.Proto, x.Reason = proto, strings.Trim(rest[digits:], " \t")
	return true
}

func cutLine(s string) (line, after string) {
	line, after, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), after
}

// eachField yields the header lines in order; values are trimmed, folded ones joined by a blank. Invalid lines are
// left out.
func eachField(lines string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for count := 0; lines != "" && count < maxFields; count++ {
			var line string
			line, lines = cutLine(lines)
			name, value, ok := strings.Cut(line, ":")
			if !ok || name == "" {
				continue
			}
			value = trimBlanks(value)
			for lines != "" && (lines[0] == ' ' || lines[0] == '\t') {
				line, lines = cutLine(lines)
				value = trimBlanks(value + " " + trimBlanks(line))
				if count++; count > maxFields {
					break
				}
			}
			if !yield(strings.TrimRight(name, " \t"), value) {
				return
			}
		}
	}
}

func trimBlanks(s string) string { return strings.Trim(s, " \t\r") }

// parseLength parses a Content-Length; -1 if it is invalid.
func parseLength(s string) int64 {
	s, _, _ = strings.Cut(s, ",") // repeated in one line by some proxies
	n, err := strconv.ParseUint(trimBlanks(s), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}

func hasToken(list, word string) bool {
	if len(list) == len(word) {
		return strings.EqualFold(list, word)
	}
	for one := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(trimBlanks(one), word) {
			return true
		}
	}
	return false
}

// noBody reports whether such a response never has a body.
func noBody(method string, status int) bool {
	return method == "HEAD" || status/100 == 1 || status == http.StatusNoContent || status == http.StatusNotModified
}

// Fields are the header lines of the response, with order and case unchanged.
func (x *Exchange) Fields() []Header {
	x.once.fields.Do(func() {
		for name, value := range eachField(x.lines) {
			x.fields = append(x.fields, Header{name, value})
		}
	})
	return x.fields
}

// Header is the value of the first header line of this name, ignoring case, or "".
func (x *Exchange) Header(name string) string {
	if i := indexHeader(x.Fields(), name); i >= 0 {
		return x.fields[i].Value
	}
	return ""
}

// Head is status line, header lines and empty line as net/http prints them (template language 2.8): canonical names,
// sorted, with the lines that frame the body rewritten. It must not be changed.
func (x *Exchange) Head() []byte {
	x.once.head.Do(func() { x.head = x.makeHead() })
	return x.head
}

func (x *Exchange) makeHead() []byte {
	b := make([]byte, 0, len(x.raw)+32)
	b = append(append(append(b, canonicalProto(x.Proto)...), ' '), fmt.Sprintf("%03d ", x.Status)...)
	if x.Reason == "" {
		b = strconv.AppendInt(b, int64(x.Status), 10) // as net/http has it
	}
	b = append(append(b, x.Reason...), "\r\n"...)
	length, bodyless := x.framing.length, noBody(x.Request.method(), x.Status)
	switch {
	case x.unzipped:
		length = -1
	case bodyless && x.Request.method() != "HEAD":
		length = 0
	}
	unbounded := length < 0 && !x.framing.chunked && !bodyless && !x.unzipped
	shown := x.shownFields()
	if (x.framing.close || unbounded) && !slices.ContainsFunc(shown, func(h Header) bool {
		return h.Name == "Connection" && hasToken(h.Value, "close")
	}) {
		b = append(b, "Connection: close\r\n"...)
	}
	switch {
	case x.framing.chunked && !x.unzipped:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case length > 0:
		b = appendLine(b, Header{"Content-Length", strconv.FormatInt(length, 10)})
	}
	for _, h := range shown {
		b = appendLine(b, h)
	}
	if length == 0 && !x.framing.chunked && !bodyless {
		b = append(b, "Content-Length: 0\r\n"...)
	}
	return append(b, "\r\n"...)
}

// shownFields are the header lines with canonical names, sorted, without those that frame the body.
func (x *Exchange) shownFields() []Header {
	var shown []Header
	for _, h := range x.Fields() {
		h.Name = http.CanonicalHeaderKey(h.Name)
		if !x.hidden(h.Name) && h.Name != "Content-Length" {
			shown = append(shown, h)
		}
	}
	slices.SortStableFunc(shown, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return shown
}

// hidden reports whether templates do not see a header line because net/http removes it. name is canonical.
func (x *Exchange) hidden(name string) bool {
	switch name {
	case "Transfer-Encoding", "Trailer":
		return true
	case "Connection":
		return x.framing.closes && x.Proto != "HTTP/1.0"
	case "Content-Length", "Content-Encoding":
		return x.unzipped
	}
	return false
}

// canonicalProto is the version as net/http prints it.
func canonicalProto(proto string) string {
	if major, minor, ok := http.ParseHTTPVersion(proto); ok {
		return fmt.Sprintf("HTTP/%d.%d", major, minor)
	}
	return "HTTP/1.1"
}
