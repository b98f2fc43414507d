package agent

import (
	"iter"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Kind says what a target is.
type Kind string

// The kinds of target.
const (
	KindURL  Kind = "url"  // scheme, host, maybe port, path
	KindHost Kind = "host" // a name, maybe with a port and a path
	KindIP   Kind = "ip"   // one address, maybe with a port and a path
	KindCIDR Kind = "cidr" // a network
	KindPath Kind = "path" // a path on every host; exclusions only
	KindPort Kind = "port" // a port on every host; exclusions only
)

// Target is something to test, or, among Plan.Excluded, to leave alone.
type Target struct {
	Raw    string `json:"raw"` // as the user wrote it
	Kind   Kind   `json:"kind"`
	Scheme string `json:"scheme,omitempty"` // http or https; urls only
	Host   string `json:"host,omitempty"`   // lower-case ASCII name, or an address without brackets; empty for a network. An excluded "*.name" is name and all names under it
	Port   int    `json:"port,omitempty"`   // 0 when the user named none
	Path   string `json:"path,omitempty"`   // starts with a slash, carries the query; "" when the user named none
	Prefix string `json:"prefix,omitempty"` // networks only, masked: 10.0.0.0/24
}

// Plan is what the agent made of an instruction. Everything in it can be traced to the
// instruction's own words: a plan never holds a target that was not named.
type Plan struct {
	Targets  []Target `json:"targets"`
	Excluded []Target `json:"excluded,omitempty"` // never to be touched; Targets is already free of them
	Ports    []int    `json:"ports,omitempty"`    // for the targets that name no port of their own

	FullCheck  bool     `json:"full_check,omitempty"` // every template, less NotTags and NotIDs
	Tags       []string `json:"tags,omitempty"`       // template tags, sorted
	NotTags    []string `json:"not_tags,omitempty"`
	IDs        []string `json:"ids,omitempty"` // CVE ids in upper case; compare without case
	NotIDs     []string `json:"not_ids,omitempty"`
	Severities []string `json:"severities,omitempty"` // empty is all; most severe first

	RateLimit float64 `json:"rate_limit,omitempty"`         // requests a second; 0 when none was asked for
	TimeLimit int     `json:"time_limit_seconds,omitempty"` // seconds; 0 when none was asked for

	Understood    []string `json:"understood,omitempty"`     // sentences: what will be done
	NotUnderstood []string `json:"not_understood,omitempty"` // what was not used, quoted, or what is missing
	NotDone       []string `json:"not_done,omitempty"`       // sentences: what was asked and will not be done, and why
}

// The tools of a plan, in the order they run.
const (
	Probe   = "probe"   // which targets answer, and how they answer a path that does not exist
	Explore = "explore" // which pages they link to, and which of those take parameters
	Scan    = "scan"    // templates × targets, and × what was explored
	Verify  = "verify"  // a second, independent request and a control for each finding
)

// Steps names the tools that the plan calls, in order: none when there is no target.
func (p Plan) Steps() []string {
	if len(p.Targets) == 0 {
		return nil
	}
	return []string{Probe, Explore, Scan, Verify}
}

// Selects reports whether the plan asks for a template with this id, these tags and
// this severity.
func (p Plan) Selects(id string, tags []string, severity string) bool {
	sameID := func(other string) bool { return strings.EqualFold(id, other) }
	among := func(list []string) bool {
		return slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(list, strings.ToLower(tag)) })
	}
	if slices.ContainsFunc(p.NotIDs, sameID) || among(p.NotTags) {
		return false
	}
	if len(p.Severities) > 0 && !slices.Contains(p.Severities, strings.ToLower(severity)) {
		return false
	}
	return p.FullCheck || among(p.Tags) || slices.ContainsFunc(p.IDs, sameID)
}

// Expand yields each place to test once named targets are multiplied out: networks
// become their addresses, and a target without a port is repeated for each of Ports.
// Nothing that Excludes is yielded. The kind of what is yielded is never KindCIDR.
func (p Plan) Expand() iter.Seq[Target] {
	return func(yield func(Target) bool) {
		for _, target := range p.Targets {
			for one := range addresses(target) {
				for _, port := range p.portsOf(one) {
					place := one
					place.Port = port
					if !p.Excludes(place) && !yield(place) {
						return
					}
				}
			}
		}
	}
}

func (p Plan) portsOf(t Target) []int {
	if t.Port != 0 || len(p.Ports) == 0 {
		return []int{t.Port}
	}
	return p.Ports
}

func addresses(t Target) iter.Seq[Target] {
	return func(yield func(Target) bool) {
		if t.Kind != KindCIDR {
			yield(t)
			return
		}
		prefix, _ := netip.ParsePrefix(t.Prefix) // one that is not valid contains nothing
		for a := prefix.Addr(); a.IsValid() && prefix.Contains(a); a = a.Next() {
			if !yield(Target{Raw: t.Raw, Kind: KindIP, Host: a.String()}) {
				return
			}
		}
	}
}

// Excludes reports whether t is, or lies within, something the user excluded. An
// exclusion with a port or a path holds for that port or for what lies under that path,
// in whatever spelling; so a caller asks with the full address of each request. A caller
// that resolves names asks again with ExcludesAddr for the address it is about to dial.
func (p Plan) Excludes(t Target) bool {
	return slices.ContainsFunc(p.Excluded, func(x Target) bool { return x.covers(t) })
}

// ExcludesAddr reports whether the address a is excluded on every port and path.
func (p Plan) ExcludesAddr(a netip.Addr) bool {
	return p.Excludes(Target{Kind: KindIP, Host: a.Unmap().WithZone("").String()})
}

func (t Target) covers(other Target) bool {
	if t.Kind == KindCIDR {
		return t.holds(other)
	}
	return t.sameHost(other) && (t.Port == 0 || t.Port == other.port()) && under(t.Path, other.Path)
}

// holds reports whether all of other lies in the network t.
func (t Target) holds(other Target) bool {
	prefix, err := netip.ParsePrefix(t.Prefix)
	if err != nil {
		return false
	}
	if other.Kind == KindCIDR {
		inner, err := netip.ParsePrefix(other.Prefix)
		return err == nil && prefix.Bits() <= inner.Bits() && prefix.Contains(inner.Addr())
	}
	a, err := netip.ParseAddr(other.Host)
	return err == nil && prefix.Contains(a.Unmap())
}

func (t Target) sameHost(other Target) bool {
	if names, ok := strings.CutPrefix(t.Host, "*."); ok {
		return other.Host == names || strings.HasSuffix(other.Host, "."+names)
	}
	return t.Host == "" || t.Host == other.Host
}

// port is the port a target is reached on: the scheme's own when none is named.
func (t Target) port() int {
	switch {
	case t.Port != 0:
		return t.Port
	case t.Scheme == "https":
		return 443
	case t.Scheme == "http":
		return 80
	}
	return 0
}

// under reports whether a request path lies under base as a server would see it: without
// its query, unescaped, cleaned and in any case.
func under(base, requested string) bool {
	base, requested = seen(base), seen(requested)
	rest, ok := strings.CutPrefix(requested, base)
	return ok && (rest == "" || rest[0] == '/')
}

func seen(p string) string {
	p, _, _ = strings.Cut(p, "?")
	if plain, err := url.PathUnescape(p); err == nil {
		p = plain
	}
	return strings.TrimSuffix(strings.ToLower(path.Clean("/"+p)), "/")
}

// String is the target as one would write it: http://host:port/path, host:port, or a network.
func (t Target) String() string {
	switch {
	case t.Kind == KindCIDR:
		return t.Prefix
	case t.Scheme != "":
		return t.Scheme + "://" + t.authority() + t.Path
	}
	return t.authority() + t.Path
}

func (t Target) authority() string {
	if t.Port != 0 && t.Host != "" {
		return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
	}
	if t.Scheme != "" && strings.Contains(t.Host, ":") {
		return "[" + t.Host + "]"
	}
	return t.Host
}

// Words describe what will be done, what will not, and what was not understood.
func (p Plan) Words() string {
	var parts []string
	for _, part := range []struct {
		title     string
		sentences []string
	}{{"", p.Understood}, {"Not done: ", p.NotDone}, {"Not understood: ", p.NotUnderstood}} {
		if len(part.sentences) > 0 {
			parts = append(parts, part.title+strings.Join(part.sentences, " "))
		}
	}
	return strings.Join(parts, "\n\n")
}
