package packages

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// csafStates are the lists of a product status. What is recommended is no statement about a weakness.
var csafStates = []struct {
	name   string
	status kit.Status
}{
	{"known_affected", kit.Open}, {"first_affected", kit.Open}, {"last_affected", kit.Open},
	{"under_investigation", kit.Open}, {"known_not_affected", kit.NotAffected},
	{"fixed", kit.Fixed}, {"first_fixed", kit.Fixed},
}

// csaf reads an advisory or VEX: one record for each product and vulnerability.
func csaf() kit.Format {
	return kit.Format{
		Name: "csaf", Title: "CSAF 2.0, VEX", Tool: "csaf", Kinds: []string{"JSON"}, Class: kit.ClassPackage, Twice: true,
		Example: "an advisory or VEX in CSAF",
		Signs:   []string{"json:document.csaf_version", "json:document.tracking json:document.publisher"},
		Read: func(in *kit.Input, out *kit.Out) error {
			products := map[string]kit.Package{}
			reference := ""
			err := in.JSON(kit.Routes{
				"document": func(v kit.Value) error {
					reference = v.Text("tracking.id")
					out.Report("", "", kit.Time(v.Text("tracking.current_release_date")))
					return nil
				},
				"product_tree": func(v kit.Value) error {
					csafProducts(v, products, 0)
					return nil
				},
			})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"vulnerabilities[]": func(v kit.Value) error {
				out.Ignore(len(v.Texts("product_status.recommended")), "the advisory recommends the product")
				for _, state := range csafStates {
					for _, id := range v.Texts("product_status." + state.name) {
						r := csafRecord(v, id, products)
						r.Status, r.StatusText, r.Reference = state.status, state.name, reference
						if err := out.Add(r); err != nil {
							return err
						}
					}
				}
				return nil
			}})
		},
	}
}

// csafProducts notes the products of a tree, whose branches may nest.
func csafProducts(v kit.Value, into map[string]kit.Package, depth int) {
	if depth > 50 {
		return
	}
	note := func(p kit.Value) {
		if id := p.Text("product_id"); id != "" {
			found := kit.Package{Name: p.Text("name")}
			if purl := p.Text("product_identification_helper.purl"); purl != "" {
				name := found.Name
				found = kit.PURL(purl)
				found.Name = kit.First(found.Name, name)
			}
			into[id] = found
		}
	}
	note(v.Sub("product"))
	for _, p := range v.List("full_product_names") {
		note(p)
	}
	for _, r := range v.List("relationships") {
		note(r.Sub("full_product_name"))
	}
	for _, b := range v.List("branches") {
		csafProducts(b, into, depth+1)
	}
}

func csafRecord(v kit.Value, product string, products map[string]kit.Package) kit.Record {
	r := v.Record()
	ids := []string{v.Text("cve")}
	for _, id := range v.List("ids") {
		ids = append(ids, id.Text("text"))
	}
	r.Check = kit.First(ids...)
	identify(&r, ids...)
	known, ok := products[product]
	r.Place.Package = known
	if !ok {
		r.Place.Package.Name = product
	}
	r.Place.Component = product
	r.Title = kit.Join(" in ", kit.Join(": ", r.Check, v.Text("title")), r.Place.Package.Name)
	r.Severity = kit.Medium // of a product without a score
	for _, s := range v.List("scores") {
		if !slices.Contains(s.Texts("products"), product) {
			continue
		}
		for _, name := range []string{"cvss_v4", "cvss_v3", "cvss_v2"} {
			c := s.Sub(name)
			if !c.Exists() {
				continue
			}
			score := kit.Float(c.Text("baseScore"))
			r.CVSS = append(r.CVSS, kit.Score(c.Text("version"), c.Text("vectorString"), score)...)
			if r.ToolSeverity == "" {
				r.ToolSeverity = c.Text("baseSeverity")
				if r.Severity = kit.SeverityOf(r.ToolSeverity); r.Severity == kit.Unknown {
					r.Severity = kit.SeverityOfScore(score)
				}
			}
		}
	}
	r.CWEs = kit.CWEs(v.Text("cwe.id"))
	for _, w := range v.List("cwes") {
		r.CWEs = append(r.CWEs, kit.CWEs(w.Text("id"))...)
	}
	var notes, fixes []string
	for _, n := range v.List("notes") {
		notes = append(notes, n.Text("text"))
	}
	for _, f := range v.List("remediations") {
		if ids := f.Texts("product_ids"); len(ids) == 0 || slices.Contains(ids, product) {
			fixes = append(fixes, f.Text("details"))
		}
	}
	r.Description, r.Remediation = strings.Join(notes, "\n\n"), strings.Join(fixes, "\n")
	for _, t := range v.List("threats") {
		ids := t.Texts("product_ids")
		if t.Text("category") == "impact" && (len(ids) == 0 || slices.Contains(ids, product)) {
			r.Impact = kit.Join("\n", r.Impact, t.Text("details"))
		}
	}
	for _, ref := range v.List("references") {
		r.References = append(r.References, ref.Text("url"))
	}
	return r
}
