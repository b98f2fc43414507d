package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/vedette-sec/vedette/internal/engine/proto/digest"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// Header is one header line, name in the case it is sent in.
type Header struct{ Name, Value string }

// Request is one request, ready to be sent. Only Address is needed. A Request is not
// changed by sending it. Which redirects are followed is no matter of the request but of
// a Policy, so that one first response can serve askers who follow in different ways.
type Request struct {
	Address rawurl.URL // where to connect, and what the request is called by
	Method  string     // as it is written; "" means GET
	Target  string     // the request target, sent as it is; "" means Address.Target()
	Host    string     // of the Host line; "" means that of Headers, or else of Address
	Headers []Header   // in order and case of the wire; a Host line stays where it stands
	Body    []byte

	// Raw are the bytes to send, and nothing else, on a connection of its own (template
	// language 2.4); Config.Headers come in after its Host line. All fields that make
	// up a request are ignored then.
	Raw []byte

	// NoDefaults leaves out the headers that are added when absent; NoAccept leaves out
	// only Accept and Accept-Language, as raw requests want it (template language 2.2).
	NoDefaults, NoAccept bool

	SNI     string              // server name told in TLS; "" means that of Address
	Timeout time.Duration       // from the first byte sent to the last one read; 0 means what Config.Timeout says
	MaxBody int64               // bytes of body to keep; 0, or more than the client's cap, means that cap
	Fresh   bool                // a connection of its own, with no TLS session remembered
	ReadAll bool                // the body goes on until the connection ends, whatever its header says
	Jar     *Jar                // cookies to send and to keep; nil for none
	Digest  *digest.Credentials // for HTTP digest authentication; nil for none

	elsewhere bool // a redirect led to another host: secrets of the configuration stay here
}

// method is the method that goes on the wire.
func (r *Request) method() string {
	switch {
	case r.Raw != nil:
		method, _, _ := strings.Cut(string(r.Raw[:min(len(r.Raw), 16)]), " ")
		return method
	case r.Method == "":
		return "GET"
	}
	return r.Method
}

// target is the request target that goes on the wire.
func (r *Request) target() string {
	switch {
	case r.Target != "":
		return r.Target
	case r.Method == http.MethodConnect && r.Address.Path == "":
		return r.Address.HostPort()
	}
	return r.Address.Target()
}

// origin is what its connections are kept by.
func (r *Request) origin() origin {
	return origin{scheme: r.Address.Scheme, hostPort: r.Address.HostPort(), sni: r.SNI}
}

// host is the value of the Host line; the scheme's own port is left out (template
// language 2.2).
func (r *Request) host() string {
	host := r.Host
	if host == "" {
		host = r.Address.Host
		if i := indexHeader(r.Headers, "Host"); i >= 0 {
			host = r.Headers[i].Value
		}
	}
	if r.Address.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// check refuses what would end a line early: the rest would be a request that nobody
// wrote, and its answer would be taken for that of the next one. It refuses what is no
// header, too (RFC 9110, 5.1 and 5.5).
func (r *Request) check() error {
	if r.Raw != nil {
		return nil
	}
	bad := strings.ContainsAny(r.Method, "\r\n\x00 ") || strings.ContainsAny(r.Target, "\r\n\x00") || strings.ContainsAny(r.Host, "\r\n\x00")
	for _, h := range r.Headers {
		bad = bad || strings.ContainsAny(h.Name, "\r\n\x00") || strings.ContainsAny(h.Value, "\r\n\x00")
	}
	if bad {
		return &Error{Kind: KindRequest, Err: errors.New("a line break in the request line or in a header")}
	}
	for _, h := range r.Headers {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			return &Error{Kind: KindRequest, Err: fmt.Errorf("%q is no header that can be sent", clip(h.Name))}
		}
	}
	return nil
}

func indexHeader(list []Header, name string) int {
	return slices.IndexFunc(list, func(h Header) bool { return strings.EqualFold(h.Name, name) })
}

// authorization is the answer to the digest challenge of the server, if it has sent one before.
func (r *Request) authorization() string {
	if r.Digest == nil {
		return ""
	}
	return r.Digest.Authorization(r.Address.Scheme+r.Address.HostPort(), r.method(), r.target())
}

// challenged reports whether the request has to be sent again to answer a digest challenge.
func (x *Exchange) challenged() bool {
	r := &x.Request
	if r.Digest == nil || x.Status != http.StatusUnauthorized || r.Raw != nil {
		return false
	}
	var headers []string
	for _, h := range x.Fields() {
		if strings.EqualFold(h.Name, "Www-Authenticate") {
			headers = append(headers, h.Value)
		}
	}
	return r.Digest.Learn(r.Address.Scheme+r.Address.HostPort(), headers, x.extra.authorization != "")
}

// Curl is a shell command that sends the same request (template language 8.2). Every
// argument is in single quotes, so that no byte of it means anything to a shell. It is
// empty for Raw requests.
func (x *Exchange) Curl() string {
	r := &x.Request
	if r.Raw != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("curl -X " + quote(r.method()))
	if len(r.Body) > 0 {
		b.WriteString(" -d " + quote(string(r.Body)))
	}
	lines := x.client.lines(r, x.extra)
	lines = slices.DeleteFunc(lines, func(h Header) bool {
		return strings.EqualFold(h.Name, "Content-Length") || h == acceptGzip ||
			strings.EqualFold(h.Name, "Host") && h.Value == r.Address.Host
	})
	slices.SortStableFunc(lines, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range lines {
		b.WriteString(" -H " + quote(h.Name+": "+h.Value))
	}
	b.WriteString(" " + quote(r.Address.String()))
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Sent is the request as it went over the wire, byte for byte.
func (x *Exchange) Sent() []byte { return x.client.appendRequest(nil, &x.Request, x.extra) }

// extra is what sending adds to a request from what is known at the time.
type extra struct{ cookies, authorization string }

// The headers that are added when they are absent.
var (
	acceptAny      = Header{"Accept", "*/*"}
	acceptLanguage = Header{"Accept-Language", "en"}
	acceptGzip     = Header{"Accept-Encoding", "gzip"}
)

// secret reports whether a header is for one host only.
func secret(name string) bool {
	return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie") ||
		strings.EqualFold(name, "Cookie2") || strings.EqualFold(name, "Proxy-Authorization") || strings.EqualFold(name, "Www-Authenticate")
}

// lines are the header lines of a request as they go on the wire.
func (c *Client) lines(r *Request, add extra) []Header {
	return c.appendLines(make([]Header, 0, len(r.Headers)+len(c.cfg.Headers)+8), r, add)
}

// appendLines appends the header lines of a request: its own, but for those that the
// configuration replaces, then the configuration's, then what is missing.
func (c *Client) appendLines(lines []Header, r *Request, add extra) []Header {
	host, own := Header{"Host", r.host()}, c.cfg.Headers
	if i := indexHeader(own, "Host"); i >= 0 {
		host.Value = own[i].Value
	}
	if indexHeader(r.Headers, "Host") < 0 {
		lines = append(lines, host)
	}
	body, chunked := r.Body, false
	if i := indexHeader(r.Headers, "Transfer-Encoding"); i >= 0 {
		chunked = strings.EqualFold(strings.TrimSpace(r.Headers[i].Value), "chunked")
	}
	for _, h := range r.Headers {
		switch {
		case strings.EqualFold(h.Name, "Host"):
			h.Value = host.Value
		case strings.EqualFold(h.Name, "Content-Length"):
			if chunked || len(body) == 0 && !wantsLength(r.method()) {
				continue
			}
			h.Value = strconv.Itoa(len(body))
		case strings.EqualFold(h.Name, "Cookie") && add.cookies != "":
			h.Value += "; " + add.cookies // of two with one name, both go out
		case strings.EqualFold(h.Name, "Authorization") && add.authorization != "":
			continue
		case len(own) > 0 && indexHeader(own, h.Name) >= 0:
			continue
		}
		lines = append(lines, h)
	}
	for _, h := range own {
		if !strings.EqualFold(h.Name, "Host") && (!r.elsewhere || !secret(h.Name)) {
			lines = append(lines, h)
		}
	}
	return c.appendMissing(lines, r, add, chunked)
}

// appendMissing appends the lines that a request should have and has not.
func (c *Client) appendMissing(lines []Header, r *Request, add extra, chunked bool) []Header {
	missing := func(h Header) {
		if indexHeader(lines, h.Name) < 0 {
			lines = append(lines, h)
		}
	}
	if !r.NoDefaults {
		missing(Header{"User-Agent", c.cfg.UserAgent})
		if !r.NoAccept {
			missing(acceptAny)
			missing(acceptLanguage)
		}
		// A HEAD has nothing to compress, and a range of compressed bytes is of no use.
		if r.Method != http.MethodHead && indexHeader(lines, "Range") < 0 {
			missing(acceptGzip)
		}
		if r.Fresh {
			missing(Header{"Connection", "close"})
		}
	}
	if add.cookies != "" {
		missing(Header{"Cookie", add.cookies})
	}
	if add.authorization != "" {
		missing(Header{"Authorization", add.authorization})
	}
	if !chunked && (len(r.Body) > 0 || wantsLength(r.method())) {
		missing(Header{"Content-Length", strconv.Itoa(len(r.Body))})
	}
	return lines
}

// wantsLength reports whether servers expect a length even of an empty body.
func wantsLength(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

// appendRequest appends the bytes of a request.
func (c *Client) appendRequest(b []byte, r *Request, add extra) []byte {
	if r.Raw != nil {
		return appendRaw(b, r.Raw, c.cfg.Headers)
	}
	var room [16]Header
	lines := c.appendLines(room[:0], r, add)
	b = append(append(append(b, r.method()...), ' '), r.target()...)
	b = append(b, " HTTP/1.1\r\n"...)
	chunked := false
	for _, h := range lines {
		b = appendLine(b, h)
		chunked = chunked || strings.EqualFold(h.Name, "Transfer-Encoding") && strings.EqualFold(strings.TrimSpace(h.Value), "chunked")
	}
	b = append(b, "\r\n"...)
	if !chunked {
		return append(b, r.Body...)
	}
	if len(r.Body) > 0 {
		b = append(strconv.AppendInt(b, int64(len(r.Body)), 16), "\r\n"...)
		b = append(append(b, r.Body...), "\r\n"...)
	}
	return append(b, "0\r\n\r\n"...)
}

func appendLine(b []byte, h Header) []byte {
	b = append(append(b, h.Name...), ": "...)
	return append(append(b, h.Value...), "\r\n"...)
}

// appendRaw appends raw bytes, with more header lines after the Host line.
func appendRaw(b, raw []byte, more []Header) []byte {
	if len(more) == 0 {
		return append(b, raw...)
	}
	for rest := raw; len(rest) > 0; {
		line := rest[:len(rest)-len(afterLine(rest))]
		if len(line) <= 2 {
			break // no Host line: the bytes stay as they are
		}
		rest = rest[len(line):]
		if len(line) > 5 && strings.EqualFold(string(line[:5]), "Host:") {
			b = append(b, raw[:len(raw)-len(rest)]...)
			for _, h := range more {
				b = appendLine(b, h)
			}
			return append(b, rest...)
		}
	}
	return append(b, raw...)
}
