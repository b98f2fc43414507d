package related

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
)

// maxBindings is how many rows of an answer are read.
const maxBindings = 5000

// companies asks for a company by its official website (P856) and for those around it: its subsidiaries (P355) and
// those that name it as parent (P749) or owner (P127), its own parents and owners; with the websites of these, the
// share that is owned (P1107), since when and until when (P580, P582), and their pages at Crunchbase (P2088). down says
// that the other one belongs to the company.
const companies = `SELECT ?company ?companyLabel ?other ?otherLabel ?website ?down ?share ?start ?end ?crunchbase ?kind WHERE {
  VALUES ?site { %s }
  ?company wdt:P856 ?site .
  {
    ?company p:P355 ?statement . ?statement ps:P355 ?other . BIND("true" AS ?down) BIND("subsidiary" AS ?kind)
  } UNION {
    ?other p:P749 ?statement . ?statement ps:P749 ?company . BIND("true" AS ?down) BIND("subsidiary" AS ?kind)
  } UNION {
    ?other p:P127 ?statement . ?statement ps:P127 ?company . BIND("true" AS ?down) BIND("owned" AS ?kind)
  } UNION {
    ?company p:P749 ?statement . ?statement ps:P749 ?other . BIND("false" AS ?down) BIND("subsidiary" AS ?kind)
  } UNION {
    ?company p:P127 ?statement . ?statement ps:P127 ?other . BIND("false" AS ?down) BIND("owned" AS ?kind)
  }
  ?other wdt:P856 ?website .
  OPTIONAL { ?statement pq:P1107 ?share }
  OPTIONAL { ?statement pq:P580 ?start }
  OPTIONAL { ?statement pq:P582 ?end }
  OPTIONAL { ?other wdt:P2088 ?crunchbase }
  SERVICE wikibase:label { bd:serviceParam wikibase:language "en,mul,de,fr,es". }
} LIMIT %d`

// binding is a row of an answer (SPARQL 1.1 Query Results JSON Format).
type binding map[string]struct {
	Value string `json:"value"`
}

func (b binding) get(name string) string { return b[name].Value }

func (s *search) askWikidata(ctx context.Context, e endpoint) ([]discover.Associated, error) {
	var sites []string
	for _, host := range []string{s.domain, "www." + s.domain} {
		for _, scheme := range []string{"https", "http"} {
			sites = append(sites, "<"+scheme+"://"+host+">", "<"+scheme+"://"+host+"/>")
		}
	}
	q := url.Values{"query": {fmt.Sprintf(companies, strings.Join(sites, " "), maxBindings)}, "format": {"json"}}
	var doc struct {
		Results struct {
			Bindings []binding `json:"bindings"`
		} `json:"results"`
	}
	err := e.get(ctx, withQuery(e.base, q), func(r io.Reader) error { return decode(r, &doc) })
	rows := doc.Results.Bindings
	if len(rows) > maxBindings {
		rows = rows[:maxBindings]
		err = failed(discover.SourceLimited, "It named more than %d companies; the rest is left out.", maxBindings)
	}
	return companiesOf(rows), err
}

// companiesOf makes associated domains of rows. Ended ties do not count; nor does an owner who holds less than half, or
// one of several without known shares.
func companiesOf(rows []binding) (out []discover.Associated) {
	owners := map[string]map[string]bool{} // what is owned → by whom
	for _, b := range rows {
		if owned, owner := b.owned(); b.get("kind") == "owned" && b.get("end") == "" {
			if owners[owned] == nil {
				owners[owned] = map[string]bool{}
			}
			owners[owned][owner] = true
		}
	}
	for _, b := range rows {
		domain, ok := siteDomain(b.get("website"))
		if !ok || b.get("end") != "" {
			continue
		}
		if b.get("kind") == "owned" {
			owned, _ := b.owned()
			share, err := strconv.ParseFloat(b.get("share"), 64)
			if err == nil && share < 0.5 || err != nil && len(owners[owned]) > 1 {
				continue
			}
		}
		e := discover.Evidence{
			AcquiredCompany: b.get("otherLabel"), AcquirerName: b.get("companyLabel"), OrgName: b.get("otherLabel"),
			AcquiredDate: day(date(strings.TrimPrefix(b.get("start"), "+"))), SearchIdentifier: item(b.get("company")),
		}
		if b.get("down") == "false" {
			e.AcquiredCompany, e.AcquirerName = e.AcquirerName, e.AcquiredCompany
		}
		if slug := b.get("crunchbase"); slug != "" {
			e.CrunchbaseURL = crunchbasePage + url.PathEscape(slug)
		}
		out = append(out, discover.Associated{Domain: domain, Evidence: e})
	}
	return out
}

// owned is the owned company of a row, not the owner.
func (b binding) owned() (owned, owner string) {
	if b.get("down") == "false" {
		return b.get("company"), b.get("other")
	}
	return b.get("other"), b.get("company")
}

func item(u string) string { return u[strings.LastIndexByte(u, '/')+1:] }

// platforms are sites where companies have pages that are not theirs.
var platforms = strings.Fields("facebook.com linkedin.com twitter.com x.com instagram.com youtube.com github.com gitlab.com google.com apple.com archive.org wikipedia.org medium.com vk.com weibo.com")

// siteDomain is the registered domain of a company's web site; a page on a platform has none.
func siteDomain(site string) (domain string, ok bool) {
	if !strings.Contains(site, "://") {
		site = "https://" + site
	}
	u, err := url.Parse(site)
	if err != nil {
		return "", false
	}
	domain, ok = discover.RegisteredOf(u.Hostname())
	if !ok || isProvider(domain) {
		return "", false
	}
	if slices.Contains(platforms, domain) && strings.Trim(u.Path, "/") != "" {
		return "", false
	}
	return domain, true
}
