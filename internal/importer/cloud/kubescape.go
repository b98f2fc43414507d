package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// kubescapeControl is what the summary says about a control; kubescapeResource what the report says about a resource.
type kubescapeControl struct {
	name, category string
	factor         float64
}

type kubescapeResource struct {
	kit.Resource

	file string
}

// kubescape joins the results, which have ids only, to resources and to the summary of controls, which has how much
// each counts: up to 4 is Low, up to 7 Medium, up to 9 High.
func kubescape() kit.Format {
	return kit.Format{
		Name: "kubescape", Title: "Kubescape", Tool: "kubescape", Kinds: []string{"JSON"}, Class: kit.ClassCompliance,
		Example: "kubescape scan --format json --output report.json", Twice: true,
		Signs: []string{"json:summaryDetails json:results", "json:results[].resourceID json:results[].controls"},
		Read: func(in *kit.Input, out *kit.Out) error {
			controls, resources := map[string]kubescapeControl{}, map[string]kubescapeResource{}
			version, seen := "", ""
			keep := func(into *string) func(kit.Value) error {
				return func(v kit.Value) error {
					*into = v.String()
					return nil
				}
			}
			err := in.JSON(kit.Routes{
				"generationTime": keep(&seen), "metadata.scanMetadata.kubescapeVersion": keep(&version),
				"summaryDetails.controls.*!resourceIDs": func(v kit.Value) error {
					controls[v.Key] = kubescapeControl{v.Text("name"), v.Text("category.name"), v.Get("scoreFactor").Float()}
					return nil
				},
				"resources[]": func(v kit.Value) error {
					o := v.Sub("object")
					resources[v.Text("resourceID")] = kubescapeResource{
						kit.Resource{Kind: o.Text("kind"), Namespace: o.Text("metadata.namespace"),
							Name: kit.First(o.Text("metadata.name"), o.Text("name"))}, v.Text("source.relativePath"),
					}
					return nil
				},
			})
			if err != nil {
				return err
			}
			out.Report("", version, kit.Time(seen))
			return in.JSON(kit.Routes{"results[]": func(v kit.Value) error {
				id := v.Text("resourceID")
				resource, ok := resources[id]
				if !ok {
					resource.Resource = kubescapeID(id)
				}
				for _, c := range v.List("controls") {
					if status := kit.First(c.Text("status.status"), c.Text("status")); status != "failed" {
						out.Ignore(1, "the status of the control is "+kubescapeStatus(status))
						continue
					}
					r := kubescapeRecord(c, controls[c.Text("controlID")])
					r.Place.Resource, r.Place.File, r.Place.Component = resource.Resource, resource.file, id
					if err := out.Add(r); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

func kubescapeStatus(word string) string {
	switch word {
	case "passed", "skipped", "excluded", "irrelevant":
		return word
	}
	return "unknown"
}

// kubescapeID reads /v1/NAMESPACE/KIND/NAME from the end.
func kubescapeID(id string) (r kit.Resource) {
	parts := strings.Split(id, "/")
	if n := len(parts); n >= 3 {
		r.Namespace, r.Kind, r.Name = parts[n-3], parts[n-2], parts[n-1]
	}
	return r
}

func kubescapeRecord(c kit.Value, known kubescapeControl) kit.Record {
	r := c.Record()
	r.Check = c.Text("controlID")
	r.Title = kit.First(c.Text("name"), known.name)
	r.Status = kit.Open
	switch factor := known.factor; {
	case factor <= 0:
		r.Severity = kit.Unknown
	case factor <= 4:
		r.Severity = kit.Low
	case factor <= 7:
		r.Severity = kit.Medium
	case factor <= 9:
		r.Severity = kit.High
	default:
		r.Severity = kit.Critical
	}
	r.ToolSeverity = strings.TrimSuffix(kit.Decimal(known.factor), ".0")
	r.Tags = []string{known.category}
	r.References = []string{"https://hub.armosec.io/docs/" + strings.ToLower(r.Check)}
	var paths []string
	for _, rule := range c.List("rules") {
		for _, p := range rule.List("paths") {
			fix := kit.Join("=", p.Text("fixPath.path"), p.Text("fixPath.value"))
			paths = append(paths, kit.First(p.Text("failedPath"), fix))
		}
	}
	r.Evidence.Matched = strings.Join(paths, "\n")
	return r
}
