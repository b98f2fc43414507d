// Package related finds the domains that belong together with a domain: by certificates that name both, by
// registrations of one owner, by companies that own one another. It also checks whether a domain answers, and whether a
// user has proved to own it.
//
// Sources may lie, stall, or be down: each answer is bounded in bytes and in time, what came before a failure is kept,
// and a report says how each source behaved.
//
// # What makes a domain related
//
// A certificate relates the domains it names when there are at most ten; up to a hundred, when it also names an
// organization that is no provider. One that names a domain of a provider for others (a content network, a site
// builder) relates nothing: its customers share a machine, not an owner. Certificates that name the organization which
// registered the domain relate their domains by that name.
//
// A registration relates a domain that another source found, that has the same first label under another suffix, or
// that serves its names or takes its mail, when both name the same organization (a privacy service is none); or when
// one serves the names of the other; or when first label, registrar and name servers are all the same.
//
// A company's official domain is related to those of its parent, its subsidiaries, what it owns alone or by half, and
// its owner alike.
package related

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/openrdap/rdap/bootstrap"

	"github.com/vedette-sec/vedette/internal/discover"
)

// The sources, as reports name them.
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

// Off as a URL of Config.URLs disables a source.
const Off = "off"

// defaults are the URLs of the sources. RDAP has none of its own: the registry says which server knows a domain.
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
	// HTTP and Dial reach what third parties name, only on the public internet: a guard's.
	HTTP *http.Client
	Dial dialer
	// OwnHTTP and OwnDial reach what the operator names in URLs, wherever that is.
	OwnHTTP *http.Client
	OwnDial dialer
	URLs    map[string]string // instead of the default URLs of sources; host:port for Whois. Off disables a source
	Keys    map[string]string // API keys of Crunchbase and CertSpotter
	Timeout time.Duration     // of the requests to one source; 0: 45 s
	Backoff time.Duration     // before a second try, doubled for the third; 0: 1 s
}

// Finder searches for related domains. It is safe for use by many goroutines.
type Finder struct {
	c         Config
	endpoints map[string]endpoint
	registry  sync.Mutex // bootstrap.Client is not for several goroutines
	bootstrap *bootstrap.Client
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// endpoint is where a source is asked.
type endpoint struct {
	name       string
	base       string
	client     *http.Client
	dial       dialer // to the base
	dialPublic dialer // to servers that the source names
	key        string
	byOperator bool // the operator named it
}

// CheckURL checks an operator's URL for a source.
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

// CheckKey checks that a source takes a key.
func CheckKey(name string) error {
	if name != Crunchbase && name != CertSpotter {
		return fmt.Errorf("source %q takes no key", name)
	}
	return nil
}

// New makes a finder. The error says which URL is malformed.
func New(c Config) (*Finder, error) {
	c.Timeout, c.Backoff = cmp.Or(c.Timeout, 45*time.Second), cmp.Or(c.Backoff, time.Second)
	f := &Finder{c: c, endpoints: map[string]endpoint{}}
	for name, base := range defaults {
		e := endpoint{name: name, base: base, client: c.HTTP, dial: c.Dial, dialPublic: c.Dial, key: c.Keys[name]}
		if own, named := c.URLs[name]; named {
			if err := CheckURL(name, own); err != nil {
				return nil, err
			}
			e.base, e.client, e.dial, e.byOperator = own, c.OwnHTTP, c.OwnDial, true
		}
		e.client = f.retrying(e)
		f.endpoints[name] = e
	}
	base, err := url.Parse(f.endpoints[Bootstrap].base)
	if err != nil {
		return nil, err
	}
	f.bootstrap = &bootstrap.Client{HTTP: f.endpoints[Bootstrap].client, BaseURL: base}
	return f, nil
}

// search is one search for what belongs to a domain.
type search struct {
	*Finder
	domain string // a registered domain
	emit   func(discover.AssociatedAnswer)
	mu     sync.Mutex

	own   *registration   // of the domain; nil: not known
	orgs  []string        // names of the organization behind the domain
	seen  map[string]bool // related domains so far
	crtsh []certificate   // that crt.sh listed for the domain
}

// Find asks all sources about a registered domain and emits their answers as they come: a source may answer twice, the
// second time with all that it has found. emit is called by one goroutine at a time, and not after Find has returned.
func (f *Finder) Find(ctx context.Context, domain string, emit func(discover.AssociatedAnswer)) {
	s := &search{Finder: f, domain: domain, emit: emit, seen: map[string]bool{}}
	var first, second sync.WaitGroup
	first.Go(func() { s.publish(s.ask(ctx, CRTSh, discover.CertificateHistory, s.askCRTSh)) })
	first.Go(func() { s.publish(s.ask(ctx, CertSpotter, discover.CertificateHistory, s.askCertSpotter)) })
	first.Go(func() { s.publish(s.ask(ctx, Wikidata, discover.AcquisitionHistory, s.askWikidata)) })
	first.Go(func() { s.publish(s.ask(ctx, Crunchbase, discover.AcquisitionHistory, s.askCrunchbase)) })
	s.askRegistration(ctx)
	first.Wait()
	// What is known of the owner now leads to more.
	if len(s.orgs) > 0 && s.endpoints[CRTSh].base != Off {
		second.Go(func() { s.publish(s.ask(ctx, CRTSh, discover.CertificateHistory, s.askCRTShForOrgs)) })
	}
	s.compareRegistrations(ctx)
	second.Wait()
}

// ask asks one source, in time, and makes its report. What was found before an error counts.
func (s *search) ask(
	ctx context.Context, name, kind string, fn func(ctx context.Context, e endpoint) ([]discover.Associated, error),
) discover.AssociatedAnswer {
	e := s.endpoints[name]
	if e.base == Off {
		return s.answer(name, kind, nil, 0, failed(discover.SourceSkipped, "It is switched off by the operator."))
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	began := time.Now()
	found, err := fn(ctx, e)
	return s.answer(name, kind, found, time.Since(began), err)
}

// answer makes an answer with its report, without the domain itself and public suffixes.
func (s *search) answer(
	name, kind string, found []discover.Associated, took time.Duration, err error,
) discover.AssociatedAnswer {
	found = slices.DeleteFunc(found, func(a discover.Associated) bool { return a.Domain == s.domain || a.Domain == "" })
	for i := range found {
		found[i].Sources = []string{kind}
		found[i].Evidence.Clean()
	}
	found = discover.MergeAssociated(found)
	if len(found) > maxFound {
		found = found[:maxFound]
		err = errors.Join(err, failed(discover.SourceLimited, "It named more than %d domains; the rest is left out.",
			maxFound))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range found {
		s.seen[a.Domain] = true
	}
	r := discover.SourceReport{Source: name, About: s.domain, Count: len(found), Took: took}
	r.State, r.Detail = discover.StateOf(err, len(found) > 0)
	return discover.AssociatedAnswer{Source: kind, Found: found, Report: r}
}

func (s *search) publish(a discover.AssociatedAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(a)
}

// addOrg adds a name of the organization behind the domain.
func (s *search) addOrg(org string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := func(o string) bool { return sameOrg(o, org) }
	if isOwner(org) && len(s.orgs) < maxOrgs && !slices.ContainsFunc(s.orgs, known) {
		s.orgs = append(s.orgs, org)
	}
}

// The bounds of one search.
const (
	maxFound = 10_000 // domains that one source may name
	maxOrgs  = 3      // names of the owner that are searched for
	maxText  = 300    // bytes of one piece of evidence
)

// oneLine is a text in one line of bounded length, without control characters.
func oneLine(s string) string { return discover.Clean(s, maxText) }

// day is a date as evidence shows it; empty for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
