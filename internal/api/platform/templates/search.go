package templates

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TemplateOrder is an order of templates.
type TemplateOrder struct {
	SortAsc  string `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: id, template_id, name, severity, type, dir, uri, vendor, product, created_at, updated_at."`
	SortDesc string `query:"sort_desc" doc:"Fields to sort by, descending; after those of sort_asc."`
}

func (o TemplateOrder) sorts() ([]page.Sort, error) {
	return page.Sorts(o.SortAsc, o.SortDesc, catalog.Sortable)
}

// StatBuckets counts the values of a field.
type StatBuckets struct {
	Buckets map[string]int `json:"buckets" doc:"How many templates have each of the most frequent values."`
	Missing int            `json:"missing" doc:"How many templates have no value."`
	Other   int            `json:"other" doc:"The counts of all other values."`
	Total   int            `json:"total" doc:"All counts."`
}

// TemplateStats counts what a search found, field by field.
type TemplateStats struct {
	Author        StatBuckets `json:"author" doc:"By author."`
	CreationStats StatBuckets `json:"creation_stats" doc:"By the month in which they came, such as 2026-11."`
	Dir           StatBuckets `json:"dir" doc:"By folder."`
	IsEarly       StatBuckets `json:"is_early" doc:"By whether they are of the early set."`
	IsNew         StatBuckets `json:"is_new" doc:"By whether the last release brought them."`
	Product       StatBuckets `json:"product" doc:"By product."`
	Severity      StatBuckets `json:"severity" doc:"By severity."`
	Tags          StatBuckets `json:"tags" doc:"By tag."`
	Type          StatBuckets `json:"type" doc:"By protocol."`
	Vendor        StatBuckets `json:"vendor" doc:"By vendor."`
}

// TemplateSearch is what a search found.
type TemplateSearch struct {
	Message string                       `json:"message"`
	Count   int                          `json:"count"`
	Total   int                          `json:"total"`
	Results []wire.Picked[FoundTemplate] `json:"results"`
	Facets  TemplateStats                `json:"facets" doc:"Counts of all that was found."`
}

func (s area) search() {
	handle(s, wire.Op("search-templates", "GET /v2/template/search", tag, "Search templates, the best first"),
		func(ctx context.Context, in *struct {
			Scope     string   `query:"scope" enum:"public,private,public_private" default:"public_private" doc:"The public templates, your team's, or both."`
			Fields    []string `query:"fields,explode" maxItems:"100" doc:"Fields of a template to answer; may be repeated, and each may hold several, separated by commas."`
			Query     string   `query:"q" maxLength:"500" doc:"Words that templates must have, or beginnings of them; field:value, such as severity:high, tags:cve, author:x, type:dns, vendor:, product:, dir:, id:, is_new:true; a - before what must not be."`
			Highlight bool     `query:"highlight" default:"false" doc:"Mark what was looked for, in the field highlight of each result."`
			FacetSize int      `query:"facet_size" minimum:"0" maximum:"1000" default:"5" doc:"How many values each facet shows."`
			TemplateOrder
			wire.Window
		}) (*TemplateSearch, error) {
			fields, raw, err := pick[FoundTemplate](strings.Join(in.Fields, ","))
			if err != nil {
				return nil, err
			}
			sorts, err := in.sorts()
			if err != nil {
				return nil, err
			}
			found, err := s.Catalog.Search(ctx, catalog.Search{
				Query: in.Query, Public: in.Scope != "private", Private: in.Scope != "public", Sorts: sorts, Window: in.Page(),
				FacetSize: in.FacetSize, Highlight: in.Highlight, Raw: raw,
			})
			return new(searchOf(found, fields)), err
		})
}

func searchOf(f catalog.Found, fields []string) TemplateSearch {
	out := TemplateSearch{Message: "Templates.", Count: len(f.Templates), Total: f.Total,
		Results: make([]wire.Picked[FoundTemplate], len(f.Templates))}
	for i, t := range f.Templates {
		one := FoundTemplate{TemplateData: templateOf(t)}
		if f.Highlights != nil {
			one.Highlight = f.Highlights[i]
		}
		out.Results[i] = wire.Picked[FoundTemplate]{Value: one, Fields: fields}
	}
	for name, into := range map[string]*StatBuckets{
		"author": &out.Facets.Author, "creation_stats": &out.Facets.CreationStats, "dir": &out.Facets.Dir,
		"is_early": &out.Facets.IsEarly, "is_new": &out.Facets.IsNew,
		"product": &out.Facets.Product, "severity": &out.Facets.Severity, "tags": &out.Facets.Tags, "type": &out.Facets.Type,
		"vendor": &out.Facets.Vendor,
	} {
		facet := f.Facets[name]
		*into = StatBuckets{make(map[string]int, len(facet.Buckets)), facet.Missing, facet.Other, facet.Total}
		for _, b := range facet.Buckets {
			into.Buckets[b.Value] = b.Count
		}
	}
	return out
}
