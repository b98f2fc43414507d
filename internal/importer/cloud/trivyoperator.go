package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// trivyOperator reads the resources in which the operator keeps its reports: one, a list, an array, or lists by kind.
func trivyOperator() kit.Format {
	return kit.Format{
		Name: "trivy_operator", Title: "Trivy Operator", Tool: "trivy", Kinds: []string{"JSON"}, Class: kit.ClassConfig,
		Example: "kubectl get vulnerabilityreports,configauditreports -A -o json > report.json", Twice: true,
		Signs: []string{"json:apiVersion json:kind json:report", "json:[].apiVersion json:[].report",
			"json:items[].apiVersion json:items[].report", "json:*[].apiVersion json:*[].report",
			"json:kind json:status.detailReport",
			"json:apiVersion json:kind json:status.detailReport.results", "json:vulnerabilityreports.aquasecurity.github.io",
			"json:configauditreports.aquasecurity.github.io"},
		Read: func(in *kit.Input, out *kit.Out) error {
			heads, results := map[string]kit.Value{}, map[string]kit.Value{}
			reports := map[string]kit.Value{}
			head, items := kit.Routes{}, kit.Routes{}
			for _, prefix := range []string{"", "[].", "items[].", "*[]."} {
				head[prefix+"metadata"] = func(v kit.Value) error {
					heads[strings.TrimSuffix(v.Position, "metadata")] = v
					return nil
				}
				head[prefix+"report!vulnerabilities,checks,secrets,components"] = func(v kit.Value) error {
					reports[strings.TrimSuffix(v.Position, "report")] = v
					return nil
				}
				head[prefix+"status.detailReport.results[]!checks"] = func(v kit.Value) error {
					results[v.Position] = v
					return nil
				}
				for _, list := range []string{"report.vulnerabilities[]", "report.checks[]", "report.secrets[]",
					"status.detailReport.results[].checks[]"} {
					items[prefix+list] = func(v kit.Value) error {
						at := v.Position[:strings.LastIndex(v.Position, kit.First(map[bool]string{true: "status.",
							false: "report."}[strings.HasPrefix(list, "status")]))]
						result := results[v.Position[:max(strings.LastIndex(v.Position, ".checks["), 0)]]
						return operatorItem(out, v, heads[at], reports[at], result)
					}
				}
			}
			if err := in.JSON(head); err != nil {
				return err
			}
			return in.JSON(items)
		},
	}
}

func operatorItem(out *kit.Out, v, meta, report, result kit.Value) error {
	label := func(name string) string {
		path := `trivy-operator\.` + strings.ReplaceAll(name, ".", `\.`)
		return kit.First(meta.Text("labels."+path), meta.Text("annotations."+path))
	}
	r := v.Record()
	r.ToolSeverity = kit.First(v.Text("severity"), result.Text("severity"))
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.Title = v.Text("title")
	r.ToolVersion = report.Text("scanner.version")
	r.SeenAt = kit.Time(kit.First(report.Text("updateTimestamp"), meta.Text("creationTimestamp")))
	r.Place.Resource = kit.Resource{Kind: label("resource.kind"), Namespace: kit.First(label("resource.namespace"),
		meta.Text("namespace")), Name: kit.First(label("resource.name"), meta.Text("name"))}
	r.Place.Component = label("container.name")
	image := kit.Join("/", report.Text("registry.server"), report.Text("artifact.repository"))
	if tag := report.Text("artifact.tag"); tag != "" {
		image += ":" + tag
	} else if digest := report.Text("artifact.digest"); digest != "" {
		image += "@" + digest
	}
	switch {
	case v.Get("vulnerabilityID").Exists():
		operatorVulnerability(&r, v, image)
	case v.Get("ruleID").Exists():
		r.Class, r.Check, r.Tags = kit.ClassSecret, v.Text("ruleID"), []string{v.Text("category")}
		r.Place.File, r.Place.Package.Image = v.Text("target"), image
		r.Evidence.Matched = v.Text("match")
	default:
		if success := v.Get("success"); success.Exists() && success.Bool() {
			out.Ignore(1, "the check passed")
			return nil
		}
		r.Check = kit.First(v.Text("checkID"), v.Text("id"))
		if result.Exists() {
			r.Class = kit.ClassCompliance
			r.Place.Component = kit.First(v.Text("target"), r.Place.Component)
			r.Matcher = result.Text("id")
		}
		r.Description = v.Text("description")
		r.Remediation = v.Text("remediation")
		r.Evidence.Matched = strings.Join(v.Texts("messages"), "\n")
		r.Tags = []string{v.Text("category")}
	}
	return out.Add(r)
}

func operatorVulnerability(r *kit.Record, v kit.Value, image string) {
	r.Class, r.Check = kit.ClassPackage, v.Text("vulnerabilityID")
	r.CVEs = kit.CVEs(r.Check)
	r.OtherIDs = kit.OtherIDs(r.Check)
	r.CVSS = kit.Score("3.1", "", kit.Float(v.Text("score")))
	r.Description = v.Text("description")
	r.References = append(v.Texts("links"), v.Text("primaryLink"))
	r.Place.Package = kit.PURL(v.Text("packagePURL"))
	p := &r.Place.Package
	p.Ecosystem = kit.First(p.Ecosystem, v.Text("packageType"))
	p.Name, p.Version, p.FixedIn = v.Text("resource"), v.Text("installedVersion"), v.Text("fixedVersion")
	p.Image, p.Manifest = image, kit.First(v.Text("packagePath"), v.Text("target"))
	if r.Title == "" {
		r.Title = r.Check + " in " + p.Name
	}
	if p.FixedIn != "" {
		r.Remediation = "Upgrade " + p.Name + " to " + p.FixedIn + "."
	}
}
