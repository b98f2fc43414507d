package related

import (
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

// whoisRecord is a WHOIS answer as keys and values. There is no format: registries write "Key: value", "key......:
// value", "[Key] value", and headings with values below them.
type whoisRecord struct {
	values map[string][]string // "key", and "heading/key"; lower case
	blocks []map[string]string // paragraphs: keys and first values
	text   string              // lower case, for refusals
}

const (
	maxWhoisLines  = 5000
	maxWhoisValues = 50
)

func readWhois(text string) whoisRecord {
	w := whoisReader{whoisRecord: whoisRecord{values: map[string][]string{}, text: strings.ToLower(text)}}
	n := 0
	for l := range strings.Lines(text) {
		if n++; n > maxWhoisLines {
			break
		}
		w.read(strings.TrimRight(l, "\r\n\t "))
	}
	return w.whoisRecord
}

type whoisReader struct {
	whoisRecord
	heading string            // of the lines below
	indent  int               // of the heading
	colon   bool              // the heading has one: lines below it need not be indented
	filled  bool              // there are lines below the heading
	last    string            // the key that an indented line continues
	depth   int               // of that key
	block   map[string]string // the paragraph
}

func (w *whoisReader) read(l string) {
	body := strings.TrimLeft(l, " \t")
	depth := len(l) - len(body)
	if body == "" {
		w.block, w.last = nil, ""
		if w.filled && w.indent == 0 {
			w.heading = ""
		}
		return
	}
	for _, remark := range []string{"%", "#", ">>>", "--", "*"} {
		if strings.HasPrefix(body, remark) {
			return
		}
	}
	key, value, ok := whoisPair(body)
	switch {
	case ok && value == "":
		w.open(key, depth, true)
	case ok:
		w.pair(key, value, depth)
	case depth > 0 && w.last != "" && depth > w.depth:
		w.add(w.last, body)
	case depth > 0 || w.colon && w.heading != "":
		w.filled = true
		w.add(w.heading, body)
	case len(body) <= maxHeading:
		w.open(whoisKey(body), 0, false)
	default: // prose
		w.open("", 0, false)
	}
}

func (w *whoisReader) open(heading string, indent int, colon bool) {
	w.heading, w.indent, w.colon, w.filled, w.last = heading, indent, colon, false, ""
}

// pair adds a key and its value, also under the heading.
func (w *whoisReader) pair(key, value string, depth int) {
	if w.heading != "" && (depth > w.indent || headings[w.heading]) {
		w.filled = true
		w.add(w.heading+"/"+key, value)
	}
	w.add(key, value)
	w.last, w.depth = key, depth
	if w.block == nil {
		w.block = map[string]string{}
		w.blocks = append(w.blocks, w.block)
	}
	if _, have := w.block[key]; !have {
		w.block[key] = value
	}
}

const maxHeading = 40 // bytes; what is longer is prose

// headings open a part whose lines need not be indented.
var headings = map[string]bool{"registrant": true, "registrar": true, "holder": true, "nameservers": true,
	"dates": true}

func (w whoisRecord) add(key, value string) {
	if key != "" && len(w.values[key]) < maxWhoisValues {
		w.values[key] = append(w.values[key], oneLine(value))
	}
}

func whoisPair(l string) (key, value string, ok bool) {
	// .jp: "[Registrant] Acme", "a. [Domain Name] ACME.CO.JP"
	if len(l) > 3 && l[1] == '.' && l[2] == ' ' && l[3] == '[' {
		l = l[3:]
	}
	if strings.HasPrefix(l, "[") {
		key, value, ok = strings.Cut(l[1:], "]")
		return whoisKey(key), strings.TrimSpace(value), ok
	}
	key, value, ok = strings.Cut(l, ":")
	if !ok || len(key) > maxHeading+20 || strings.HasSuffix(key, "http") || strings.HasSuffix(key, "https") {
		return "", "", false
	}
	return whoisKey(key), strings.TrimSpace(value), true
}

// whoisKey is the form in which keys are compared: lower case, single spaces, without leading dots.
func whoisKey(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s),
		func(r rune) bool { return r == ' ' || r == '\t' || r == '.' || r == '_' }), " ")
}

// first is the first value of the first of some keys that has one.
func (w whoisRecord) first(keys ...string) string {
	for _, key := range keys {
		for _, value := range w.values[key] {
			if value != "" {
				return value
			}
		}
	}
	return ""
}

// The keys that are read, the surest first. "heading/key" is a key below a heading.
var (
	orgKeys = []string{
		"registrant organization", "registrant organisation", "registrant/organization", "registrant/organisation",
		"registrant/org", "registrant/company",
		"registrant contact organisation", "registrant contact organization", "registrant organization name",
		"domain holder organization", "holder/organization",
		"owner organization", "owner orgname", "owner/organization", "registrant company", "registrant type organization",
		"organization using domain name",
		"org", "owner", "registrant/name", "holder/name", "registrant", "registrant name organisation", "holder",
		"domain holder", "owner-name", "organization",
		"organisation", "organization name", "org-name", "person/org",
	}
	registrarKeys = []string{
		"registrar", "registrar name", "sponsoring registrar", "registrar/name", "registrar/organization",
		"registrar/organisation", "registrar organization",
		"registered by", "authorized agency", "provider", "registration service provider", "current registar",
	}
	createdKeys = []string{
		"creation date", "created", "created on", "registered on", "registered", "registration date",
		"domain registration date", "registration time", "domain create date",
		"created date", "record created", "registered date", "domain created", "registration", "relevant dates/registered on",
		"activated", "domain record activated",
	}
	updatedKeys = []string{
		"updated date", "last updated", "last update", "last-update", "last updated on", "last modified", "modified",
		"changed", "updated", "domain last updated date",
		"domain updated", "record last updated", "domain datelastmodified", "relevant dates/last updated",
		"domain record last updated", "last updated date", "update date",
	}
	expiryKeys = []string{
		"registry expiry date", "registrar registration expiration date", "expiry date", "expiration date", "expires",
		"expires on", "expire date", "expiration time",
		"paid-till", "renewal date", "validity", "valid until", "exp date", "domain expiration date",
		"relevant dates/expiry date", "domain expires", "expire",
		"free-date", "record expires on",
	}
	serverKeys = []string{
		"name server", "name servers", "nserver", "nameserver", "nameservers", "domain nameservers",
		"domain servers in listed order", "name servers/nserver", "ns 1", "ns 2", "dns",
		"name server information", "nameservers/nameserver", "domain name servers", "nameserver information",
		"primary name server/host name", "secondary name server/host name",
	}
	referralKeys = []string{"registrar whois server", "whois server", "refer", "referralserver", "whois",
		"registrar whois"}
)

// registration is what a record says of a domain.
func (w whoisRecord) registration(domain string) *registration {
	r := &registration{domain: domain, org: w.holder(), registrar: w.first(registrarKeys...)}
	r.created, r.updated, r.expires = date(w.first(createdKeys...)), date(w.first(updatedKeys...)),
		date(w.first(expiryKeys...))
	for _, key := range serverKeys {
		for _, value := range w.values[key] {
			host := hostName(value)
			if strings.Contains(host, ".") && len(r.nameServers) < maxNameServers {
				r.nameServers = append(r.nameServers, host)
			}
		}
		if len(r.nameServers) > 1 {
			break
		}
	}
	for _, key := range []string{"registrant email", "registrant contact email", "admin email", "tech email", "e-mail",
		"email", "registrant/email"} {
		for _, value := range w.values[key] {
			if domain := mailDomain(value); domain != "" && len(r.mail) < maxNameServers {
				r.mail = append(r.mail, domain)
			}
		}
	}
	return r
}

// holder is the organization that holds the domain. A handle leads to the paragraph of that handle.
func (w whoisRecord) holder() string {
	handle := w.first("holder-c", "registrant-c", "registrant handle", "owner-c", "org-handle")
	for _, block := range w.blocks {
		if handle == "" || block["nic-hdl"] != handle && block["nic-hdl-br"] != handle && block["handle"] != handle &&
			block["person"] != handle {
			continue
		}
		for _, key := range []string{"org", "organization", "contact", "name", "person"} {
			if block[key] != "" && block["type"] != "PERSON" {
				return block[key]
			}
		}
	}
	return w.first(orgKeys...)
}

// referral is the nearer server that a record names, or "".
func (w whoisRecord) referral() string {
	server := w.first(referralKeys...)
	if _, after, ok := strings.Cut(server, "://"); ok {
		server = after
	}
	server, _, _ = strings.Cut(server, "/")
	if !whoisHost.MatchString(server) {
		return ""
	}
	return strings.ToLower(server)
}

var whoisHost = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,252}(:[0-9]{1,5})?$`)

// refusal is the error of a record that is no answer; nil: it is one, or says that there is nothing.
func (w whoisRecord) refusal() error {
	words := w.text
	for _, end := range []string{">>>", "terms of use", "notice:"} { // these speak of limits, too
		words, _, _ = strings.Cut(words, end)
	}
	if len(words) > maxRefusal || w.first(registrarKeys...) != "" {
		return nil
	}
	for _, phrase := range []string{"quota exceeded", "limit exceeded", "exceeded the maximum", "too many requests",
		"query rate", "try again later", "rate limited", "exceeded your", "excessive querying"} {
		if strings.Contains(words, phrase) {
			return failed(discover.SourceLimited, "It wants fewer requests.")
		}
	}
	for _, phrase := range []string{"access denied", "blacklisted", "your ip", "not authorized", "permission denied"} {
		if strings.Contains(words, phrase) {
			return failed(discover.SourceBlocked, "It refuses to answer.")
		}
	}
	return nil
}

const maxRefusal = 2000 // bytes; what is longer is an answer

// layouts are how registries write dates, those with a time first.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05", "2006-01-02", "2-Jan-2006", "2-January-2006", "2006.01.02 15:04:05", "2006.01.02",
	"2006/01/02 15:04:05", "2006/01/02", "2.1.2006 15:04:05", "2.1.2006", "2006. 01. 02.", "20060102", "January 2 2006",
	"January 2, 2006", "Jan 2 2006", "Jan-2-2006", "Mon Jan 2 15:04:05 MST 2006", "Mon Jan _2 2006",
	"Mon Jan _2 15:04:05 2006", "02/01/2006 15:04:05", "02/01/2006", "2 January 2006", "2 Jan 2006 15:04:05", "2 Jan 2006",
	"2006-Jan-02", "2006-Jan-02.", "02-01-2006",
}

// date reads a date in any of the usual spellings; the zero time for what is none.
func date(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return time.Time{}
	}
	for {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 2300 {
				return t.UTC()
			}
		}
		// "2021-03-01 (JST)", "2021-03-01 00:00:00 UTC": the end may be a remark.
		i := strings.LastIndexByte(s, ' ')
		if i < 0 {
			return time.Time{}
		}
		s = strings.TrimSpace(s[:i])
	}
}
