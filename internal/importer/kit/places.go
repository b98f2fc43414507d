package kit

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// HostPort parts host:port, [v6]:port, a bare host or a bare IPv6 address.
func HostPort(text string) (host string, port int) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "["); ok {
		host, after, _ := strings.Cut(rest, "]")
		return host, Int(strings.TrimPrefix(after, ":"))
	}
	if strings.Count(text, ":") == 1 {
		host, digits, _ := strings.Cut(text, ":")
		return host, Int(digits)
	}
	return text, 0
}

// Base64 decodes a text; what is not base64 is returned as it is.
func Base64(text string) string {
	compact := strings.Join(strings.Fields(text), "")
	if plain, err := base64.StdEncoding.DecodeString(compact); err == nil {
		return string(plain)
	}
	if plain, err := base64.RawStdEncoding.DecodeString(compact); err == nil {
		return string(plain)
	}
	return text
}

// Join puts the texts that are not blank together, with a separator.
func Join(separator string, texts ...string) string {
	var all []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, separator)
}

// IsIP says whether a text is an address.
func IsIP(text string) bool {
	_, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return err == nil
}

// Number is a whole number as text; empty for zero.
func Number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Decimal is a number with one digit behind the point; empty for zero.
func Decimal(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}
