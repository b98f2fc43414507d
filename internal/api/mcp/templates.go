package mcp

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TemplateQuery asks for templates.
type TemplateQuery struct {
	Window
	Query string `json:"query,omitempty" jsonschema:"words, or field:value, such as CVE-2021-41773, apache, severity:critical or tags:panel; without any, all templates"`
}

// Template is a template in a list.
type Template struct {
	ID       string   `json:"id" jsonschema:"for read_template and for the templates of run_scan"`
	Name     string   `json:"name"`
	Severity string   `json:"severity"`
	Type     string   `json:"type" jsonschema:"the protocol it speaks"`
	Tags     []string `json:"tags"`
	Own      bool     `json:"own" jsonschema:"whether it is your team's own"`
}

// TemplateList is a page of templates.
type TemplateList struct {
	Templates []Template `json:"templates"`
	Total     int        `json:"total"`
}

// TemplateText is a template with its text.
type TemplateText struct {
	Template
	Description string `json:"description,omitempty"`
	Text        string `json:"text" jsonschema:"the template itself, in YAML"`
}

func templateDoc(t catalog.Template) Template {
	return Template{ID: t.ID, Name: t.Info.Name, Severity: string(t.Info.Severity), Type: t.Type,
		Tags: rest.OrEmpty(t.Info.Tags), Own: t.IsOwn()}
}

func (s *surface) templates() {
	offer(s, tool{name: "search_templates", title: "Search detection templates",
		words: "Searches the detection templates that your team can use, by CVE, technology, tag or severity."},
		func(ctx context.Context, in TemplateQuery) (list TemplateList, err error) {
			w, err := in.window()
			if err != nil {
				return list, err
			}
			found, err := s.Catalog.Search(ctx, catalog.Search{Query: in.Query, Public: true, Private: true, Window: w})
			return TemplateList{rest.Each(found.Templates, templateDoc), found.Total}, err
		})
	offer(s, tool{name: "read_template", title: "Read a detection template",
		words: "The text of one detection template by its id: what it sends, and what it takes for a finding."},
		func(ctx context.Context, in ID) (TemplateText, error) {
			find := s.Catalog.PublicByID
			if ids.IsUUID(in.ID) {
				find = s.Catalog.OwnByID
			}
			t, err := find(ctx, in.ID)
			if errs.Is(err, errs.NotFound) {
				err = errs.Missing("template")
			}
			return TemplateText{Template: templateDoc(t), Description: t.Info.Description, Text: string(t.Raw)}, err
		})
}
