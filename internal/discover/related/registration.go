package related

import (
	"context"
	"fmt"
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

// known reports whether there is anything in it.
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

// The bounds of a comparison of registrations.
const (
	maxCandidates = 60
	compareAtOnce = 4
)

// suffixes are those under which owners register their name once more.
var suffixes = strings.Fields("com net org info biz io co app dev ai cloud de uk co.uk fr nl it es eu ch us ca com.au co.jp in com.br")

// askRegistration asks for the domain's own registration: RDAP first, then WHOIS where
// RDAP names no owner.
func (h *hunt) askRegistration(ctx context.Context) {
	r, answers := h.register(ctx, h.domain, func(r *registration) bool { return r.known() && r.org != "" })
	h.own = r
	if r.known() {
		h.learn(r.org)
	}
	for _, a := range answers {
		h.publish(a)
	}
}

// register asks for one registration, by WHOIS too unless what RDAP says is enough, and
// reports for both. A registration that is known is an answer, also where nothing follows
// from it.
func (h *hunt) register(ctx context.Context, domain string, enough func(*registration) bool) (*registration, []discover.AssociatedAnswer) {
	var byRDAP, byWhois *registration
	rdap := h.ask(ctx, RDAP, discover.WhoisHistory, func(ctx context.Context, p place) (_ []discover.Associated, err error) {
		byRDAP, err = h.askRDAP(ctx, p, domain)
		return nil, err
	})
	if byRDAP.known() {
		rdap.Report.State = discover.SourceOK
	}
	if enough(byRDAP) || rdap.Report.State == discover.SourceEmpty { // it is not registered at all
		return byRDAP, []discover.AssociatedAnswer{rdap, h.answer(Whois, discover.WhoisHistory, nil, 0, errSkipped("RDAP has answered."))}
	}
	whois := h.ask(ctx, Whois, discover.WhoisHistory, func(ctx context.Context, p place) (_ []discover.Associated, err error) {
		byWhois, err = h.askWhois(ctx, p, domain)
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

// fill takes from o what r lacks.
func (r *registration) fill(o *registration) {
	for _, f := range []struct{ to, from *string }{{&r.registrar, &o.registrar}, {&r.org, &o.org}, {&r.server, &o.server}} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	for _, f := range []struct{ to, from *time.Time }{{&r.created, &o.created}, {&r.updated, &o.updated}, {&r.expires, &o.expires}} {
		if f.to.IsZero() {
			*f.to = *f.from
		}
	}
	if len(r.nameServers) == 0 {
		r.nameServers = o.nameServers
	}
	r.mail = append(r.mail, o.mail...)
}

// candidates are the domains whose registration is compared: those that others have found,
// those that the registration itself leads to, the same name under other suffixes.
func (h *hunt) candidates() (out []string) {
	add := func(domain string) {
		if domain != h.domain && domain != "" && len(out) < maxCandidates && !slices.Contains(out, domain) {
			out = append(out, domain)
		}
	}
	for _, host := range h.own.nameServers {
		if domain, ok := discover.RegisteredOf(host); ok && !isShared(domain) {
			add(domain)
		}
	}
	for _, domain := range h.own.mail {
		if !isShared(domain) {
			add(domain)
		}
	}
	h.mu.Lock()
	found := make([]string, 0, len(h.seen))
	for domain := range h.seen {
		found = append(found, domain)
	}
	h.mu.Unlock()
	slices.Sort(found)
	room := maxCandidates - len(suffixes)
	for _, domain := range found[:min(len(found), room)] {
		add(domain)
	}
	label, _, _ := strings.Cut(h.domain, ".")
	for _, suffix := range suffixes {
		if domain, ok := discover.ParseDomain(label + "." + suffix); ok {
			add(domain)
		}
	}
	return out
}

// comparison is what comes of comparing registrations, by protocol.
type comparison struct {
	sync.Mutex
	found  map[string][]discover.Associated
	failed map[string]error
	asked  map[string]bool
}

// compareRegistrations looks up the candidates, keeps those of the same owner, and tells
// of RDAP and WHOIS again, with what each of them has shown.
func (h *hunt) compareRegistrations(ctx context.Context) {
	if !h.own.known() {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, h.c.Timeout)
	defer cancel()
	c := comparison{found: map[string][]discover.Associated{}, failed: map[string]error{}, asked: map[string]bool{}}
	var group errgroup.Group
	group.SetLimit(compareAtOnce)
	for _, domain := range h.candidates() {
		group.Go(func() error {
			r, answers := h.register(ctx, domain, (*registration).known)
			c.add(h.own, r, domain, answers)
			return nil
		})
	}
	_ = group.Wait() // they report for themselves
	for _, name := range []string{RDAP, Whois} {
		if !c.asked[name] {
			continue
		}
		a := h.answer(name, discover.WhoisHistory, c.found[name], time.Since(began), c.failed[name])
		if a.Report.State == discover.SourceEmpty {
			a.Report.State = discover.SourceOK // it knows the domain; no other is related
		}
		h.publish(a)
	}
}

// add notes what a candidate's registration shows.
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
				c.failed[name] = said(a.Report.State, a.Report.Detail)
			}
		default: // one registry that knows nothing or does not answer is no trouble of the source
		}
	}
	if search := own.relates(r); search != "" {
		c.found[by] = append(c.found[by], discover.Associated{Domain: domain, Evidence: r.evidence(search)})
	}
}

// relates says by what a registration belongs to r's owner; empty: by nothing. See the
// package's comment for the rule.
func (r *registration) relates(o *registration) string {
	if !o.known() {
		return ""
	}
	switch {
	case sameOrg(r.org, o.org):
		return r.org
	case serves(r.domain, o.nameServers) != "":
		return serves(r.domain, o.nameServers)
	case serves(o.domain, r.nameServers) != "" && !isShared(o.domain):
		return serves(o.domain, r.nameServers)
	case isOwner(r.org) && isOwner(o.org): // two owners
		return ""
	}
	mine, _, _ := strings.Cut(r.domain, ".")
	theirs, _, _ := strings.Cut(o.domain, ".")
	if mine == theirs && r.registrar != "" && strings.EqualFold(r.registrar, o.registrar) && len(r.nameServers) > 1 && sameSet(r.nameServers, o.nameServers) {
		return fmt.Sprintf("%s, %s", r.registrar, strings.Join(r.nameServers, ", "))
	}
	return ""
}

// serves is the first of some name servers that lies under a domain; empty: none.
func serves(domain string, nameServers []string) string {
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
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// hostName is a name server as it is compared.
func hostName(s string) string {
	host, _, _ := strings.Cut(strings.TrimSpace(s), " ") // an address may follow
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// mailDomain is the registered domain of an address; empty for what is none.
func mailDomain(address string) string {
	_, host, ok := strings.Cut(address, "@")
	domain, registered := discover.RegisteredOf(host)
	if !ok || !registered {
		return ""
	}
	return domain
}
