// Package identity tells which sightings are of one weakness.
//
// # How it works
//
// A sighting is taken apart into what identifies it (Parts): the check, what of it matched, the place and the
// parameter. Their hash is the finding's vuln_hash: what the same check sees at the same place is the same in every
// scan, task and import of a team. Not in it are values that change from one time to the next: extracted values, the
// values of a query, evidence, severity, prose, versions of the template.
//
// Different hashes may still be one weakness: a name and its address, two tools that know the same CVE, a page for each
// product. Each sighting therefore has keys (keys.go), each by a rule with a stated confidence. A hash that is new to a
// team joins the weakness that its strongest key leads to; where a key leads to several, it stays apart. A weakness is
// named by the hash that it began with. The table finding_identity has a row only for a hash that belongs to another
// one, or that a person split off: a hash without a row is a weakness of its own. Rows by people (an actor) win over
// rules for ever.
package identity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine"
)

// Parts are what identifies a sighting.
type Parts struct {
	Check     string // the template's id, or another tool's name and the id of its rule
	Matcher   string
	Extractor string

	Scheme, Host string // lower case; Host without port
	Port         int    // 0: none
	Rest         string // path and the sorted names of the query
	IP           string // the address that answered; not in the hash

	Position, Parameter string // what was changed to see it: query, path, header, cookie or body, and its name
	Subject             string // of what is at no place in a network: a file, a package, a cloud resource
	// Detail tells what one check of another tool reports at one place apart: a header, a cipher, a version of TLS.
	Detail string

	CVEs, CWEs []string // not in the hash, as feeds correct them

	isPageless bool // the page of an input in a path is not in the hash: see Older
}

// defaultPorts are the ports that a scheme means when none is written.
var defaultPorts = map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22, "ldap": 389}

// Of takes an event apart; scheme counts where its URL has none.
func Of(e engine.Event, scheme string) Parts {
	p := parsePlace(e.Place())
	if at := parsePlace(e.Host); at.Host != "" {
		if p.Host == "" {
			p.Rest = ""
		}
		p.Host, p.Port, p.Scheme = at.Host, cmp.Or(p.Port, at.Port), cmp.Or(p.Scheme, at.Scheme)
	}
	p.Scheme = cmp.Or(p.Scheme, strings.ToLower(scheme))
	if port, err := strconv.ParseUint(e.Port, 10, 16); err == nil && port > 0 {
		p.Port = int(port)
	}
	p.Port = cmp.Or(p.Port, defaultPorts[p.Scheme])
	p.Check, p.Matcher, p.Extractor = e.TemplateID, e.MatcherName, e.ExtractorName
	if a, err := netip.ParseAddr(e.IP); err == nil {
		p.IP = a.Unmap().String()
	}
	if e.Fuzzed {
		p.Position, p.Parameter = strings.ToLower(e.FuzzingPosition), e.FuzzingParameter
	}
	if e.Info.Classification != nil {
		p.CVEs, p.CWEs = e.Info.Classification.CVEID, e.Info.Classification.CWEID
	}
	return p
}

// parsePlace parses a URL, host:port or host; what it cannot parse is left empty. Senders differ: a host may be a URL.
func parsePlace(text string) (p Parts) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		p.Host = a.Unmap().String()
		return p
	}
	if !strings.Contains(text, "://") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return p
	}
	p.Scheme, p.Host = strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		p.Port = int(port)
	}
	// The values of a query are often random, its names are not.
	var names []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	p.Rest = strings.TrimSuffix(u.EscapedPath(), "/") + "?" + strings.Join(names, "&")
	return p
}

// Hash is the vuln_hash, 32 hex digits. Its form never changes: rows of years ago are recognized by it.
func (p Parts) Hash() string {
	fields := []string{p.Check, p.Matcher, p.Extractor, p.Scheme, p.Host, strconv.Itoa(p.Port), p.Rest}
	if p.Position == "path" { // the payload is in it
		fields[6] = ""
	}
	if p.Parameter != "" {
		fields = append(fields, "parameter", p.Position, p.Parameter)
	}
	if p.Subject != "" {
		fields = append(fields, "subject", p.Subject)
	}
	if p.Detail != "" {
		fields = append(fields, "detail", p.Detail)
	}
	if page := p.page(); page != "" && !p.isPageless {
		fields = append(fields, "page", page)
	}
	return digest(fields...)
}

// page is, for an input that is a segment of the path, the path with a * for the segment, which has the payload; empty
// for other inputs. The tester of web applications names such an input by the number of the segment, from 1; fuzzing
// rules name it by its text, which tells pages apart.
func (p Parts) page() string {
	n, err := strconv.Atoi(p.Parameter)
	if err != nil || n < 1 || p.Position != "path" || p.Matcher != "segment "+p.Parameter+" of the path" {
		return ""
	}
	path, _, _ := strings.Cut(p.Rest, "?")
	segments := strings.Split(path, "/")
	if n >= len(segments) {
		return ""
	}
	segments[n] = "*"
	return strings.Join(segments, "/")
}

// Older is the hash that earlier releases gave the sighting; empty: the same.
func (p Parts) Older() string {
	switch {
	case p.Detail != "": // in the hash since ADR 68
		p.Detail = ""
	case p.page() != "" && !p.isPageless: // in the hash since ADR 68
		p.isPageless = true
	case p.Parameter != "" && p.Subject == "": // in the hash since ADR 50
		p.Position, p.Parameter = "", ""
	default:
		return ""
	}
	return p.Hash()
}

// digest is 32 hex digits of a hash of fields, none of which has a NUL.
func digest(fields ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(fields, "\x00")))
	return hex.EncodeToString(sum[:16])
}
