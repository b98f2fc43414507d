package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// npmAudit reads the reports of npm 6 (advisories) and of npm 7 and later (vulnerabilities by package).
func npmAudit() kit.Format {
	return kit.Format{
		Name: "npm_audit", Title: "npm audit", Tool: "npm-audit", Kinds: []string{"JSON"}, Class: kit.ClassPackage,
		Example: "npm audit --json > report.json",
		Signs: []string{"json:advisories json:metadata", "json:auditReportVersion json:vulnerabilities",
			"json:advisories json:actions", "json:error.code json:error.summary"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{
				"error": func(v kit.Value) error {
					return kit.Malformed("npm audit failed and wrote no report: %.300s.", kit.First(v.Text("summary"), v.Text("code"),
						"no reason"))
				},
				"advisories.*": func(v kit.Value) error { return out.Add(npmAdvisory(v)) },
				"vulnerabilities.*": func(v kit.Value) error {
					found := 0
					for _, via := range v.List("via") {
						if !via.IsObject() {
							continue
						}
						found++
						if err := out.Add(npmVia(v, via)); err != nil {
							return err
						}
					}
					if found == 0 {
						out.Ignore(1, "the package is affected only through another one of the report")
					}
					return nil
				},
			})
		},
	}
}

func npmAdvisory(v kit.Value) kit.Record {
	r := v.Record()
	r.Check = kit.First(v.Text("github_advisory_id"), v.Text("id"), v.Key)
	identify(&r, append(v.Texts("cves"), v.Text("github_advisory_id"))...)
	r.ToolSeverity = v.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.CWEs = kit.CWEs(v.Texts("cwe")...)
	r.CVSS = kit.Score("3.1", v.Text("cvss.vectorString"), kit.Float(v.Text("cvss.score")))
	r.Description, r.Remediation = v.Text("overview"), v.Text("recommendation")
	r.References = append([]string{v.Text("url")}, kit.URLs(v.Text("references"))...)
	r.OtherIDs = append(r.OtherIDs, kit.OtherIDs(v.Text("url"))...)
	var versions, paths []string
	for _, f := range v.List("findings") {
		versions = append(versions, f.Text("version"))
		paths = append(paths, f.Texts("paths")...)
	}
	r.Evidence.Matched = strings.Join(paths, "\n")
	r.Place.Package = kit.Package{Ecosystem: "npm", Name: v.Text("module_name"), Version: strings.Join(versions, ", "),
		FixedIn: v.Text("patched_versions")}
	r.Title = kit.First(v.Text("title"), r.Check) + " in " + v.Text("module_name")
	return r
}

func npmVia(v, via kit.Value) kit.Record {
	r := v.Record()
	id := via.Text("url")
	id = id[strings.LastIndexByte(id, '/')+1:]
	r.Check = kit.First(id, via.Text("source"))
	identify(&r, id)
	r.ToolSeverity = via.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.CWEs = kit.CWEs(via.Texts("cwe")...)
	r.CVSS = kit.Score("3.1", via.Text("cvss.vectorString"), kit.Float(via.Text("cvss.score")))
	r.Title = via.Text("title")
	r.References = []string{via.Text("url")}
	r.Evidence.Matched = strings.Join(v.Texts("nodes"), "\n")
	name := kit.First(via.Text("dependency"), via.Text("name"), v.Text("name"))
	r.Place.Package = kit.Package{Ecosystem: "npm", Name: name}
	r.Description = "Affected versions: " + kit.First(via.Text("range"), v.Text("range"))
	if fix := v.Sub("fixAvailable"); fix.IsObject() {
		r.Remediation = "Upgrade " + fix.Text("name") + " to " + fix.Text("version") + "."
	} else if fix.Bool() {
		r.Remediation = "Run npm audit fix."
	}
	return r
}
