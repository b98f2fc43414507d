package web

import (
	"net/netip"
	"strings"
)

// edge is a network in front of servers, and how it is recognised.
type edge struct {
	name   string
	fields []string       // header fields "name" or "name: part of the value", in lower case
	cnames []string       // ends of canonical names
	ranges []netip.Prefix // published by it
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

var cdns = []edge{
	{"cloudflare", []string{"cf-ray", "server: cloudflare"}, []string{".cdn.cloudflare.net"}, prefixes(
		"173.245.48.0/20", "103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22", "141.101.64.0/18", "108.162.192.0/18",
		"190.93.240.0/20", "188.114.96.0/20", "197.234.240.0/22", "198.41.128.0/17", "162.158.0.0/15", "104.16.0.0/13",
		"104.24.0.0/14", "172.64.0.0/13", "131.0.72.0/22",
		"2400:cb00::/32", "2606:4700::/32", "2803:f800::/32", "2405:b500::/32", "2405:8100::/32", "2a06:98c0::/29",
		"2c0f:f248::/32",
	)},
	{"cloudfront", []string{"x-amz-cf-id", "via: (cloudfront)"}, []string{".cloudfront.net"}, nil},
	{"fastly", []string{"x-fastly-request-id", "fastly-io-info", "x-served-by: cache-"},
		[]string{".fastly.net", ".fastlylb.net"}, prefixes(
			"23.235.32.0/20", "43.249.72.0/22", "103.244.50.0/24", "103.245.222.0/23", "103.245.224.0/24", "104.156.80.0/20",
			"140.248.64.0/18", "140.248.128.0/17", "146.75.0.0/17", "151.101.0.0/16", "157.52.64.0/18", "167.82.0.0/17",
			"167.82.128.0/20", "167.82.160.0/20", "167.82.224.0/20", "172.111.64.0/18", "185.31.16.0/22", "199.27.72.0/21",
			"199.232.0.0/16", "2a04:4e40::/32", "2a04:4e42::/32",
		)},
	{"akamai", []string{"server: akamai", "x-akamai-transformed", "akamai-grn"},
		[]string{".akamaiedge.net", ".akamai.net", ".edgekey.net", ".edgesuite.net", ".akamaized.net"}, nil},
	{"azure", []string{"x-azure-ref", "x-msedge-ref"}, []string{".azureedge.net", ".azurefd.net", ".t-msedge.net"}, nil},
	{"google", nil, []string{".cdn.google.com", ".googlehosted.com"}, nil},
	{"bunny", []string{"cdn-pullzone", "server: bunnycdn"}, []string{".b-cdn.net"}, nil},
	{"incapsula", []string{"x-iinfo", "x-cdn: imperva", "x-cdn: incapsula"}, []string{".incapdns.net", ".impervadns.net"},
		nil},
	{"sucuri", []string{"x-sucuri-id", "server: sucuri"}, []string{".sucuri.net"}, nil},
	{"vercel", []string{"x-vercel-id", "server: vercel"}, []string{".vercel-dns.com"}, nil},
	{"netlify", []string{"x-nf-request-id", "server: netlify"}, []string{".netlify.app", ".netlifyglobalcdn.com"}, nil},
	{"keycdn", []string{"server: keycdn"}, []string{".kxcdn.com"}, nil},
	{"edgio", []string{"server: ecacc", "server: ecs ("}, []string{".edgecastcdn.net", ".systemcdn.net", ".llnwd.net"},
		nil},
	{"cdn77", []string{"server: cdn77", "x-77-cache"}, []string{".cdn77.org", ".rsc.cdn77.org"}, nil},
	{"gcore", []string{"x-id-fe", "server: gcore"}, []string{".gcdn.co"}, nil},
	{"stackpath", []string{"x-sp-edge-host"}, []string{".stackpathdns.com", ".stackpathcdn.com"}, nil},
	{"alibaba", []string{"server: tengine/aserver", "eagleid"}, []string{".alicdn.com", ".kunlunsl.com", ".kunlunar.com"},
		nil},
}

// wafs are firewalls that show in an answer's fields.
var wafs = []edge{
	{name: "cloudflare", fields: []string{"cf-mitigated", "cf-ray", "server: cloudflare"}},
	{name: "incapsula", fields: []string{"x-iinfo", "x-cdn: imperva", "x-cdn: incapsula", "set-cookie: incap_ses_",
		"set-cookie: visid_incap_"}},
	{name: "sucuri", fields: []string{"x-sucuri-id", "x-sucuri-block", "server: sucuri"}},
	{name: "akamai", fields: []string{"server: akamaighost", "set-cookie: ak_bmsc", "set-cookie: _abck"}},
	{name: "aws", fields: []string{"x-amzn-waf-action", "set-cookie: aws-waf-token"}},
	{name: "f5", fields: []string{"x-waf-event-info", "server: bigip", "server: big-ip", "set-cookie: bigipserver",
		"set-cookie: ts01"}},
	{name: "barracuda", fields: []string{"set-cookie: barra_counter_session", "server: barracudawaf"}},
	{name: "fortiweb", fields: []string{"set-cookie: fortiwafsid", "server: fortiweb"}},
	{name: "citrix", fields: []string{"set-cookie: ns_af", "set-cookie: citrix_ns_id", "via: ns-cache"}},
	{name: "modsecurity", fields: []string{"server: mod_security", "server: modsecurity", "server: nyob"}},
	{name: "wallarm", fields: []string{"server: nginx-wallarm"}},
	{name: "ddosguard", fields: []string{"server: ddos-guard", "set-cookie: __ddg"}},
}

// CDN names the delivery network of header fields (by lower-case name), canonical names or addresses, or "".
func CDN(fields map[string]string, cnames []string, addrs []netip.Addr) string {
	return edgeOf(cdns, fields, cnames, addrs)
}

// Fronted reports whether an address is Cloudflare's, whose edge has the same open ports for everybody.
func Fronted(a netip.Addr) bool { return cdns[0].inRanges([]netip.Addr{a}) }

// edgeOf is the name of the first edge that shows itself.
func edgeOf(edges []edge, fields map[string]string, cnames []string, addrs []netip.Addr) string {
	for _, e := range edges {
		if e.inFields(fields) || e.inNames(cnames) || e.inRanges(addrs) {
			return e.name
		}
	}
	return ""
}

func (e *edge) inFields(fields map[string]string) bool {
	for _, want := range e.fields {
		name, part, _ := strings.Cut(want, ": ")
		if value, ok := fields[name]; ok && strings.Contains(strings.ToLower(value), part) {
			return true
		}
	}
	return false
}

func (e *edge) inNames(names []string) bool {
	for _, n := range names {
		for _, ending := range e.cnames {
			if strings.HasSuffix("."+strings.ToLower(strings.TrimSuffix(n, ".")), ending) {
				return true
			}
		}
	}
	return false
}

func (e *edge) inRanges(addrs []netip.Addr) bool {
	for _, p := range e.ranges {
		for _, a := range addrs {
			if p.Contains(a.Unmap()) {
				return true
			}
		}
	}
	return false
}
