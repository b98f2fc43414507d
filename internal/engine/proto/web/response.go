package web

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/match"
)

// Response is one answer, read.
type Response struct {
	Request   Request // what was sent to get it; differs from the first request after a redirect
	Status    int
	Line      string // the status line without line end: "HTTP/1.1 200 OK"
	Header    http.Header
	Body      []byte // decoded
	Truncated bool   // the body went on, or broke off
	IP        string // the address that answered
	At        time.Time
	Duration  time.Duration // until the header was read
	TLS       *tls.ConnectionState

	length  int64 // as declared; -1 when not
	chunked bool
	close   bool
}

// View is the response as matchers see it. The view is for one goroutine.
func (r *Response) View() *match.Response {
	return &match.Response{
		Status: r.Status, Body: r.Body,
		Head: r.head, Raw: r.Request.dump, Named: func(name string) (any, bool) { return r.named(name) },
	}
}

// Dump is the response as text, at most limit bytes.
func (r *Response) Dump(limit int) string { return clipBytes(append(r.head(), r.Body...), limit) }

// DumpRequest is the request as text, at most limit bytes.
func (r *Response) DumpRequest(limit int) string { return clipBytes(r.Request.dump(), limit) }

func clipBytes(b []byte, limit int) string { return string(b[:min(len(b), limit)]) }

// head is the status line, the header lines in the order of their names, and the empty
// line. The lines that net/http takes out of the header are put back.
func (r *Response) head() []byte {
	var b bytes.Buffer
	b.WriteString(r.Line + "\r\n")
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	if r.close && len(r.Header["Connection"]) == 0 {
		b.WriteString("Connection: close\r\n")
	}
	for _, name := range names {
		for _, value := range r.Header[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	if r.chunked {
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// named are the parts that have a name: facts of the exchange, facts of TLS, headers
// in lower case with underscores, and cookies.
func (r *Response) named(name string) (string, bool) {
	switch name {
	case "status_code":
		return strconv.Itoa(r.Status), true
	case "content_length":
		if r.length >= 0 {
			return strconv.FormatInt(r.length, 10), true
		}
		return strconv.Itoa(len(r.Body)), true
	case "matched":
		return r.Request.Address.String(), true
	case "ip":
		return r.IP, r.IP != ""
	case "type":
		return "http", true
	case "duration":
		return strconv.FormatFloat(r.Duration.Seconds(), 'f', -1, 64), true
	}
	if IsTLSPart(name) {
		return r.tlsFact(name)
	}
	if values, ok := r.Header[http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))]; ok && name == strings.ToLower(name) {
		return strings.Join(values, " "), true
	}
	for header, values := range r.Header {
		if strings.ToLower(strings.ReplaceAll(header, "-", "_")) == name {
			return strings.Join(values, " "), true
		}
	}
	return r.cookie(name)
}

func (r *Response) cookie(name string) (string, bool) {
	for _, line := range r.Header["Set-Cookie"] {
		c, err := http.ParseSetCookie(line)
		if err == nil && strings.ToLower(c.Name) == name {
			return c.Value, true
		}
	}
	return "", false
}
