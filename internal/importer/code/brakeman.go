package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// brakeman has no severities: what it is sure of is High, then Medium and Low.
func brakeman() kit.Format {
	return kit.Format{
		Name: "brakeman", Title: "Brakeman", Tool: "brakeman", Kinds: []string{"JSON"}, Class: kit.ClassCode, Twice: true,
		Example: "brakeman -o report.json",
		Signs:   []string{"json:scan_info json:warnings", "json:scan_info.brakeman_version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			err := in.JSON(kit.Routes{"scan_info": func(v kit.Value) error {
				out.Report("", v.Text("brakeman_version"), kit.Time(kit.First(v.Text("end_time"), v.Text("start_time"))))
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{
				"warnings[]": func(v kit.Value) error { return out.Add(brakemanRecord(v)) },
				"ignored_warnings[]": func(v kit.Value) error {
					r := brakemanRecord(v)
					r.Status, r.StatusText = kit.AcceptedRisk, kit.First(v.Text("note"), "ignored")
					return out.Add(r)
				},
			})
		},
	}
}

var brakemanLevels = map[string]kit.Severity{
	"high": kit.High, "medium": kit.Medium, "weak": kit.Low, "low": kit.Low,
}

func brakemanRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check = kit.Join(" ", v.Text("warning_type"), v.Text("check_name"))
	r.Matcher = v.Text("warning_code")
	r.Title, r.Description = v.Text("warning_type")+": "+v.Text("message"), v.Text("message")
	r.Confidence = v.Text("confidence")
	r.Severity = brakemanLevels[strings.ToLower(r.Confidence)]
	r.ToolSeverity, r.Status = r.Confidence, kit.Open
	r.CWEs = kit.CWEs(v.Texts("cwe_id")...)
	r.CVEs = kit.CVEs(v.Text("message"))
	r.References = []string{v.Text("link")}
	r.Place = kit.Place{File: file(v.Text("file")), StartLine: kit.Int(v.Text("line")), Snippet: v.Text("code"),
		Symbol: kit.Join("#", v.Text("location.class"), v.Text("location.method"))}
	r.Evidence.Matched = v.Text("user_input")
	r.Reference = v.Text("fingerprint")
	return r
}
