package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func grype() kit.Format {
	return kit.Format{
		Name: "grype", Title: "Grype", Tool: "grype", Kinds: []string{"JSON"}, Class: kit.ClassPackage, Twice: true,
		Example: "grype IMAGE -o json > report.json", Families: []string{"anchore_grype"},
		Signs: []string{"json:matches[].vulnerability json:matches[].artifact", "json:matches json:descriptor",
			"json:matches json:source json:distro"},
		Read: func(in *kit.Input, out *kit.Out) error {
			image := ""
			err := in.JSON(kit.Routes{
				"source": func(v kit.Value) error {
					image = kit.First(v.Text("target.userInput"), v.Text("target"))
					return nil
				},
				"descriptor!db": func(v kit.Value) error {
					out.Report(v.Text("name"), v.Text("version"), kit.Time(v.Text("timestamp")))
					return nil
				},
				"ignoredMatches[]": func(kit.Value) error {
					out.Ignore(1, "a rule of the tool leaves it out")
					return nil
				},
			})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"matches[]": func(v kit.Value) error { return out.Add(grypeRecord(v, image)) }})
		},
	}
}

func grypeRecord(v kit.Value, image string) kit.Record {
	r := v.Record()
	vuln, artifact := v.Sub("vulnerability"), v.Sub("artifact")
	r.Check = vuln.Text("id")
	r.ToolSeverity = vuln.Text("severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	if strings.EqualFold(r.ToolSeverity, "unknown") {
		r.Severity = kit.Info
	}
	ids := []string{r.Check}
	r.Description = vuln.Text("description")
	sources := []kit.Value{vuln}
	for _, related := range v.List("relatedVulnerabilities") {
		ids = append(ids, related.Text("id"))
		r.Description = kit.First(r.Description, related.Text("description"))
		sources = append(sources, related)
	}
	identify(&r, ids...)
	versions := map[string]bool{}
	for _, s := range sources {
		r.References = append(append(r.References, s.Text("dataSource")), s.Texts("urls")...)
		for _, c := range s.List("cvss") {
			if version := c.Text("version"); !versions[version] {
				versions[version] = true
				r.CVSS = append(r.CVSS, kit.Score(version, c.Text("vector"), kit.Float(c.Text("metrics.baseScore")))...)
			}
		}
		for _, w := range s.List("cwes") {
			r.CWEs = append(r.CWEs, kit.CWEs(w.Text("cwe"))...)
		}
	}
	r.Place.Package = kit.PURL(artifact.Text("purl"))
	p := &r.Place.Package
	p.Ecosystem = kit.First(p.Ecosystem, artifact.Text("type"))
	if p.Ecosystem != "maven" || p.Namespace == "" { // whose purl has the group, too
		p.Name = kit.First(artifact.Text("name"), p.Name)
	}
	p.Version = kit.First(artifact.Text("version"), p.Version)
	p.FixedIn = strings.Join(vuln.Texts("fix.versions"), ", ")
	p.Image, p.Manifest = image, artifact.Text("locations.0.path")
	r.Title = r.Check + " in " + p.Name + " " + p.Version
	r.Status, r.StatusText = kit.Open, vuln.Text("fix.state")
	if p.FixedIn != "" {
		r.Remediation = "Upgrade " + p.Name + " to " + p.FixedIn + "."
	}
	r.Confidence = v.Text("matchDetails.0.type")
	return r
}
