package related

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

// The rule of certificates is in the package's comment.
const (
	maxTogether    = 10  // domains that a certificate relates by itself
	maxTogetherOrg = 100 // domains that it relates when it names an organization
)

// The bounds of certificate searches.
const (
	maxCertificates = 200_000 // of one answer
	maxNames        = 10_000  // of one certificate
	maxOpened       = 3       // certificates that are fetched from crt.sh
	maxPages        = 50      // of certspotter's answer
	maxPEM          = 256 << 10
)

// certificate is what a log shows of one.
type certificate struct {
	id                  int64
	serial              string // hexadecimal
	commonName          string
	issuer, org         string
	names               []string
	notBefore, notAfter time.Time
}

// domains are the registered domains that it names, and the number of names below each.
func (c certificate) domains() map[string]int {
	out := map[string]int{}
	counted := map[string]bool{}
	for _, name := range slices.Concat([]string{c.commonName}, c.names) {
		if strings.ContainsAny(name, "@/: ") { // it may be an address, a URL or an organization
			continue
		}
		domain, ok := discover.RegisteredOf(name)
		if !ok || counted[strings.ToLower(name)] {
			continue
		}
		counted[strings.ToLower(name)] = true
		if below := strings.TrimPrefix(strings.ToLower(name), "*."); below != domain {
			out[domain]++
		} else if _, have := out[domain]; !have {
			out[domain] = 0
		}
	}
	return out
}

// relates reports whether a certificate relates the domains it names.
func (c certificate) relates(named map[string]int, domain string) bool {
	for other := range named {
		if other != domain && isProvider(other) {
			return false
		}
	}
	return len(named) <= maxTogether || len(named) <= maxTogetherOrg && isOwner(c.org)
}

func (c certificate) evidence(search string, subdomains int) discover.Evidence {
	return discover.Evidence{
		CertCommonName: c.commonName, CertIssuer: c.issuer, CertOrgName: c.org, CertSerial: c.serial, OrgName: c.org,
		CertIssuedDate: day(c.notBefore), CertExpiryDate: day(c.notAfter), SearchIdentifier: search,
		SubdomainCount: subdomains,
	}
}

// relatedBy gathers the domains that certificates tie to a domain, or to each other when they were searched for by org.
// The newest certificate that names a domain is its evidence.
func relatedBy(certs []certificate, domain, org string) []discover.Associated {
	type find struct {
		newest certificate
		below  map[string]bool
	}
	finds := map[string]*find{}
	for _, c := range certs {
		if c.org == "" {
			c.org = org
		}
		named := c.domains()
		if _, about := named[domain]; !about && org == "" || !c.relates(named, domain) {
			continue
		}
		for other := range named {
			f := finds[other]
			if f == nil {
				f = &find{below: map[string]bool{}}
				finds[other] = f
			}
			if f.newest.commonName == "" || c.notBefore.After(f.newest.notBefore) {
				f.newest = c
			}
			for _, name := range c.names {
				name = strings.ToLower(name)
				if strings.HasSuffix(name, "."+other) && !strings.HasPrefix(name, "*.") && len(f.below) < maxNames {
					f.below[name] = true
				}
			}
		}
	}
	var out []discover.Associated
	for other, f := range finds {
		out = append(out, discover.Associated{Domain: other, Evidence: f.newest.evidence(cmp.Or(org, domain), len(f.below))})
	}
	return out
}

func readDER(der []byte) (c certificate, ok bool) {
	x, err := x509.ParseCertificate(der)
	if err != nil {
		return c, false
	}
	c = certificate{
		serial: fmt.Sprintf("%x", x.SerialNumber), commonName: oneLine(x.Subject.CommonName),
		issuer: issuerName(x.Issuer.String()),
		names:  x.DNSNames[:min(len(x.DNSNames), maxNames)], notBefore: x.NotBefore, notAfter: x.NotAfter,
	}
	if len(x.Issuer.Organization) > 0 {
		c.issuer = oneLine(x.Issuer.Organization[0])
	}
	if len(x.Subject.Organization) > 0 {
		c.org = oneLine(x.Subject.Organization[0])
	}
	return c, true
}

// addOrgs learns the organization from certificates that are tied to the domain.
func (s *search) addOrgs(certs []certificate) {
	for _, c := range certs {
		if c.org == "" {
			continue
		}
		named := c.domains()
		if _, about := named[s.domain]; about && c.relates(named, s.domain) {
			s.addOrg(c.org)
		}
	}
}

// issuerName is the organization, or else the common name, of a distinguished name such as "C=US, O=Let's Encrypt,
// CN=R3".
func issuerName(dn string) string {
	parts := map[string]string{}
	key := ""
	for part := range strings.SplitSeq(dn, ",") {
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		switch {
		case ok && name == strings.ToUpper(name) && !strings.Contains(name, " "):
			key = name
			parts[key] = value
		case key != "":
			parts[key] += "," + part // a comma within a value
		}
	}
	for _, key := range []string{"O", "CN"} {
		if name := oneLine(strings.Trim(parts[key], `" `)); name != "" {
			return name
		}
	}
	return oneLine(dn)
}
