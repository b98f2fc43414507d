package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// dependencyCheck reads the XML report. A vulnerability is one record for the file it is in; the files that the report
// calls related to it, copies and parts of the same product, are named in its evidence.
func dependencyCheck() kit.Format {
	return kit.Format{
		Name: "dependency-check", Title: "OWASP Dependency-Check", Tool: "dependency-check", Kinds: []string{"XML"},
		Example: "dependency-check --format XML --out report.xml --scan FOLDER", Class: kit.ClassPackage,
		Families: []string{"dependency_check"}, Signs: []string{"xml:analysis/dependencies", "xml:analysis/scanInfo"},
		Read: func(in *kit.Input, out *kit.Out) error {
			project := ""
			return in.XML(kit.Elements{
				"analysis/scanInfo": func(n *kit.Node) error {
					out.Report("", n.Get("engineVersion"), kit.Time(""))
					return nil
				},
				"analysis/projectInfo": func(n *kit.Node) error {
					project = n.Get("name")
					out.Report("", "", kit.Time(n.Get("reportDate")))
					return nil
				},
				"analysis/dependencies/dependency!evidenceCollected": func(n *kit.Node) error {
					return dependencyCheckFile(out, n, project)
				},
			})
		},
	}
}

func dependencyCheckFile(out *kit.Out, n *kit.Node, project string) error {
	list := n.Find("vulnerabilities")
	if list == nil {
		return nil
	}
	var related []string
	for _, f := range n.All("relatedDependencies/relatedDependency") {
		related = append(related, "Also in: "+kit.First(f.Get("filePath"), f.Get("fileName")))
	}
	for _, vuln := range list.Kids {
		suppressed := vuln.Name == "suppressedVulnerability"
		if vuln.Name != "vulnerability" && !suppressed {
			continue
		}
		r := dependencyCheckRecord(vuln)
		if suppressed {
			r.Status, r.StatusText = kit.FalsePositive, kit.First(vuln.Get("notes"), "suppressed")
		}
		r.Place.Component = project
		r.Place.Package = dependencyCheckPackage(n)
		r.Place.Package.Manifest = strings.ReplaceAll(n.Get("filePath"), `\`, "/")
		r.Place.File = r.Place.Package.Manifest
		r.Title = kit.First(vuln.Get("name"), r.Check) + " in " + kit.First(n.Get("fileName"), r.Place.Package.Name)
		r.Evidence.Matched = strings.Join(related, "\n")
		if err := out.Add(r); err != nil {
			return err
		}
	}
	return nil
}

// dependencyCheckPackage takes the package from the identifiers: a purl, else coordinates of Maven, else the file.
func dependencyCheckPackage(n *kit.Node) kit.Package {
	for _, path := range []string{"identifiers/package", "identifiers/identifiers/package"} {
		for _, p := range n.All(path) {
			if id := p.Get("id"); strings.HasPrefix(id, "pkg:") {
				return kit.PURL(id)
			}
		}
	}
	for _, path := range []string{"identifiers/identifier", "identifiers/identifiers/identifier"} {
		for _, i := range n.All(path) {
			parts := strings.Split(i.Get("name"), ":")
			if kind := i.Attr("type"); (kind == "maven" || kind == "npm") && len(parts) >= 2 {
				p := kit.Package{Ecosystem: kind, Name: strings.Join(parts[:len(parts)-1], ":"), Version: parts[len(parts)-1]}
				if kind == "maven" && len(parts) == 2 {
					p.Name, p.Version = parts[0]+":"+parts[1], ""
				}
				return p
			}
		}
	}
	return kit.Package{Name: n.Get("fileName")}
}

func dependencyCheckRecord(vuln *kit.Node) kit.Record {
	r := vuln.Record()
	r.Check = vuln.Get("name")
	identify(&r, r.Check)
	r.ToolSeverity = kit.First(vuln.Get("severity"), vuln.Get("cvssV3/baseSeverity"))
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	v3 := kit.Float(vuln.Get("cvssV3/baseScore"))
	v2 := kit.Float(kit.First(vuln.Get("cvssV2/score"), vuln.Get("cvssScore")))
	version, vector := kit.First(vuln.Get("cvssV3/version"), "3.0"), dependencyCheckVector(vuln.Find("cvssV3"))
	r.CVSS = append(kit.Score(version, vector, v3), kit.Score("2.0", "", v2)...)
	if r.Severity == kit.Unknown && max(v3, v2) > 0 {
		r.Severity = kit.SeverityOfScore(max(v3, v2))
	}
	r.CWEs = kit.CWEs(append(vuln.Texts("cwes/cwe"), vuln.Get("cwe"))...)
	r.Description = vuln.Get("description")
	for _, ref := range vuln.All("references/reference") {
		r.References = append(r.References, ref.Get("url"))
	}
	r.Confidence = vuln.Attr("source")
	return r
}

// dependencyCheckVector puts the parts of CVSS 3 together.
func dependencyCheckVector(n *kit.Node) string {
	if n == nil {
		return ""
	}
	vector := []string{"CVSS:" + kit.First(n.Get("version"), "3.0")}
	for _, part := range [][2]string{{"AV", "attackVector"}, {"AC", "attackComplexity"}, {"PR", "privilegesRequired"},
		{"UI", "userInteraction"}, {"S", "scope"}, {"C", "confidentialityImpact"}, {"I", "integrityImpact"},
		{"A", "availabilityImpact"}} {
		value := n.Get(part[1])
		if value == "" {
			return ""
		}
		vector = append(vector, part[0]+":"+strings.ToUpper(value[:1]))
	}
	return strings.Join(vector, "/")
}
