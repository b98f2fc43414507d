package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var semgrepLevels = map[string]kit.Severity{
	"CRITICAL": kit.Critical, "ERROR": kit.High, "HIGH": kit.High, "WARNING": kit.Medium, "MEDIUM": kit.Medium,
	"INFO": kit.Low, "LOW": kit.Low, "INVENTORY": kit.Info, "EXPERIMENT": kit.Info,
}

// semgrep reads what the command writes, and the vulnerabilities of dependencies that its platform hands out.
func semgrep() kit.Format {
	return kit.Format{
		Name: "semgrep", Title: "Semgrep", Tool: "semgrep", Kinds: []string{"JSON"}, Class: kit.ClassCode, Twice: true,
		Example: "semgrep scan --json -o report.json",
		Signs: []string{"json:results[].check_id json:results[].extra", "json:vulns[].advisory",
			"json:results json:errors json:paths", "json:results json:errors json:paths.scanned json:version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			err := in.JSON(kit.Routes{"version": func(v kit.Value) error {
				out.Report("", v.String(), kit.Time(""))
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{
				"results[]": func(v kit.Value) error {
					if v.Text("check_id") == "" {
						return out.Reject(v.Line, v.Position, "it has no check_id")
					}
					return out.Add(semgrepRecord(v))
				},
				"vulns[]": func(v kit.Value) error { return out.Add(semgrepVulnerability(v)) },
			})
		},
	}
}

func semgrepRecord(v kit.Value) kit.Record {
	r := v.Record()
	extra := v.Sub("extra")
	meta := extra.Sub("metadata")
	r.Check = v.Text("check_id")
	r.Title = r.Check
	if words := strings.Split(r.Check, "."); len(words) > 1 {
		r.Title = words[len(words)-1]
	}
	r.Description = extra.Text("message")
	r.ToolSeverity = extra.Text("severity")
	r.Severity, r.Status = semgrepLevels[strings.ToUpper(r.ToolSeverity)], kit.Open
	r.Confidence, r.Impact = meta.Text("confidence"), meta.Text("impact")
	r.CWEs = kit.CWEs(meta.Texts("cwe")...)
	r.CVEs = kit.CVEs(meta.Text("sca-vuln-database-identifier"), meta.Text("cve"))
	r.References = append(meta.Texts("references"), meta.Text("source"))
	r.Tags = append(meta.Texts("owasp"), meta.Texts("technology")...)
	r.Remediation = kit.Join("\n", meta.Text("fix"), extra.Text("fix"))
	if extra.Get("is_ignored").Bool() {
		r.Status, r.StatusText = kit.AcceptedRisk, "nosemgrep"
	}
	r.Place = kit.Place{File: file(v.Text("path")), StartLine: kit.Int(v.Text("start.line")),
		EndLine: kit.Int(v.Text("end.line")), Column: kit.Int(v.Text("start.col")), Snippet: extra.Text("lines")}
	if digest := extra.Text("fingerprint"); digest != "requires login" {
		r.Reference = digest
	}
	if found := extra.Sub("sca_info.dependency_match.found_dependency"); found.Exists() {
		r.Class = kit.ClassPackage
		r.Place.Package = kit.Package{Ecosystem: found.Text("ecosystem"), Name: found.Text("package"),
			Version: found.Text("version"), Manifest: extra.Text("sca_info.dependency_match.lockfile")}
	}
	return r
}

func semgrepVulnerability(v kit.Value) kit.Record {
	r := v.Record()
	a := v.Sub("advisory")
	r.Class = kit.ClassPackage
	r.Check = kit.First(a.Text("ruleId"), v.Text("title"))
	r.Title = kit.First(a.Text("title"), v.Text("title"))
	r.Description = a.Text("description")
	r.ToolSeverity = a.Text("severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	r.Status, r.StatusText = kit.Open, v.Text("triage.status")
	switch r.StatusText {
	case "FIXED":
		r.Status = kit.Fixed
	case "DISMISSED", "IGNORED":
		r.Status = kit.AcceptedRisk
		if strings.Contains(v.Text("triage.dismissReason"), "FALSE") {
			r.Status = kit.FalsePositive
		}
	}
	r.Confidence = v.Text("exposureType")
	r.CVEs = kit.CVEs(a.Texts("references.cveIds")...)
	r.CWEs = kit.CWEs(a.Texts("references.cweIds")...)
	r.References = a.Texts("references.urls")
	r.OtherIDs = kit.OtherIDs(r.References...)
	r.Tags = a.Texts("references.owaspIds")
	at := v.Sub("dependencyFileLocation")
	r.Place = kit.Place{Repository: v.Text("repositoryName"), File: at.Text("path"),
		StartLine: kit.Int(at.Text("startLine"))}
	r.Place.Package = kit.Package{Ecosystem: a.Text("ecosystem"), Name: v.Text("matchedDependency.name"),
		Version: v.Text("matchedDependency.versionSpecifier"), Manifest: at.Text("path"),
		FixedIn: v.Text("closestSafeDependency.versionSpecifier")}
	r.Reference = v.Text("groupKey")
	return r
}
