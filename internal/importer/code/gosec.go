package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func gosec() kit.Format {
	return kit.Format{
		Name: "gosec", Title: "gosec", Tool: "gosec", Kinds: []string{"JSON"}, Class: kit.ClassCode, Twice: true,
		Example: "gosec -fmt json -out report.json ./...",
		Signs:   []string{"json:Issues json:Stats", "json:Issues[].rule_id"},
		Read: func(in *kit.Input, out *kit.Out) error {
			err := in.JSON(kit.Routes{
				"GosecVersion": func(v kit.Value) error {
					out.Report("", v.String(), kit.Time(""))
					return nil
				},
			})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"Issues[]": func(v kit.Value) error { return out.Add(gosecRecord(v)) }})
		},
	}
}

func gosecRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title, r.Description = v.Text("rule_id"), v.Text("details"), v.Text("details")
	r.ToolSeverity = v.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.Confidence = v.Text("confidence")
	r.CWEs = kit.CWEs(kit.First(v.Text("cwe.id"), v.Text("cwe.ID")))
	r.References = []string{kit.First(v.Text("cwe.url"), v.Text("cwe.URL"))}
	if v.Get("nosec").Bool() || len(v.List("suppressions")) > 0 {
		r.Status, r.StatusText = kit.AcceptedRisk, kit.First(v.Text("suppressions.0.justification"), "nosec")
	}
	start, end, _ := strings.Cut(v.Text("line"), "-")
	r.Place = kit.Place{File: file(v.Text("file")), StartLine: kit.Int(start), EndLine: kit.Int(end),
		Column: kit.Int(v.Text("column")), Snippet: v.Text("code")}
	r.Remediation = v.Text("autofix")
	return r
}
