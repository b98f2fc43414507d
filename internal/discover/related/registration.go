package related

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"golang.org/x/sync/errgroup"
)

// registration is what a registry says of a domain.
type registration struct {
	domain      string
	server      string // that answered
	registrar   string
	org         string // of the registrant, as it is written; a privacy service's too
	created     time.Time
	updated     time.Time
	expires     time.Time
	nameServers []string // lower case, no final dot
	mail        []string // domains of the contacts' addresses
}

func (r *registration) known() bool {
	return r != nil && (r.registrar != "" || r.org != "" || len(r.nameServers) > 0 || !r.created.IsZero())
}

// evidence is a registration in the words of the specification.
func (r *registration) evidence(search string) discover.Evidence {
	e := discover.Evidence{
		RegistrantOrg: r.org, Registrar: r.registrar, WhoisServer: r.server, SearchIdentifier: search,
		RegistrationDate: day(r.created), UpdateDate: day(r.updated), ExpiryDate: day(r.expires),
	}
	if isOwner(r.org) {
		e.OrgName = r.org
	}
	return e
}

const (
	maxCandidates = 60
	compareAtOnce = 4
)

// suffixes are those under which owners register their name once more.
var suffixes = strings.Fields("com net org info biz io co app dev ai cloud de uk co.uk fr nl it es eu ch us ca com.au co.jp in com.br")

// askRegistration asks for the domain's own registration: by RDAP, and by WHOIS where RDAP names no owner.
func (s *search) askRegistration(ctx context.Context) {
	r, answers := s.register(ctx, s.domain, func(r *registration) bool { return r.known() && r.org != "" })
	s.own = r
	if r.known() {
		s.addOrg(r.org)
	}
	for _, a := range answers {
		s.publish(a)
	}
}

// register asks for one registration, by WHOIS too unless RDAP's answer is enough, and reports both. A known
// registration is an answer, also where nothing follows from it.
func (s *search) register(
	ctx context.Context, domain string, enough func(*registration) bool,
) (*registration, []discover.AssociatedAnswer) {
	var byRDAP, byWhois *registration
	rdap := s.ask(ctx, RDAP, discover.WhoisHistory,
		func(ctx context.Context, e endpoint) (_ []discover.Associated, err error) {
			byRDAP, err = s.askRDAP(ctx, e, domain)
			return nil, err
		})
	if byRDAP.known() {
		rdap.Report.State = discover.SourceOK
	}
	if enough(byRDAP) || rdap.Report.State == discover.SourceEmpty { // it is not registered at all
		skipped := failed(discover.SourceSkipped, "RDAP has answered.")
		return byRDAP, []discover.AssociatedAnswer{rdap, s.answer(Whois, discover.WhoisHistory, nil, 0, skipped)}
	}
	whois := s.ask(ctx, Whois, discover.WhoisHistory,
		func(ctx context.Context, e endpoint) (_ []discover.Associated, err error) {
			byWhois, err = e.registration(ctx, domain)
			return nil, err
		})
	answers := []discover.AssociatedAnswer{rdap, whois}
	if !byWhois.known() {
		return byRDAP, answers
	}
	answers[1].Report.State = discover.SourceOK
	if byRDAP.known() {
		byWhois.fill(byRDAP)
	}
	return byWhois, answers
}

func (r *registration) fill(o *registration) {
	r.registrar, r.org, r.server = cmp.Or(r.registrar, o.registrar), cmp.Or(r.org, o.org), cmp.Or(r.server, o.server)
	for _, f := range [][2]*time.Time{{&r.created, &o.created}, {&r.updated, &o.updated}, {&r.expires, &o.expires}} {
		if f[0].IsZero() {
			*f[0] = *f[1]
		}
	}
	if len(r.nameServers) == 0 {
		r.nameServers = o.nameServers
	}
	r.mail = append(r.mail, o.mail...)
}

// candidates are the domains whose registration is compared: those that others found, those of the registration itself,
// and the same name under other suffixes.
func (s *search) candidates() (out []string) {
	add := func(domain string) {
		if domain != s.domain && domain != "" && len(out) < maxCandidates && !slices.Contains(out, domain) {
			out = append(out, domain)
		}
	}
	for _, host := range s.own.nameServers {
		if domain, ok := discover.RegisteredOf(host); ok && !isShared(domain) {
			add(domain)
		}
	}
	for _, domain := range s.own.mail {
		if !isShared(domain) {
			add(domain)
		}
	}
	s.mu.Lock()
	found := slices.Sorted(maps.Keys(s.seen))
	s.mu.Unlock()
	for _, domain := range found[:min(len(found), maxCandidates-len(suffixes))] {
		add(domain)
	}
	label, _, _ := strings.Cut(s.domain, ".")
	for _, suffix := range suffixes {
		if domain, ok := discover.ParseDomain(label + "." + suffix); ok {
			add(domain)
		}
	}
	return out
}

// comparison is the result of comparing registrations, by protocol.
type comparison struct {
	sync.Mutex
	found  map[string][]discover.Associated
	failed map[string]error
	asked  map[string]bool
}

// compareRegistrations looks up the candidates, keeps those of the same owner, and publishes RDAP's and WHOIS's answers
// again.
func (s *search) compareRegistrations(ctx context.Context) {
	if !s.own.known() {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	c := comparison{found: map[string][]discover.Associated{}, failed: map[string]error{}, asked: map[string]bool{}}
	var group errgroup.Group
	group.SetLimit(compareAtOnce)
	for _, domain := range s.candidates() {
		group.Go(func() error {
			r, answers := s.register(ctx, domain, (*registration).known)
			c.add(s.own, r, domain, answers)
			return nil
		})
	}
	_ = group.Wait() // none has an error
	for _, name := range []string{RDAP, Whois} {
		if !c.asked[name] {
			continue
		}
		a := s.answer(name, discover.WhoisHistory, c.found[name], time.Since(began), c.failed[name])
		if a.Report.State == discover.SourceEmpty {
			a.Report.State = discover.SourceOK // it knows the domain; no other is related
		}
		s.publish(a)
	}
}

func (c *comparison) add(own, r *registration, domain string, answers []discover.AssociatedAnswer) {
	c.Lock()
	defer c.Unlock()
	by := RDAP
	for _, a := range answers {
		name := a.Report.Source
		switch a.Report.State {
		case discover.SourceOK:
			by = name
			c.asked[name] = true
		case discover.SourceLimited, discover.SourceBlocked:
			c.asked[name] = true
			if c.failed[name] == nil {
				c.failed[name] = discover.SourceError{State: a.Report.State, Detail: a.Report.Detail}
			}
		default: // one registry that knows nothing or does not answer is no failure of the source
		}
	}
	if search := own.relates(r); search != "" {
		c.found[by] = append(c.found[by], discover.Associated{Domain: domain, Evidence: r.evidence(search)})
	}
}

// relates says by what a registration belongs to r's owner; "": by nothing. The package's comment has the rule.
func (r *registration) relates(o *registration) string {
	if !o.known() {
		return ""
	}
	switch {
	case sameOrg(r.org, o.org):
		return r.org
	case nameServerUnder(r.domain, o.nameServers) != "":
		return nameServerUnder(r.domain, o.nameServers)
	case nameServerUnder(o.domain, r.nameServers) != "":
		return nameServerUnder(o.domain, r.nameServers)
	case isOwner(r.org) && isOwner(o.org): // two owners
		return ""
	}
	mine, _, _ := strings.Cut(r.domain, ".")
	theirs, _, _ := strings.Cut(o.domain, ".")
	if mine == theirs && r.registrar != "" && strings.EqualFold(r.registrar, o.registrar) &&
		len(r.nameServers) > 1 && sameSet(r.nameServers, o.nameServers) {
		return fmt.Sprintf("%s, %s", r.registrar, strings.Join(r.nameServers, ", "))
	}
	return ""
}

// nameServerUnder is the first name server that lies under a domain; "": none.
func nameServerUnder(domain string, nameServers []string) string {
	if isShared(domain) {
		return ""
	}
	for _, host := range nameServers {
		if discover.Under(host, domain) {
			return host
		}
	}
	return ""
}

func sameSet(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}

// hostName is the form in which name servers are compared.
func hostName(s string) string {
	host, _, _ := strings.Cut(strings.TrimSpace(s), " ") // an address may follow
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// mailDomain is the registered domain of a mail address, or "".
func mailDomain(address string) string {
	_, host, ok := strings.Cut(address, "@")
	domain, registered := discover.RegisteredOf(host)
	if !ok || !registered {
		return ""
	}
	return domain
}
