package web

import "github.com/vedette-sec/vedette/internal/importer/kit"

func katana() kit.Format {
	return kit.Format{
		Name: "katana", Title: "Katana", Tool: "katana", Kinds: []string{"JSONL"}, Class: kit.ClassExposure, Empty: true,
		Example: "katana -u URL -jsonl -o report.jsonl",
		Signs: []string{"json:timestamp json:request.endpoint", "json:timestamp json:endpoint json:source",
			"json:timestamp json:request.endpoint json:request.method"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				endpoint := kit.First(v.Text("request.endpoint"), v.Text("endpoint"))
				if endpoint == "" {
					return out.Reject(v.Line, v.Position, "it has no endpoint")
				}
				r := v.Record()
				r.Check, r.Title = "crawled-page", "Page found: "+endpoint
				r.Severity, r.Status = kit.Info, kit.Open
				r.Place = kit.Place{URL: endpoint, Method: v.Text("request.method")}
				r.Evidence = kit.Evidence{Request: v.Text("request.raw"), Response: kit.First(v.Text("response.raw"),
					v.Text("response.body")), Matched: v.Text("request.source")}
				r.Tags = v.Texts("response.technologies")
				r.SeenAt = kit.Time(v.Text("timestamp"))
				if status := v.Text("response.status_code"); status != "" {
					r.Description = "Status: " + status
				}
				if problem := v.Text("error"); problem != "" {
					r.Description = kit.Join("\n", r.Description, "Error: "+problem)
				}
				return out.Add(r)
			})
		},
	}
}
