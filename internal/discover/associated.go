package discover

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// The sources of associated domains (specification, Associated domain response).
const (
	AcquisitionHistory = "acquisition_history" // subsidiaries and acquired companies
	CertificateHistory = "certificate_history" // certificates with several domains
	WhoisHistory       = "whois_history"       // registrations by one owner
)

// AssociatedSources are all sources of associated domains, in alphabetical order.
var AssociatedSources = []string{AcquisitionHistory, CertificateHistory, WhoisHistory}

// Associated is a domain that belongs to the same owner as another, and the evidence.
type Associated struct {
	Domain   string   `json:"domain"`  // a registered domain: lower-case ASCII, no final dot
	Sources  []string `json:"sources"` // of AssociatedSources, in their order
	Evidence Evidence `json:"evidence"`
}

// Evidence is what was seen (specification, Evidence fields); what was not seen is absent. Dates are YYYY-MM-DD.
type Evidence struct {
	AcquiredCompany  string `json:"acquired_company,omitempty" doc:"The company that was taken over."`
	AcquiredDate     string `json:"acquired_date,omitempty" doc:"When it was."`
	AcquirerName     string `json:"acquirer_name,omitempty" doc:"The company that took it over."`
	Active           *bool  `json:"active,omitempty" doc:"Whether the domain's web site answers; absent until somebody has looked."`
	ASName           string `json:"as_name,omitempty" doc:"The network that announces its address."`
	ASNumber         int    `json:"as_number,omitempty" doc:"The number of that network."`
	CertCommonName   string `json:"cert_common_name,omitempty" doc:"The common name of a certificate that ties the domains."`
	CertExpiryDate   string `json:"cert_expiry_date,omitempty" doc:"When that certificate ends."`
	CertIssuedDate   string `json:"cert_issued_date,omitempty" doc:"When that certificate begins."`
	CertIssuer       string `json:"cert_issuer,omitempty" doc:"Who issued it."`
	CertOrgName      string `json:"cert_org_name,omitempty" doc:"The organization that it names."`
	CertSerial       string `json:"cert_serial,omitempty" doc:"Its serial number, hexadecimal."`
	CrunchbaseURL    string `json:"crunchbase_url,omitempty" doc:"The company's page at Crunchbase."`
	ExpiryDate       string `json:"expiry_date,omitempty" doc:"When the registration ends."`
	Location         string `json:"location,omitempty" doc:"Where the web site redirects to."`
	OrgName          string `json:"orgname,omitempty" doc:"The organization behind the domain."`
	Probe            string `json:"probe,omitempty" doc:"The URL that was asked."`
	RegistrantOrg    string `json:"registrant_org,omitempty" doc:"The organization that registered the domain."`
	Registrar        string `json:"registrar,omitempty" doc:"Where it is registered."`
	RegistrationDate string `json:"registration_date,omitempty" doc:"When it was registered."`
	SearchIdentifier string `json:"search_identifier,omitempty" doc:"What was searched for when the domain was found: a domain, an organization, a name server, an item of Wikidata."`
	StatusCode       int    `json:"status_code,omitempty" doc:"The HTTP status of its home page."`
	SubdomainCount   int    `json:"subdomain_count,omitempty" doc:"Names under the domain that certificates show."`
	Title            string `json:"title,omitempty" doc:"The title of its home page."`
	UpdateDate       string `json:"update_date,omitempty" doc:"When the registration was changed."`
	WhoisServer      string `json:"whois_server,omitempty" doc:"The server that answered about the registration."`
}

func (e *Evidence) texts() []*string {
	return []*string{
		&e.AcquiredCompany, &e.AcquiredDate, &e.AcquirerName, &e.ASName, &e.CertCommonName, &e.CertExpiryDate,
		&e.CertIssuedDate, &e.CertIssuer, &e.CertOrgName, &e.CertSerial, &e.CrunchbaseURL, &e.ExpiryDate, &e.Location,
		&e.OrgName, &e.Probe, &e.RegistrantOrg, &e.Registrar, &e.RegistrationDate, &e.SearchIdentifier, &e.Title,
		&e.UpdateDate, &e.WhoisServer,
	}
}

// Clean bounds the texts, which come from outside.
func (e *Evidence) Clean() {
	for _, text := range e.texts() {
		*text = Clean(*text, maxDetail)
	}
}

// Merge takes from o what e lacks, and the larger number of names.
func (e *Evidence) Merge(o Evidence) {
	from := o.texts()
	for i, text := range e.texts() {
		*text = cmp.Or(*text, *from[i])
	}
	e.Active = cmp.Or(e.Active, o.Active)
	e.ASNumber = cmp.Or(e.ASNumber, o.ASNumber)
	e.StatusCode = cmp.Or(e.StatusCode, o.StatusCode)
	e.SubdomainCount = max(e.SubdomainCount, o.SubdomainCount)
}

// MergeAssociated joins entries of one domain, in the order of the domains: all sources, and of the evidence what comes
// first.
func MergeAssociated(lists ...[]Associated) []Associated {
	out := []Associated{}
	at := map[string]int{}
	for _, list := range lists {
		for _, a := range list {
			i, seen := at[a.Domain]
			if !seen {
				i = len(out)
				at[a.Domain] = i
				out = append(out, Associated{Domain: a.Domain})
			}
			out[i].Sources = append(out[i].Sources, a.Sources...)
			out[i].Evidence.Merge(a.Evidence)
		}
	}
	for i := range out {
		slices.Sort(out[i].Sources)
		out[i].Sources = slices.Compact(out[i].Sources)
	}
	slices.SortFunc(out, func(a, b Associated) int { return strings.Compare(a.Domain, b.Domain) })
	return out
}

// maxDomain is the length of the longest name in DNS (RFC 1035, 2.3.4).
const maxDomain = 253

// lookup maps names to ASCII like browsers (UTS 46).
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(true), idna.BidiRule())

// ParseDomain reads a domain as people write it, also in other scripts and with a final dot, and gives it in lower-case
// ASCII. ok is false for what cannot be registered: an address, a single label, a public suffix such as co.uk, labels
// that DNS does not allow.
func ParseDomain(s string) (domain string, ok bool) {
	if len(s) > 4*maxDomain || !utf8.ValidString(s) { // the bound below is on the ASCII form
		return "", false
	}
	s = strings.TrimSuffix(s, ".")
	if _, err := netip.ParseAddr(s); err == nil || strings.HasSuffix(s, ".") {
		return "", false
	}
	domain, err := lookup.ToASCII(s)
	if err != nil || len(domain) > maxDomain || !isDomain(domain) {
		return "", false
	}
	_, ok = Registered(domain)
	return domain, ok
}

// isDomain reports whether s is labels of 1 to 63 letters, digits and inner hyphens, the last without a leading digit.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}

// Registered is the registered domain of a name in lower-case ASCII: one label before the public suffix
// (publicsuffix.org, with its private part: each user of a platform such as github.io has a domain there).
func Registered(name string) (domain string, ok bool) {
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	return domain, err == nil
}

// RegisteredOf is the registered domain of a host name such as *.example.com or EXAMPLE.com.
func RegisteredOf(host string) (domain string, ok bool) {
	host = strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), "."), "*.")
	// Names of hosts may have underscores, domains not.
	domain, ok = Registered(host)
	if !ok {
		return "", false
	}
	return ParseDomain(domain)
}

// Under reports whether a host name is a domain or below it, both in lower-case ASCII.
func Under(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// AssociatedAnswer is what one source has found.
type AssociatedAnswer struct {
	Source string       // of AssociatedSources
	Report SourceReport // its Source is the one that was asked, such as crtsh
	Found  []Associated
}

// ProofType is a way to prove the ownership of a domain, by the name that the platform's clients know.
type ProofType string

// The ways to prove ownership.
const (
	ProofTXT  ProofType = "dns_text_record" // a TXT record vedette-verification=TOKEN
	ProofMeta ProofType = "html_meta_tag"   // <meta name="vedette-verification" content="TOKEN"> in the home page's head
	// ProofFile is /.well-known/vedette-verification.txt, or the same at the root, with the token.
	ProofFile ProofType = "file_upload"
)
