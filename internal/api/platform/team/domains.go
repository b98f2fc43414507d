package team

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/domain"
)

const domainTag = "Domains"

// DomainPath names a domain of the team.
type DomainPath struct {
	ID string `path:"domain_id" doc:"The id that the domain got when it was added."`
}

func (s area) domains() {
	const path, one = "/v1/domain", "/v1/domain/{domain_id}"
	associated := wire.Op("get-associated-domains", "GET "+path+"/associated", domainTag, "Domains that belong together with a domain")
	schema := s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[AssociatedDomains](), true, "AssociatedDomains")
	associated.Responses = map[string]*huma.Response{"200": {
		Description: "The domains; with raw=true one a line.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}, "text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	rest.Register(s.API, associated, s.associated)
	rest.Handle(s.API, wire.Op("list-domain-sources", "GET "+path+"/sources", domainTag, "How the sources of associated domains behaved when they were asked last"), s.domainSources)
	rest.Handle(s.API, wire.Op("list-domains", "GET "+path, domainTag, "The domains that your team says are its own"), s.listDomains)
	rest.Handle(s.API, wire.Op("add-domain", "POST "+path, domainTag, "Say that a domain is your team's, and learn how to prove it", 409), s.addDomain)
	rest.Handle(s.API, wire.Op("get-domain", "GET "+one, domainTag, "A domain, and how far its proof is", 404),
		func(ctx context.Context, in *DomainPath) (*DomainItem, error) {
			d, err := s.Domains.Find(ctx, in.ID)
			return new(domainOf(d)), err
		})
	rest.Handle(s.API, wire.Op("verify-domain", "POST "+one+"/verify", domainTag, "Check the proof of a domain now", 404),
		func(ctx context.Context, in *DomainPath) (*DomainItem, error) {
			d, err := s.Domains.VerifyNow(ctx, in.ID)
			return new(domainOf(d)), err
		})
	wire.Act(s.API, wire.Op("delete-domain", "DELETE "+one, domainTag, "Give up a domain", 404), "The domain is deleted.",
		func(ctx context.Context, in *DomainPath) error { return s.Domains.Delete(ctx, in.ID) })
}

func (s area) addDomain(ctx context.Context, in *struct{ Body NewDomain }) (*DomainItem, error) {
	d, err := s.Domains.Add(ctx, in.Body.Domain, domain.ProofType(in.Body.Type))
	return new(domainOf(d)), err
}

func (s area) listDomains(ctx context.Context, in *struct {
	Status string `query:"status" enum:"pending,verified,expired,failed,deleted" doc:"Only those in this state; without it all that are not deleted."`
	wire.Window
}) (*DomainList, error) {
	found, total, err := s.Domains.FindAll(ctx, domain.Status(in.Status), in.Page())
	if err != nil {
		return nil, err
	}
	list := DomainList{Listing: wire.ListOf(in.Window, len(found), total, "Domains."), Data: rest.Each(found, domainOf)}
	return &list, nil
}

// AssociatedQuery asks for associated domains (specification, GET /v1/domain/associated).
type AssociatedQuery struct {
	Domain string     `query:"domain" maxLength:"1000" doc:"The domain. Without it: all verified domains of your team."`
	Source string     `query:"source" maxLength:"200" doc:"Of these sources only, separated by commas: acquisition_history, certificate_history, whois_history."`
	Active wire.Maybe `query:"active" doc:"true: domains whose web site answers. false: those whose does not."`
	Sort   string     `query:"sort" enum:"active,domain,source,subdomain_count,update_date" doc:"The order, ascending; what is not known comes last. By domain without it."`
	Limit  int        `query:"limit" minimum:"1" maximum:"100000" doc:"Domains on a page. Without it: all."`
	Page   int        `query:"page" minimum:"1" maximum:"2147483648" doc:"The page, from 1; with limit only."`
	Raw    bool       `query:"raw" doc:"A plain-text list, one domain a line."`
}

func (s area) associated(ctx context.Context, in *AssociatedQuery) (*huma.StreamResponse, error) {
	found, err := s.Domains.Associated(ctx, domain.Query{
		Domain: in.Domain, Sources: wire.Commas(in.Source), Active: in.Active.Ptr(), Sort: in.Sort, Limit: in.Limit, Page: in.Page,
	})
	if err != nil {
		return nil, err
	}
	if in.Raw {
		var text strings.Builder
		for _, a := range found.Found {
			text.WriteString(a.Domain + "\n")
		}
		return written("text/plain; charset=utf-8", text.String()), nil
	}
	text, err := json.Marshal(associatedOf(found, in.Limit, in.Page))
	return written("application/json", string(text)), err
}

// written is an answer of one of several media types.
func written(contentType, text string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", contentType)
		hc.SetHeader("X-Content-Type-Options", "nosniff")
		hc.SetStatus(http.StatusOK)
		_, _ = io.WriteString(hc.BodyWriter(), text) // the client may have gone
	}}
}

func (s area) domainSources(ctx context.Context, in *struct {
	Domain string `query:"domain" maxLength:"1000" doc:"Only queries about this domain."`
}) (*DomainSources, error) {
	found, err := s.Domains.Sources(ctx, in.Domain)
	list := DomainSources{Data: make([]DomainSource, len(found))}
	for i, h := range found {
		list.Data[i] = DomainSource{SourceHealth: healthOf(h), TookMS: h.Took.Milliseconds()}
		if h.Usual >= 0 {
			list.Data[i].Usual = &h.Usual
		}
		if a := h.Alert; a != nil {
			list.Data[i].Alert = &SourceAlert{a.ID, a.Count, a.Usual, a.OpenedAt}
		}
	}
	return &list, err
}

// whenever is a time as it is shown: not at all until it has come.
func whenever(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
