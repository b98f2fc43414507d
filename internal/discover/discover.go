// Package discover has the documents of discovery: what was seen of a name, an asset, a related domain, and how each
// source behaved. The packages below it fill them, services store them as they are.
//
// All their text comes from outside: it is bounded where it is read, and encoded where it is shown.
package discover

import (
	"net/netip"
	"slices"
	"time"
)

// Step is a part of an enumeration, by the name the platform's clients know.
type Step string

// The steps, in their order.
const (
	DNSPassive       Step = "dns_passive"
	DNSScraping      Step = "dns_scraping"
	DNSBruteforce    Step = "dns_bruteforce"
	DNSPermute       Step = "dns_permute"
	DNSResolve       Step = "dns_resolve"
	UncoverAssets    Step = "uncover_assets"
	PortScan         Step = "port_scan"
	TLSScan          Step = "tls_scan"
	HTTPProbe        Step = "http_probe"
	EndpointCrawling Step = "endpoint_crawling"
	HTTPScreenshot   Step = "http_screenshot"
)

// Steps are all steps.
var Steps = []Step{
	DNSPassive, DNSScraping, DNSBruteforce, DNSPermute, DNSResolve, UncoverAssets,
	PortScan, TLSScan, HTTPProbe, EndpointCrawling, HTTPScreenshot,
}

// Has reports whether a list of steps has any of those that are wanted; an empty list has all.
func Has(steps []Step, wanted ...Step) bool {
	return len(steps) == 0 || slices.ContainsFunc(wanted, func(s Step) bool { return slices.Contains(steps, s) })
}

// Name is a host name, or an address that was named as a target, and what DNS says of it.
type Name struct {
	Host     string              `json:"host"` // lower-case ASCII without a final dot, or an address without brackets
	Domain   string              `json:"domain,omitempty"`
	IP       []netip.Addr        `json:"ip,omitempty"`
	CNAME    []string            `json:"cname,omitempty"`    // the chain, in order
	Records  map[string][]string `json:"records,omitempty"`  // of an address: its names, as PTR
	RCode    string              `json:"rcode,omitempty"`    // NOERROR, NXDOMAIN, SERVFAIL …; "timeout" without an answer
	Wildcard bool                `json:"wildcard,omitempty"` // a wildcard answers for it
	Dangling string              `json:"dangling,omitempty"` // where a CNAME leads to nothing
	Sources  []SourceRef         `json:"sources,omitempty"`  // that named it
}

// SourceRef is a source that named an asset.
type SourceRef struct {
	Source   string            `json:"source"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Asset is what was seen of one host and port, or with port 0 of a host itself. Its fields are those of the
// specification's EnumerationContent that are observed.
type Asset struct {
	Host             string                `json:"host"`
	Port             int                   `json:"port,omitempty"`
	Protocol         string                `json:"protocol,omitempty"` // tcp or udp
	Service          string                `json:"service,omitempty"`  // http, https, ssh, redis …; empty: not known
	Version          string                `json:"version,omitempty"`  // as the service says
	URL              string                `json:"url,omitempty"`      // that answered, HTTP only
	Domain           string                `json:"domain_name,omitempty"`
	IP               []string              `json:"ip,omitempty"`
	CNAME            []string              `json:"cname,omitempty"`
	Records          map[string][]string   `json:"records,omitempty"`
	StatusCode       int                   `json:"status_code,omitempty"`
	ContentLength    int64                 `json:"content_length,omitempty"`
	Title            string                `json:"title,omitempty"`
	Webserver        string                `json:"webserver,omitempty"`
	Method           string                `json:"method,omitempty"`
	Technologies     []string              `json:"technologies,omitempty"`
	Details          map[string]Technology `json:"technology_details,omitempty"`
	Favicon          string                `json:"favicon,omitempty"` // mmh3 hash, in decimal
	FaviconURL       string                `json:"favicon_url,omitempty"`
	Headers          map[string]string     `json:"headers,omitempty"`
	Body             string                `json:"body,omitempty"` // its beginning
	BodyHash         string                `json:"body_hash,omitempty"`
	Chain            []string              `json:"chain_status_codes,omitempty"`
	Redirect         string                `json:"redirect_location,omitempty"`
	CDN              string                `json:"cdn_name,omitempty"`
	WAF              string                `json:"waf_name,omitempty"`
	ASN              *ASN                  `json:"asn,omitempty"`
	TLS              *TLS                  `json:"tls,omitempty"`
	Endpoints        []string              `json:"endpoints,omitempty"` // found by crawling
	Screenshot       []byte                `json:"-"`                   // PNG
	Misconfiguration []Misconfiguration    `json:"misconfiguration,omitempty"`
	Sources          []SourceRef           `json:"source,omitempty"`
	Notes            []string              `json:"notes,omitempty"` // what was not done or went wrong
}

// Technology is what is known of a product by its fingerprint.
type Technology struct {
	Description string   `json:"description,omitempty"`
	Website     string   `json:"website,omitempty"`
	Icon        string   `json:"icon,omitempty"`
	Categories  []string `json:"categories,omitempty"`
	Version     string   `json:"version,omitempty"`
}

// ASN is the autonomous system that announces an address.
type ASN struct {
	Number  string   `json:"as_number"`
	Name    string   `json:"as_name"`
	Country string   `json:"as_country"`
	Range   []string `json:"as_range"`
}

// TLS is what a handshake showed.
type TLS struct {
	Version    string    `json:"version"`
	Cipher     string    `json:"cipher"`
	JARM       string    `json:"jarm,omitempty"`
	Serial     string    `json:"serial_number"`
	SubjectCN  string    `json:"subject_cn"`
	SubjectOrg string    `json:"subject_org"`
	SubjectAN  []string  `json:"subject_an"`
	IssuerOrg  string    `json:"issuer_org"`
	IssuerCN   string    `json:"issuer_cn"`
	NotBefore  time.Time `json:"not_before"`
	NotAfter   time.Time `json:"not_after"`
	Expired    bool      `json:"expired"`
	SelfSigned bool      `json:"self_signed"`
	Mismatched bool      `json:"mismatched"`
	Revoked    bool      `json:"revoked"`
	Untrusted  bool      `json:"untrusted"`
}

// Misconfiguration is a weakness that discovery shows.
type Misconfiguration struct {
	Type   string `json:"type"`   // dangling_dns or origin_exposure
	Detail string `json:"detail"` // where the alias leads, or the origin's address
}
