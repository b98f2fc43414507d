package recorded

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxURL bounds the text of one URL.
const maxURL = 8192

// location is a URL in parts: where a request goes, and what it asks for there.
type location struct {
	scheme string // http, https, or "" where the record has none
	host   string // with its port if it has one, in lower case
	tail   string // path and query, as they were written
}

func (l location) String() string {
	if l.scheme == "" {
		return l.host + l.tail
	}
	return l.scheme + "://" + l.host + l.tail
}

// locate takes a URL apart, and refuses what cannot be sent to a target. Blanks are written as %20.
func locate(text string) (l location, err error) {
	s := strings.ReplaceAll(strings.TrimSpace(text), " ", "%20")
	refuse := func(why string) (location, error) {
		return location{}, fmt.Errorf("%s: %s", strconv.QuoteToASCII(errs.Clip(text, maxQuoted)), why)
	}
	switch {
	case s == "" || len(s) > maxURL:
		return refuse("a URL must have from 1 to " + strconv.Itoa(maxURL) + " bytes")
	case strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == 0xfffd }):
		return refuse("it holds control characters")
	}
	rest := s
	if before, after, named := strings.Cut(s, "://"); named && !strings.ContainsAny(before, "/?#") {
		l.scheme, rest = strings.ToLower(before), after
	}
	switch l.scheme {
	case "", "http", "https":
	case "ws", "wss":
		return refuse("it is for a WebSocket")
	default:
		return refuse("only http and https can be tested")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	l.tail, _, _ = strings.Cut(rest[end:], "#")
	switch {
	case strings.Contains(authority, "\\"): // browsers end the host there, others go on to what follows
		return refuse("its host holds a backslash")
	case strings.Contains(authority, "@"):
		return refuse("credentials do not belong into a URL; send them as a header")
	}
	if l.host, err = hostOf(authority); err != nil {
		return refuse(err.Error())
	}
	return l, nil
}

// hostOf is the host of an authority in lower case, with its port if it has one.
func hostOf(authority string) (string, error) {
	u, err := url.Parse("//" + authority)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("it names no host")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" && strings.HasSuffix(u.Host, ":") {
		return "", errors.New("the port is missing")
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return "", errors.New("the port is not a number from 1 to 65535")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", errors.New("addresses with a zone cannot be tested")
		}
		if addr.Is6() {
			host = "[" + addr.String() + "]"
		}
	} else if !isHost(host) {
		return "", errors.New("the host name is not valid")
	}
	if port != "" {
		host += ":" + port
	}
	return host, nil
}

// isHost reports whether a name can be one: what is spelt in other scripts is for others to judge.
func isHost(name string) bool {
	if len(name) > 253 || strings.Trim(name, "0123456789.") == "" {
		return false // all digits but no address: a typing error, or a trick
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || label[0] == '-' || len(label) > 63 || strings.ContainsFunc(label, func(c rune) bool {
			return c < 0x80 && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
		}) {
			return false
		}
	}
	return true
}
