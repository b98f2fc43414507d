package cloud

import "github.com/vedette-sec/vedette/internal/importer/kit"

func tfsec() kit.Format {
	return kit.Format{
		Name: "tfsec", Title: "tfsec", Tool: "tfsec", Kinds: []string{"JSON"}, Class: kit.ClassConfig,
		Example: "tfsec FOLDER --format json --out report.json",
		Signs: []string{"json:results[].rule_id json:results[].location",
			"json:results[].long_id json:results[].rule_provider"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{"results[]": func(v kit.Value) error {
				switch v.Text("status") {
				case "1", "passed":
					out.Ignore(1, "the check passed")
					return nil
				}
				r := v.Record()
				r.Check = kit.First(v.Text("rule_id"), v.Text("long_id"))
				r.Matcher = v.Text("long_id")
				r.Title = kit.First(v.Text("rule_description"), v.Text("description"))
				r.ToolSeverity = v.Text("severity")
				r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
				if v.Text("status") == "2" {
					r.Status, r.StatusText = kit.AcceptedRisk, "ignored"
				}
				r.Description, r.Impact, r.Remediation = v.Text("description"), v.Text("impact"), v.Text("resolution")
				r.References = v.Texts("links")
				r.Tags = []string{v.Text("rule_provider"), v.Text("rule_service")}
				at := v.Sub("location")
				r.Place = kit.Place{File: at.Text("filename"), StartLine: kit.Int(at.Text("start_line")),
					EndLine: kit.Int(at.Text("end_line")), Resource: kit.Resource{Kind: "terraform", Name: v.Text("resource")}}
				return out.Add(r)
			}})
		},
	}
}
