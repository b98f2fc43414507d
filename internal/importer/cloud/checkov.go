package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// checkov reads one report, or several in an array, one for each kind of file.
func checkov() kit.Format {
	return kit.Format{
		Name: "checkov", Title: "Checkov", Tool: "checkov", Kinds: []string{"JSON"}, Class: kit.ClassConfig, Twice: true,
		Example: "checkov -d FOLDER -o json > report.json",
		Signs: []string{"json:check_type json:results", "json:[].check_type json:[].results",
			"json:results.failed_checks json:results.passed_checks"},
		Read: func(in *kit.Input, out *kit.Out) error {
			kinds := map[int]string{}
			kind := func(v kit.Value) error {
				kinds[report(v)] = v.String()
				return nil
			}
			version := func(v kit.Value) error {
				out.Report("", v.Text("checkov_version"), kit.Time(""))
				return nil
			}
			err := in.JSON(kit.Routes{"check_type": kind, "[].check_type": kind, "summary": version, "[].summary": version})
			if err != nil {
				return err
			}
			routes := kit.Routes{}
			for _, prefix := range []string{"", "[]."} {
				failed := func(v kit.Value) error {
					at := 0
					if prefix != "" {
						at = report(v)
					}
					return out.Add(checkovRecord(v, kinds[at]))
				}
				routes[prefix+"results.failed_checks[]"] = failed
				routes[prefix+"results.skipped_checks[]"] = failed
				routes[prefix+"results.passed_checks[]"] = func(kit.Value) error {
					out.Ignore(1, "the check passed")
					return nil
				}
				routes[prefix+"results.parsing_errors[]"] = func(v kit.Value) error {
					return out.Reject(v.Line, v.Position, "Checkov could not read "+v.String())
				}
			}
			return in.JSON(routes)
		},
	}
}

// report is the index of the report in an array of them; 0 for one that stands alone.
func report(v kit.Value) int {
	if len(v.Index) > 0 {
		return v.Index[0]
	}
	return 0
}

func checkovRecord(v kit.Value, kind string) kit.Record {
	r := v.Record()
	r.Check, r.Title = v.Text("check_id"), v.Text("check_name")
	r.ToolSeverity = v.Text("severity")
	r.Severity, r.Status = kit.Medium, kit.Open // those who have no account at the vendor get no severities
	if r.ToolSeverity != "" {
		r.Severity = kit.SeverityOf(r.ToolSeverity)
	}
	if v.Text("check_result.result") == "SKIPPED" {
		r.Status, r.StatusText = kit.AcceptedRisk, v.Text("check_result.suppress_comment")
	}
	r.Description = kit.First(v.Text("description"), v.Text("short_description"))
	r.Remediation, r.References = v.Text("fixed_definition"), []string{v.Text("guideline")}
	lines := v.Get("file_line_range").Array()
	r.Place = kit.Place{File: kit.First(v.Text("repo_file_path"), v.Text("file_path")),
		Resource: kit.Resource{Kind: kind, Name: v.Text("resource")}}
	if len(lines) == 2 {
		r.Place.StartLine, r.Place.EndLine = int(lines[0].Int()), int(lines[1].Int())
	}
	var code []string
	for _, line := range v.Get("code_block").Array() {
		if pair := line.Array(); len(pair) == 2 {
			code = append(code, pair[1].String())
		}
	}
	r.Place.Snippet = strings.Join(code, "")
	r.Evidence.Matched = strings.Join(v.Texts("check_result.evaluated_keys"), "\n")
	r.Tags = []string{kind}
	r.OtherIDs = []string{v.Text("bc_check_id")}
	if d := v.Sub("vulnerability_details"); d.IsObject() {
		r.Class = kit.ClassPackage
		r.CVEs = kit.CVEs(d.Text("id"))
		r.Description = kit.First(d.Text("description"), r.Description)
		r.CVSS = kit.Score("3.1", d.Text("vector"), kit.Float(d.Text("cvss")))
		r.Place.Package = kit.Package{Name: d.Text("package_name"), Version: d.Text("package_version"),
			FixedIn: d.Text("lowest_fixed_version"), Manifest: r.Place.File}
		r.Check = kit.First(d.Text("id"), r.Check)
	}
	if kind == "secrets" {
		r.Class = kit.ClassSecret
	}
	return r
}
