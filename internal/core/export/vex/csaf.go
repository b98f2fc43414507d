package vex

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
)

// CSAF writes what was collected as a CSAF 2.0 document of the category csaf_vex; without findings, which VEX does not
// allow, of the category csaf_base.
func (c *Collected) CSAF(out io.Writer, d Document) error {
	w := bufio.NewWriter(out)
	category := "csaf_vex"
	if len(c.groups) == 0 {
		category = "csaf_base"
	}
	at := stamp(d.At)
	head := encode(object{
		"category":     category,
		"csaf_version": "2.0",
		"title":        cmp.Or(strings.TrimSpace(d.Title), "Findings"),
		"lang":         "en",
		"publisher": object{
			"category":  "user",
			"name":      cmp.Or(strings.TrimSpace(d.Author), "Vedette"),
			"namespace": homePage,
		},
		"tracking": object{
			"id":                   "VEDETTE-" + d.ID,
			"status":               "final",
			"version":              "1",
			"initial_release_date": at,
			"current_release_date": at,
			"revision_history":     []object{{"date": at, "number": "1", "summary": "Exported."}},
			"generator": object{
				"date":   at,
				"engine": object{"name": "Vedette", "version": cmp.Or(d.Version, "dev")},
			},
		},
		"notes": []object{{"category": "general", "title": "Products",
			"text": "A product is a host with its port, as it was tested."}},
	})
	_, _ = w.WriteString(`{"document":`) // errors stay until Flush
	_, _ = w.Write(head)
	if len(c.groups) > 0 {
		_, _ = w.WriteString(",\n\"product_tree\":{\"full_product_names\":[")
		separator := ""
		for n, name := range c.products {
			_, _ = w.WriteString(separator)
			_, _ = w.Write(encode(object{"product_id": productID(n), "name": name}))
			separator = ",\n"
		}
		_, _ = w.WriteString("]},\n\"vulnerabilities\":[")
		separator = ""
		for _, g := range c.groups {
			_, _ = w.WriteString(separator)
			_, _ = w.Write(encode(g.csaf()))
			separator = ",\n"
		}
		_, _ = w.WriteString("]")
	}
	_, _ = w.WriteString("}\n")
	return w.Flush()
}

func (g *group) csaf() object {
	f := g.first
	status := object{}
	var threats, remediations []object
	for _, said := range worst {
		ids := productIDs(g.with(said))
		if len(ids) == 0 {
			continue
		}
		status[said] = ids
		if said == "known_not_affected" {
			threats = append(
				threats,
				object{"category": "impact", "details": states["false_positive"].says, "product_ids": ids},
			)
		}
	}
	for _, group := range []struct{ action, category string }{
		{states["accepted_risk"].action, "no_fix_planned"}, {states["fix_in_progress"].action, "mitigation"},
		{"", "mitigation"},
	} {
		var of []int
		for _, n := range g.with("known_affected") {
			if g.why[n].action == group.action {
				of = append(of, n)
			}
		}
		if len(of) > 0 {
			remediations = append(remediations, object{
				"category":    group.category,
				"product_ids": productIDs(of),
				"details": strings.TrimSpace(
					group.action + " " + cmp.Or(f.Remediation, "See the description of the finding."),
				),
			})
		}
	}
	notes := []object{{"category": "description", "title": "Description", "text": cmp.Or(f.Description, f.Name, g.id)}}
	if f.Impact != "" {
		notes = append(notes, object{"category": "details", "title": "Impact", "text": f.Impact})
	}
	out := object{"title": cmp.Or(f.Name, g.id), "product_status": status, "notes": notes,
		"discovery_date": stamp(f.CreatedAt)}
	if g.isCVE {
		out["cve"] = g.id
	} else {
		out["ids"] = []object{{"system_name": "Vedette template", "text": cmp.Or(g.id, "unknown")}}
	}
	if len(f.CWEs) > 0 {
		if w, known := fact.WeaknessOf(f.CWEs[0]); known {
			out["cwe"] = object{"id": cweID(w.CWE), "name": w.Name}
		}
	}
	if affected := g.with("known_affected"); f.CVSS.Vector != "" && len(affected) > 0 {
		out["scores"] = []object{{"products": productIDs(affected), "cvss_v3": object{"version": f.CVSS.Version,
			"vectorString": f.CVSS.Vector, "baseScore": f.CVSS.Score, "baseSeverity": fact.Rating(f.CVSS.Score)}}}
	}
	if len(threats) > 0 {
		out["threats"] = threats
	}
	if len(remediations) > 0 {
		out["remediations"] = remediations
	}
	var references []object
	for _, reference := range f.References {
		if fact.IsURL(reference) {
			references = append(references, object{"category": "external", "summary": reference, "url": reference})
		}
	}
	if references != nil {
		out["references"] = references
	}
	return out
}

func productIDs(all []int) (out []string) {
	for _, n := range all {
		out = append(out, productID(n))
	}
	return out
}
