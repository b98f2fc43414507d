package related

import (
	"context"
	"encoding/base64"
	"io"
	"net/url"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

type issuance struct {
	ID       string   `json:"id"`
	DNSNames []string `json:"dns_names"`
	Issuer   struct {
		Name     string `json:"name"`
		Friendly string `json:"friendly_name"`
	} `json:"issuer"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	DER       string    `json:"cert_der"` // base64
	Cert      struct {
		Data string `json:"data"` // the same, under its older name
	} `json:"cert"`
}

func (i issuance) certificate() certificate {
	c := certificate{names: i.DNSNames[:min(len(i.DNSNames), maxNames)], notBefore: i.NotBefore, notAfter: i.NotAfter}
	if c.issuer = oneLine(i.Issuer.Friendly); c.issuer == "" {
		c.issuer = issuerName(i.Issuer.Name)
	}
	if len(c.names) > 0 {
		c.commonName = oneLine(c.names[0])
	}
	if der, err := base64.StdEncoding.DecodeString(i.DER + i.Cert.Data); err == nil && len(der) > 0 {
		if read, ok := readDER(der); ok {
			c.serial, c.org = read.serial, read.org
			if read.commonName != "" {
				c.commonName = read.commonName
			}
		}
	}
	return c
}

// askCertSpotter asks for the issuances of the domain and all below it, page by page.
func (s *search) askCertSpotter(ctx context.Context, e endpoint) ([]discover.Associated, error) {
	var certs []certificate
	q := url.Values{"domain": {s.domain}, "include_subdomains": {"true"}, "expand": {"dns_names", "issuer", "cert_der"}}
	var err error
	for range maxPages {
		last := ""
		err = e.get(ctx, withQuery(e.base, q), func(r io.Reader) error {
			return eachOf(r, func(i issuance) {
				last = i.ID
				certs = append(certs, i.certificate())
			})
		})
		if err != nil || last == "" || last == q.Get("after") || len(certs) >= maxCertificates {
			break
		}
		q.Set("after", last)
	}
	s.addOrgs(certs)
	return relatedBy(certs, s.domain, ""), err
}
