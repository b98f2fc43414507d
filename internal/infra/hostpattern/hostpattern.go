// Package hostpattern matches hosts with patterns, such as those that a team excludes: names with *, addresses, ranges.
package hostpattern

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Patterns decide which targets are excluded. Each is a host with * as a wildcard, an address or a
// range, in any case. One with + allows: if there are any, a target must match one of them.
type Patterns struct{ allow, deny []pattern }

type pattern struct {
	text   string // a host with *; empty for a range
	prefix netip.Prefix
}

const maxPattern = 255

// Parse parses patterns. The error names the first invalid one.
func Parse(texts []string) (p Patterns, err error) {
	for _, text := range texts {
		rest, allows := strings.CutPrefix(strings.TrimSpace(text), "+")
		one, err := parsePattern(rest)
		if err != nil {
			return p, err
		}
		if allows {
			p.allow = append(p.allow, one)
		} else {
			p.deny = append(p.deny, one)
		}
	}
	return p, nil
}

func parsePattern(text string) (pattern, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return pattern{prefix: prefix.Masked()}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return pattern{prefix: netip.PrefixFrom(a, a.BitLen())}, nil
	}
	if text == "" || len(text) > maxPattern || strings.ContainsAny(text, "/ \t\r\n,") {
		return pattern{}, errs.New(errs.Invalid, "invalid_exclusion",
			"%.80q is not a host, an address, a range or a pattern with *.", text)
	}
	return pattern{text: text}, nil
}

// Denied lists the denied ranges, which also hold for the addresses of names.
func (p Patterns) Denied() (out []netip.Prefix) {
	for _, one := range p.deny {
		if one.text == "" {
			out = append(out, one.prefix)
		}
	}
	return out
}

// Excludes reports whether a target is excluded.
func (p Patterns) Excludes(target string) bool {
	host, withPort := HostOf(target)
	matches := func(list []pattern) bool {
		return slices.ContainsFunc(list, func(p pattern) bool { return p.matches(host) || p.matches(withPort) })
	}
	return len(p.allow) > 0 && !matches(p.allow) || matches(p.deny)
}

// ExcludesHost reports whether a host is excluded, on a port or, with 0, on all. It suits Limits.Excludes.
func (p Patterns) ExcludesHost(host string, port uint16) bool {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != 0 {
		host += ":" + strconv.Itoa(int(port))
	}
	return p.Excludes(host)
}

func (p pattern) matches(host string) bool {
	if p.text != "" {
		return textsearch.Wildcard(p.text, host)
	}
	a, err := netip.ParseAddr(host)
	return err == nil && p.prefix.Contains(a.Unmap())
}

// HostOf is the host of a target, and the host with the port, if any; in lower case.
func HostOf(target string) (host, withPort string) {
	s := strings.ToLower(strings.TrimSpace(target))
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String(), a.Unmap().String()
	}
	if !strings.Contains(s, "://") {
		s = "//" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", ""
	}
	host = u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.Unmap().String()
	}
	if u.Port() == "" {
		return host, host
	}
	return host, host + ":" + u.Port()
}
