package related

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openrdap/rdap"
	"github.com/openrdap/rdap/bootstrap"
	"github.com/vedette-sec/vedette/internal/discover"
)

// askRDAP asks the registry that knows a domain. nil without an error: it is not
// registered, or its registry speaks no RDAP.
func (h *hunt) askRDAP(ctx context.Context, p place, domain string) (*registration, error) {
	servers, err := h.rdapServers(ctx, p, domain)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, errSkipped("The domain's registry speaks no RDAP.")
	}
	if h.places[Bootstrap].own { // the servers are the operator's word too
		p.client = h.places[Bootstrap].client
	}
	var failed error
	for _, server := range servers {
		r, err := p.rdap(ctx, server, domain)
		if err == nil {
			return r, nil
		}
		failed = err
	}
	return nil, failed
}

// rdapServers are the servers for a domain: the operator's, or those of the registry.
func (h *hunt) rdapServers(ctx context.Context, p place, domain string) ([]*url.URL, error) {
	if p.own {
		base, err := url.Parse(p.base)
		return []*url.URL{base}, err
	}
	if h.places[Bootstrap].base == Off {
		return nil, errSkipped("The registry of RDAP servers is switched off by the operator.")
	}
	h.registry.Lock()
	defer h.registry.Unlock()
	q := (&bootstrap.Question{RegistryType: bootstrap.DNS, Query: domain}).WithContext(ctx)
	answer, err := h.bootstrap.Lookup(q)
	if err != nil {
		return nil, err
	}
	return answer.URLs, nil
}

// rdap asks one server.
func (p place) rdap(ctx context.Context, server *url.URL, domain string) (*registration, error) {
	c := rdap.Client{HTTP: p.client, UserAgent: userAgent}
	resp, err := c.Do((&rdap.Request{Type: rdap.DomainRequest, Query: domain, Server: server}).WithContext(ctx))
	var refusal *rdap.ClientError
	if errors.As(err, &refusal) && refusal.Type == rdap.ObjectDoesNotExist {
		return nil, nil //nolint:nilnil // not registered is an answer
	}
	if err != nil {
		return nil, p.rdapTrouble(resp, err)
	}
	d, ok := resp.Object.(*rdap.Domain)
	if !ok {
		return nil, said(discover.SourceFailed, "It answered with something that is no domain.")
	}
	return registrationOf(d, domain, server.Hostname()), nil
}

// rdapTrouble finds out why a server did not answer, behind the library's one word for it.
func (p place) rdapTrouble(resp *rdap.Response, err error) error {
	if resp == nil || len(resp.HTTP) == 0 {
		return err
	}
	last := resp.HTTP[len(resp.HTTP)-1]
	if last.Response != nil && last.Response.StatusCode != http.StatusOK {
		if err := p.status(last.Response.StatusCode); err != nil {
			return err
		}
	}
	if last.Error != nil && (last.Response == nil || isTimeout(last.Error)) {
		return last.Error
	}
	return said(discover.SourceFailed, "Its answer is not RDAP.")
}

// registrationOf reads an RDAP document.
func registrationOf(d *rdap.Domain, domain, server string) *registration {
	r := &registration{domain: domain, server: server}
	if d.Port43 != "" {
		r.server = line(d.Port43)
	}
	for _, ns := range d.Nameservers {
		if host := hostName(ns.LDHName); host != "" && len(r.nameServers) < maxNameServers {
			r.nameServers = append(r.nameServers, host)
		}
	}
	for _, e := range d.Events {
		for action, to := range map[string]*time.Time{"registration": &r.created, "expiration": &r.expires, "last changed": &r.updated} {
			if strings.EqualFold(e.Action, action) {
				*to = date(e.Date)
			}
		}
	}
	r.people(d.Entities, 0)
	return r
}

const maxNameServers = 50

// people reads the entities of a document, and those within them.
func (r *registration) people(entities []rdap.Entity, depth int) {
	for _, e := range entities {
		name, org, kind := card(e.VCard)
		has := func(role string) bool {
			return slices.ContainsFunc(e.Roles, func(s string) bool { return strings.EqualFold(s, role) })
		}
		switch {
		case has("registrar") && r.registrar == "":
			if r.registrar = name; name == "" {
				r.registrar = org
			}
		case has("registrant") && r.org == "":
			if r.org = org; org == "" && kind == "org" {
				r.org = name
			}
		}
		if !has("registrar") && !has("abuse") && e.VCard != nil {
			if domain := mailDomain(e.VCard.Email()); domain != "" && len(r.mail) < maxNameServers {
				r.mail = append(r.mail, domain)
			}
			if depth == 0 {
				r.people(e.Entities, depth+1)
			}
		}
	}
}

// card reads the name, organization and kind of a vCard. An organization in parts is its
// first part; what is redacted is empty.
func card(v *rdap.VCard) (name, org, kind string) {
	if v == nil {
		return "", "", ""
	}
	first := func(property string) string {
		if p := v.GetFirst(property); p != nil && len(p.Values()) > 0 {
			return line(p.Values()[0])
		}
		return ""
	}
	return first("fn"), first("org"), strings.ToLower(first("kind"))
}
