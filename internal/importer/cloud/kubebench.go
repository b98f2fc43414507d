package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// kubeBench reads the object of new versions and the array, or one object a line, of old ones. What failed is Medium,
// what it warns of Info; it has no severities. Checks that are to be done by hand were not done, and are no findings.
func kubeBench() kit.Format {
	return kit.Format{
		Name: "kubebench", Title: "kube-bench", Tool: "kube-bench", Kinds: []string{"JSON"}, Class: kit.ClassCompliance,
		Example: "kube-bench run --json --outputfile report.json", Families: []string{"kube-bench"}, Twice: true,
		Signs: []string{"json:Controls json:Totals", "json:[].tests json:[].node_type", "json:tests json:node_type",
			"json:Controls[].tests", "json:[].tests[].section", "json:tests[].section"},
		Read: func(in *kit.Input, out *kit.Out) error {
			controls := map[string]kit.Value{}
			heads, items := kit.Routes{}, kit.Routes{}
			for _, prefix := range []string{"Controls[]", "[]"} {
				heads[prefix+"!tests"] = func(v kit.Value) error {
					controls[v.Position] = v
					return nil
				}
				items[prefix+".tests[].results[]"] = func(v kit.Value) error {
					control, _, _ := strings.Cut(v.Position, ".tests[")
					return kubeBenchResult(out, v, controls[control])
				}
			}
			items["tests[].results[]"] = func(v kit.Value) error { return kubeBenchResult(out, v, kit.Value{}) }
			if err := in.JSON(heads); err != nil {
				return err
			}
			return in.JSON(items)
		},
	}
}

func kubeBenchResult(out *kit.Out, v, control kit.Value) error {
	r := v.Record()
	r.ToolSeverity = v.Text("status")
	switch strings.ToUpper(r.ToolSeverity) {
	case "FAIL":
		r.Severity = kit.Medium
	case "WARN":
		if v.Text("type") == "manual" {
			out.Ignore(1, "a check that is to be done by hand")
			return nil
		}
		r.Severity = kit.Info
	case "PASS":
		out.Ignore(1, "the check passed")
		return nil
	default:
		out.Ignore(1, "the check says neither pass nor fail")
		return nil
	}
	r.Check, r.Title = v.Text("test_number"), kit.Join(" ", v.Text("test_number"), v.Text("test_desc"))
	r.Description = kit.Join("\n", v.Text("test_desc"), v.Text("reason"))
	r.Remediation, r.Status = v.Text("remediation"), kit.Open
	r.Evidence = kit.Evidence{Request: v.Text("audit"), Matched: kit.Join("\n", v.Text("actual_value"),
		v.Text("expected_result"))}
	node := control.Text("node_type")
	r.Tags = []string{control.Text("text"), control.Text("version")}
	r.Place.Resource = kit.Resource{Kind: "node", Name: node}
	r.Place.Component = control.Text("text")
	r.Matcher = node
	return out.Add(r)
}
