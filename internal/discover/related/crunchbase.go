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

// organization is one of Crunchbase's, as far as we look.
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

// website is a URL, which stands as a text or within an object.
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

// acquisition is one of an organization's.
type acquisition struct {
	Acquiree  identifier `json:"acquiree_identifier"`
	Acquirer  identifier `json:"acquirer_identifier"`
	Announced struct {
		Value string `json:"value"`
	} `json:"announced_on"`
}

// askCrunchbase asks for the companies that the domain's has acquired: who it is by its
// web site, then its acquisitions, then their web sites.
func (h *hunt) askCrunchbase(ctx context.Context) {
	h.publish(h.ask(ctx, Crunchbase, discover.AcquisitionHistory, func(ctx context.Context, p place) ([]discover.Associated, error) {
		if p.key == "" {
			return nil, errSkipped("It needs a key, and there is none.")
		}
		p.base = strings.TrimSuffix(p.base, "/") + "/"
		us, err := p.organizations(ctx, "website_url", "domain_eq", []string{h.domain})
		if err != nil || len(us) == 0 {
			return nil, err
		}
		made, err := p.acquisitions(ctx, us[0].Properties.Identifier.Permalink)
		if err != nil || len(made) == 0 {
			return nil, err
		}
		made = made[:min(len(made), maxAcquired)]
		by := map[string]acquisition{}
		var ids []string
		for _, a := range made {
			by[a.Acquiree.UUID] = a
			ids = append(ids, a.Acquiree.UUID)
		}
		acquired, err := p.organizations(ctx, "identifier", "includes", ids)
		var out []discover.Associated
		for _, o := range acquired {
			domain, ok := siteDomain(string(o.Properties.Website))
			a, ours := by[o.UUID]
			if !ok || !ours {
				continue
			}
			out = append(out, discover.Associated{Domain: domain, Evidence: discover.Evidence{
				AcquiredCompany: a.Acquiree.Value, AcquirerName: us[0].Properties.Identifier.Value, AcquiredDate: day(date(a.Announced.Value)), OrgName: a.Acquiree.Value,
				CrunchbaseURL: crunchbasePage + url.PathEscape(a.Acquiree.Permalink), SearchIdentifier: us[0].Properties.Identifier.Permalink,
			}})
		}
		return out, err
	}))
}

// organizations searches by one field.
func (p place) organizations(ctx context.Context, field, operator string, values []string) ([]organization, error) {
	query, err := json.Marshal(map[string]any{
		"field_ids": []string{"identifier", "website_url"}, "limit": min(len(values), maxAcquired),
		"query": []any{map[string]any{"type": "predicate", "field_id": field, "operator_id": operator, "values": values}},
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"searches/organizations", bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	var doc struct {
		Entities []organization `json:"entities"`
	}
	err = p.do(r, func(r io.Reader) error { return decode(r, &doc) })
	return doc.Entities, err
}

// acquisitions are those that an organization has made.
func (p place) acquisitions(ctx context.Context, permalink string) ([]acquisition, error) {
	var doc struct {
		Cards struct {
			Made []acquisition `json:"acquirer_acquisitions"`
		} `json:"cards"`
	}
	address := p.base + "entities/organizations/" + url.PathEscape(permalink) + "?card_ids=acquirer_acquisitions"
	err := p.get(ctx, address, func(r io.Reader) error { return decode(r, &doc) })
	return doc.Cards.Made, err
}

// decode reads one JSON document.
func decode(r io.Reader, doc any) error {
	if err := json.NewDecoder(r).Decode(doc); err != nil {
		return notJSON(err)
	}
	return nil
}
