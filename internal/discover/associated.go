package discover

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// The sources of associated domains, as the specification names them (Associated domain
// response).
const (
	AcquisitionHistory = "acquisition_history" // corporate subsidiaries and acquired companies
	CertificateHistory = "certificate_history" // certificate transparency logs revealing shared infrastructure
	WhoisHistory       = "whois_history"       // registration records identifying common ownership
)

// AssociatedSources are all sources of associated domains, in alphabetical order.
var AssociatedSources = []string{AcquisitionHistory, CertificateHistory, WhoisHistory}

// Associated is a domain that belongs together with another one, and what says so.
type Associated struct {
	Domain   string   `json:"domain"`  // a registered domain: lower-case ASCII, no final dot
	Sources  []string `json:"sources"` // of AssociatedSources, in their order
	Evidence Evidence `json:"evidence"`
}

// Evidence is what was seen (specification, Evidence fields); a field that was not seen is
// absent. Dates are YYYY-MM-DD.
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

// Merge takes from o what e lacks; of two counts of names the larger stays.
func (e *Evidence) Merge(o Evidence) {
	for _, f := range []struct{ to, from *string }{
		{&e.AcquiredCompany, &o.AcquiredCompany}, {&e.AcquiredDate, &o.AcquiredDate}, {&e.AcquirerName, &o.AcquirerName}, {&e.ASName, &o.ASName},
		{&e.CertCommonName, &o.CertCommonName}, {&e.CertExpiryDate, &o.CertExpiryDate}, {&e.CertIssuedDate, &o.CertIssuedDate}, {&e.CertIssuer, &o.CertIssuer},
		{&e.CertOrgName, &o.CertOrgName}, {&e.CertSerial, &o.CertSerial}, {&e.CrunchbaseURL, &o.CrunchbaseURL}, {&e.ExpiryDate, &o.ExpiryDate},
		{&e.Location, &o.Location}, {&e.OrgName, &o.OrgName}, {&e.Probe, &o.Probe}, {&e.RegistrantOrg, &o.RegistrantOrg}, {&e.Registrar, &o.Registrar},
		{&e.RegistrationDate, &o.RegistrationDate}, {&e.SearchIdentifier, &o.SearchIdentifier}, {&e.Title, &o.Title}, {&e.UpdateDate, &o.UpdateDate},
		{&e.WhoisServer, &o.WhoisServer},
	} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if e.Active == nil {
		e.Active = o.Active
	}
	if e.ASNumber == 0 {
		e.ASNumber = o.ASNumber
	}
	if e.StatusCode == 0 {
		e.StatusCode = o.StatusCode
	}
	e.SubdomainCount = max(e.SubdomainCount, o.SubdomainCount)
}

// MergeAssociated makes one entry of those that name one domain, in the order of the
// domains: all their sources, and of the evidence what comes first.
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

// maxDomain is the length of the longest name that fits a DNS question (RFC 1035, 2.3.4).
const maxDomain = 253

// lookup folds a name as browsers do before they look it up (UTS 46).
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(true), idna.BidiRule())

// ParseDomain reads a domain as people write it, also in other scripts and with a final
// dot, and gives it in lower-case ASCII. ok is false for what is no domain that somebody
// could have registered: an address, a single label, a public suffix such as co.uk,
// anything with a label that DNS does not carry.
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

// isDomain reports whether s is labels of 1 to 63 letters, digits and inner hyphens, the
// last of them no number.
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

// Registered is the domain that somebody registered of a name in lower-case ASCII: the
// label in front of the public suffix, and the suffix (publicsuffix.org, with its private
// part: each user of a platform such as github.io has a domain of their own there).
func Registered(name string) (domain string, ok bool) {
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	return domain, err == nil
}

// RegisteredOf reads a host name as the world writes it, such as *.example.com or
// EXAMPLE.com., and gives the domain that was registered of it.
func RegisteredOf(host string) (domain string, ok bool) {
	host = strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), "."), "*.")
	// Underscores stand in names of hosts and not of domains.
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

// AssociatedAnswer is what one place that was asked has said of a domain.
type AssociatedAnswer struct {
	Source string       // the one of AssociatedSources that it feeds
	Report SourceReport // its Source is the place, such as crtsh; Count is len(Found)
	Found  []Associated
}

// ProofType is a way to show that a domain is one's own, by the name that the platform's
// clients know.
type ProofType string

// The ways.
const (
	ProofTXT  ProofType = "dns_text_record" // a TXT record vedette-verification=TOKEN
	ProofMeta ProofType = "html_meta_tag"   // <meta name="vedette-verification" content="TOKEN"> in the home page's head
	ProofFile ProofType = "file_upload"     // /.well-known/vedette-verification.txt, or the same at the root, with the token
)
