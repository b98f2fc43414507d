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

// Kind is the kind of a target.
type Kind string

// The kinds of target.
const (
	KindURL  Kind = "url"  // scheme, host; perhaps port and path
	KindHost Kind = "host" // name; perhaps port and path
	KindIP   Kind = "ip"   // address; perhaps port and path
	KindCIDR Kind = "cidr" // a network
	KindPath Kind = "path" // on every host; only excluded
	KindPort Kind = "port" // on every host; only excluded
)

// Target is something to test or, in Plan.Excluded, not to contact.
type Target struct {
	Raw    string `json:"raw"` // as written by the user
	Kind   Kind   `json:"kind"`
	Scheme string `json:"scheme,omitempty"` // http or https; of URLs
	Host   string `json:"host,omitempty"`   // lower-case ASCII name, or address without brackets; empty for a network. An excluded "*.name" covers name too
	Port   int    `json:"port,omitempty"`   // 0: not named
	Path   string `json:"path,omitempty"`   // with leading slash and query; empty: not named
	Prefix string `json:"prefix,omitempty"` // of networks, masked: 10.0.0.0/24
}

// Plan is what an instruction asks for. It has no target that the instruction does not name.
type Plan struct {
	Targets  []Target `json:"targets"`
	Excluded []Target `json:"excluded,omitempty"` // not in Targets any more
	Ports    []int    `json:"ports,omitempty"`    // for targets without a port

	FullCheck  bool     `json:"full_check,omitempty"` // all templates, without NotTags and NotIDs
	Tags       []string `json:"tags,omitempty"`       // of templates, sorted
	NotTags    []string `json:"not_tags,omitempty"`
	IDs        []string `json:"ids,omitempty"` // of CVEs, in upper case; compare without case
	NotIDs     []string `json:"not_ids,omitempty"`
	Severities []string `json:"severities,omitempty"` // most severe first; empty: all

	NoWebTest bool `json:"no_web_test,omitempty"` // the agent may not use the tester of web applications
	Writes    bool `json:"writes,omitempty"`      // its tests may write test data, where the task's scope does not say more

	RateLimit float64 `json:"rate_limit,omitempty"`         // requests a second; 0: no limit
	TimeLimit int     `json:"time_limit_seconds,omitempty"` // 0: no limit

	// Access has secrets: it is not stored with the plan, and is read from the instruction again.
	Access Access `json:"-"`

	Understood    []string `json:"understood,omitempty"`     // sentences: what will be done
	NotUnderstood []string `json:"not_understood,omitempty"` // quotations that were not used, or what is missing
	NotDone       []string `json:"not_done,omitempty"`       // sentences: what will not be done, and why
}

// The tools of a plan, in their order.
const (
	Probe   = "probe"   // which targets answer
	Explore = "explore" // which pages they link to, and which take parameters
	Scan    = "scan"    // templates × targets and explored pages
	WebTest = "webtest" // the application's inputs and users
	Verify  = "verify"  // a second request and a control for each finding
)

// Steps are the tools of the plan in order: none without a target.
func (p Plan) Steps() []string {
	if len(p.Targets) == 0 {
		return nil
	}
	if p.TestsWeb() {
		return []string{Probe, Explore, Scan, WebTest, Verify}
	}
	return []string{Probe, Explore, Scan, Verify}
}

// Selects reports whether the plan asks for a template.
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

// Expand yields all targets to test: the addresses of networks, and targets without a port once for each of Ports. It
// omits what Excludes covers and never yields KindCIDR.
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
		prefix, _ := netip.ParsePrefix(t.Prefix) // an invalid one contains nothing
		for a := prefix.Addr(); a.IsValid() && prefix.Contains(a); a = a.Next() {
			if !yield(Target{Raw: t.Raw, Kind: KindIP, Host: a.String()}) {
				return
			}
		}
	}
}

// Excludes reports whether t is, or lies within, something excluded. Exclusions with a port or path cover only those,
// in any spelling: callers pass the full address of a request, and use ExcludesAddr for a resolved address.
func (p Plan) Excludes(t Target) bool {
	return slices.ContainsFunc(p.Excluded, func(x Target) bool { return x.covers(t) })
}

// ExcludesAddr reports whether an address is excluded on every port and path.
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

// port is the named port or that of the scheme.
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

// under reports whether a path lies under base as a server would see it: unescaped, cleaned, in any case, without
// query.
func under(base, requested string) bool {
	base, requested = normalPath(base), normalPath(requested)
	rest, ok := strings.CutPrefix(requested, base)
	return ok && (rest == "" || rest[0] == '/')
}

func normalPath(p string) string {
	p, _, _ = strings.Cut(p, "?")
	if plain, err := url.PathUnescape(p); err == nil {
		p = plain
	}
	return strings.TrimSuffix(strings.ToLower(path.Clean("/"+p)), "/")
}

// String is http://host:port/path, host:port, or a network.
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

// Describe describes the plan for people.
func (p Plan) Describe() string {
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
