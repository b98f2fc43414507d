package packages

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func osvScanner() kit.Format {
	return kit.Format{
		Name: "osv-scanner", Title: "OSV-Scanner", Tool: "osv-scanner", Kinds: []string{"JSON"}, Class: kit.ClassPackage,
		Example: "osv-scanner scan --format json --output report.json FOLDER", Twice: true,
		Signs: []string{"json:results[].packages json:results[].source", "json:results json:experimental_config"},
		Read: func(in *kit.Input, out *kit.Out) error {
			sources := map[int]kit.Value{}
			err := in.JSON(kit.Routes{"results[].source": func(v kit.Value) error {
				sources[v.Index[0]] = v
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"results[].packages[]": func(v kit.Value) error {
				for _, vuln := range v.List("vulnerabilities") {
					if err := out.Add(osvRecord(v, vuln, sources[v.Index[0]])); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

func osvRecord(v, vuln, source kit.Value) kit.Record {
	r := v.Record()
	r.Check = vuln.Text("id")
	identify(&r, append(vuln.Texts("aliases"), r.Check)...)
	r.Title = kit.First(vuln.Text("summary"), r.Check)
	r.Description, r.Status = vuln.Text("details"), kit.Open
	for _, s := range vuln.List("severity") {
		version := map[string]string{"CVSS_V2": "2.0", "CVSS_V3": "3.1", "CVSS_V4": "4.0"}[s.Text("type")]
		r.CVSS = append(r.CVSS, kit.Score(version, s.Text("score"), kit.BaseScore(s.Text("score")))...)
	}
	r.ToolSeverity = vuln.Text("database_specific.severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	for _, g := range v.List("groups") {
		score := g.Text("max_severity")
		if score != "" && r.Severity == kit.Unknown && slices.Contains(g.Texts("ids"), r.Check) {
			r.ToolSeverity, r.Severity = score, kit.SeverityOfScore(kit.Float(score))
		}
	}
	if r.Severity == kit.Unknown {
		for _, c := range r.CVSS {
			if c.Score > 0 {
				r.Severity = kit.SeverityOfScore(c.Score)
				break
			}
		}
	}
	r.CWEs = kit.CWEs(vuln.Texts("database_specific.cwe_ids")...)
	for _, ref := range vuln.List("references") {
		r.References = append(r.References, ref.Text("url"))
	}
	r.Place.Package = kit.Package{Ecosystem: strings.ToLower(v.Text("package.ecosystem")), Name: v.Text("package.name"),
		Version: v.Text("package.version")}
	if source.Text("type") == "docker" {
		r.Place.Package.Image = source.Text("path")
	} else {
		r.Place.Package.Manifest = source.Text("path")
	}
	for _, a := range vuln.List("affected") {
		if a.Text("package.name") == v.Text("package.name") {
			for _, ranges := range a.List("ranges") {
				for _, e := range ranges.List("events") {
					r.Place.Package.FixedIn = kit.First(r.Place.Package.FixedIn, e.Text("fixed"))
				}
			}
		}
	}
	return r
}
