// Package related finds the domains that belong together with a domain: by certificates
// that name both, by registrations of one owner, by companies that own one another. It
// also looks whether a domain answers, and whether somebody has shown it to be theirs.
//
// Whoever is asked may lie, stall, or be down: each answer is bounded in bytes and in
// time, what arrived before an end is kept, and a report says how each place behaved.
//
// # What makes a domain related
//
// A certificate relates the domains it names when there are at most ten of them; with up
// to a hundred, when it also names an organization that is not a provider's. One that
// names a domain of a provider that serves others (a content network, a site builder)
// relates nothing: its customers share a machine, not an owner. A certificate that names
// the organization which registered the domain relates its domains by that name.
//
// A registration relates a domain that was found elsewhere, or that has the same first
// label under another suffix, or that serves its names or takes its mail, when both name
// the same organization (a privacy service is none); or when one serves the names of the
// other; or when first label, registrar and name servers are all the same.
//
// A company's official domain is related to those of its parent, its subsidiaries, what
// it owns alone or by half, and who owns it so.
package related

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openrdap/rdap/bootstrap"
	"github.com/vedette-sec/vedette/internal/discover"
	"golang.org/x/sync/errgroup"
)

// The places that can be asked, as reports name them.
const (
	CRTSh       = "crtsh"       // crt.sh's JSON
	CertSpotter = "certspotter" // certspotter's issuances, version 1
	RDAP        = "rdap"        // RFC 9082 and 9083, found by RFC 9224
	Whois       = "whois"       // RFC 3912
	Wikidata    = "wikidata"    // its SPARQL service
	Crunchbase  = "crunchbase"  // its API, version 4; only with a key
)

// Bootstrap names the registry of RDAP servers in Config.URLs.
const Bootstrap = "rdap-bootstrap"

// Off as a URL of Config.URLs says that a place is not to be asked.
const Off = "off"

// defaults are where the places are, unless the operator names others. RDAP has no place
// of its own: the registry tells which server knows a domain.
var defaults = map[string]string{
	CRTSh:       "https://crt.sh/",
	CertSpotter: "https://api.certspotter.com/v1/issuances",
	RDAP:        "",
	Bootstrap:   "https://data.iana.org/rdap/",
	Whois:       "whois.iana.org:43",
	Wikidata:    "https://query.wikidata.org/sparql",
	Crunchbase:  "https://api.crunchbase.com/api/v4/",
}

// Config says where to ask, and through what.
type Config struct {
	// HTTP and Dial reach what the world names, and only the public internet: a guard's.
	HTTP *http.Client
	Dial dialer
	// OwnHTTP and OwnDial reach what the operator names in URLs, wherever that is.
	OwnHTTP *http.Client
	OwnDial dialer
	// URLs are the operator's places instead of the usual ones: URLs, for Whois host:port,
	// or Off.
	URLs map[string]string
	// Keys are API keys by place: Crunchbase's, CertSpotter's.
	Keys map[string]string
	// Timeout bounds what is asked of one place; 45 s when 0.
	Timeout time.Duration
	// Backoff is the wait before a second try, doubled for the third; 1 s when 0.
	Backoff time.Duration
}

// Finder asks the places. It is safe for use by many goroutines.
type Finder struct {
	c         Config
	places    map[string]place
	registry  sync.Mutex // bootstrap.Client is not for several goroutines
	bootstrap *bootstrap.Client
}

// dialer connects to host:port.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// place is where a source is asked.
type place struct {
	name       string
	base       string
	client     *http.Client
	dial       dialer // to the place itself
	dialPublic dialer // to where it leads
	key        string
	own        bool // the operator named it
}

// CheckURL says what is wrong with an operator's URL for a place; nil: nothing.
func CheckURL(name, raw string) error {
	if _, known := defaults[name]; !known {
		return fmt.Errorf("there is no source %q", name)
	}
	if raw == Off {
		return nil
	}
	if name == Whois {
		if _, _, err := net.SplitHostPort(raw); err != nil {
			return errors.New("whois must be host:port or off")
		}
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s must be a URL or off", name)
	}
	return nil
}

// CheckKey says whether a place takes a key.
func CheckKey(name string) error {
	if name != Crunchbase && name != CertSpotter {
		return fmt.Errorf("source %q takes no key", name)
	}
	return nil
}

// New makes a finder. An error says which URL is malformed.
func New(c Config) (*Finder, error) {
	if c.Timeout == 0 {
		c.Timeout = 45 * time.Second
	}
	if c.Backoff == 0 {
		c.Backoff = time.Second
	}
	f := &Finder{c: c, places: map[string]place{}}
	for name, base := range defaults {
		p := place{name: name, base: base, client: c.HTTP, dial: c.Dial, dialPublic: c.Dial, key: c.Keys[name]}
		if own, named := c.URLs[name]; named {
			if err := CheckURL(name, own); err != nil {
				return nil, err
			}
			p.base, p.client, p.dial, p.own = own, c.OwnHTTP, c.OwnDial, true
		}
		p.client = f.polite(p)
		f.places[name] = p
	}
	base, err := url.Parse(f.places[Bootstrap].base)
	if err != nil {
		return nil, err
	}
	f.bootstrap = &bootstrap.Client{HTTP: f.places[Bootstrap].client, BaseURL: base}
	return f, nil
}

// hunt is one search for what belongs to a domain.
type hunt struct {
	*Finder
	domain string // a registered domain
	tell   func(discover.AssociatedAnswer)
	mu     sync.Mutex

	own   *registration   // of the domain; nil: not known
	orgs  []string        // names of the organization behind the domain, from certificates and the registration
	seen  map[string]bool // related domains that were found so far
	crtsh []certificate   // that crt.sh listed for the domain
}

// Find asks all places about a registered domain and tells what each has said as it
// comes: a place may be told of twice, the second time with all that it has said. tell is
// called by one goroutine at a time, and not after Find has returned.
func (f *Finder) Find(ctx context.Context, domain string, tell func(discover.AssociatedAnswer)) {
	h := &hunt{Finder: f, domain: domain, tell: tell, seen: map[string]bool{}}
	var first errgroup.Group
	first.Go(func() error { h.askCRTSh(ctx); return nil })
	first.Go(func() error { h.askCertSpotter(ctx); return nil })
	first.Go(func() error { h.askWikidata(ctx); return nil })
	first.Go(func() error { h.askCrunchbase(ctx); return nil })
	// What was learnt of the owner leads to more.
	h.askRegistration(ctx)
	_ = first.Wait() // they report for themselves
	var second errgroup.Group
	second.Go(func() error { h.askCRTShForOrgs(ctx); return nil })
	second.Go(func() error { h.compareRegistrations(ctx); return nil })
	_ = second.Wait()
}

// ask runs what asks one place, in time, and makes its report. What was found before an
// error counts.
func (h *hunt) ask(ctx context.Context, name, source string, fn func(ctx context.Context, p place) ([]discover.Associated, error)) discover.AssociatedAnswer {
	p := h.places[name]
	if p.base == Off {
		return h.answer(name, source, nil, 0, errSkipped("It is switched off by the operator."))
	}
	ctx, cancel := context.WithTimeout(ctx, h.c.Timeout)
	defer cancel()
	began := time.Now()
	found, err := fn(ctx, p)
	return h.answer(name, source, found, time.Since(began), err)
}

// answer is an answer with its report; the domain itself and public suffixes are no finds.
func (h *hunt) answer(name, source string, found []discover.Associated, took time.Duration, err error) discover.AssociatedAnswer {
	found = slices.DeleteFunc(found, func(a discover.Associated) bool { return a.Domain == h.domain || a.Domain == "" })
	for i := range found {
		found[i].Sources = []string{source}
		clean(&found[i].Evidence)
	}
	found = discover.MergeAssociated(found)
	if len(found) > maxFound {
		found = found[:maxFound]
		err = errors.Join(err, said(discover.SourceLimited, fmt.Sprintf("It named more than %d domains; the rest is left out.", maxFound)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range found {
		h.seen[a.Domain] = true
	}
	state, detail := judge(err, len(found) > 0)
	return discover.AssociatedAnswer{
		Source: source, Found: found,
		Report: discover.SourceReport{Source: name, About: h.domain, State: state, Count: len(found), Took: took, Detail: detail},
	}
}

// publish tells of an answer.
func (h *hunt) publish(a discover.AssociatedAnswer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell(a)
}

// learn notes a name of the organization behind the domain.
func (h *hunt) learn(orgs ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, org := range orgs {
		if isOwner(org) && !slices.ContainsFunc(h.orgs, func(o string) bool { return sameOrg(o, org) }) && len(h.orgs) < maxOrgs {
			h.orgs = append(h.orgs, org)
		}
	}
}

// The bounds of one search.
const (
	maxFound = 10_000 // domains that one place may name
	maxOrgs  = 3      // names of the owner that are searched for
	maxText  = 300    // bytes of one piece of evidence
)

// clean bounds the texts of evidence, which come from outside.
func clean(e *discover.Evidence) {
	for _, s := range []*string{
		&e.AcquiredCompany, &e.AcquirerName, &e.CertCommonName, &e.CertIssuer, &e.CertOrgName, &e.CertSerial, &e.CrunchbaseURL, &e.OrgName,
		&e.RegistrantOrg, &e.Registrar, &e.SearchIdentifier, &e.WhoisServer,
	} {
		*s = line(*s)
	}
}

// line is a text in one line of bounded length, without control characters.
func line(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
	for i := range s {
		if i > maxText {
			return s[:i] + "…"
		}
	}
	return s
}

// day is a date as evidence shows it; empty for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
