package cloud

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func kubeHunter() kit.Format {
	return kit.Format{
		Name: "kubehunter", Title: "kube-hunter", Tool: "kube-hunter", Kinds: []string{"JSON"}, Class: kit.ClassConfig,
		Example: "kube-hunter --report json > report.json", Families: []string{"kube-hunter"},
		Signs: []string{"json:nodes json:services json:vulnerabilities", "json:vulnerabilities[].vid"},
		Read: func(in *kit.Input, out *kit.Out) error {
			inventory := func(kit.Value) error {
				out.Ignore(1, "a node or a service of the inventory")
				return nil
			}
			return in.JSON(kit.Routes{
				"nodes[]": inventory, "services[]": inventory,
				"vulnerabilities[]": func(v kit.Value) error { return out.Add(kubeHunterRecord(v)) },
			})
		},
	}
}

func kubeHunterRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = v.Text("vid"), v.Text("vulnerability")
	r.ToolSeverity = v.Text("severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.Description, r.Evidence.Matched = v.Text("description"), v.Text("evidence")
	r.References = []string{v.Text("avd_reference")}
	r.Tags = []string{v.Text("category"), v.Text("hunter")}
	r.CVEs = kit.CVEs(v.Text("vulnerability"), v.Text("description"))
	at := v.Text("location")
	if pod, ok := strings.CutPrefix(at, "Local to Pod ("); ok {
		r.Place.Resource = kit.Resource{Kind: "Pod", Name: strings.TrimSuffix(pod, ")")}
		return r
	}
	r.Place.Host, r.Place.Port = kit.HostPort(at)
	if strings.Contains(r.Place.Host, " ") {
		r.Place = kit.Place{Component: at}
	} else if r.Place.Port > 0 {
		r.Place.Protocol = "tcp"
	}
	return r
}
