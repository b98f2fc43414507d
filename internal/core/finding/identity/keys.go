package identity

import (
	"cmp"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Rule is why two hashes are one weakness.
type Rule string

// The rules, the strongest first. The first four have no keys.
const (
	Seen    Rule = "same_check" // the same vuln_hash
	Joined  Rule = "joined"     // a person said so
	Split   Rule = "split"      // a person said that it is another
	Older   Rule = "older_hash" // the same vuln_hash but for what was not in it until 2026: the parameter, the detail
	CVE     Rule = "cve"        // the same single CVE at the same host and port, or in the same package
	Class   Rule = "class"      // the same class of weakness (see classes) in the same parameter of the same page
	Route   Rule = "route"      // the same check and parameter, of pages that differ in a number or an id alone
	Site    Rule = "site"       // what the answers of a site lack as a whole (see site.go), wherever it was seen
	Address Rule = "address"    // a name and the address that answered for it, which has no other name
)

// Confidence is how sure a rule is, in percent. Rules below 95 join nothing.
func (r Rule) Confidence() int {
	switch r {
	case Seen, Joined, Split, CVE:
		return 100
	default:
		return 95
	}
}

// Equal says in words what is equal by the rule, and what it leaves out.
func (r Rule) Equal() string {
	switch r {
	case Joined:
		return "a person joined them"
	case Split:
		return "a person split it off"
	case Older:
		return "all but the parameter or the detail, which the hash of earlier releases left out"
	case CVE:
		return "the CVE, the host and the port, or the package; not the check and the path"
	case Class:
		return "the class of weakness, the host, the port, the page and the parameter; not the check"
	case Route:
		return "the check, the host, the port, the page but for numbers and ids, and the parameter"
	case Site:
		return "the header, the cookie's attribute or the version of TLS, the scheme, host and port; not the page and the check"
	case Address:
		return "the check, the port and the path; the host is a name of the address"
	default:
		return "the check, its matcher, the scheme, host, port, path, names of the query, the parameter, and the detail"
	}
}

// key is a text that sightings of one weakness share by a rule.
type key struct {
	rule Rule
	text string
}

// keys are those of a sighting, the strongest rule first.
func (p Parts) keys() (all []key) {
	network := p.Host != "" && p.Port > 0
	if len(p.CVEs) == 1 && (network || p.Subject != "") {
		all = append(all, key{CVE, digest(string(CVE), strings.ToUpper(p.CVEs[0]), p.Host, strconv.Itoa(p.Port), p.Subject)})
	}
	if network && p.Parameter != "" {
		page, ids := route(cmp.Or(p.page(), p.Rest))
		at := []string{p.Host, strconv.Itoa(p.Port), page, p.Position, p.Parameter}
		if class := classOf(p.CWEs); class != "" {
			all = append(all, key{Class, digest(append(at, string(Class), class)...)})
		}
		if ids {
			all = append(all, key{Route, digest(append(at, string(Route), p.Scheme, p.Check, p.Matcher, p.Extractor)...)})
		}
	}
	if fact := p.ofSite(); network && fact != "" {
		all = append(all, key{Site, digest(string(Site), fact, p.numeric(), strconv.Itoa(p.Port))})
	}
	if address := p.atAddress(); address != "" {
		all = append(all, key{Address, address})
	}
	return all
}

// atAddress is the hash that the same sighting has where the target is its address; empty: none is known.
func (p Parts) atAddress() string {
	if a, err := netip.ParseAddr(p.Host); err == nil {
		p.IP = a.Unmap().String()
	}
	if p.Host == localhost && p.IP == "" {
		p.IP = p.numeric()
	}
	if p.IP == "" || p.Host == "" || p.Port == 0 {
		return ""
	}
	p.Host = p.IP
	return p.Hash()
}

// localhost is the loopback by RFC 6761. Tools that are given the name seldom say the address.
const localhost = "localhost"

// numeric is the host, and the address that localhost stands for.
func (p Parts) numeric() string {
	if p.Host == localhost {
		return "127.0.0.1"
	}
	return p.Host
}

// volatile are segments of a path that name one thing of many: numbers, UUIDs, dates and long hexadecimal numbers.
var volatile = regexp.MustCompile(`^(?:\d+|\d{4}-\d{2}-\d{2}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{16,})$`)

// route is a path with {id} for its volatile segments, without the names of the query; ids says that it has some.
func route(rest string) (page string, ids bool) {
	page, _, _ = strings.Cut(rest, "?")
	segments := strings.Split(page, "/")
	for i, one := range segments {
		if volatile.MatchString(one) {
			segments[i], ids = "{id}", true
		}
	}
	return strings.Join(segments, "/"), ids
}

// classes folds the weaknesses that tools number differently though they mean one (CWE number: class).
var classes = map[string]string{
	"79": "xss", "80": "xss", "83": "xss", "87": "xss",
	"89": "sql-injection", "564": "sql-injection",
	"77": "command-injection", "78": "command-injection",
	"22": "path-traversal", "23": "path-traversal", "24": "path-traversal", "35": "path-traversal", "36": "path-traversal",
	"73": "path-traversal", "98": "file-inclusion", "829": "file-inclusion",
	"94": "code-injection", "95": "code-injection", "1336": "template-injection",
	"601": "open-redirect", "918": "ssrf", "611": "xxe", "93": "crlf-injection", "113": "crlf-injection",
	"90": "ldap-injection", "643": "xpath-injection", "91": "xml-injection", "943": "nosql-injection", "639": "idor",
}

// classOf is the class that all known CWE ids of a sighting have; empty: none, or several.
func classOf(cwes []string) (class string) {
	for _, cwe := range cwes {
		_, number, _ := strings.Cut(strings.ToLower(strings.TrimSpace(cwe)), "cwe-")
		if number == "" {
			number = strings.TrimSpace(cwe)
		}
		switch found := classes[number]; {
		case found == "" || found == class:
		case class == "":
			class = found
		default:
			return ""
		}
	}
	return class
}
