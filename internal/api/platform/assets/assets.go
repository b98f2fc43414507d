// Package assets has the operations of the platform API about assets and the enumerations that find them.
package assets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/document"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Services are what the operations call.
type Services struct {
	Assets       *asset.Assets
	Reports      *report.Reports
	Policies     *policy.Policies
	Enumerations *enumeration.Enumerations
	Findings     *finding.Findings
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.enumerations()
	s.assets()
}

const assetTag = "Assets"

// AssetPath names an asset.
type AssetPath struct {
	ID int64 `path:"asset_id" minimum:"1" doc:"The asset's id."`
}

func (s area) assets() {
	const enumerations, one = "/v1/asset/enumerate", "/v1/asset/{asset_id}"
	rest.Handle(s.API, wire.Op("list-contents", "GET "+enumerations+"/contents", assetTag,
		"Your team's assets, newest first"),
		func(ctx context.Context, in *ContentQuery) (*ContentList, error) {
			return s.contents(ctx, "", *in)
		})
	rest.Handle(s.API, wire.Op("list-enumeration-contents", "GET "+enumerations+"/{enumerate_id}/contents", assetTag,
		"The assets of an enumeration or a group, newest first", 404),
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			ContentQuery
		}) (*ContentList, error) {
			return s.contents(ctx, in.ID, in.ContentQuery)
		})
	rest.Handle(s.API, wire.Op("diff-enumeration", "GET "+enumerations+"/{enumerate_id}/diff", assetTag,
		"The differences of an enumeration between two times", 404),
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			From string `query:"from" required:"true" doc:"Day (2006-01-02) or time (RFC 3339)."`
			To   string `query:"to" doc:"Day (its end) or time; default now."`
		}) (*AssetDiff, error) {
			if _, err := s.Assets.NarrowTo(ctx, in.ID); err != nil {
				return nil, err
			}
			from, err := page.Moment("from", in.From, false)
			if err != nil {
				return nil, err
			}
			to, err := page.Moment("to", in.To, true)
			if err != nil {
				return nil, err
			}
			if to.IsZero() {
				to = time.Now()
			}
			d, err := s.Reports.Diff(ctx, in.ID, from, to)
			return new(diffOf(d)), err
		})
	rest.Handle(s.API, wire.Op("list-misconfigurations", "GET "+enumerations+"/misconfiguration", assetTag,
		"Misconfigurations of your team's assets: dangling DNS names, origins reachable without their CDN"),
		s.misconfigurations)
	rest.Handle(s.API, wire.Op("get-asset", "GET "+one, assetTag, "One asset with all details", 404),
		func(ctx context.Context, in *AssetPath) (*document.EnumerationContent, error) {
			a, err := s.Assets.Find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			content := document.Of(a, true)
			n, err := s.Findings.CountAt(ctx, a.Host, a.Port)
			content.Vulnerabilities = &n
			return &content, err
		})
	rest.Handle(s.API, wire.Op("list-asset-changelogs", "GET "+one+"/changelogs", assetTag,
		"The changes of an asset, newest first", 404), s.assetChangelogs)
	picture := wire.Op("get-asset-screenshot", "GET "+one+"/screenshot", assetTag, "The screenshot of an asset, a PNG",
		404)
	picture.Responses = map[string]*huma.Response{"200": {Description: "The picture.",
		Content: map[string]*huma.MediaType{"image/png": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}
	rest.Register(s.API, picture, s.screenshot)
	s.assetLabels()
	s.assetPolicies()
}

// ContentFilters pick assets.
type ContentFilters struct {
	IsTech        wire.Maybe `query:"is_tech" doc:"Whether technologies are known."`
	IsFavicon     wire.Maybe `query:"is_favicon" doc:"Whether it has a favicon."`
	IsScreenshot  wire.Maybe `query:"is_screenshot" doc:"Whether it has a screenshot."`
	IsNew         wire.Maybe `query:"is_new" doc:"Whether the latest run saw it first."`
	IsInternal    wire.Maybe `query:"is_internal" doc:"Whether its address is internal."`
	OnlyDNS       wire.Maybe `query:"only_dns" doc:"true: only hosts that are names."`
	OnlyIP        wire.Maybe `query:"only_ip" doc:"true: only hosts that are addresses."`
	Search        string     `query:"search" maxLength:"200" doc:"Part of the host, title, an address, technology or label."`
	Labels        string     `query:"labels" doc:"Labels, comma-separated."`
	Host          string     `query:"host" doc:"Hosts, comma-separated; * is a wildcard."`
	Port          string     `query:"port" doc:"Ports, comma-separated; 0: hosts without a port."`
	StatusCode    string     `query:"status_code" doc:"HTTP statuses, comma-separated."`
	Title         string     `query:"title" doc:"Parts of titles, comma-separated."`
	ContentLength string     `query:"content_length" doc:"Body lengths in bytes, comma-separated."`
	CNAME         string     `query:"cname" doc:"Canonical names, comma-separated; * is a wildcard."`
	Domain        string     `query:"domain" doc:"Domains, comma-separated, with their subdomains."`
	Technologies  string     `query:"technologies" doc:"Technologies, comma-separated, with or without version."`
	IP            string     `query:"ip" doc:"Addresses and CIDR networks, comma-separated."`
	Favicon       string     `query:"favicon" doc:"Favicon hashes, comma-separated."`
	Time          string     `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First seen in this time."`
	StartDate     string     `query:"start_date" doc:"First seen on or after this day (2006-01-02) or time (RFC 3339)."`
	EndDate       string     `query:"end_date" doc:"First seen on this day or earlier, or before this time."`
	CustomFilter  string     `query:"custom_filter" maxLength:"6000" doc:"Condition, such as: status_code >= 400 && !(host ~ \"test\")."`
	NotSeen       int        `query:"not_seen_for_days" minimum:"1" maximum:"36500" doc:"Not seen for this many days, although a run of its enumeration covered everything since."`
}

// ContentQuery has the parameters of a list of assets.
type ContentQuery struct {
	ContentFilters
	AsOf     string `query:"as_of" doc:"The list as of this time (RFC 3339) or the end of this day; default now."`
	SortAsc  string `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: created_at, updated_at, last_seen, host, name, port, status_code, content_length, title, webserver, domain_name, ip, cname, technologies, favicon, labels, is_new, type, enumeration_id."`
	SortDesc string `query:"sort_desc" doc:"Descending sort fields, after those of sort_asc."`
	Before   int64  `query:"before" minimum:"0" doc:"Only items older than this: the before or next of an earlier page. 0: all."`
	NoTotal  bool   `query:"without_total" doc:"Do not count: where the total is not known, total_results is how far the page reaches, and total_is_estimate says that more may follow. Lists of a big database answer sooner."`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of items."`
	Offset   int    `query:"offset" minimum:"0" maximum:"2147483648" doc:"Items to skip."`
}

// Filters are the service's filters.
func (q ContentFilters) Filters() asset.Filters {
	return asset.Filters{
		IsTech: q.IsTech.Ptr(), IsFavicon: q.IsFavicon.Ptr(), IsScreenshot: q.IsScreenshot.Ptr(), IsNew: q.IsNew.Ptr(),
		IsInternal: q.IsInternal.Ptr(), OnlyDNS: q.OnlyDNS.Ptr(), OnlyIP: q.OnlyIP.Ptr(),
		Search: q.Search, Labels: q.Labels, Host: q.Host, Port: q.Port, StatusCode: q.StatusCode,
		ContentLength: q.ContentLength, Title: q.Title, Domain: wire.Commas(q.Domain), CNAME: q.CNAME,
		Technologies: q.Technologies, IP: q.IP, Favicon: q.Favicon, Time: q.Time, StartDate: q.StartDate, EndDate: q.EndDate,
		CustomFilter: q.CustomFilter, NotSeenForDays: q.NotSeen,
	}
}

func (q ContentQuery) query(now time.Time) (out asset.Query, err error) {
	if out.AsOf, err = page.Moment("as_of", q.AsOf, true); err != nil {
		return out, err
	}
	if !out.AsOf.IsZero() && out.AsOf.Before(now) {
		if q.NotSeen > 0 {
			return out, errs.Field("not_seen_for_days",
				"not_seen_for_days cannot be asked together with as_of: when something was seen last is known as of now.")
		}
		now = out.AsOf
	} else {
		out.AsOf = time.Time{}
	}
	// Ranges count from the last full minute, so that pages belong together.
	if out.Filter, err = q.Filters().Parse(now.Truncate(time.Minute)); err != nil {
		return out, err
	}
	out.Before, out.Window = q.Before, page.Window{Offset: q.Offset, Limit: q.Limit, WithoutTotal: q.NoTotal}
	out.Sorts, err = page.Sorts(q.SortAsc, q.SortDesc, asset.Sortable)
	return out, err
}

// ContentList is a page of assets.
type ContentList struct {
	wire.Listing
	TotalIsEstimate bool `json:"total_is_estimate,omitempty"`

	Before int64    `json:"before"`
	Next   int64    `json:"next,omitempty"`
	Data   Contents `json:"data"`
}

// Contents are encoded EnumerationContents.
type Contents []json.RawMessage

// Schema implements huma.SchemaProvider.
func (Contents) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[[]document.EnumerationContent]())
}

// contents is a page of an enumeration or a group, or with an empty id of all.
func (s area) contents(ctx context.Context, id string, in ContentQuery) (*ContentList, error) {
	q, err := in.query(time.Now())
	if err != nil {
		return nil, err
	}
	q.In = id
	p, err := s.Assets.List(ctx, q)
	if err != nil {
		return nil, err
	}
	list := ContentList{
		Listing:         wire.ListOf(wire.Window{Limit: in.Limit, Offset: in.Offset}, len(p.Assets), p.Total, "Assets."),
		TotalIsEstimate: p.TotalIsEstimate, Before: p.End, Next: p.Next, Data: make(Contents, len(p.Assets)),
	}
	for i, a := range p.Assets {
		if list.Data[i], err = json.Marshal(document.Of(a, false)); err != nil {
			return nil, err
		}
	}
	return &list, nil
}

// MisconfigurationList is a page of misconfigurations.
type MisconfigurationList struct {
	wire.Listing
	Data []AssetMisconfiguration `json:"data"`
}

func (s area) misconfigurations(ctx context.Context, in *struct {
	Search string `query:"search" maxLength:"200" doc:"Part of the host."`
	Type   string `query:"finding_type" enum:"dangling_dns,origin_exposure" doc:"Only these."`
	wire.Window
}) (*MisconfigurationList, error) {
	found, total, err := s.Reports.Misconfigurations(ctx, in.Type, in.Search, in.Page())
	list := MisconfigurationList{wire.ListOf(in.Window, len(found), total, "Misconfigurations."),
		rest.Each(found, misconfigurationOf)}
	return &list, err
}

// AssetChangelogList is a page of changes of an asset.
type AssetChangelogList struct {
	wire.Listing
	Data []AssetChangelog `json:"data"`
}

// AssetChangelog is a change with the asset as it is now.
type AssetChangelog struct {
	document.EnumerationContent
	ChangeEvent []AssetChange `json:"change_event"`
	ChangedAt   time.Time     `json:"changed_at"`
	EventType   string        `json:"event_type" enum:"changed,not_seen,seen_again,labels_changed"`
	Actor       string        `json:"actor,omitempty" doc:"Email of the user; absent for the service."`
}

// AssetChange is a field that changed.
type AssetChange struct {
	Name string `json:"name" doc:"The field."`
	From any    `json:"from" doc:"Old value; null: none."`
	To   any    `json:"to"`
}

func (s area) assetChangelogs(ctx context.Context, in *struct {
	AssetPath
	Types    string `query:"event_type" doc:"Kinds of change, comma-separated: changed, not_seen, seen_again, labels_changed."`
	Time     string `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" default:"all_time" doc:"Changed in this time."`
	SortAsc  string `query:"sort_asc" enum:"created_at" doc:"created_at: the oldest first."`
	SortDesc string `query:"sort_desc" enum:"created_at" doc:"created_at: the newest first, as without it."`
	wire.Window
}) (*AssetChangelogList, error) {
	f := report.Filter{AssetID: in.ID, Oldest: in.SortAsc != ""}
	f.Since = page.Since(in.Time, time.Now())
	var err error
	if f.Types, err = wire.Known("event_type", wire.Commas(in.Types), asset.ChangeTypes); err != nil {
		return nil, err
	}
	a, found, total, err := s.Reports.Changes(ctx, f, in.Page())
	list := AssetChangelogList{wire.ListOf(in.Window, len(found), total, "Changes."), make([]AssetChangelog, len(found))}
	for i, c := range found {
		list.Data[i] = AssetChangelog{document.Of(a, false), make([]AssetChange, len(c.Fields)), c.At, string(c.Type),
			c.Actor}
		for j, f := range c.Fields {
			list.Data[i].ChangeEvent[j] = AssetChange{f.Name, f.From, f.To}
		}
	}
	return &list, err
}

// screenshot answers with headers that let a browser only show the image.
func (s area) screenshot(ctx context.Context, in *AssetPath) (*huma.StreamResponse, error) {
	png, size, err := s.Assets.Screenshot(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer png.Close()
		_, w := humachi.Unwrap(hc)
		for name, value := range map[string]string{
			"Content-Type": "image/png", "Content-Length": strconv.FormatInt(size, 10), "X-Content-Type-Options": "nosniff",
			"Cache-Control":           "private, no-store",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": `inline; filename="screenshot.png"`,
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusOK)
		if _, err := io.Copy(rest.ClientWriter(w), png); err != nil {
			if !errors.Is(err, context.Canceled) {
				s.Logger.DebugContext(ctx, "sending a screenshot", "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}}, nil
}
