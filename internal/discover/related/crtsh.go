package related

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"github.com/vedette-sec/vedette/internal/discover"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// crtshEntry is a certificate as crt.sh lists it.
type crtshEntry struct {
	ID         int64  `json:"id"`
	IssuerName string `json:"issuer_name"`
	CommonName string `json:"common_name"`
	NameValue  string `json:"name_value"` // the names that matched, one a line
	NotBefore  string `json:"not_before"`
	NotAfter   string `json:"not_after"`
	Serial     string `json:"serial_number"`
}

const crtshTime = "2006-01-02T15:04:05"

// readCRTSh reads crt.sh's answer, an array of entries; of one that ends early, what came.
func readCRTSh(r io.Reader) (certs []certificate, err error) {
	seen := map[string]int{} // serial → its place: a precertificate is listed beside its certificate
	err = eachOf(r, func(d *json.Decoder) error {
		var e crtshEntry
		if err := d.Decode(&e); err != nil {
			return err
		}
		if len(certs) >= maxCertificates {
			return said(discover.SourceLimited, fmt.Sprintf("It listed more than %d certificates; the rest is left out.", maxCertificates))
		}
		c := certificate{id: e.ID, serial: line(e.Serial), commonName: line(e.CommonName), issuer: issuerName(e.IssuerName)}
		c.notBefore, _ = time.Parse(crtshTime, e.NotBefore)
		c.notAfter, _ = time.Parse(crtshTime, e.NotAfter)
		c.names = fields(e.NameValue)
		if i, have := seen[c.serial]; have && c.serial != "" && certs[i].issuer == c.issuer {
			certs[i].names = append(certs[i].names, c.names...)
			return nil
		}
		seen[c.serial] = len(certs)
		certs = append(certs, c)
		return nil
	})
	return certs, err
}

// fields are the lines of a text that are there, so many at most as a certificate has names.
func fields(s string) (out []string) {
	for name := range strings.SplitSeq(s, "\n") {
		if name = strings.TrimSpace(name); name != "" && len(out) < maxNames {
			out = append(out, name)
		}
	}
	return out
}

// askCRTSh searches crt.sh for certificates of the domain, and opens a few to see their
// organization and all their names: its list has only the names that match.
func (h *hunt) askCRTSh(ctx context.Context) {
	h.publish(h.ask(ctx, CRTSh, discover.CertificateHistory, func(ctx context.Context, p place) ([]discover.Associated, error) {
		certs, err := p.crtsh(ctx, h.domain)
		certs = append(certs, h.open(ctx, p, certs)...)
		h.learnFrom(certs)
		h.crtsh = certs
		return relate(certs, h.domain, ""), err
	}))
}

// crtsh searches for an identity: a domain with all below it, or an organization.
func (p place) crtsh(ctx context.Context, identity string) (certs []certificate, err error) {
	q := url.Values{"q": {identity}, "output": {"json"}}
	err = p.get(ctx, withQuery(p.base, q), func(r io.Reader) (err error) {
		certs, err = readCRTSh(r)
		return err
	})
	return certs, err
}

func withQuery(base string, q url.Values) string {
	glue := "?"
	if strings.Contains(base, "?") {
		glue = "&"
	}
	return base + glue + q.Encode()
}

// open fetches the newest certificates, of as many common names. What cannot be had is
// left out: the list stands without it.
func (h *hunt) open(ctx context.Context, p place, listed []certificate) (out []certificate) {
	newest := slices.Clone(listed)
	slices.SortFunc(newest, func(a, b certificate) int { return b.notBefore.Compare(a.notBefore) })
	seen := map[string]bool{}
	for _, c := range newest {
		if c.id == 0 || seen[c.commonName] {
			continue
		}
		if len(seen) == maxOpened {
			break
		}
		seen[c.commonName] = true
		_ = p.get(ctx, withQuery(p.base, url.Values{"d": {strconv.FormatInt(c.id, 10)}}), func(r io.Reader) error {
			text, err := io.ReadAll(io.LimitReader(r, maxPEM))
			if block, _ := pem.Decode(text); block != nil && err == nil {
				if opened, ok := readDER(block.Bytes); ok {
					opened.id = c.id
					out = append(out, opened)
				}
			}
			return err
		})
	}
	return out
}

// askCRTShForOrgs searches for certificates of the organizations behind the domain, and
// tells again of crt.sh, with what it said before.
func (h *hunt) askCRTShForOrgs(ctx context.Context) {
	if len(h.orgs) == 0 || h.places[CRTSh].base == Off {
		return
	}
	h.publish(h.ask(ctx, CRTSh, discover.CertificateHistory, func(ctx context.Context, p place) ([]discover.Associated, error) {
		found := relate(h.crtsh, h.domain, "")
		var failed error
		for _, org := range h.orgs {
			certs, err := p.crtsh(ctx, org)
			failed = errors.Join(failed, err)
			found = append(found, relate(certs, h.domain, org)...)
		}
		return found, failed
	}))
}
