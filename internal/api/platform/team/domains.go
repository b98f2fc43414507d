package team

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/domain"
)

const domainTag = "Domains"

// DomainPath names a domain of the team.
type DomainPath struct {
	ID string `path:"domain_id" doc:"The domain's id."`
}

func (s area) domains() {
	const path, one = "/v1/domain", "/v1/domain/{domain_id}"
	associated := wire.Op("get-associated-domains", "GET "+path+"/associated", domainTag,
		"Domains of the same owner as a domain")
	schema := s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[AssociatedDomains](), true, "AssociatedDomains")
	associated.Responses = map[string]*huma.Response{"200": {
		Description: "The domains; with raw=true one a line.",
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema},
			"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	rest.Register(s.API, associated, s.associated)
	rest.Handle(s.API, wire.Op("list-domain-sources", "GET "+path+"/sources", domainTag,
		"The state of the sources of associated domains at their last query"), s.domainSources)
	rest.Handle(s.API, wire.Op("list-domains", "GET "+path, domainTag, "Your team's domains"), s.listDomains)
	rest.Handle(s.API, wire.Op("add-domain", "POST "+path, domainTag,
		"Claim a domain for your team; the answer says how to prove it", 409), s.addDomain)
	rest.Handle(s.API, wire.Op("get-domain", "GET "+one, domainTag, "A domain and the state of its verification", 404),
		func(ctx context.Context, in *DomainPath) (*DomainItem, error) {
			d, err := s.Domains.Find(ctx, in.ID)
			return new(domainOf(d)), err
		})
	rest.Handle(s.API, wire.Op("verify-domain", "POST "+one+"/verify", domainTag, "Verify a domain now", 404),
		func(ctx context.Context, in *DomainPath) (*DomainItem, error) {
			d, err := s.Domains.VerifyNow(ctx, in.ID)
			return new(domainOf(d)), err
		})
	wire.Act(s.API, wire.Op("delete-domain", "DELETE "+one, domainTag, "Delete a domain", 404), "The domain is deleted.",
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
	if in.Page > 0 && in.Limit == 0 {
		rest.Warnf(ctx, "page has no effect without limit: all domains are on one page.")
	}
	found, err := s.Domains.Associated(ctx, domain.Query{
		Domain: in.Domain, Sources: wire.Commas(in.Source), Active: in.Active.Ptr(), Sort: in.Sort, Limit: in.Limit,
		Page: in.Page,
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
	text, err := json.Marshal(rest.Warned(ctx, associatedOf(found, in.Limit, in.Page)))
	return written("application/json", string(text)), err
}

// written answers with a text.
func written(contentType, text string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", contentType)
		hc.SetHeader("X-Content-Type-Options", "nosniff")
		hc.SetStatus(http.StatusOK)
		_, _ = io.WriteString(hc.BodyWriter(), text) // the client may have disconnected
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

// NewDomain claims a domain for the team.
type NewDomain struct {
	Domain string `json:"domain" maxLength:"1000" doc:"The domain, such as example.com."`
	Type   string `json:"verification_type,omitempty" enum:"dns_text_record,html_meta_tag,file_upload" default:"dns_text_record"`
}

// DomainItem is a domain of the team.
type DomainItem struct {
	ID           string     `json:"id"`
	Domain       string     `json:"domain" doc:"The domain, in lower-case ASCII."`
	Status       string     `json:"status" enum:"pending,verified,expired,failed,deleted" doc:"State of the verification."`
	Type         string     `json:"verification_type" enum:"dns_text_record,html_meta_tag,file_upload"`
	Token        string     `json:"verification_string,omitempty" doc:"The token to publish, while verification is pending."`
	Instructions string     `json:"instructions,omitempty" doc:"What to do, while verification is pending."`
	Attempts     int        `json:"verification_attempts" doc:"Number of verification attempts."`
	LastResult   string     `json:"last_result,omitempty" doc:"Result of the last attempt, in words."`
	LastAttempt  *time.Time `json:"last_attempt_at,omitempty" doc:"Last attempt."`
	NextAttempt  *time.Time `json:"next_attempt_at,omitempty" doc:"Next automatic attempt; absent: none."`
	VerifiedAt   *time.Time `json:"verified_at,omitempty" doc:"Time of the verification."`
	CreatedAt    time.Time  `json:"created_at" doc:"Creation time."`
}

func domainOf(d domain.Domain) DomainItem {
	item := DomainItem{
		ID: d.ID, Domain: d.Name, Status: string(d.Status), Type: string(d.Type), Attempts: d.Attempts, LastResult: d.Note,
		LastAttempt: rest.OrNull(d.LastAttemptAt), NextAttempt: rest.OrNull(d.NextCheckAt),
		VerifiedAt: rest.OrNull(d.VerifiedAt), CreatedAt: d.CreatedAt,
	}
	switch d.Status {
	case domain.Pending, domain.Failed, domain.Expired:
		item.Token, item.Instructions = d.Token, d.Instructions()
	case domain.Verified, domain.Deleted: // nothing to do
	}
	return item
}

// DomainList is a page of domains.
type DomainList struct {
	wire.Listing
	Data []DomainItem `json:"data" doc:"The domains, by name."`
}

// AssociatedDomains are the domains of the same owner (specification, Associated domain response), and the
// state of the queried sources.
type AssociatedDomains struct {
	Domain       string             `json:"domain" doc:"The queried domain; without one, your verified domains, comma-separated."`
	Results      []AssociatedDomain `json:"results" doc:"The domains."`
	Sources      []string           `json:"sources" doc:"Usable sources."`
	SourcesCount map[string]int     `json:"sources_count" doc:"Domains by source, on all pages."`
	UniqueCount  int                `json:"unique_count" doc:"Domains, on all pages."`
	Limit        *int               `json:"limit,omitempty" doc:"Domains on a page, where there are pages."`
	Page         *int               `json:"page,omitempty" doc:"This page, where there are pages."`
	TotalCount   *int               `json:"total_count,omitempty" doc:"Domains on all pages, where there are pages."`
	TotalPages   *int               `json:"total_pages,omitempty" doc:"Pages, where there are pages."`
	State        string             `json:"state" enum:"complete,searching" doc:"searching: there may be more in a minute."`
	Capped       bool               `json:"limited_by_plan,omitempty" doc:"The team's plan hides further domains."`
	Health       []SourceHealth     `json:"source_health" doc:"State of each queried source."`
}

// AssociatedDomain is an associated domain with its evidence.
type AssociatedDomain struct {
	Domain   string          `json:"domain"`
	Sources  []string        `json:"sources" doc:"Sources that returned it."`
	Evidence domain.Evidence `json:"evidence" doc:"What was seen."`
}

// SourceHealth is the state of a source at its last query.
type SourceHealth struct {
	Source    string     `json:"source" doc:"crtsh, certspotter, rdap, whois, wikidata or crunchbase."`
	History   string     `json:"history" doc:"The kind of source, such as certificate_history."`
	Domain    string     `json:"domain"`
	State     string     `json:"state" enum:"ok,empty,limited,key_rejected,blocked,timed_out,failed,skipped"`
	Count     int        `json:"count" doc:"Domains that it returned."`
	Detail    string     `json:"detail,omitempty"`
	CheckedAt time.Time  `json:"checked_at" doc:"Query time."`
	FoundAt   *time.Time `json:"found_at,omitempty" doc:"Its last answer, whose results are shown."`
}

func healthOf(h domain.Health) SourceHealth {
	return SourceHealth{h.Place, h.Source, h.Domain, string(h.State), h.Count, h.Detail, h.CheckedAt,
		rest.OrNull(h.FoundAt)}
}

func associatedOf(r domain.Result, limit, page int) AssociatedDomains {
	a := AssociatedDomains{
		Domain: r.Domain, Sources: r.Sources, SourcesCount: r.Counts, UniqueCount: r.Total, State: "complete",
		Capped:  r.Capped,
		Results: make([]AssociatedDomain, len(r.Found)), Health: rest.Each(r.Health, healthOf),
	}
	for i, f := range r.Found {
		a.Results[i] = AssociatedDomain(f)
	}
	if r.Running {
		a.State = "searching"
	}
	if limit > 0 {
		page = max(page, 1)
		pages := (r.Total + limit - 1) / limit
		a.Limit, a.Page, a.TotalCount, a.TotalPages = &limit, &page, &r.Total, &pages
	}
	return a
}

// DomainSources are the states of sources.
type DomainSources struct {
	Data []DomainSource `json:"data" doc:"By source and domain, latest first, at most 1000."`
}

// DomainSource is the state of a source, compared with its usual one.
type DomainSource struct {
	SourceHealth
	TookMS int64        `json:"took_ms" doc:"Duration in milliseconds."`
	Usual  *int         `json:"usual_count,omitempty"`
	Alert  *SourceAlert `json:"alert,omitempty" doc:"Present while it returns less than half of the usual number."`
}

// SourceAlert says since when a source returns much less than usual.
type SourceAlert struct {
	ID       string    `json:"id"`
	Count    int       `json:"count" doc:"Domains that it returned in its last run."`
	Usual    int       `json:"usual_count"`
	OpenedAt time.Time `json:"opened_at" doc:"Since when."`
}
