package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func testsslCSV() kit.Format {
	return kit.Format{
		Name: "testssl-csv", Title: "testssl.sh CSV", Tool: "testssl", Kinds: []string{"CSV"},
		Families: []string{"testssl"},
		Example:  "testssl.sh --csvfile report.csv HOST", Class: kit.ClassConfig,
		Signs: []string{"csv:id csv:fqdnip csv:severity csv:finding"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table([]string{"id", "severity", "finding"}, nil, func(row kit.Row) error {
				get := func(name string) string { return row.Get(name) }
				return testsslAdd(out, row.Record(), get, row.Get("fqdn/ip"), row.Get("port"))
			})
		},
	}
}

// testssl reads the flat list of results, and the pretty one that parts them by host and section.
func testssl() kit.Format {
	return kit.Format{
		Name: "testssl-json", Title: "testssl.sh JSON", Tool: "testssl", Kinds: []string{"JSON"},
		Families: []string{"testssl"},
		Example:  "testssl.sh --jsonfile report.json HOST", Class: kit.ClassConfig,
		Signs: []string{"json:[].id json:[].finding json:[].severity", "json:scanResult json:Invocation"},
		Read: func(in *kit.Input, out *kit.Out) error {
			host, ip, port := "", "", ""
			keep := func(into *string) func(kit.Value) error {
				return func(v kit.Value) error {
					*into = v.String()
					return nil
				}
			}
			return in.JSON(kit.Routes{
				"[]": func(v kit.Value) error {
					return testsslAdd(out, v.Record(), v.Text, v.Text("ip"), v.Text("port"))
				},
				"startTime": func(v kit.Value) error {
					out.Report("", "", kit.Time(v.String()))
					return nil
				},
				"scanResult[].targetHost": keep(&host), "scanResult[].ip": keep(&ip), "scanResult[].port": keep(&port),
				"scanResult[].*[]": func(v kit.Value) error {
					return testsslAdd(out, v.Record(), v.Text, host+"/"+ip, port)
				},
			})
		},
	}
}

// testsslAdd adds a result, unless it is a passed check or part of the grade.
func testsslAdd(out *kit.Out, r kit.Record, get func(string) string, host, port string) error {
	id, severity := get("id"), strings.ToUpper(get("severity"))
	switch {
	case id == "":
		return out.Reject(r.Line, r.Position, "it has no id")
	case severity == "OK":
		out.Ignore(1, "the check passed")
		return nil
	case severity == "DEBUG" || severity == "FATAL":
		out.Ignore(1, "a message about the scan itself")
		return nil
	case strings.HasPrefix(id, "rating_") || strings.HasPrefix(id, "grade_cap") || strings.Contains(id, "_score") ||
		id == "overall_grade" || id == "scanTime" || id == "scanProblem":
		out.Ignore(1, "a part of the grade or of the scan's statistics")
		return nil
	}
	r.Check, r.Title = id, id
	if finding := get("finding"); finding != "" {
		r.Title = id + ": " + finding
	}
	r.ToolSeverity = severity
	r.Severity, r.Status = kit.SeverityOf(severity), kit.Open
	if severity == "WARN" {
		r.Severity = kit.Info
	}
	r.CVEs, r.CWEs = kit.CVEs(get("cve")), kit.CWEs(get("cwe"))
	r.Description = get("finding")
	r.Evidence.Matched = get("finding")
	name, ip, _ := strings.Cut(host, "/")
	r.Place = kit.Place{Host: name, IP: ip, Port: kit.Int(port), Protocol: "tcp"}
	r.Class = serviceClass(r)
	return out.Add(r)
}
