package related

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/discover"
)

// providers are domains whose owners serve other people's sites: content networks, site builders, hosts. Their
// certificates and addresses say nothing about owners.
var providers = strings.Fields(`
	cloudflaressl.com cloudflare.net cloudflare.com cdn.cloudflare.net pages.dev workers.dev
	fastly.net fastlylb.net fastlydns.net map.fastly.net incapdns.net incapsula.com imperva.com impervadns.net
	akamai.net akamaiedge.net akamaized.net akamaihd.net edgekey.net edgesuite.net akamaitechnologies.com
	cloudfront.net amazonaws.com awsglobalaccelerator.com elasticbeanstalk.com
	azureedge.net azurefd.net azurewebsites.net trafficmanager.net windows.net cloudapp.net cloudapp.azure.com
	googleusercontent.com appspot.com googlehosted.com firebaseapp.com web.app run.app withgoogle.com
	stackpathcdn.com stackpathdns.com highwinds.com hwcdn.net sucuri.net sucuridns.com cdn77.com cdn77.org cdn77-ssl.net
	edgecastcdn.net systemcdn.net footprint.net llnwd.net lldns.net kxcdn.com b-cdn.net bunnycdn.com gcdn.co cachefly.net
	quic.cloud cdngc.net cdnetworks.net chinacache.net alicdn.com alikunlun.com kunlunsl.com qcloudcdn.com wscdns.com
	herokuapp.com herokudns.com herokussl.com netlify.app netlify.com vercel.app vercel-dns.com now.sh github.io gitlab.io render.com onrender.com fly.dev
	wordpress.com wpengine.com wpenginepowered.com kinsta.cloud pantheonsite.io acquia-sites.com pressable.com
	squarespace.com wixdns.net wixsite.com weebly.com shopify.com myshopify.com webflow.io bigcartel.com ghost.io
	hubspot.net hs-sites.com zendesk.com freshdesk.com statuspage.io readme.io unbouncepages.com intercom.help
	sslip.io cpanel.net plesk.page hostgator.com bluehost.com dreamhost.com siteground.net ovh.net hetzner.com your-server.de
	ssl-certificate.com sni.cloudflaressl.com securesites.net secureserver.net`)

// isProvider reports whether a domain serves other people's sites.
func isProvider(domain string) bool {
	return slices.ContainsFunc(providers, func(p string) bool { return discover.Under(domain, p) })
}

// dnsHosts are domains whose name servers and mailboxes serve everybody: what they share
// is a service.
var dnsHosts = strings.Fields(`
	cloudflare.com awsdns.com azure-dns.com azure-dns.net azure-dns.org azure-dns.info googledomains.com google.com nsone.net ns1.com dynect.net ultradns.com ultradns.net ultradns.org
	ultradns.biz ultradns.info akam.net domaincontrol.com registrar-servers.com name-services.com worldnic.com dnsmadeeasy.com dnsimple.com gandi.net ovh.net ovh.com
	hetzner.com hetzner.de hichina.com dnspod.com dnspod.net alidns.com markmonitor.com cscdns.net comlaude-dns.com comlaude.com netnames.net easydns.com easydns.net dreamhost.com
	bluehost.com hostgator.com digitalocean.com linode.com vultr.com wixdns.net squarespacedns.com ui-dns.com ui-dns.de ui-dns.org ui-dns.biz strato.de ionos.com
	gmail.com googlemail.com outlook.com hotmail.com live.com yahoo.com icloud.com me.com aol.com gmx.de gmx.net web.de qq.com 163.com 126.com mail.ru yandex.ru protonmail.com proton.me
	godaddy.com namecheap.com tucows.com enom.com networksolutions.com domainsbyproxy.com whoisguard.com withheldforprivacy.com contactprivacy.com privacyprotect.org
	whoisprivacyservice.org anonymised.email identity-protect.org dataprivacyprotected.com`)

// isShared reports whether a domain's name servers or mailboxes serve everybody; so do the numbered ones, such as
// awsdns-12.com.
func isShared(domain string) bool {
	return isProvider(domain) || slices.Contains(dnsHosts, domain) || strings.HasPrefix(domain, "awsdns-") ||
		strings.HasPrefix(domain, "nsone")
}

// privacyWords are words in place of an owner's name that say that it is hidden.
var privacyWords = strings.Fields(`
	privacy redacted redact withheld whoisguard proxy undisclosed anonymous anonymised anonymized masked masking hidden obfuscated gdpr protected
	whoisprivacy privacyguardian identity-protect`)

var privacyPhrases = []string{
	"not disclosed", "not available", "domains by", "data protected", "private person", "private registration",
	"registration private", "identity protect",
	"whois agent", "whois protection", "domain protection", "domain id shield", "contact not", "statutory masking",
	"on behalf of", "customer of", "njalla", "1337 services",
	"non-public", "see privacyguardian", "super privacy", "the data in this", "information not",
}

// placeholderNames stand for no name.
var placeholderNames = strings.Fields("n/a na none null unknown - -- private personal individual person self organization organisation company owner registrant test")

// isOwner reports whether a text names an organization that can own several domains: no privacy service, no provider
// and no placeholder.
func isOwner(org string) bool {
	lower := strings.ToLower(oneLine(org))
	words := strings.FieldsFunc(lower,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '/' })
	if len(normalizeOrg(org)) < 3 || slices.Contains(placeholderNames, lower) {
		return false
	}
	private := func(word string) bool { return slices.Contains(privacyWords, word) }
	phrase := func(phrase string) bool { return strings.Contains(lower, phrase) }
	return !slices.ContainsFunc(words, private) && !slices.ContainsFunc(privacyPhrases, phrase) &&
		!slices.Contains(serviceOrgs, normalizeOrg(org))
}

// serviceOrgs are organizations in other people's certificates and registrations, as normalizeOrg gives them.
var serviceOrgs = []string{
	"cloudflare", "fastly", "incapsula", "imperva", "akamai technologies", "sucuri", "godaddycom", "godaddy", "namecheap",
	"tucows domains", "tucows", "enom", "network solutions",
	"dynadot", "epik", "squarespace", "squarespace domains", "wix com", "wixcom", "shopify", "automattic", "let s encrypt",
	"lets encrypt", "digicert", "sectigo", "comodo ca",
	"globalsign", "globalsign nv-sa", "entrust", "google trust services", "amazon registrar", "zerossl", "markmonitor",
	"csc corporate domains", "domain control validated",
}

// legalForms are legal forms of companies, which one register writes and another does not.
var legalForms = strings.Fields("inc incorporated llc ltd limited corp corporation co company gmbh ag kg se sa sas sarl srl spa bv nv ab as asa aps oy oyj plc llp lp pty pte kk kft zrt doo sro ltda the")

// normalizeOrg is a company's name for comparison: without legal form, case and punctuation.
func normalizeOrg(org string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.NewReplacer(".", "", "'", "").Replace(org)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-'
	})
	core := slices.DeleteFunc(slices.Clone(words),
		func(w string) bool { return slices.Contains(legalForms, w) || w == "-" })
	if len(core) == 0 { // "The Company" is a name too
		core = words
	}
	return strings.Join(core, " ")
}

// sameOrg reports whether two texts name one organization that can own domains.
func sameOrg(a, b string) bool { return isOwner(a) && isOwner(b) && normalizeOrg(a) == normalizeOrg(b) }
