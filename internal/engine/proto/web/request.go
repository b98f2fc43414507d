package web

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Header is one header line, name in the case it is sent in.
type Header struct{ Name, Value string }

// RedirectMode says which redirects a request follows.
type RedirectMode int

// The modes.
const (
	NoRedirects   RedirectMode = iota
	AllRedirects               // wherever they lead, as far as the client is allowed to
	HostRedirects              // while host and port stay those of the first request
)

// DefaultMaxRedirects is how many redirects are followed when nobody says.
const DefaultMaxRedirects = 10

// Request is one request, ready to be sent.
type Request struct {
	Method       string // "" means GET
	Address      Address
	Headers      []Header
	Body         string
	Redirects    RedirectMode
	MaxRedirects int   // 0 means DefaultMaxRedirects
	MaxBody      int64 // bytes of body to keep; 0, or more than the client's cap, means that cap
}

// method is the method that goes on the wire.
func (r *Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// header finds a header of the request in any case.
func (r *Request) header(name string) (string, bool) {
	i := slices.IndexFunc(r.Headers, func(h Header) bool { return strings.EqualFold(h.Name, name) })
	if i < 0 {
		return "", false
	}
	return r.Headers[i].Value, true
}

// dump is the request as text, as it goes on the wire.
func (r *Request) dump() []byte {
	var b bytes.Buffer
	host, ok := r.header("Host")
	if !ok {
		host = r.Address.Host
	}
	b.WriteString(r.method() + " " + r.Address.wire().RequestURI() + " HTTP/1.1\r\nHost: " + host + "\r\n")
	lines := slices.Clone(r.Headers)
	if r.Body != "" {
		lines = append(lines, Header{"Content-Length", strconv.Itoa(len(r.Body))})
	}
	slices.SortStableFunc(lines, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range lines {
		if !strings.EqualFold(h.Name, "Host") {
			b.WriteString(h.Name + ": " + h.Value + "\r\n")
		}
	}
	b.WriteString("\r\n" + r.Body)
	return b.Bytes()
}

// Curl is a shell command that sends the same request. Every argument is in single
// quotes, so that no byte of it means anything to a shell.
func (r *Request) Curl() string {
	var b strings.Builder
	arg := func(flag, value string) {
		b.WriteString(" " + flag + quote(value))
	}
	b.WriteString("curl")
	arg("-X ", r.method())
	if r.Body != "" {
		arg("-d ", r.Body)
	}
	lines := slices.Clone(r.Headers)
	slices.SortStableFunc(lines, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range lines {
		arg("-H ", h.Name+": "+h.Value)
	}
	arg("", r.Address.String())
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
