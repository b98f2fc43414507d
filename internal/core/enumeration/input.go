package enumeration

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/cloud"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of an enumeration.
const (
	MaxDomains   = 1_000
	MaxInputs    = 50_000
	MaxAddresses = 1 << 20 // in ranges
	MaxNetworks  = 100     // autonomous systems
)

// Found is a host that a chunk of names found.
type Found struct {
	discover.Name
	Ports []uint16 `json:"ports,omitempty"` // besides the enumeration's
}

// Steps are steps by their names; Create checks them.
func Steps(names []string) (steps []discover.Step) {
	for _, name := range names {
		steps = append(steps, discover.Step(name))
	}
	return steps
}

// StepNames are the names of the steps of a configuration; nil means all.
func (c Config) StepNames() (names []string) {
	for _, step := range c.Steps {
		names = append(names, string(step))
	}
	return names
}

// FollowsRedirects reports whether redirects of web servers are followed within the scope.
func (c Config) FollowsRedirects() bool { return c.FollowRedirect == nil || *c.FollowRedirect }

// Coverage is what an enumeration covers: nothing else may be dialled.
type Coverage struct {
	Domains  []string // with all below them
	Hosts    []Found
	Prefixes []netip.Prefix
	Networks []string // autonomous systems, as AS64500: what they announce when a run begins
}

// Targets are the targets of the coverage's scope.
func (c Coverage) Targets() (out []netguard.Target) {
	for _, d := range c.Domains {
		out = append(out, netguard.Target{Host: d}, netguard.Target{Host: d, Subdomains: true})
	}
	for _, h := range c.Hosts {
		out = append(out, netguard.Target{Host: h.Host})
	}
	for _, p := range c.Prefixes {
		out = append(out, netguard.Target{Prefix: p})
	}
	return out
}

// Coverage is what a configuration covers. The error is Invalid.
func (c Config) Coverage() (out Coverage, err error) {
	for _, text := range c.RootDomains {
		if number, ok := network(text); ok {
			if err := out.addNetwork(number, "root_domains"); err != nil {
				return out, err
			}
			continue
		}
		domain, err := rootDomain(text)
		if err != nil {
			return out, err
		}
		if !slices.Contains(out.Domains, domain) {
			out.Domains = append(out.Domains, domain)
		}
	}
	in := inputs{Coverage: &out, hosts: map[string]int{}}
	for _, text := range c.Inputs {
		if err := in.add(text); err != nil {
			return out, err
		}
	}
	return out, nil
}

// inputs adds inputs to a coverage.
type inputs struct {
	*Coverage

	hosts     map[string]int // indices in Hosts
	addresses uint64         // in ranges
}

func (in *inputs) add(text string) error {
	const field = "enrichment_inputs"
	if number, ok := network(text); ok {
		return in.addNetwork(number, field)
	}
	t, err := netguard.ParseTarget(text)
	if err != nil || t.Subdomains {
		return errs.Field(field, "enrichment_inputs: %.100q is not a host, an address, a range, a URL or an AS number.", text)
	}
	if p := t.Prefix; p.IsValid() {
		bits := p.Addr().BitLen() - p.Bits()
		if bits > 20 {
			return errs.Field(field, "enrichment_inputs: %s is too large a range (at most %d addresses).", p, MaxAddresses)
		}
		if in.addresses += 1 << bits; in.addresses > MaxAddresses {
			return errs.Field(field, "enrichment_inputs: the ranges have more than %d addresses.", MaxAddresses)
		}
		if bits > 0 {
			in.Prefixes = append(in.Prefixes, p)
			return nil
		}
		t.Host = p.Addr().String()
	}
	in.addHost(t)
	return nil
}

// addHost adds a host with its ports.
func (in *inputs) addHost(t netguard.Target) {
	at, known := in.hosts[t.Host]
	if !known {
		at = len(in.Hosts)
		in.hosts[t.Host] = at
		in.Hosts = append(in.Hosts, Found{Name: discover.Name{Host: t.Host,
			Sources: []discover.SourceRef{{Source: "input"}}}})
	}
	for _, port := range t.Ports {
		if !slices.Contains(in.Hosts[at].Ports, port) {
			in.Hosts[at].Ports = append(in.Hosts[at].Ports, port)
		}
	}
}

// network parses the number of an autonomous system, as AS64500 or ASN 64500; 0 is an invalid one. ok is false for
// other texts.
func network(text string) (number uint32, ok bool) {
	digits, ok := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(text)), "AS")
	digits = strings.TrimSpace(strings.TrimPrefix(digits, "N"))
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		n = 0
	}
	return uint32(n), true
}

// addNetwork adds an autonomous system; param is the field that names it.
func (c *Coverage) addNetwork(number uint32, param string) error {
	if number == 0 {
		return errs.Field(param, "%s: an AS number is between 1 and 4294967295.", param)
	}
	if as := "AS" + strconv.FormatUint(uint64(number), 10); !slices.Contains(c.Networks, as) {
		c.Networks = append(c.Networks, as)
	}
	return nil
}

// rootDomain is a domain below which names are looked for.
func rootDomain(text string) (string, error) {
	t, err := netguard.ParseTarget(strings.TrimPrefix(strings.TrimSpace(text), "*."))
	if err != nil || t.Host == "" || t.Subdomains || len(t.Ports) > 0 {
		return "", errs.Field("root_domains", "root_domains: %.100q is not a domain.", text)
	}
	if !strings.Contains(t.Host, ".") {
		return "", errs.Field("root_domains", "root_domains: %.100q is a top-level domain; name one below it.", text)
	}
	return t.Host, nil
}

// internal reports whether a coverage has only addresses that are not of the public internet.
func (c Coverage) internal() bool {
	private := func(a netip.Addr) bool { return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() }
	for _, h := range c.Hosts {
		if a, err := netip.ParseAddr(h.Host); h.Host != "localhost" && (err != nil || !private(a)) {
			return false
		}
	}
	for _, p := range c.Prefixes {
		if !private(p.Addr()) {
			return false
		}
	}
	return len(c.Domains)+len(c.Networks) == 0 && len(c.Hosts)+len(c.Prefixes) > 0
}

// check refuses a configuration with nothing to look at, or with too much.
func (c Config) check() (Coverage, error) {
	switch {
	case len(c.RootDomains)+len(c.Inputs)+len(c.CloudConfigIDs) == 0:
		return Coverage{}, errs.Field("root_domains",
			"root_domains, enrichment_inputs or cloudlist_config_ids is required: say what to look at.")
	case len(c.RootDomains) > MaxDomains:
		return Coverage{}, errs.Field("root_domains", "root_domains must be at most %d.", MaxDomains)
	case len(c.Inputs) > MaxInputs:
		return Coverage{}, errs.Field("enrichment_inputs", "enrichment_inputs must be at most %d.", MaxInputs)
	}
	for _, s := range c.Steps {
		if !slices.Contains(discover.Steps, s) {
			return Coverage{}, errs.Field("steps", "steps: %.40q is not known.", s)
		}
	}
	covers, err := c.Coverage()
	if err == nil && len(covers.Networks) > MaxNetworks {
		err = errs.Field("enrichment_inputs", "enrichment_inputs: there are more than %d AS numbers.", MaxNetworks)
	}
	return covers, err
}

// sourceNetwork is the source of hosts in the ranges of an autonomous system.
const sourceNetwork = "asn"

// covered reports whether a cloud account or an autonomous system led to the host, so that the enumeration covers it
// although it may be outside the domains and ranges of the input.
func (f Found) covered() bool {
	return slices.ContainsFunc(f.Sources, func(s discover.SourceRef) bool {
		return s.Source == cloud.Source || s.Source == sourceNetwork
	})
}
