package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func arachni() kit.Format {
	return kit.Format{
		Name: "arachni", Title: "Arachni", Tool: "arachni", Kinds: []string{"JSON"}, Class: kit.ClassWeb, Twice: true,
		Example: "arachni_reporter report.afr --reporter json:outfile=report.json",
		Signs:   []string{"json:options json:seed json:version", "json:issues[].vector json:issues[].check"},
		Read: func(in *kit.Input, out *kit.Out) error {
			text := func(do func(string)) func(kit.Value) error {
				return func(v kit.Value) error {
					do(v.String())
					return nil
				}
			}
			err := in.JSON(kit.Routes{
				"version":         text(func(t string) { out.Report("", t, kit.Time("")) }),
				"finish_datetime": text(func(t string) { out.Report("", "", kit.Time(t)) }),
			})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"issues[]": func(v kit.Value) error { return out.Add(arachniRecord(v)) }})
		},
	}
}

func arachniRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = v.Text("check.shortname"), v.Text("name")
	r.ToolSeverity = v.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	if v.Get("trusted").Exists() {
		r.Confidence = "untrusted"
		if v.Get("trusted").Bool() {
			r.Confidence = "trusted"
		}
	}
	r.CWEs = kit.CWEs(v.Text("cwe"))
	r.Description, r.Remediation = v.Text("description"), v.Text("remedy_guidance")
	r.Tags = v.Texts("tags")
	_ = v.Each("references", func(_ string, ref kit.Value) error {
		r.References = append(r.References, ref.String())
		return nil
	})
	vector := v.Sub("vector")
	r.Place = kit.Place{URL: kit.First(vector.Text("action"), vector.Text("url")), Method: vector.Text("method")}
	where := map[string]string{"form": "form", "link": "query", "cookie": "cookie", "header": "header", "json": "json",
		"link_template": "path"}
	if name := vector.Text("affected_input_name"); name != "" {
		in := where[vector.Text("type")]
		if in == "form" && strings.EqualFold(vector.Text("method"), "get") {
			in = "query"
		}
		r.Place.Parameter = kit.Parameter{Name: name, In: in}
	}
	r.Evidence = kit.Evidence{Request: v.Text("request.headers_string"), Matched: v.Text("proof"),
		Response: kit.Join("\n\n", v.Text("response.headers_string"), v.Text("response.body"))}
	r.Reference = v.Text("digest")
	return r
}
