package related

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
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
	seen := map[string]int{} // serial → index: a precertificate is listed beside its certificate
	err = eachOf(r, func(e crtshEntry) {
		c := certificate{id: e.ID, serial: oneLine(e.Serial), commonName: oneLine(e.CommonName),
			issuer: issuerName(e.IssuerName)}
		c.notBefore, _ = time.Parse(crtshTime, e.NotBefore)
		c.notAfter, _ = time.Parse(crtshTime, e.NotAfter)
		for name := range strings.SplitSeq(e.NameValue, "\n") {
			if name = strings.TrimSpace(name); name != "" && len(c.names) < maxNames {
				c.names = append(c.names, name)
			}
		}
		if i, have := seen[c.serial]; have && c.serial != "" && certs[i].issuer == c.issuer {
			certs[i].names = append(certs[i].names, c.names...)
			return
		}
		seen[c.serial] = len(certs)
		certs = append(certs, c)
	})
	return certs, err
}

// askCRTSh searches crt.sh for certificates of the domain, and opens a few for their organization and all their names:
// the list has only the names that match.
func (s *search) askCRTSh(ctx context.Context, e endpoint) ([]discover.Associated, error) {
	certs, err := e.crtsh(ctx, s.domain)
	certs = append(certs, e.open(ctx, certs)...)
	s.addOrgs(certs)
	s.crtsh = certs
	return relatedBy(certs, s.domain, ""), err
}

// crtsh searches for an identity: a domain with all below it, or an organization.
func (e endpoint) crtsh(ctx context.Context, identity string) (certs []certificate, err error) {
	q := url.Values{"q": {identity}, "output": {"json"}}
	err = e.get(ctx, withQuery(e.base, q), func(r io.Reader) (err error) {
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

// open fetches the newest certificates, one for each common name. Failures are left out.
func (e endpoint) open(ctx context.Context, listed []certificate) (out []certificate) {
	newest := slices.Clone(listed)
	slices.SortFunc(newest, func(a, b certificate) int { return b.notBefore.Compare(a.notBefore) })
	seen := map[string]bool{}
	for _, c := range newest {
		if len(seen) == maxOpened {
			break
		}
		if c.id == 0 || seen[c.commonName] {
			continue
		}
		seen[c.commonName] = true
		_ = e.get(ctx, withQuery(e.base, url.Values{"d": {strconv.FormatInt(c.id, 10)}}), func(r io.Reader) error {
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

// askCRTShForOrgs searches for certificates of the organizations behind the domain, and gives also what crt.sh found
// before.
func (s *search) askCRTShForOrgs(ctx context.Context, e endpoint) ([]discover.Associated, error) {
	found := relatedBy(s.crtsh, s.domain, "")
	var failures error
	for _, org := range s.orgs {
		certs, err := e.crtsh(ctx, org)
		failures = errors.Join(failures, err)
		found = append(found, relatedBy(certs, s.domain, org)...)
	}
	return found, failures
}
