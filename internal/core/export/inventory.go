package export

import (
	"context"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/document"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Inventory says which assets are wanted, in the form that is stored with a job.
type Inventory struct {
	EnumerationID string        `json:"enumeration_id,omitempty"` // or of a group; empty: of all enumerations
	Filters       asset.Filters `json:"filters"`
	SortAsc       string        `json:"sort_asc,omitempty"` // as page.Sorts reads them
	SortDesc      string        `json:"sort_desc,omitempty"`
	At            time.Time     `json:"at"` // what time ranges count from
}

// query reads an inventory. An error names the parameter.
func (i Inventory) query(ctx context.Context, assets *asset.Assets) (q asset.Query, err error) {
	if q.Filter, err = i.Filters.Parse(i.At); err != nil {
		return q, err
	}
	if q.Sorts, err = page.Sorts(i.SortAsc, i.SortDesc, asset.Sortable); err != nil || i.EnumerationID == "" {
		return q, err
	}
	narrow, err := assets.Of(ctx, i.EnumerationID)
	if err == nil {
		q.Filter = narrow(q.Filter)
	}
	return q, err
}

// openInventory picks the assets of a request.
func (es *Exports) openInventory(ctx context.Context, r Request) (*File, error) {
	switch r.Format {
	case Raw, JSON, Lines, CSV:
	default:
		return nil, errs.Field("format", "format must be raw, json, jsonl or csv.")
	}
	q, err := r.Inventory.query(ctx, es.from.Assets)
	if err != nil {
		return nil, err
	}
	total, all, err := es.from.Assets.All(ctx, q)
	at := es.now().UTC()
	return &File{Request: r, FileName: fileName(r, at), Total: total, es: es, assets: all, at: at}, err
}

// writeInventory writes assets in any of their formats.
func (f *File) writeInventory(out *output) error {
	head, tail := "", ""
	marshal := func(dst []byte, a *asset.Asset, end string) ([]byte, error) {
		doc, err := json.Marshal(document.Of(*a, false))
		return append(append(dst, doc...), end...), err
	}
	encode := func(dst []byte, a *asset.Asset) ([]byte, error) { return marshal(dst, a, "\n") }
	switch f.Format {
	case CSV:
		head = string(appendHeader(nil, assetColumns))
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) { return appendRecord(dst, assetColumns, a), nil }
	case Raw:
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) {
			return append(append(dst, strings.Map(inLine, address(a))...), '\n'), nil
		}
	case JSON:
		head, tail = "[", "\n]\n"
		between := "\n"
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) {
			dst = append(dst, between...)
			between = ",\n"
			return marshal(dst, a, "")
		}
	}
	if err := out.text(head); err != nil {
		return err
	}
	var part []byte
	for some, err := range f.assets {
		if err != nil {
			return err
		}
		part = part[:0]
		for i := range some {
			if part, err = encode(part, &some[i]); err != nil {
				return err
			}
		}
		if err := out.part(part, len(some)); err != nil {
			return err
		}
	}
	return out.text(tail)
}

// address is a host, or a host and a port.
func address(a *asset.Asset) string {
	if a.Port == 0 {
		return a.Host
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// inLine is visible for a text on one line.
func inLine(r rune) rune {
	if r == '\n' || r == '\t' {
		return ' '
	}
	return visible(r)
}

// assetColumns are those of assets.
var assetColumns = []column[*asset.Asset]{
	{"id", func(a *asset.Asset) string { return strconv.FormatInt(a.ID, 10) }},
	{"name", address},
	{"host", func(a *asset.Asset) string { return a.Host }},
	{"port", func(a *asset.Asset) string { return number(a.Port) }},
	{"protocol", func(a *asset.Asset) string { return a.Protocol }},
	{"service", func(a *asset.Asset) string { return a.Service }},
	{"url", func(a *asset.Asset) string { return a.URL }},
	{"ip", lines(func(a *asset.Asset) []string { return a.IP })},
	{"cname", lines(func(a *asset.Asset) []string { return a.CNAME })},
	{"domain_name", func(a *asset.Asset) string { return a.Domain }},
	{"status_code", func(a *asset.Asset) string { return number(a.StatusCode) }},
	{"content_length", func(a *asset.Asset) string { return strconv.FormatInt(a.ContentLength, 10) }},
	{"title", func(a *asset.Asset) string { return a.Title }},
	{"webserver", func(a *asset.Asset) string { return a.Webserver }},
	{"technologies", lines(func(a *asset.Asset) []string { return a.Technologies })},
	{"cdn_name", func(a *asset.Asset) string { return a.CDN }},
	{"waf_name", func(a *asset.Asset) string { return a.WAF }},
	{"redirect_location", func(a *asset.Asset) string { return a.Redirect }},
	{"favicon", func(a *asset.Asset) string { return a.Favicon }},
	{"tls_subject_cn", certificate(func(t *discover.TLS) string { return t.SubjectCN })},
	{"tls_issuer_org", certificate(func(t *discover.TLS) string { return t.IssuerOrg })},
	{"tls_not_after", certificate(func(t *discover.TLS) string { return t.NotAfter.Format(time.RFC3339) })},
	{"tls_expired", certificate(func(t *discover.TLS) string { return strconv.FormatBool(t.Expired) })},
	{"misconfiguration", lines(misconfigured)},
	{"labels", lines(func(a *asset.Asset) []string { return a.Labels })},
	{"is_new", func(a *asset.Asset) string { return strconv.FormatBool(a.IsNew) }},
	{"is_missing", func(a *asset.Asset) string { return strconv.FormatBool(a.IsMissing) }},
	{"is_internal", func(a *asset.Asset) string { return strconv.FormatBool(a.IsInternal) }},
	{"enumeration_id", func(a *asset.Asset) string { return a.EnumerationID }},
	{"enumeration_name", func(a *asset.Asset) string { return a.Enumeration }},
	{"created_at", func(a *asset.Asset) string { return a.CreatedAt.Format(time.RFC3339) }},
	{"updated_at", func(a *asset.Asset) string { return a.UpdatedAt.Format(time.RFC3339) }},
	{"last_seen", func(a *asset.Asset) string { return a.SeenAt.Format(time.RFC3339) }},
}

// lines puts several texts in one cell.
func lines(of func(*asset.Asset) []string) func(*asset.Asset) string {
	return func(a *asset.Asset) string { return strings.Join(of(a), "\n") }
}

func certificate(text func(*discover.TLS) string) func(*asset.Asset) string {
	return func(a *asset.Asset) string {
		if a.TLS == nil {
			return ""
		}
		return text(a.TLS)
	}
}

func misconfigured(a *asset.Asset) (types []string) {
	for _, m := range a.Misconfiguration {
		types = append(types, m.Type)
	}
	return types
}
