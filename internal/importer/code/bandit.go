package code

import (
	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func bandit() kit.Format {
	return kit.Format{
		Name: "bandit", Title: "Bandit", Tool: "bandit", Kinds: []string{"JSON"}, Class: kit.ClassCode, Twice: true,
		Example: "bandit -r FOLDER -f json -o report.json",
		Signs:   []string{"json:metrics._totals", "json:results[].test_id"},
		Read: func(in *kit.Input, out *kit.Out) error {
			err := in.JSON(kit.Routes{"generated_at": func(v kit.Value) error {
				out.Report("", "", kit.Time(v.String()))
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"results[]": func(v kit.Value) error { return out.Add(banditRecord(v)) }})
		},
	}
}

func banditRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Matcher = v.Text("test_id"), v.Text("test_name")
	r.Title = kit.First(v.Text("issue_text"), r.Matcher)
	r.Description = v.Text("issue_text")
	r.ToolSeverity = v.Text("issue_severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.Confidence = v.Text("issue_confidence")
	r.CWEs = kit.CWEs(v.Text("issue_cwe.id"))
	r.References = []string{v.Text("more_info")}
	lines := v.Get("line_range").Array()
	r.Place = kit.Place{File: file(v.Text("filename")), StartLine: kit.Int(v.Text("line_number")), Snippet: v.Text("code"),
		Column: kit.Int(v.Text("col_offset"))}
	if len(lines) > 0 {
		r.Place.EndLine = max(int(lines[len(lines)-1].Int()), r.Place.StartLine)
	}
	return r
}
