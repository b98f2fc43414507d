package mcp

import (
	"context"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
)

// AssetQuery asks for assets that match every field; of the comma-separated values of a field, one must match.
type AssetQuery struct {
	Window
	Search       string   `json:"search,omitempty" jsonschema:"a part of the host, the title, an address, a technology or a label"`
	Host         string   `json:"host,omitempty" jsonschema:"hosts, separated by commas; a * stands for anything"`
	Domain       []string `json:"domain,omitempty" jsonschema:"domains: hosts at and below them"`
	IP           string   `json:"ip,omitempty" jsonschema:"addresses and networks in CIDR notation, separated by commas"`
	Port         string   `json:"port,omitempty" jsonschema:"ports, separated by commas"`
	StatusCode   string   `json:"status_code,omitempty" jsonschema:"HTTP statuses, separated by commas"`
	Title        string   `json:"title,omitempty" jsonschema:"parts of titles, separated by commas"`
	Technologies string   `json:"technologies,omitempty" jsonschema:"technologies, separated by commas, with their version or without"`
	Labels       string   `json:"labels,omitempty" jsonschema:"labels, separated by commas"`
	IsNew        *bool    `json:"is_new,omitempty" jsonschema:"whether the latest run of its enumeration saw it first"`
	Conditions   string   `json:"conditions,omitempty" jsonschema:"conditions in words, such as: status_code >= 400 && !(host ~ \"test\")"`
	Enumerations []string `json:"enumeration_ids,omitempty" jsonschema:"only of these enumerations"`
}

// Asset is an asset of the inventory.
type Asset struct {
	ID           string    `json:"id"`
	Enumeration  string    `json:"enumeration_id"`
	Host         string    `json:"host"`
	Port         int       `json:"port,omitempty"`
	Service      string    `json:"service,omitempty"`
	URL          string    `json:"url,omitempty"`
	StatusCode   int       `json:"status_code,omitempty"`
	Title        string    `json:"title,omitempty"`
	Webserver    string    `json:"webserver,omitempty"`
	IP           []string  `json:"ip"`
	Technologies []string  `json:"technologies"`
	Labels       []string  `json:"labels"`
	IsNew        bool      `json:"is_new"`
	IsMissing    bool      `json:"is_missing" jsonschema:"a later run looked at everything and did not see it"`
	SeenAt       time.Time `json:"seen_at"`
}

// AssetList is a page of assets.
type AssetList struct {
	Assets []Asset `json:"assets"`
	Total  int     `json:"total"`
}

// EnumerationRequest asks for an enumeration.
type EnumerationRequest struct {
	Domains    []string `json:"domains,omitempty" jsonschema:"domains below which names are looked for"`
	Hosts      []string `json:"hosts,omitempty" jsonschema:"hosts, addresses and ranges in CIDR notation that are looked at"`
	Steps      []string `json:"steps,omitempty" jsonschema:"of dns_passive, dns_scraping, dns_bruteforce, dns_permute, dns_resolve, uncover_assets, port_scan, tls_scan, http_probe, endpoint_crawling, http_screenshot; all when absent"`
	Ports      string   `json:"ports,omitempty" jsonschema:"the ports of port_scan, such as 80,443 or top-100"`
	Exclusions []string `json:"exclusions,omitempty" jsonschema:"names, addresses and ranges that are left alone"`
	Name       string   `json:"name,omitempty" jsonschema:"what to call it"`
}

// Enumeration is an enumeration and how far it is.
type Enumeration struct {
	ID            string     `json:"id" jsonschema:"for get_enumeration and the enumeration_ids of list_assets"`
	Name          string     `json:"name"`
	Status        string     `json:"status" jsonschema:"queued, starting and running are on their way; finished, failed and stopped are ends"`
	FailureReason string     `json:"failure_reason,omitempty"`
	Hosts         int        `json:"hosts" jsonschema:"how many are known"`
	Assets        int        `json:"assets" jsonschema:"how many are known"`
	New           int        `json:"new" jsonschema:"that the latest run saw first"`
	CreatedAt     time.Time  `json:"created_at"`
	EndedAt       *time.Time `json:"ended_at,omitempty"`
}

func enumerationDoc(e enumeration.Enumeration) Enumeration {
	return Enumeration{
		ID: e.ID, Name: e.Name, Status: string(e.Status), FailureReason: e.FailureReason, Hosts: e.Totals.Hosts,
		Assets: e.Totals.Assets, New: e.Totals.New,
		CreatedAt: e.CreatedAt, EndedAt: rest.OrNull(e.Numbers.EndedAt),
	}
}

func assetDoc(a asset.Asset) Asset {
	return Asset{
		ID: strconv.FormatInt(a.ID, 10), Enumeration: a.EnumerationID, Host: a.Host, Port: a.Port, Service: a.Service,
		URL: a.URL, StatusCode: a.StatusCode, Title: a.Title,
		Webserver: a.Webserver, IP: rest.OrEmpty(a.IP), Technologies: rest.OrEmpty(a.Technologies),
		Labels: rest.OrEmpty(a.Labels), IsNew: a.IsNew, IsMissing: a.IsMissing, SeenAt: a.SeenAt,
	}
}

func (s *surface) inventory() {
	offer(s, tool{name: "list_assets", title: "List the inventory",
		words: "Lists hosts, open ports and web sites that discovery knows of your team, the newest first, narrowed by any of the filters. Sends nothing to them."}, s.listAssets)
	offer(s, tool{name: "discover_assets", title: "Discover assets", changes: true,
		words: "Looks for names below domains, and for open ports, services and web sites on hosts. It answers at once; get_enumeration says how far it is, list_assets with its id what it found. Name only what you are allowed to test."},
		func(ctx context.Context, in EnumerationRequest) (Enumeration, error) {
			made, err := s.Enumerations.Create(ctx, enumeration.NewEnumeration{Name: in.Name, Config: enumeration.Config{
				RootDomains: in.Domains, Inputs: in.Hosts, Steps: enumeration.Steps(in.Steps), Ports: in.Ports,
				Exclusions: in.Exclusions,
			}})
			rest.About(ctx, made.ID)
			return enumerationDoc(made), err
		})
	offer(s, tool{name: "get_enumeration", title: "See a discovery",
		words: "How far an enumeration is, and how much it found."},
		func(ctx context.Context, in ID) (Enumeration, error) {
			found, err := s.Enumerations.Find(ctx, in.ID)
			return enumerationDoc(found), err
		})
}

func (s *surface) listAssets(ctx context.Context, in AssetQuery) (list AssetList, err error) {
	w, err := in.window()
	if err != nil {
		return list, err
	}
	filter, err := asset.Filters{
		Search: in.Search, Host: in.Host, Domain: in.Domain, IP: in.IP, Port: in.Port, StatusCode: in.StatusCode,
		Title: in.Title, Technologies: in.Technologies,
		Labels: in.Labels, IsNew: in.IsNew, CustomFilter: in.Conditions, EnumerationIDs: in.Enumerations,
	}.Parse(time.Now())
	if err != nil {
		return list, err
	}
	p, err := s.Assets.List(ctx, asset.Query{Filter: filter, Window: w})
	return AssetList{rest.Each(p.Assets, assetDoc), p.Total}, err
}
