// Package dnslab is a name server for tests, with a zone that has every difficulty of finding names, and the truth
// about each name.
package dnslab

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// behavior is how the server answers for a name.
type behavior int

const (
	normal         behavior = iota
	slow                    // after slowness
	truncated               // over UDP with the TC bit and nothing in it
	silent                  // never
	servfail                // SERVFAIL, also for all names below
	malformed               // bytes that are no DNS, after the right id and question
	amongForgeries          // after answers with a wrong id, a wrong question, and from a wrong port
	aliasOnly               // the CNAME alone, without what it leads to
)

type node struct {
	addrs    []netip.Addr
	pool     netip.Prefix // a /24 or smaller: a random address each time
	alias    string
	texts    map[string][]string // other records by type, as in a zone file
	behavior behavior
}

// How a name can be found.
const (
	ByWords   = "words"   // its label is a common one
	ByPermute = "permute" // it is close to one that is found by words
	BySource  = "source"  // only a source can name it
)

// Truth is what there is to find out about one name.
type Truth struct {
	RCode    string       // as discover.Name has it
	IP       []netip.Addr // sorted; nil for a name that has none
	CNAME    []string     // the chain, in order
	Dangling bool
	Loop     bool // the chain leads back into itself; only its first name is certain
	By       string
}

// Zone is a zone and the truth about it. Names are in lower case, without a final dot.
type Zone struct {
	Domain string
	// OnQuestion, when set before the server starts, gets the name of each question over UDP before it is answered, by
	// two goroutines.
	OnQuestion func(name string)
	Names      map[string]Truth
	Wildcards  []string // parents (without "*.") below which every name is answered

	nodes map[string]*node
	inner map[string]bool // names that have a name below
}

// words are labels of every word list.
var words = []string{
	"www", "mail", "api", "dev", "staging", "test", "vpn", "admin", "portal", "blog", "shop", "cdn", "static", "img",
	"app", "m", "beta", "demo", "docs", "support", "status", "git", "ci", "grafana", "db", "smtp", "imap", "ns1", "ns2",
	"ftp", "files", "login", "auth", "sso", "internal", "intranet", "news", "forum", "wiki", "monitor",
}

// permuted are names near words, and on no list.
var permuted = []string{
	"api-dev", "dev-api", "api-staging", "api2", "api02", "mail-test", "vpn3", "app-v2", "portal-internal",
	"staging-api2", "cdn-beta", "shop-admin", "git-demo", "www.dev", "api.staging", "admin.test",
}

// Generate makes the same zone of n names (1,000 at least) under domain each time, with addresses of loopback.
func Generate(domain string, n int) *Zone {
	z := &Zone{Domain: domain, Names: map[string]Truth{}, nodes: map[string]*node{}, inner: map[string]bool{}}
	z.apex()
	for i, w := range words {
		z.host(w, ByWords, normal, v4(1, i), v6(1, i))
	}
	for i, w := range permuted {
		z.host(w, ByPermute, normal, v4(2, i))
	}
	z.origins()
	z.wildcards()
	z.aliases()
	z.behaviors()
	for i := 0; len(z.Names) < n; i++ {
		list := []netip.Addr{v4(3, i)}
		if i%3 == 0 {
			list = append(list, v6(3, i))
		}
		z.host(fmt.Sprintf("node-%04d.rack%d.dc%d", i, i%40, i%4), BySource, normal, list...)
	}
	return z
}

func (z *Zone) apex() {
	z.add("", &node{addrs: []netip.Addr{v4(0, 1)}, texts: map[string][]string{
		"SOA": {"ns1." + z.Domain + ". hostmaster." + z.Domain + ". 7 3600 600 86400 60"},
		"NS":  {"ns1." + z.Domain + ".", "ns2." + z.Domain + "."},
	}})
	z.Names[z.Domain] = Truth{RCode: "NOERROR", IP: []netip.Addr{v4(0, 1)}, By: BySource}
}

// origins adds zones of autonomous systems, as names.Origin asks for them. They are no hosts.
func (z *Zone) origins() {
	for name, text := range map[string]string{
		"*.127.origin.asn":  `"64500 | 127.0.0.0/8 | ZZ | lab | 2026-01-01"`,
		"*.d.f.origin6.asn": `"64500 64501 | fd00::/8 | ZZ | lab | 2026-01-01"`,
		"as64500.asn":       `"64500 | ZZ | lab | 2026-01-01 | LAB-1, ZZ"`,
	} {
		z.add(name, &node{texts: map[string][]string{"TXT": {text}}})
	}
}

// wildcards adds zones that answer for every name, and real names in them.
func (z *Zone) wildcards() {
	z.wildcard("wild", &node{addrs: []netip.Addr{v4(90, 1), v4(90, 2)}})
	z.wildcard("deep.wild", &node{addrs: []netip.Addr{v4(91, 1)}})
	z.wildcard("spin", &node{pool: netip.MustParsePrefix("127.92.0.0/24")})
	z.wildcard("few", &node{pool: netip.MustParsePrefix("127.94.0.0/29")})
	z.wildcard("aka", &node{alias: "www." + z.Domain})
	z.wildcard("void", &node{alias: "nobody.elasticbeanstalk.com"})
	z.wildcard("blank", &node{texts: map[string][]string{"TXT": {`"x"`}}})
	for i := range 10 {
		for j, zone := range []string{"wild", "deep.wild", "spin", "few", "aka", "void", "blank"} {
			z.host(fmt.Sprintf("real%d.%s", i, zone), BySource, normal, v4(93, 10*i+j))
		}
	}
	z.Names["deep.wild."+z.Domain] = Truth{RCode: "NOERROR", By: BySource} // a wildcard stands below
}

// Outside is the address of the targets outside the zone of external and edge; edge leads to a delivery network.
var Outside = v4(200, 1)

var outside = map[string]string{"external": "www.outside.example", "edge": "d1.cloudfront.net"}

// aliases adds CNAMEs: chains, loops, dangling ones, and those that the server does not follow.
func (z *Zone) aliases() {
	target := "www"
	for i := range 10 { // chain9 takes ten steps
		name := fmt.Sprintf("chain%d", i)
		z.alias(name, target+"."+z.Domain, normal)
		target = name
	}
	z.alias("real.aka", "api."+z.Domain, normal)
	for name, target := range outside {
		z.alias(name, target, normal)
		z.nodes[target] = &node{addrs: []netip.Addr{Outside}}
	}
	z.alias("loop-a", "loop-b."+z.Domain, normal)
	z.alias("loop-b", "loop-a."+z.Domain, normal)
	z.alias("self", "self."+z.Domain, normal)
	for i := range 20 {
		z.alias(fmt.Sprintf("part%d", i), fmt.Sprintf("chain%d.%s", i%5, z.Domain), aliasOnly)
		z.alias(fmt.Sprintf("gone%d", i), fmt.Sprintf("gone%d.azurewebsites.net", i), normal)
		z.alias(fmt.Sprintf("lost%d", i), fmt.Sprintf("lost%d.%s", i+100, z.Domain), normal)
		z.alias(fmt.Sprintf("half%d", i), fmt.Sprintf("half%d.elasticbeanstalk.com", i), aliasOnly)
	}
	for name := range z.nodes {
		if z.nodes[name].alias != "" && !strings.HasPrefix(name, "*.") {
			z.Names[name] = z.truth(name)
		}
	}
	for name := range outside {
		truth := z.Names[name+"."+z.Domain]
		truth.By = ByWords
		z.Names[name+"."+z.Domain] = truth
	}
}

// behaviors adds names that are answered in other manners.
func (z *Zone) behaviors() {
	z.add("broken", &node{behavior: servfail})
	z.Names["broken."+z.Domain] = Truth{RCode: "SERVFAIL", By: BySource}
	for i := range 20 {
		z.Names[fmt.Sprintf("x%d.broken.%s", i, z.Domain)] = Truth{RCode: "SERVFAIL", By: BySource}
		z.host(fmt.Sprintf("slow%d", i), BySource, slow, v4(80, i))
		z.host(fmt.Sprintf("liar%d", i), BySource, amongForgeries, v4(81, i))
		var many []netip.Addr
		for j := range 100 {
			many = append(many, v4(100+i, j))
		}
		z.host(fmt.Sprintf("large%d", i), BySource, truncated, many...)
	}
	for i := range 5 {
		mute, garbage := fmt.Sprintf("silent%d", i), fmt.Sprintf("garbage%d", i)
		z.add(mute, &node{behavior: silent})
		z.Names[mute+"."+z.Domain] = Truth{RCode: "timeout", By: BySource}
		z.add(garbage, &node{behavior: malformed})
		z.Names[garbage+"."+z.Domain] = Truth{RCode: "malformed", By: BySource}
	}
}

// truth follows a chain as far as it goes.
func (z *Zone) truth(name string) Truth {
	t := Truth{RCode: "NOERROR", By: BySource}
	seen := map[string]bool{name: true}
	for {
		n := z.nodes[name]
		switch {
		case n == nil:
			t.RCode, t.Dangling = "NXDOMAIN", true
			return t
		case n.alias == "":
			t.IP = slices.Clone(n.addrs)
			return t
		}
		name = n.alias
		t.CNAME = append(t.CNAME, name)
		if seen[name] {
			t.Loop, t.Dangling = true, true
			return t
		}
		seen[name] = true
	}
}

// Questions is every name of the zone, and as many that do not exist: missing, or answered by wildcards.
func (z *Zone) Questions() []string {
	list := slices.Sorted(maps.Keys(z.Names))
	for i := range list {
		if i%4 == 0 && len(z.Wildcards) > 0 {
			list = append(list, fmt.Sprintf("made%d.%s", i, z.Wildcards[i/4%len(z.Wildcards)]))
		} else {
			list = append(list, fmt.Sprintf("missing%d.%s", i, z.Domain))
		}
	}
	return list
}

func (z *Zone) host(name, by string, how behavior, addrs ...netip.Addr) {
	for _, a := range addrs {
		z.pointer(a, name)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	z.add(name, &node{addrs: addrs, behavior: how})
	z.Names[name+"."+z.Domain] = Truth{RCode: "NOERROR", IP: addrs, By: by}
}

func (z *Zone) pointer(a netip.Addr, name string) {
	if a.Is4() {
		z.nodes[arpa(a)] = &node{texts: map[string][]string{"PTR": {name + "." + z.Domain + "."}}}
	}
}

func (z *Zone) alias(name, target string, how behavior) {
	z.add(name, &node{alias: target, behavior: how})
}

func (z *Zone) wildcard(parent string, n *node) {
	z.add("*."+parent, n)
	z.Wildcards = append(z.Wildcards, parent+"."+z.Domain)
}

// Reverse is the zone's name of an address, or "".
func (z *Zone) Reverse(a netip.Addr) string {
	if n := z.nodes[arpa(a)]; n != nil {
		return strings.TrimSuffix(n.texts["PTR"][0], ".")
	}
	return ""
}

func arpa(a netip.Addr) string {
	b := a.As16()
	return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa", b[15], b[14], b[13], b[12])
}

// Inner reports whether a name exists because others are below it.
func (z *Zone) Inner(name string) bool { return z.inner[name] }

// add adds a node; "" is the zone's top.
func (z *Zone) add(name string, n *node) {
	full := strings.TrimPrefix(name+"."+z.Domain, ".")
	z.nodes[full] = n
	for up := full; up != z.Domain; {
		_, up, _ = strings.Cut(up, ".")
		z.inner[up] = true
	}
}

// find is the node that answers for a name: its own, or the wildcard of the nearest existing name above (RFC 4592).
// exists says that there is an answer, even an empty one.
func (z *Zone) find(name string) (n *node, exists bool) {
	if n = z.nodes[name]; n != nil || z.inner[name] {
		return n, true
	}
	for up := name; up != ""; {
		_, up, _ = strings.Cut(up, ".")
		if at := z.nodes[up]; at != nil && at.behavior == servfail {
			return at, true
		}
		if z.nodes[up] != nil || z.inner[up] {
			n = z.nodes["*."+up]
			return n, n != nil
		}
	}
	return nil, false
}

// File is the zone as a zone file (RFC 1035), without the names that are not answered plainly. A wildcard has the first
// of many addresses.
func (z *Zone) File() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(z.nodes)) {
		n := z.nodes[name]
		if n.behavior != normal && n.behavior != aliasOnly || !strings.HasSuffix("."+name, "."+z.Domain) {
			continue
		}
		record := func(kind, data string) { fmt.Fprintf(&out, "%s. 60 IN %s %s\n", name, kind, data) }
		for kind, texts := range n.texts {
			for _, text := range texts {
				record(kind, text)
			}
		}
		if n.alias != "" {
			record("CNAME", n.alias+".")
		}
		if n.pool.IsValid() {
			record("A", n.pool.Addr().String())
		}
		for _, a := range n.addrs {
			record(map[bool]string{true: "A", false: "AAAA"}[a.Is4()], a.String())
		}
	}
	return out.String()
}

func v4(group, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(group), byte(i >> 8), byte(i)})
}

func v6(group, i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0, 0, byte(group), 14: byte(i >> 8), 15: byte(i)})
}
