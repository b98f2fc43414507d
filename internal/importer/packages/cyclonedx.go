package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var cyclonedxStates = map[string]kit.Status{
	"resolved": kit.Fixed, "resolved_with_pedigree": kit.Fixed, "exploitable": kit.Open, "in_triage": kit.Open,
	"false_positive": kit.FalsePositive, "not_affected": kit.NotAffected,
}

// cyclonedx reads the vulnerabilities of an SBOM or VEX: one record for each component that one affects.
func cyclonedx() kit.Format {
	return kit.Format{
		Name: "cyclonedx-json", Title: "CycloneDX JSON, VEX", Tool: "cyclonedx", Kinds: []string{"JSON"}, Twice: true,
		Example: "an SBOM or VEX in CycloneDX", Class: kit.ClassPackage, Families: []string{"cyclonedx"},
		Signs: []string{"json:bomFormat json:specVersion", "json:bomFormat json:vulnerabilities"},
		Read: func(in *kit.Input, out *kit.Out) error {
			components := map[string]kit.Package{}
			note := func(v kit.Value) { components[v.Text("bom-ref")] = cyclonedxPackage(v.Text) }
			component := func(v kit.Value) error {
				note(v)
				return nil
			}
			seen := ""
			err := in.JSON(kit.Routes{"metadata": func(v kit.Value) error {
				seen = v.Text("timestamp")
				tool := v.Sub("tools.0")
				if !tool.Exists() {
					tool = v.Sub("tools.components.0")
				}
				out.Report(tool.Text("name"), tool.Text("version"), kit.Time(seen))
				note(v.Sub("component"))
				return nil
			}, "components[]!components": component})
			if err == nil {
				err = in.JSON(kit.Routes{"components[].components[]": component})
			}
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"vulnerabilities[]": func(v kit.Value) error {
				affects := v.List("affects")
				if len(affects) == 0 {
					return out.Add(cyclonedxRecord(v, kit.Value{}, components))
				}
				for _, a := range affects {
					if err := out.Add(cyclonedxRecord(v, a, components)); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

func cyclonedxPackage(get func(string) string) kit.Package {
	p := kit.Package{}
	if purl := get("purl"); purl != "" {
		p = kit.PURL(purl)
	}
	name := get("name")
	if group := get("group"); group != "" && p.Ecosystem == "" {
		name = group + ":" + name
	}
	p.Name, p.Version = kit.First(p.Name, name), kit.First(get("version"), p.Version)
	if get("type") == "container" {
		p.Image = get("name")
	}
	return p
}

// cyclonedxAffected is the component that a reference means: one of the document, one of another document, or a purl.
func cyclonedxAffected(ref string, components map[string]kit.Package) kit.Package {
	if p, ok := components[ref]; ok {
		return p
	}
	_, last, linked := strings.Cut(ref, "#")
	if p, ok := components[last]; ok && linked {
		return p
	}
	if at := strings.Index(ref, "pkg:"); at >= 0 {
		return kit.PURL(ref[at:])
	}
	return kit.Package{Name: ref}
}

func cyclonedxRecord(v, affected kit.Value, components map[string]kit.Package) kit.Record {
	r := v.Record()
	r.Check, r.Reference = v.Text("id"), v.Text("bom-ref")
	ids := []string{r.Check}
	for _, ref := range v.List("references") {
		ids = append(ids, ref.Text("id"))
	}
	identify(&r, ids...)
	var ratings []rating
	for _, g := range v.List("ratings") {
		ratings = append(ratings, rating{g.Text("method"), g.Text("severity"), g.Text("vector"), kit.Float(g.Text("score"))})
	}
	rate(&r, ratings)
	r.CWEs = kit.CWEs(v.Texts("cwes")...)
	r.Description = kit.Join("\n\n", v.Text("description"), v.Text("detail"))
	r.Remediation = v.Text("recommendation")
	r.References = append(r.References, v.Text("source.url"))
	for _, a := range v.List("advisories") {
		r.References = append(r.References, a.Text("url"))
	}
	analysis := v.Sub("analysis")
	r.Status = kit.Open
	if state, ok := cyclonedxStates[analysis.Text("state")]; ok {
		r.Status = state
		r.StatusText = kit.Join(": ", analysis.Text("state"), kit.Join(", ", analysis.Text("justification"),
			analysis.Text("detail")))
	}
	r.Place.Package = cyclonedxAffected(affected.Text("ref"), components)
	for _, version := range affected.List("versions") {
		if version.Text("status") == "affected" || version.Text("status") == "" {
			r.Place.Package.Version = kit.First(r.Place.Package.Version, version.Text("version"), version.Text("range"))
		}
	}
	r.Title = kit.Join(" in ", r.Check, kit.Join(" ", r.Place.Package.Name, r.Place.Package.Version))
	return r
}

// rating is what a source thinks of a vulnerability.
type rating struct {
	method, severity, vector string
	score                    float64
}

// rate takes the severity of the newest CVSS among the ratings, else the worst one that any of them has. One without a
// severity is rated by its score, or that of its vector.
func rate(r *kit.Record, ratings []rating) {
	best := -1
	for i, g := range ratings {
		method := strings.ToUpper(g.method)
		if g.score == 0 {
			ratings[i].score = kit.BaseScore(g.vector)
		}
		version := map[string]string{"CVSSV2": "2.0", "CVSSV3": "3.0", "CVSSV31": "3.1", "CVSSV4": "4.0"}[method]
		if version != "" || strings.HasPrefix(g.vector, "CVSS:") {
			r.CVSS = append(r.CVSS, kit.Score(version, g.vector, ratings[i].score)...)
		}
		rank := map[string]int{"CVSSV2": 1, "CVSSV3": 2, "CVSSV31": 3, "CVSSV4": 4}[method]
		word := kit.SeverityOf(g.severity)
		if word == kit.Unknown && ratings[i].score > 0 {
			word = kit.SeverityOfScore(ratings[i].score)
		}
		if word == kit.Unknown {
			continue
		}
		if rank > best || rank == best && worse(word, r.Severity) {
			best, r.Severity = rank, word
			r.ToolSeverity = g.severity
		}
	}
}

func worse(a, b kit.Severity) bool {
	for _, s := range kit.Severities {
		if s == a || s == b {
			return s == a && a != b
		}
	}
	return false
}

func cyclonedxXML() kit.Format {
	return kit.Format{
		Name: "cyclonedx-xml", Title: "CycloneDX XML", Tool: "cyclonedx", Kinds: []string{"XML"}, Twice: true,
		Example: "an SBOM or VEX in CycloneDX", Class: kit.ClassPackage, Families: []string{"cyclonedx"},
		Signs: []string{"xml:bom xml:bom/components", "xml:bom/vulnerabilities", "xml:bom@serialNumber", "xml:bom@version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			components := map[string]kit.Package{}
			err := in.XML(kit.Elements{
				"bom/metadata": func(n *kit.Node) error {
					tool := n.Find("tools/tool")
					out.Report(tool.Get("name"), tool.Get("version"), kit.Time(n.Get("timestamp")))
					return nil
				},
				"bom/components/component!vulnerabilities": func(n *kit.Node) error {
					cyclonedxComponents(n, components)
					return nil
				},
			})
			if err != nil {
				return err
			}
			return in.XML(kit.Elements{"**/vulnerabilities/vulnerability": func(n *kit.Node) error {
				refs := n.Texts("affects/target/ref")
				if len(refs) == 0 {
					refs = []string{n.Attr("ref")} // before version 1.4
				}
				for _, ref := range refs {
					if err := out.Add(cyclonedxNode(n, ref, components)); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

// cyclonedxComponents notes a component and those in it.
func cyclonedxComponents(n *kit.Node, components map[string]kit.Package) {
	components[n.Attr("bom-ref")] = cyclonedxPackage(func(name string) string {
		return kit.First(n.Get(name), n.Attr(name))
	})
	for _, inner := range n.All("components/component") {
		cyclonedxComponents(inner, components)
	}
}

func cyclonedxNode(n *kit.Node, ref string, components map[string]kit.Package) kit.Record {
	r := n.Record()
	r.Check, r.Reference = n.Get("id"), n.Attr("bom-ref")
	identify(&r, append(n.Texts("references/reference/id"), r.Check)...)
	var ratings []rating
	for _, g := range n.All("ratings/rating") {
		score := kit.First(g.Get("score/base"), g.Get("score"))
		ratings = append(ratings, rating{g.Get("method"), g.Get("severity"), g.Get("vector"), kit.Float(score)})
	}
	rate(&r, ratings)
	r.CWEs = kit.CWEs(n.Texts("cwes/cwe")...)
	r.Description = kit.Join("\n\n", n.Get("description"), n.Get("detail"))
	r.Remediation = kit.First(n.Get("recommendation"), strings.Join(n.Texts("recommendations/recommendation"), "\n"))
	r.References = append(n.Texts("advisories/advisory/url"), n.Texts("advisories/advisory")...)
	r.References = append(r.References, n.Get("source/url"))
	r.Status = kit.Open
	if state, ok := cyclonedxStates[n.Get("analysis/state")]; ok {
		r.Status = state
		r.StatusText = kit.Join(": ", n.Get("analysis/state"), kit.Join(", ", n.Get("analysis/justification"),
			n.Get("analysis/detail")))
	}
	r.Place.Package = cyclonedxAffected(ref, components)
	r.Title = kit.Join(" in ", r.Check, kit.Join(" ", r.Place.Package.Name, r.Place.Package.Version))
	return r
}
