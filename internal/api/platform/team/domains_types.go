package team

import (
	"github.com/vedette-sec/vedette/internal/api/rest"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/core/domain"
)

// NewDomain says that a domain is the team's.
type NewDomain struct {
	Domain string `json:"domain" maxLength:"1000" doc:"The domain, such as example.com."`
	Type   string `json:"verification_type,omitempty" enum:"dns_text_record,html_meta_tag,file_upload" default:"dns_text_record"`
}

// DomainItem is a domain of the team and how far its proof is.
type DomainItem struct {
	ID           string     `json:"id"`
	Domain       string     `json:"domain" doc:"The domain, in lower-case ASCII."`
	Status       string     `json:"status" enum:"pending,verified,expired,failed,deleted" doc:"How far the proof is."`
	Type         string     `json:"verification_type" enum:"dns_text_record,html_meta_tag,file_upload"`
	Token        string     `json:"verification_string,omitempty" doc:"The token to publish, while verification is pending."`
	Instructions string     `json:"instructions,omitempty" doc:"What to do, while verification is pending."`
	Attempts     int        `json:"verification_attempts" doc:"How often the proof was looked for."`
	LastResult   string     `json:"last_result,omitempty" doc:"What was found then, in words."`
	LastAttempt  *time.Time `json:"last_attempt_at,omitempty" doc:"When it was looked for last."`
	NextAttempt  *time.Time `json:"next_attempt_at,omitempty" doc:"When it is looked for next by itself; absent: only when you ask."`
	VerifiedAt   *time.Time `json:"verified_at,omitempty" doc:"First detection."`
	CreatedAt    time.Time  `json:"created_at" doc:"When the domain was added."`
}

func domainOf(d domain.Domain) DomainItem {
	item := DomainItem{
		ID: d.ID, Domain: d.Name, Status: string(d.Status), Type: string(d.Type), Attempts: d.Attempts, LastResult: d.Note,
		LastAttempt: whenever(d.LastAttemptAt), NextAttempt: whenever(d.NextCheckAt), VerifiedAt: whenever(d.VerifiedAt), CreatedAt: d.CreatedAt,
	}
	switch d.Status {
	case domain.Pending, domain.Failed, domain.Expired:
		item.Token, item.Instructions = d.Token, d.Instructions()
	case domain.Verified, domain.Deleted: // nothing is wanted
	}
	return item
}

// DomainList is a page of domains.
type DomainList struct {
	wire.Listing
	Data []DomainItem `json:"data" doc:"The domains, by name."`
}

// AssociatedDomains are the domains that belong together with one (specification,
// Associated domain response), and how the places behaved that were asked.
type AssociatedDomains struct {
	Domain       string             `json:"domain" doc:"The queried domain; without one, your verified domains, comma-separated."`
	Results      []AssociatedDomain `json:"results" doc:"The domains."`
	Sources      []string           `json:"sources" doc:"The sources that could be used."`
	SourcesCount map[string]int     `json:"sources_count" doc:"Domains by source, on all pages."`
	UniqueCount  int                `json:"unique_count" doc:"Domains, on all pages."`
	Limit        *int               `json:"limit,omitempty" doc:"Domains on a page, where there are pages."`
	Page         *int               `json:"page,omitempty" doc:"This page, where there are pages."`
	TotalCount   *int               `json:"total_count,omitempty" doc:"Domains on all pages, where there are pages."`
	TotalPages   *int               `json:"total_pages,omitempty" doc:"Pages, where there are pages."`
	State        string             `json:"state" enum:"complete,searching" doc:"searching: there may be more in a minute."`
	Capped       bool               `json:"limited_by_plan,omitempty" doc:"There are more, which the team's plan does not show."`
	Health       []SourceHealth     `json:"source_health" doc:"State of each queried source."`
}

// AssociatedDomain is one of them.
type AssociatedDomain struct {
	Domain   string          `json:"domain"`
	Sources  []string        `json:"sources" doc:"The sources that name it."`
	Evidence domain.Evidence `json:"evidence" doc:"What was seen."`
}

// SourceHealth is the state of a source at its last query.
type SourceHealth struct {
	Source    string     `json:"source" doc:"The place: crtsh, certspotter, rdap, whois, wikidata or crunchbase."`
	History   string     `json:"history" doc:"The source that it feeds, such as certificate_history."`
	Domain    string     `json:"domain"`
	State     string     `json:"state" enum:"ok,empty,limited,key_rejected,blocked,timed_out,failed,skipped"`
	Count     int        `json:"count" doc:"Domains that it named then."`
	Detail    string     `json:"detail,omitempty"`
	CheckedAt time.Time  `json:"checked_at" doc:"Query time."`
	FoundAt   *time.Time `json:"found_at,omitempty" doc:"When it answered last: how old is what is shown of it."`
}

func healthOf(h domain.Health) SourceHealth {
	return SourceHealth{h.Place, h.Source, h.Domain, string(h.State), h.Count, h.Detail, h.CheckedAt, whenever(h.FoundAt)}
}

func associatedOf(r domain.Result, limit, page int) AssociatedDomains {
	a := AssociatedDomains{
		Domain: r.Domain, Results: make([]AssociatedDomain, len(r.Found)), Sources: r.Sources, SourcesCount: r.Counts, UniqueCount: r.Total,
		State: "complete", Capped: r.Capped, Health: rest.Each(r.Health, healthOf),
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

// DomainSources is how places behaved.
type DomainSources struct {
	Data []DomainSource `json:"data" doc:"Each place and domain, the latest first, at most a thousand."`
}

// DomainSource is how a place behaved, beside what it usually does.
type DomainSource struct {
	SourceHealth
	TookMS int64        `json:"took_ms" doc:"Duration in milliseconds."`
	Usual  *int         `json:"usual_count,omitempty"`
	Alert  *SourceAlert `json:"alert,omitempty" doc:"Present while the place names less than half of what it usually does."`
}

// SourceAlert says since when a place knows much less than it used to.
type SourceAlert struct {
	ID       string    `json:"id"`
	Count    int       `json:"count" doc:"Domains that it named in its last run."`
	Usual    int       `json:"usual_count"`
	OpenedAt time.Time `json:"opened_at" doc:"Since when."`
}
