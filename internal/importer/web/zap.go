package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

const zapExample = "ZAP: Report, Generate Report, Traditional "

// Alerts have a part that holds for all of their instances, and stands on both sides of them: the report is walked once
// for those parts and once for the instances.

func zap() kit.Format {
	return kit.Format{
		Name: "zap-xml", Title: "ZAP XML", Tool: "zap", Kinds: []string{"XML"}, Families: []string{"zap"},
		Example: zapExample + "XML", Class: kit.ClassWeb, Twice: true, Signs: []string{"xml:OWASPZAPReport"},
		Read: func(in *kit.Input, out *kit.Out) error {
			const item = "**/site/alerts/alertitem"
			alerts := map[int64]zapAlert{} // by where they begin
			err := in.XML(kit.Elements{
				"OWASPZAPReport<": func(n *kit.Node) error {
					out.Report("", n.Attr("version"), kit.Time(n.Attr("generated")))
					return nil
				},
				item + "!instances": func(n *kit.Node) error {
					alerts[n.Offset] = zapAlert{n.Get, n.Record()}
					return nil
				},
			})
			if err != nil {
				return err
			}
			instances := 0
			var site, alert *kit.Node
			return in.XML(kit.Elements{
				"**/site<": func(n *kit.Node) error {
					site = n
					return nil
				},
				item + "<": func(n *kit.Node) error {
					alert, instances = n, 0
					return nil
				},
				item + "/instances/instance": func(n *kit.Node) error {
					instances++
					a, ok := alerts[alert.Offset]
					if !ok {
						return out.Reject(n.Line, n.Record().Position, "its alert cannot be read")
					}
					return out.Add(a.record(n.Record(), n.Get, site.Attr("name")))
				},
				item + ">": func(*kit.Node) error {
					a, ok := alerts[alert.Offset]
					if instances > 0 || !ok {
						return nil
					}
					// Versions before 2.6 had no instances.
					return out.Add(a.record(a.begin, a.get, site.Attr("name")))
				},
			})
		},
	}
}

func zapJSON() kit.Format {
	return kit.Format{
		Name: "zap-json", Title: "ZAP JSON", Tool: "zap", Kinds: []string{"JSON"}, Families: []string{"zap"},
		Example: zapExample + "JSON", Class: kit.ClassWeb, Twice: true,
		Signs: []string{"json:site[].alerts json:site[].@name", "json:site.alerts json:@version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			alerts, sites := map[[2]int]zapAlert{}, map[int]string{}
			head := func(do func(string)) func(kit.Value) error {
				return func(v kit.Value) error {
					do(v.String())
					return nil
				}
			}
			var version, generated string
			err := in.JSON(kit.Routes{
				"@version":   head(func(t string) { version = t }),
				"@generated": head(func(t string) { generated = t }),
				"site[].@name": func(v kit.Value) error {
					sites[v.Index[0]] = v.String()
					return nil
				},
				"site[].alerts[]!instances": func(v kit.Value) error {
					alerts[[2]int{v.Index[0], v.Index[1]}] = zapAlert{v.Text, v.Record()}
					return nil
				},
			})
			if err != nil {
				return err
			}
			out.Report("", version, kit.Time(generated))
			used := map[[2]int]bool{}
			err = in.JSON(kit.Routes{"site[].alerts[].instances[]": func(v kit.Value) error {
				at := [2]int{v.Index[0], v.Index[1]}
				used[at] = true
				a, ok := alerts[at]
				if !ok {
					return out.Reject(v.Line, v.Position, "its alert cannot be read")
				}
				return out.Add(a.record(v.Record(), v.Text, sites[at[0]]))
			}})
			for at, a := range alerts {
				if err == nil && !used[at] {
					err = out.Add(a.record(a.begin, a.get, sites[at[0]]))
				}
			}
			return err
		},
	}
}

// zapAlert is the part of an alert that all of its instances share.
type zapAlert struct {
	get   func(string) string
	begin kit.Record
}

var zapRisks = map[string]kit.Severity{"3": kit.High, "2": kit.Medium, "1": kit.Low, "0": kit.Info}

var zapConfidences = map[string]string{"0": "false positive", "1": "low", "2": "medium", "3": "high", "4": "confirmed"}

func (a zapAlert) record(r kit.Record, get func(string) string, site string) kit.Record {
	r.Check = kit.First(a.get("alertRef"), a.get("pluginid"))
	r.Title = kit.First(a.get("alert"), a.get("name"))
	r.Severity = zapRisks[a.get("riskcode")]
	r.ToolSeverity = kit.First(a.get("riskdesc"), a.get("riskcode"))
	r.Confidence = kit.First(zapConfidences[a.get("confidence")], a.get("confidencedesc"), a.get("confidence"))
	r.Status = kit.Open
	if r.Confidence == "false positive" {
		r.Status = kit.FalsePositive
	}
	r.CWEs = kit.CWEs(a.get("cweid"))
	if wasc := kit.Int(a.get("wascid")); wasc > 0 {
		r.OtherIDs = []string{"WASC-" + kit.Number(wasc)}
	}
	r.Description = kit.Plain(a.get("desc"))
	r.Remediation = kit.Plain(a.get("solution"))
	r.References = kit.URLs(kit.Plain(a.get("reference")))
	r.CVEs = kit.CVEs(a.get("otherinfo"), a.get("reference"))
	r.Place = kit.Place{URL: kit.First(get("uri"), site), Method: get("method")}
	request := kit.Join("\n\n", kit.First(get("requestheader"), get("request-header")),
		kit.First(get("requestbody"), get("request-body")))
	response := kit.Join("\n\n", kit.First(get("responseheader"), get("response-header")),
		kit.First(get("responsebody"), get("response-body")))
	r.Evidence = kit.Evidence{Request: request, Response: response,
		Matched: kit.Join("\n", get("evidence"), get("attack"), get("otherinfo"))}
	if name := get("param"); name != "" {
		in := inRequest(request, name)
		if _, query, _ := strings.Cut(get("uri"), "?"); in == "" && hasPair(query, name) {
			in = "query"
		}
		if strings.HasPrefix(strings.ToLower(get("evidence")), "set-cookie") {
			in = "cookie"
		}
		r.Place.Parameter = kit.Parameter{Name: name, In: in}
	}
	return r
}
