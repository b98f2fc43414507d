package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// snyk reads one project, several in an array, and images with the applications in them. A vulnerability stands in it
// once for each way by which the package is depended on.
func snyk() kit.Format {
	return kit.Format{
		Name: "snyk", Title: "Snyk", Tool: "snyk", Kinds: []string{"JSON"}, Class: kit.ClassPackage, Twice: true,
		Example: "snyk test --all-projects --json > report.json",
		Signs: []string{"json:vulnerabilities json:packageManager json:ok", "json:[].vulnerabilities json:[].packageManager",
			"json:vulnerabilities[].from json:vulnerabilities[].semver", "json:vulnerabilities json:dependencyCount"},
		Read: func(in *kit.Input, out *kit.Out) error {
			projects := map[string]kit.Value{}
			head := func(v kit.Value) error {
				projects[v.Position] = v
				return nil
			}
			const drop = "!vulnerabilities,applications,filtered,remediation,licensesPolicy"
			for _, list := range []string{"", "[]", "applications[]", "[].applications[]"} {
				if list != "" {
					if err := in.JSON(kit.Routes{list + drop: head}); err != nil {
						return err
					}
				}
			}
			// A route for the whole document would take arrays whole, too: one for each member that is needed.
			alone := map[string]*string{}
			routes := kit.Routes{}
			for _, name := range []string{"projectName", "displayTargetFile", "packageManager", "path"} {
				alone[name] = new(string)
				routes[name] = keep(alone[name])
			}
			if err := in.JSON(routes); err != nil {
				return err
			}
			add := func(ignored bool) func(kit.Value) error {
				return func(v kit.Value) error {
					at := v.Position[:max(strings.LastIndex(v.Position, "vulnerabilities["), strings.LastIndex(v.Position,
						"filtered."), 0)]
					project := projects[strings.TrimSuffix(at, ".")]
					get := func(name string) string {
						return kit.First(project.Text(name), *alone[name])
					}
					r := snykRecord(v, get)
					if ignored {
						r.Status, r.StatusText = kit.AcceptedRisk, "ignored"
					}
					return out.Add(r)
				}
			}
			return in.JSON(kit.Routes{
				"vulnerabilities[]": add(false), "[].vulnerabilities[]": add(false),
				"applications[].vulnerabilities[]": add(false), "[].applications[].vulnerabilities[]": add(false),
				"filtered.ignore[]": add(true), "[].filtered.ignore[]": add(true),
			})
		},
	}
}

func snykRecord(v kit.Value, project func(string) string) kit.Record {
	r := v.Record()
	r.Check = v.Text("id")
	identify(&r, append(append(v.Texts("identifiers.CVE"), v.Texts("identifiers.GHSA")...), r.Check)...)
	r.ToolSeverity = kit.First(v.Text("severityWithCritical"), v.Text("severity"))
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.CWEs = kit.CWEs(v.Texts("identifiers.CWE")...)
	r.CVSS = kit.Score("3.1", v.Text("CVSSv3"), kit.Float(v.Text("cvssScore")))
	r.Description = v.Text("description")
	for _, ref := range v.List("references") {
		r.References = append(r.References, ref.Text("url"))
	}
	manifest := strings.ReplaceAll(project("displayTargetFile"), `\`, "/")
	r.Place.Component = project("projectName")
	r.Place.Package = kit.Package{Ecosystem: kit.First(project("packageManager"), v.Text("packageManager")),
		Name: kit.First(v.Text("packageName"), v.Text("moduleName"), v.Text("name")), Version: v.Text("version"),
		FixedIn: strings.Join(v.Texts("fixedIn"), ", "), Manifest: manifest}
	if name, image := strings.CutPrefix(project("projectName"), "docker-image|"); image {
		r.Place.Package.Image = kit.First(project("path"), name)
	}
	r.Title = kit.First(v.Text("title"), r.Check) + " in " + r.Place.Package.Name
	r.Evidence.Matched = strings.Join(v.Texts("from"), " > ")
	if fix := r.Place.Package.FixedIn; fix != "" {
		r.Remediation = "Upgrade " + r.Place.Package.Name + " to " + fix + "."
	}
	if v.Text("type") == "license" || strings.HasPrefix(r.Check, "snyk:lic:") {
		r.Class = kit.ClassCompliance
	}
	return r
}
