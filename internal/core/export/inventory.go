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
	narrow, err := assets.NarrowTo(ctx, i.EnumerationID)
	if err == nil {
		q.Filter = narrow(q.Filter)
	}
	return q, err
}

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

func (f *File) writeInventory(out *output) error {
	head, tail := "", ""
	marshal := func(dst []byte, a *asset.Asset, end string) ([]byte, error) {
		doc, err := json.Marshal(document.Of(*a, false))
		return append(append(dst, doc...), end...), err
	}
	encode := func(dst []byte, a *asset.Asset) ([]byte, error) { return marshal(dst, a, "\n") }
	switch f.Format {
	case CSV:
		head = string(appendRecord(nil, assetCells(&asset.Asset{}), 0))
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) { //nolint:unparam // as marshal
			return appendRecord(dst, assetCells(a), 1), nil
		}
	case Raw:
		encode = func(dst []byte, a *asset.Asset) ([]byte, error) { //nolint:unparam // as marshal
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

func assetCells(a *asset.Asset) [][2]string {
	var misconfigured []string
	for _, m := range a.Misconfiguration {
		misconfigured = append(misconfigured, m.Type)
	}
	var tls [4]string
	if t := a.TLS; t != nil {
		tls = [4]string{t.SubjectCN, t.IssuerOrg, t.NotAfter.Format(time.RFC3339), strconv.FormatBool(t.Expired)}
	}
	return [][2]string{
		{"id", strconv.FormatInt(a.ID, 10)},
		{"name", address(a)},
		{"host", a.Host},
		{"port", number(a.Port)},
		{"protocol", a.Protocol},
		{"service", a.Service},
		{"url", a.URL},
		{"ip", strings.Join(a.IP, "\n")},
		{"cname", strings.Join(a.CNAME, "\n")},
		{"domain_name", a.Domain},
		{"status_code", number(a.StatusCode)},
		{"content_length", strconv.FormatInt(a.ContentLength, 10)},
		{"title", a.Title},
		{"webserver", a.Webserver},
		{"technologies", strings.Join(a.Technologies, "\n")},
		{"cdn_name", a.CDN},
		{"waf_name", a.WAF},
		{"redirect_location", a.Redirect},
		{"favicon", a.Favicon},
		{"tls_subject_cn", tls[0]},
		{"tls_issuer_org", tls[1]},
		{"tls_not_after", tls[2]},
		{"tls_expired", tls[3]},
		{"misconfiguration", strings.Join(misconfigured, "\n")},
		{"labels", strings.Join(a.Labels, "\n")},
		{"is_new", strconv.FormatBool(a.IsNew)},
		{"is_missing", strconv.FormatBool(a.IsMissing)},
		{"is_internal", strconv.FormatBool(a.IsInternal)},
		{"enumeration_id", a.EnumerationID},
		{"enumeration_name", a.Enumeration},
		{"created_at", a.CreatedAt.Format(time.RFC3339)},
		{"updated_at", a.UpdatedAt.Format(time.RFC3339)},
		{"last_seen", a.SeenAt.Format(time.RFC3339)},
	}
}
