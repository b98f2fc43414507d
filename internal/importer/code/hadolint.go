package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func hadolint() kit.Format {
	return kit.Format{
		Name: "hadolint", Title: "Hadolint", Tool: "hadolint", Kinds: []string{"JSON"}, Class: kit.ClassConfig,
		Example: "hadolint -f json Dockerfile > report.json",
		Signs:   []string{"json:[].code json:[].file json:[].level json:[].line"},
		Read: func(in *kit.Input, out *kit.Out) error {
			levels := map[string]kit.Severity{"error": kit.High, "warning": kit.Medium, "info": kit.Low, "style": kit.Info}
			return in.JSON(kit.Routes{"[]": func(v kit.Value) error {
				r := v.Record()
				r.Check, r.Title, r.Description = v.Text("code"), v.Text("message"), v.Text("message")
				r.ToolSeverity = v.Text("level")
				r.Severity, r.Status = levels[strings.ToLower(r.ToolSeverity)], kit.Open
				r.Place = kit.Place{File: file(v.Text("file")), StartLine: kit.Int(v.Text("line")),
					Column: kit.Int(v.Text("column"))}
				if strings.HasPrefix(r.Check, "DL") {
					r.References = []string{"https://github.com/hadolint/hadolint/wiki/" + r.Check}
				}
				return out.Add(r)
			}})
		},
	}
}
