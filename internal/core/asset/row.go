package asset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// rowColumns are the columns of asset and of asset_past, in the order of row.dest and row.values.
const rowColumns = `no, rev, enumeration_id, hash, host, port, protocol, first_run, run, created_at, since, seen_at, is_missing,
	is_internal, status_code, content_length, title, service, webserver, domain, ip, cname, technologies, favicon, labels,
	tls,
	certificate, misconfiguration, endpoints, screenshot, facts, whole, doc, ip_order`

// row is a stored version of an asset, without its document. Columns with several values have one a
// line.
type row struct {
	no, rev                                         int64
	enumeration, hash, host                         string
	port                                            int
	protocol                                        string
	firstRun, run                                   int64
	createdAt, since, seenAt                        db.Time
	missing, internal                               bool
	status                                          int
	length                                          int64
	title, service, webserver, domain, ip, cname    string
	technologies, favicon, labels, tls, certificate string
	misconfiguration, screenshot                    string
	facts, whole                                    string // hashes of the tracked fields and of the document
	endpoints                                       int64
	docRev                                          int64 // the rev of its document
	ipOrder                                         string
}

func (r *row) dest() []any {
	return []any{
		&r.no, &r.rev, &r.enumeration, &r.hash, &r.host, &r.port, &r.protocol, &r.firstRun, &r.run, &r.createdAt, &r.since,
		&r.seenAt, &r.missing, &r.internal, &r.status, &r.length, &r.title, &r.service, &r.webserver, &r.domain, &r.ip,
		&r.cname,
		&r.technologies, &r.favicon, &r.labels, &r.tls, &r.certificate, &r.misconfiguration, &r.endpoints, &r.screenshot,
		&r.facts, &r.whole, &r.docRev, &r.ipOrder,
	}
}

func (r *row) values() []any {
	return []any{
		r.no, r.rev, r.enumeration, r.hash, r.host, r.port, r.protocol, r.firstRun, r.run, r.createdAt, r.since,
		r.seenAt, r.missing, r.internal, r.status, r.length, r.title, r.service, r.webserver, r.domain, r.ip, r.cname,
		r.technologies, r.favicon, r.labels, r.tls, r.certificate, r.misconfiguration, r.endpoints, r.screenshot,
		r.facts, r.whole, r.docRev, ipOrder(r.ip),
	}
}

// assetOf makes an asset from its row and its document; fields from other tables stay empty.
func assetOf(r row, doc []byte) (Asset, error) {
	a := Asset{
		EnumerationID: r.enumeration, Hash: r.hash, Labels: words(r.labels), IsMissing: r.missing, IsInternal: r.internal,
		CreatedAt: r.createdAt.Time, UpdatedAt: r.since.Time, SeenAt: r.seenAt.Time, HasScreenshot: r.screenshot != "",
		no: r.no,
	}
	if err := json.Unmarshal(doc, &a.Asset); err != nil {
		return a, fmt.Errorf("asset %d: its document: %w", r.no, err)
	}
	return a, nil
}

// words are the values of a column, never nil.
func words(column string) []string {
	if column == "" {
		return []string{}
	}
	return strings.Split(column, "\n")
}

// joined makes a column of values, each once.
func joined(values []string) string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		if value = observation.Line(value); value != "" && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return strings.Join(out, "\n")
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// rowOf makes the row of an observation, without numbers, times and labels, and its document.
func rowOf(enumeration string, a discover.Asset) (r row, doc []byte, err error) {
	a = observation.Bound(a)
	if doc, err = json.Marshal(a); err != nil {
		return r, nil, err
	}
	facts, err := json.Marshal(observation.Tracked(a))
	if err != nil {
		return r, nil, err
	}
	kinds := make([]string, len(a.Misconfiguration))
	for i, m := range a.Misconfiguration {
		kinds[i] = m.Type
	}
	line := observation.Line
	r = row{
		enumeration: enumeration, hash: digest([]byte(a.Host + "\n" + strconv.Itoa(a.Port) + "\n" + a.Protocol)),
		host: a.Host, port: a.Port, protocol: a.Protocol, internal: observation.Internal(a), status: a.StatusCode,
		length: a.ContentLength,
		title:  line(a.Title), service: line(a.Service), webserver: line(a.Webserver),
		domain: strings.ToLower(line(a.Domain)),
		ip:     joined(a.IP), cname: joined(a.CNAME), technologies: joined(observation.Sorted(a.Technologies)),
		favicon:          line(a.Favicon),
		misconfiguration: joined(observation.Sorted(kinds)), facts: digest(facts), whole: digest(doc),
		endpoints: int64(len(a.Endpoints)),
	}
	if scheme, _, ok := strings.Cut(a.URL, "://"); r.service == "" && ok {
		r.service = strings.ToLower(line(scheme))
	}
	if t := a.TLS; t != nil {
		r.tls, r.certificate = joined(observation.TLSFaults(*t)), line(t.Serial)
	}
	return r, doc, nil
}
