package related

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openrdap/rdap"
	"github.com/openrdap/rdap/bootstrap"
	"github.com/vedette-sec/vedette/internal/discover"
)

// askRDAP asks the registry of a domain. nil without an error: it is not registered.
func (s *search) askRDAP(ctx context.Context, e endpoint, domain string) (*registration, error) {
	servers, err := s.rdapServers(ctx, e, domain)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, failed(discover.SourceSkipped, "The domain's registry speaks no RDAP.")
	}
	if s.endpoints[Bootstrap].byOperator { // then the operator names the servers, too
		e.client = s.endpoints[Bootstrap].client
	}
	var failure error
	for _, server := range servers {
		r, err := e.rdap(ctx, server, domain)
		if err == nil {
			return r, nil
		}
		failure = err
	}
	return nil, failure
}

// rdapServers are the servers for a domain: the operator's, or those of the registry.
func (s *search) rdapServers(ctx context.Context, e endpoint, domain string) ([]*url.URL, error) {
	if e.byOperator {
		base, err := url.Parse(e.base)
		return []*url.URL{base}, err
	}
	if s.endpoints[Bootstrap].base == Off {
		return nil, failed(discover.SourceSkipped, "The registry of RDAP servers is switched off by the operator.")
	}
	s.registry.Lock()
	defer s.registry.Unlock()
	q := (&bootstrap.Question{RegistryType: bootstrap.DNS, Query: domain}).WithContext(ctx)
	answer, err := s.bootstrap.Lookup(q)
	if err != nil {
		return nil, err
	}
	return answer.URLs, nil
}

func (e endpoint) rdap(ctx context.Context, server *url.URL, domain string) (*registration, error) {
	c := rdap.Client{HTTP: e.client, UserAgent: userAgent}
	resp, err := c.Do((&rdap.Request{Type: rdap.DomainRequest, Query: domain, Server: server}).WithContext(ctx))
	var refusal *rdap.ClientError
	if errors.As(err, &refusal) && refusal.Type == rdap.ObjectDoesNotExist {
		return nil, nil //nolint:nilnil // not registered is an answer
	}
	if err != nil {
		return nil, e.rdapFailure(resp, err)
	}
	d, ok := resp.Object.(*rdap.Domain)
	if !ok {
		return nil, failed(discover.SourceFailed, "It answered with something that is no domain.")
	}
	return registrationOf(d, domain, server.Hostname()), nil
}

// rdapFailure finds out why a server did not answer: the library has one error for all.
func (e endpoint) rdapFailure(resp *rdap.Response, err error) error {
	if resp == nil || len(resp.HTTP) == 0 {
		return err
	}
	last := resp.HTTP[len(resp.HTTP)-1]
	if last.Response != nil && last.Response.StatusCode != http.StatusOK {
		if err := e.status(last.Response.StatusCode); err != nil {
			return err
		}
	}
	if last.Error != nil && (last.Response == nil || discover.IsTimeout(last.Error)) {
		return last.Error
	}
	return failed(discover.SourceFailed, "Its answer is not RDAP.")
}

func registrationOf(d *rdap.Domain, domain, server string) *registration {
	r := &registration{domain: domain, server: server}
	if d.Port43 != "" {
		r.server = oneLine(d.Port43)
	}
	for _, ns := range d.Nameservers {
		if host := hostName(ns.LDHName); host != "" && len(r.nameServers) < maxNameServers {
			r.nameServers = append(r.nameServers, host)
		}
	}
	for _, e := range d.Events {
		switch strings.ToLower(e.Action) {
		case "registration":
			r.created = date(e.Date)
		case "expiration":
			r.expires = date(e.Date)
		case "last changed":
			r.updated = date(e.Date)
		}
	}
	r.readEntities(d.Entities, 0)
	return r
}

const maxNameServers = 50

// readEntities reads the entities of a document, and those within them.
func (r *registration) readEntities(entities []rdap.Entity, depth int) {
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
				r.readEntities(e.Entities, depth+1)
			}
		}
	}
}

// card reads the name, organization and kind of a vCard; what is redacted is empty.
func card(v *rdap.VCard) (name, org, kind string) {
	if v == nil {
		return "", "", ""
	}
	first := func(property string) string {
		if p := v.GetFirst(property); p != nil && len(p.Values()) > 0 {
			return oneLine(p.Values()[0])
		}
		return ""
	}
	return first("fn"), first("org"), strings.ToLower(first("kind"))
}
