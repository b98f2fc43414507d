package web

import (
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Exchange is a request and its response. It is safe for any number of goroutines.
type Exchange struct {
	Request   Request // what was sent to get it
	Status    int
	Proto     string // of the status line: "HTTP/1.1"
	Reason    string // may be empty
	Body      []byte // decoded; of its exact size, and never changed
	Truncated bool   // the body went on, or broke off
	IP        string // the address that answered
	At        time.Time
	Duration  time.Duration        // until the head was read
	TLS       *tls.ConnectionState // nil on plain http

	client   *Client
	extra    extra
	raw      string // the head as it came
	lines    string // its header lines, part of raw
	framing  framing
	unzipped bool             // the client asked for gzip by itself: templates do not see it
	share    *membudget.Share // of Config.Memory; nil for a small answer

	once struct{ fields, head, cookies sync.Once }

	fields  []Header
	head    []byte
	cookies map[string]string
}

// URL is the requested URL.
func (x *Exchange) URL() string { return x.Request.Address.String() }

// Release frees the share of Config.Memory. Body stays valid. Without Release the share is freed when the Exchange is
// garbage-collected.
func (x *Exchange) Release() { x.share.Release() }

// Named are the named parts of a response (template language 2.8): properties of the exchange (status_code and
// content_length are int, duration is float64 seconds, all others string), of TLS (tls_…), headers in lower case with
// underscores, and cookies.
func (x *Exchange) Named(name string) (any, bool) {
	switch name {
	case "status_code":
		return x.Status, true
	case "content_length":
		if x.framing.length >= 0 && !x.unzipped {
			return int(x.framing.length), true
		}
		return len(x.Body), true
	case "duration":
		return x.Duration.Seconds(), true
	case "type":
		return "http", true
	case "matched":
		return x.URL(), true
	case "ip":
		return x.IP, x.IP != ""
	case "body":
		return textOf(x.Body), true
	case "header", "all_headers":
		return textOf(x.Head()), true
	case "response":
		return string(x.Head()) + textOf(x.Body), true
	case "request":
		return textOf(x.Sent()), true
	case "curl-command", "curl_command":
		return x.Curl(), x.Request.Raw == nil
	}
	if IsTLSPart(name) {
		return some(x.tlsFact(name))
	}
	if value, ok := x.headerPart(name); ok {
		return value, true
	}
	return some(x.cookie(name))
}

func some(s string, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return s, true
}

// textOf is a string over the same bytes, which are never changed.
//
//nolint:gosec // the slices of an Exchange are written once, before anybody sees them
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (x *Exchange) headerPart(part string) (value string, ok bool) {
	for _, h := range x.Fields() {
		if len(h.Name) != len(part) || !isPart(h.Name, part) || x.hidden(http.CanonicalHeaderKey(h.Name)) {
			continue
		}
		if ok {
			value += " " + h.Value
		} else {
			value, ok = h.Value, true
		}
	}
	return value, ok
}

// isPart reports whether a header name, in lower case and with underscores, is the name of a part.
func isPart(header, part string) bool {
	for i := range len(header) {
		c := header[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '-':
			c = '_'
		}
		if c != part[i] {
			return false
		}
	}
	return true
}

// cookie is the value of a cookie that the response sets, by name in lower case.
func (x *Exchange) cookie(name string) (string, bool) {
	x.once.cookies.Do(func() {
		for _, c := range x.setCookies() {
			if x.cookies == nil {
				x.cookies = map[string]string{}
			}
			x.cookies[strings.ToLower(c.Name)] = c.Value
		}
	})
	value, ok := x.cookies[name]
	return value, ok
}

func (x *Exchange) setCookies() []*http.Cookie {
	if !x.framing.cookies {
		return nil
	}
	var set []*http.Cookie
	for _, h := range x.Fields() {
		if !strings.EqualFold(h.Name, "Set-Cookie") {
			continue
		}
		if c, err := http.ParseSetCookie(h.Value); err == nil {
			set = append(set, c)
		}
	}
	return set
}
