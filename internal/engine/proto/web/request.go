package web

import (
	"bytes"
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
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Header is a header line; the case of the name is kept.
type Header struct{ Name, Value string }

// Request is a request to send; it is not changed by sending. Only Address is required. A Policy decides about
// redirects, so that one first response can serve several policies.
type Request struct {
	Address rawurl.URL // where to connect, and the URL of the request
	Method  string     // as it is written; "" means GET
	Target  string     // sent as it is; "" means Address.Target()
	Host    string     // for the Host line; "" means that of Headers, or else of Address
	Headers []Header   // order and case are kept
	Body    []byte

	// Raw is sent as it is, on its own connection (template language 2.4), with Config.Headers after its Host line.
	// Method, Target, Host, Headers and Body are ignored then.
	Raw []byte

	// NoDefaults omits all default headers; NoAccept omits Accept and Accept-Language, for raw requests of templates
	// (template language 2.2).
	NoDefaults, NoAccept bool

	SNI     string              // server name for TLS; "" means that of Address
	Timeout time.Duration       // of the whole exchange; 0 means that of Config.Timeout
	MaxBody int64               // of the body to keep; 0, or more than Config.MaxBody, means that
	Fresh   bool                // a new connection and TLS session
	ReadAll bool                // the body lasts until the connection ends
	Jar     *Jar                // cookies to send and to keep; nil for none
	Digest  *digest.Credentials // for HTTP digest authentication; nil for none

	elsewhere bool // a redirect led to another host: it gets no headers of the configuration that are for the target
}

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

func (r *Request) target() string {
	switch {
	case r.Target != "":
		return r.Target
	case r.Method == http.MethodConnect && r.Address.Path == "":
		return r.Address.HostPort()
	}
	return r.Address.Target()
}

func (r *Request) origin() origin {
	return origin{scheme: r.Address.Scheme, hostPort: r.Address.HostPort(), sni: r.SNI}
}

// host is the value of the Host line, without the default port (template language 2.2).
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

// check refuses line breaks, which would begin another request whose response would be taken for the next one, and
// invalid headers (RFC 9110, 5.1 and 5.5).
func (r *Request) check() error {
	if r.Raw != nil {
		return nil
	}
	breaks := func(s string) bool { return strings.ContainsAny(s, "\r\n\x00") }
	if strings.Contains(r.Method, " ") || breaks(r.Method) || breaks(r.Target) || breaks(r.Host) ||
		slices.ContainsFunc(r.Headers, func(h Header) bool { return breaks(h.Name) || breaks(h.Value) }) {
		return &Error{Kind: KindRequest, Err: errors.New("a line break in the request line or in a header")}
	}
	for _, h := range r.Headers {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			err := fmt.Errorf("%q is no header that can be sent", errs.Clip(h.Name, maxQuoted))
			return &Error{Kind: KindRequest, Err: err}
		}
	}
	return nil
}

func (h Header) chunked() bool {
	return strings.EqualFold(h.Name, "Transfer-Encoding") && strings.EqualFold(strings.TrimSpace(h.Value), "chunked")
}

func indexHeader(list []Header, name string) int {
	return slices.IndexFunc(list, func(h Header) bool { return strings.EqualFold(h.Name, name) })
}

// authorization answers the last digest challenge of the server, if there was one.
func (r *Request) authorization() string {
	if r.Digest == nil {
		return ""
	}
	return r.Digest.Authorization(r.Address.Scheme+r.Address.HostPort(), r.method(), r.target())
}

// challenged reports whether to send the request again to answer a digest challenge.
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

// Curl is a shell command for the same request (template language 8.2), or "" for Raw requests. All arguments are in
// single quotes, so that a shell interprets nothing.
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

// Unanswered is an exchange without a response.
func (c *Client) Unanswered(r Request) *Exchange { return &Exchange{Request: r, client: c} }

// Sent is the request as it was sent, byte for byte.
func (x *Exchange) Sent() []byte { return x.client.appendRequest(nil, &x.Request, x.extra) }

// extra has the headers that are known when a request is sent.
type extra struct{ cookies, authorization string }

// Default headers.
var (
	acceptAny      = Header{"Accept", "*/*"}
	acceptLanguage = Header{"Accept-Language", "en"}
	acceptGzip     = Header{"Accept-Encoding", "gzip"}
)

// secret reports whether a header of a request may be for one host only, by what its name says.
func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "credential", "key", "password", "secret", "session", "token"},
		func(word string) bool { return strings.Contains(name, word) })
}

// forAnyHost reports whether a header of the configuration says nothing but which client asks, so that every host may
// see it. All others are meant for the targets.
func forAnyHost(name string) bool {
	return containsName([]string{"User-Agent", "Accept", "Accept-Encoding", "Accept-Language"}, name)
}

func (c *Client) lines(r *Request, add extra) []Header {
	return c.appendLines(make([]Header, 0, len(r.Headers)+len(c.cfg.Headers)+8), r, add)
}

// appendLines appends the request's header lines, those of the configuration instead of them, and missing defaults.
func (c *Client) appendLines(lines []Header, r *Request, add extra) []Header {
	host, own := Header{"Host", r.host()}, c.cfg.Headers
	if i := indexHeader(own, "Host"); i >= 0 && !r.elsewhere {
		host.Value = own[i].Value
	}
	if indexHeader(r.Headers, "Host") < 0 {
		lines = append(lines, host)
	}
	chunked := slices.ContainsFunc(r.Headers, Header.chunked)
	for _, h := range r.Headers {
		switch {
		case strings.EqualFold(h.Name, "Host"):
			h.Value = host.Value
		case strings.EqualFold(h.Name, "Content-Length"):
			if chunked || len(r.Body) == 0 && !wantsLength(r.method()) {
				continue
			}
			h.Value = strconv.Itoa(len(r.Body))
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
		if !strings.EqualFold(h.Name, "Host") && (!r.elsewhere || forAnyHost(h.Name)) {
			lines = append(lines, h)
		}
	}
	return c.appendMissing(lines, r, add, chunked)
}

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
		// A HEAD has nothing to compress, and ranges of compressed bytes are useless.
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

// wantsLength reports whether servers expect the length of an empty body.
func wantsLength(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

func (c *Client) appendRequest(b []byte, r *Request, add extra) []byte {
	if r.Raw != nil {
		return appendRaw(b, r.Raw, c.cfg.Headers)
	}
	var buf [16]Header
	lines := c.appendLines(buf[:0], r, add)
	b = append(append(append(b, r.method()...), ' '), r.target()...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, h := range lines {
		b = appendLine(b, h)
	}
	b = append(b, "\r\n"...)
	if !slices.ContainsFunc(lines, Header.chunked) {
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

// appendRaw appends a raw request with further header lines after its Host line.
func appendRaw(b, raw []byte, more []Header) []byte {
	if len(more) == 0 {
		return append(b, raw...)
	}
	end := 0
	for line := range bytes.Lines(raw) {
		end += len(line)
		if len(line) <= 2 {
			break // no Host line: the bytes stay as they are
		}
		if len(line) > 5 && strings.EqualFold(string(line[:5]), "Host:") {
			b = append(b, raw[:end]...)
			for _, h := range more {
				b = appendLine(b, h)
			}
			return append(b, raw[end:]...)
		}
	}
	return append(b, raw...)
}
