package catalog

import (
	"context"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Search says what to look for.
type Search struct {
	Query     string // words, field:value, "…" and - as parse reads them; empty: everything
	Public    bool   // in the sets
	Private   bool   // in the templates of the caller's team
	Sorts     []page.Sort
	Window    page.Window
	FacetSize int // values that a facet shows
	Highlight bool
	Raw       bool // with the text of each
}

// Found is what a search found.
type Found struct {
	Templates  []Template
	Highlights []map[string][]string // of each template: field → HTML, with <em> around what was looked for
	Total      int
	Facets     map[string]Facet
}

// Search finds templates: by sorts, then the best first, then by id.
func (c *Catalog) Search(ctx context.Context, s Search) (out Found, err error) {
	caller, err := account.From(ctx)
	if err != nil {
		return out, err
	}
	terms, err := parse(s.Query)
	if err != nil {
		return out, err
	}
	var scopes []string
	if s.Public {
		scopes = setsOf(hasEarly(caller.Plan))
	}
	if s.Private {
		scopes = append(scopes, caller.TeamID)
	}
	where := inScopes(scopes...)
	for _, t := range terms {
		t.where(&where, c.db.Dialect())
	}
	if out.Total, out.Facets, err = c.count(ctx, where, s.FacetSize); err != nil {
		return out, err
	}
	fit, args := score(terms, c.db.Dialect())
	order := c.sorted(s.Sorts, "("+fit+") DESC, "+c.byID())
	if out.Templates, err = c.page(ctx, c.db, where, order, args, s.Window, s.Raw); err != nil {
		return out, err
	}
	if s.Highlight {
		for _, t := range out.Templates {
			out.Highlights = append(out.Highlights, highlight(t, terms))
		}
	}
	return out, nil
}

// highlight marks what was looked for in the texts of a template. The texts are the
// template's author's: everything but the marks is escaped.
func highlight(t Template, terms []term) map[string][]string {
	out := map[string][]string{}
	mark := func(field string, texts ...string) {
		for _, text := range texts {
			if marked, found := markWords(text, terms); found {
				out[field] = append(out[field], marked)
			}
		}
	}
	mark("id", t.WrittenID)
	mark("name", t.Info.Name)
	mark("description", t.Info.Description)
	mark("tags", t.Info.Tags...)
	mark("author", t.Info.Author...)
	mark("vendor", Vendor(t.Info))
	mark("product", Product(t.Info))
	mark("impact", t.Info.Impact)
	mark("remediation", t.Info.Remediation)
	mark("uri", t.Path)
	return out
}

// markWords puts <em> around the beginnings of words that terms look for.
func markWords(text string, terms []term) (marked string, found bool) {
	var b strings.Builder
	from := 0 // of what is not written yet
	inWord := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if n := longest(text[i:], terms); letter && !inWord && n > 0 {
			b.WriteString(html.EscapeString(text[from:i]))
			b.WriteString("<em>" + html.EscapeString(text[i:i+n]) + "</em>")
			i += n
			from, inWord, found = i, true, true
			continue
		}
		inWord = letter
		i += size
	}
	b.WriteString(html.EscapeString(text[from:]))
	return b.String(), found
}

// longest is how many bytes at the beginning of a text a term looks for.
func longest(text string, terms []term) (n int) {
	for _, t := range terms {
		if t.field == "" && !t.not && len(t.value) > n && len(text) >= len(t.value) &&
			strings.EqualFold(text[:len(t.value)], t.value) {
			n = len(t.value)
		}
	}
	return n
}
