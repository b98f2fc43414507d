package related

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"github.com/vedette-sec/vedette/internal/discover"
	"io"
	"net/url"
	"time"
)

// issuance is a certificate as certspotter lists it.
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
		Data string `json:"data"` // the same, as it was called before
	} `json:"cert"`
}

// readCertSpotter reads one page of certspotter's issuances, and the id of its last.
func readCertSpotter(r io.Reader) (certs []certificate, last string, err error) {
	err = eachOf(r, func(d *json.Decoder) error {
		var i issuance
		if err := d.Decode(&i); err != nil {
			return err
		}
		if len(certs) >= maxCertificates {
			return said(discover.SourceLimited, fmt.Sprintf("It listed more than %d certificates; the rest is left out.", maxCertificates))
		}
		last = i.ID
		c := certificate{names: i.DNSNames[:min(len(i.DNSNames), maxNames)], notBefore: i.NotBefore, notAfter: i.NotAfter}
		if c.issuer = line(i.Issuer.Friendly); c.issuer == "" {
			c.issuer = issuerName(i.Issuer.Name)
		}
		if len(c.names) > 0 {
			c.commonName = line(c.names[0])
		}
		if der, err := base64.StdEncoding.DecodeString(i.DER + i.Cert.Data); err == nil && len(der) > 0 {
			if read, ok := readDER(der); ok {
				c.serial, c.org = read.serial, read.org
				if read.commonName != "" {
					c.commonName = read.commonName
				}
			}
		}
		certs = append(certs, c)
		return nil
	})
	return certs, last, err
}

// askCertSpotter asks for the issuances of the domain and all below it, page by page.
func (h *hunt) askCertSpotter(ctx context.Context) {
	h.publish(h.ask(ctx, CertSpotter, discover.CertificateHistory, func(ctx context.Context, p place) ([]discover.Associated, error) {
		var certs []certificate
		var failed error
		after := ""
		for range maxPages {
			q := url.Values{"domain": {h.domain}, "include_subdomains": {"true"}, "expand": {"dns_names", "issuer", "cert_der"}}
			if after != "" {
				q.Set("after", after)
			}
			var got []certificate
			var last string
			failed = p.get(ctx, withQuery(p.base, q), func(r io.Reader) (err error) {
				got, last, err = readCertSpotter(r)
				return err
			})
			certs = append(certs, got...)
			if failed != nil || len(got) == 0 || last == "" || last == after || len(certs) >= maxCertificates {
				break
			}
			after = last
		}
		h.learnFrom(certs)
		return relate(certs, h.domain, ""), failed
	}))
}
