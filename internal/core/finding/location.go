package finding

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine"
)

// location is the location of an event, parsed.
type location struct {
	scheme, host string
	port         int
	rest         string // path and query names, for the fingerprint
}

// defaultPorts are the ports that a scheme means when none is written.
var defaultPorts = map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22, "ldap": 389}

// locationOf parses matched-at, completed by the event's host, port and scheme. Senders differ: a host may be a URL.
func locationOf(e engine.Event, scheme string) location {
	p := parseLocation(e.Place())
	if at := parseLocation(e.Host); at.host != "" {
		if p.host == "" {
			p.rest = ""
		}
		p.host, p.port, p.scheme = at.host, cmp.Or(p.port, at.port), cmp.Or(p.scheme, at.scheme)
	}
	p.scheme = cmp.Or(p.scheme, strings.ToLower(scheme))
	if port, err := strconv.ParseUint(e.Port, 10, 16); err == nil && port > 0 {
		p.port = int(port)
	}
	p.port = cmp.Or(p.port, defaultPorts[p.scheme])
	return p
}

// parseLocation parses a URL, host:port or host; what it cannot parse is left empty.
func parseLocation(text string) (p location) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		p.host = a.Unmap().String()
		return p
	}
	if !strings.Contains(text, "://") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return p
	}
	p.scheme, p.host = strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		p.port = int(port)
	}
	// The values of a query are often random, its names are not.
	var names []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	p.rest = strings.TrimSuffix(u.EscapedPath(), "/") + "?" + strings.Join(names, "&")
	return p
}

// Fingerprint identifies what was found where in all scans (vuln_hash, 32 hex digits): of template id, names of the
// matcher and of the extractor, scheme, host, port, path and names of the query.
func Fingerprint(e engine.Event, scheme string) string { return locationOf(e, scheme).fingerprint(e) }

func (p location) fingerprint(e engine.Event) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.TemplateID, e.MatcherName, e.ExtractorName, p.scheme, p.host, strconv.Itoa(p.port), p.rest,
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// idOf is the id of the finding with this hash in this scan. It begins with a part of the hash, so that one index finds
// a hash in all scans.
func idOf(scanID, hash string) string {
	scan := sha256.Sum256([]byte(scanID))
	return hashPart(hash) + base32Text(scan[:])[:10]
}

// hashPart is the beginning of the ids of the findings with a hash.
func hashPart(hash string) string {
	sum := sha256.Sum256([]byte(hash))
	return base32Text(sum[:])[:16]
}

// base32Text are bytes in [0-9a-v].
func base32Text(b []byte) string { return strings.ToLower(base32.HexEncoding.EncodeToString(b)) }

// internal reports whether an address, or else a host, is not of the public internet.
func internal(ip, host string) bool {
	for _, text := range []string{ip, host} {
		if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap()
			return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
		}
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || host != "" && !strings.Contains(host, ".")
}

// maxCategories bounds the categories in a path that a sender chose.
const maxCategories = 8

// categoriesOf are the protocol and the folders of a template, such as http/cves/2021/CVE-2021-1.yaml. Of an absolute
// path only the part below nuclei-templates counts.
func categoriesOf(kind, file string) []string {
	if i := strings.LastIndex(file, "nuclei-templates/"); i >= 0 {
		file = file[i+len("nuclei-templates/"):]
	} else if strings.HasPrefix(file, "/") {
		file = ""
	}
	out := []string{kind}
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if dir != "" && dir != "." && dir != ".." && len(out) < maxCategories {
			out = append(out, strings.ToLower(dir))
		}
	}
	return out
}
