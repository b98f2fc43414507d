package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func kics() kit.Format {
	return kit.Format{
		Name: "kics", Title: "KICS", Tool: "kics", Kinds: []string{"JSON"}, Class: kit.ClassConfig, Twice: true,
		Example: "kics scan -p FOLDER --report-formats json -o FOLDER",
		Signs: []string{"json:kics_version json:queries", "json:queries[].query_id",
			"json:kics_version json:total_counter"},
		Read: func(in *kit.Input, out *kit.Out) error {
			queries := map[int]kit.Value{}
			version, end := "", ""
			err := in.JSON(kit.Routes{
				"kics_version": func(v kit.Value) error {
					version = v.String()
					return nil
				},
				"end": func(v kit.Value) error {
					end = v.String()
					return nil
				},
				"queries[]!files": func(v kit.Value) error {
					queries[v.Index[0]] = v
					return nil
				},
			})
			if err != nil {
				return err
			}
			out.Report("", version, kit.Time(end))
			return in.JSON(kit.Routes{"queries[].files[]": func(v kit.Value) error {
				return out.Add(kicsRecord(v, queries[v.Index[0]]))
			}})
		},
	}
}

func kicsRecord(v, query kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = query.Text("query_id"), query.Text("query_name")
	r.ToolSeverity = query.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	if strings.EqualFold(r.ToolSeverity, "trace") {
		r.Severity = kit.Info
	}
	r.CWEs = kit.CWEs(query.Text("cwe"))
	r.Description = query.Text("description")
	r.Remediation = v.Text("expected_value")
	r.References = []string{query.Text("query_url")}
	r.Tags = []string{query.Text("platform"), query.Text("category")}
	r.Place = kit.Place{File: strings.ReplaceAll(v.Text("file_name"), `\`, "/"), StartLine: kit.Int(v.Text("line")),
		Symbol: v.Text("search_key"), Resource: kit.Resource{Kind: v.Text("resource_type"), Name: v.Text("resource_name")}}
	r.Evidence.Matched = v.Text("actual_value")
	r.Reference = v.Text("similarity_id")
	return r
}
