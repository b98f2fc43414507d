package export

import (
	"context"
	"encoding/json"
	"iter"
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

// Inventory says which assets are wanted, in words that can be kept.
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
func (f *File) writeInventory(out *outlet) error {
	head, between, tail := "", "", ""
	var encode func(dst []byte, a *asset.Asset) ([]byte, error)
	switch f.Format {
	case CSV:
		for i, c := range assetColumns {
			head = string(appendCell([]byte(head), c.name, i))
		}
		head += "\r\n"
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) {
			for i, c := range assetColumns {
				dst = appendCell(dst, Cell(c.text(a)), i)
			}
			return append(dst, "\r\n"...), nil
		}
	case Raw:
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) {
			return append(append(dst, strings.Map(inLine, place(a))...), '\n'), nil
		}
	default:
		end := "\n"
		if f.Format == JSON {
			head, between, tail, end = "[", ",", "\n]\n", ""
		}
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) {
			doc, err := json.Marshal(document.Of(*a, false))
			if between != "" {
				dst = append(dst, '\n')
			}
			return append(append(dst, doc...), end...), err
		}
	}
	if err := out.text(head); err != nil {
		return err
	}
	if err := writeAssets(out, f.assets, between, encode); err != nil {
		return err
	}
	return out.text(tail)
}

// writeAssets writes what encode makes of each asset, with something between.
func writeAssets(out *outlet, assets iter.Seq2[[]asset.Asset, error], between string, encode func([]byte, *asset.Asset) ([]byte, error)) error {
	var part []byte
	first := true
	for some, err := range assets {
		if err != nil {
			return err
		}
		part = part[:0]
		for i := range some {
			if !first {
				part = append(part, between...)
			}
			first = false
			if part, err = encode(part, &some[i]); err != nil {
				return err
			}
		}
		if err := out.part(part, len(some)); err != nil {
			return err
		}
	}
	return nil
}

// place is a host, or a host and a port.
func place(a *asset.Asset) string {
	if a.Port == 0 {
		return a.Host
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// inLine is visible for what stands in a line of its own.
func inLine(r rune) rune {
	if r == '\n' || r == '\t' {
		return ' '
	}
	return visible(r)
}

// assetColumn is a column of a table of assets.
type assetColumn struct {
	name string
	text func(a *asset.Asset) string
}

// assetColumns are what a spreadsheet shows of an asset.
var assetColumns = []assetColumn{
	{"id", func(a *asset.Asset) string { return strconv.FormatInt(a.ID, 10) }},
	{"name", place},
	{"host", func(a *asset.Asset) string { return a.Host }},
	{"port", func(a *asset.Asset) string { return port(a.Port) }},
	{"protocol", func(a *asset.Asset) string { return a.Protocol }},
	{"service", func(a *asset.Asset) string { return a.Service }},
	{"url", func(a *asset.Asset) string { return a.URL }},
	{"ip", lines(func(a *asset.Asset) []string { return a.IP })},
	{"cname", lines(func(a *asset.Asset) []string { return a.CNAME })},
	{"domain_name", func(a *asset.Asset) string { return a.Domain }},
	{"status_code", func(a *asset.Asset) string { return port(a.StatusCode) }},
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

// lines is several texts in one cell.
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
