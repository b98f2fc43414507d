package related

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
)

const crunchbasePage = "https://www.crunchbase.com/organization/"

// maxAcquired is how many acquired companies are looked up for their web sites.
const maxAcquired = 200

type organization struct {
	UUID       string `json:"uuid"`
	Properties struct {
		Identifier identifier `json:"identifier"`
		Website    website    `json:"website_url"`
	} `json:"properties"`
}

type identifier struct {
	UUID      string `json:"uuid"`
	Permalink string `json:"permalink"`
	Value     string `json:"value"` // its name
}

// website is a URL, given as a text or within an object.
type website string

// UnmarshalJSON implements json.Unmarshaler.
func (w *website) UnmarshalJSON(text []byte) error {
	var in struct{ Value string }
	if err := json.Unmarshal(text, (*string)(w)); err == nil {
		return nil
	}
	err := json.Unmarshal(text, &in)
	*w = website(in.Value)
	return err
}

type acquisition struct {
	Acquiree  identifier `json:"acquiree_identifier"`
	Announced struct {
		Value string `json:"value"`
	} `json:"announced_on"`
}

// askCrunchbase finds the domain's company by its web site, its acquisitions, and the web sites of these.
func (s *search) askCrunchbase(ctx context.Context, e endpoint) (out []discover.Associated, err error) {
	if e.key == "" {
		return nil, failed(discover.SourceSkipped, "It needs a key, and there is none.")
	}
	e.base = strings.TrimSuffix(e.base, "/") + "/"
	us, err := e.organizations(ctx, "website_url", "domain_eq", []string{s.domain})
	if err != nil || len(us) == 0 {
		return nil, err
	}
	company := us[0].Properties.Identifier
	made, err := e.acquisitions(ctx, company.Permalink)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	by := map[string]acquisition{}
	var ids []string
	for _, a := range made[:min(len(made), maxAcquired)] {
		by[a.Acquiree.UUID] = a
		ids = append(ids, a.Acquiree.UUID)
	}
	acquired, err := e.organizations(ctx, "identifier", "includes", ids)
	for _, o := range acquired {
		domain, ok := siteDomain(string(o.Properties.Website))
		a, ours := by[o.UUID]
		if !ok || !ours {
			continue
		}
		out = append(out, discover.Associated{Domain: domain, Evidence: discover.Evidence{
			AcquiredCompany: a.Acquiree.Value, AcquirerName: company.Value, AcquiredDate: day(date(a.Announced.Value)),
			OrgName: a.Acquiree.Value, CrunchbaseURL: crunchbasePage + url.PathEscape(a.Acquiree.Permalink),
			SearchIdentifier: company.Permalink,
		}})
	}
	return out, err
}

func (e endpoint) organizations(ctx context.Context, field, operator string, values []string) ([]organization, error) {
	query, err := json.Marshal(map[string]any{
		"field_ids": []string{"identifier", "website_url"}, "limit": min(len(values), maxAcquired),
		"query": []any{map[string]any{"type": "predicate", "field_id": field, "operator_id": operator, "values": values}},
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"searches/organizations", bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	var doc struct {
		Entities []organization `json:"entities"`
	}
	err = e.do(r, func(r io.Reader) error { return decode(r, &doc) })
	return doc.Entities, err
}

func (e endpoint) acquisitions(ctx context.Context, permalink string) ([]acquisition, error) {
	var doc struct {
		Cards struct {
			Made []acquisition `json:"acquirer_acquisitions"`
		} `json:"cards"`
	}
	address := e.base + "entities/organizations/" + url.PathEscape(permalink) + "?card_ids=acquirer_acquisitions"
	err := e.get(ctx, address, func(r io.Reader) error { return decode(r, &doc) })
	return doc.Cards.Made, err
}
