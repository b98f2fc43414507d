// Package generic reads formats that belong to no scanner: the generic findings of DefectDojo, and CSV files whose
// columns the caller names.
package generic

import (
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{defectDojo(), defectDojoCSV(), mapped()}
}

// date reads the dates of spreadsheets: month first, unless that is no month.
func date(text string) time.Time {
	return kit.Time(text, "01/02/2006", "1/2/2006", "1/2/06", "02/01/2006", "2/1/2006", "01/02/2006 15:04:05",
		"02.01.2006")
}

// setEndpoint reads a URL, or host:port/path without a scheme.
func setEndpoint(p *kit.Place, text string) {
	text = strings.TrimSpace(text)
	if text == "" || strings.Contains(text, "://") {
		p.URL = text
		return
	}
	host, path, found := strings.Cut(text, "/")
	p.Host, p.Port = kit.HostPort(host)
	if found {
		p.Path, _, _ = strings.Cut("/"+path, "?")
	}
}

func defectDojo() kit.Format {
	return kit.Format{
		Name: "defectdojo", Title: "DefectDojo generic JSON", Tool: "generic", Kinds: []string{"JSON"},
		Families: []string{"generic"}, Class: kit.ClassCode, Twice: true,
		Example: "a file in DefectDojo's format for generic findings",
		Signs: []string{"json:findings[].title json:findings[].severity",
			"json:findings[].title json:findings[].description"},
		Read: func(in *kit.Input, out *kit.Out) error {
			names := map[string]string{}
			routes := kit.Routes{}
			for _, name := range []string{"type", "name", "version"} {
				routes[name] = func(v kit.Value) error {
					names[name] = v.String()
					return nil
				}
			}
			routes["findings[].files[]!data"] = func(kit.Value) error {
				out.Ignore(1, "an attached file")
				return nil
			}
			if err := in.JSON(routes); err != nil {
				return err
			}
			tool := strings.TrimSuffix(names["type"], " (Generic Findings Import)")
			out.Report(tool, names["version"], time.Time{})
			return in.JSON(kit.Routes{"findings[]!files": func(v kit.Value) error {
				if v.Text("title") == "" {
					return out.Reject(v.Line, v.Position, "it has no title")
				}
				r := dojoRecord(v)
				endpoints := v.List("endpoints")
				if len(endpoints) == 0 {
					endpoints = v.List("locations")
				}
				if len(endpoints) == 0 {
					return out.Add(r)
				}
				for _, e := range endpoints {
					at := r
					dojoEndpoint(&at.Place, e)
					at.Class = kit.ClassWeb
					if err := out.Add(at); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

// dojoEndpoint reads a URL, or an object with its parts.
func dojoEndpoint(p *kit.Place, e kit.Value) {
	if !e.IsObject() {
		setEndpoint(p, e.String())
		return
	}
	if text := kit.First(e.Text("url"), e.Text("value")); text != "" {
		setEndpoint(p, text)
		return
	}
	p.Scheme, p.Host, p.Port = e.Text("protocol"), e.Text("host"), kit.Int(e.Text("port"))
	if p.Path = e.Text("path"); p.Path != "" && !strings.HasPrefix(p.Path, "/") {
		p.Path = "/" + p.Path
	}
}

func dojoRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Title = v.Text("title")
	r.Check = kit.First(v.Text("vuln_id_from_tool"), r.Title)
	r.Reference = v.Text("unique_id_from_tool")
	r.ToolSeverity = v.Text("severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	ids := append(v.Texts("vulnerability_ids"), v.Text("cve"))
	r.CVEs = kit.CVEs(ids...)
	for _, id := range ids {
		if len(kit.CVEs(id)) == 0 {
			r.OtherIDs = append(r.OtherIDs, id)
		}
	}
	r.CWEs = kit.CWEs(append(v.Texts("cwes"), v.Text("cwe"))...)
	r.CVSS = append(kit.Score("4.0", v.Text("cvssv4"), kit.Float(v.Text("cvssv4_score"))),
		kit.Score("3.1", v.Text("cvssv3"), kit.Float(v.Text("cvssv3_score")))...)
	r.Description, r.Impact, r.Remediation = v.Text("description"), v.Text("impact"), v.Text("mitigation")
	r.References = strings.Fields(v.Text("references"))
	r.Tags = v.Texts("tags")
	r.SeenAt = date(v.Text("date"))
	r.Evidence.Matched = v.Text("steps_to_reproduce")
	r.Place = kit.Place{File: v.Text("file_path"), StartLine: kit.Int(v.Text("line")), Component: v.Text("service")}
	r.Place.Package = kit.Package{Name: v.Text("component_name"), Version: v.Text("component_version"),
		FixedIn: v.Text("fix_version")}
	if param := v.Text("param"); param != "" {
		r.Place.Parameter = kit.Parameter{Name: param}
	}
	if r.Place.Package.Name != "" {
		r.Class = kit.ClassPackage
	}
	dojoStatus(&r, func(name string) bool { return v.Get(name).Bool() }, v.Get("active").Exists())
	return r
}

func dojoStatus(r *kit.Record, is func(string) bool, known bool) {
	r.Status = kit.Open
	switch {
	case is("false_p"):
		r.Status = kit.FalsePositive
	case is("risk_accepted"):
		r.Status = kit.AcceptedRisk
	case is("out_of_scope"):
		r.Status, r.StatusText = kit.AcceptedRisk, "out of scope"
	case is("is_mitigated"):
		r.Status = kit.Fixed
	case known && !is("active"):
		r.StatusText = "inactive"
	}
}

func defectDojoCSV() kit.Format {
	return kit.Format{
		Name: "defectdojo-csv", Title: "DefectDojo generic CSV", Tool: "generic", Kinds: []string{"CSV"},
		Families: []string{"generic"}, Class: kit.ClassCode,
		Example: "a file in DefectDojo's format for generic findings",
		Signs:   []string{"csv:Title csv:Severity csv:Description csv:Date", "csv:Title csv:Severity csv:CweId"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table([]string{"Title", "Severity"}, nil, func(row kit.Row) error {
				if row.Get("Title") == "" {
					return out.Reject(row.Line, "", "it has no title")
				}
				return out.Add(dojoRow(row))
			})
		},
	}
}

func dojoRow(row kit.Row) kit.Record {
	r := row.Record()
	r.Title = row.Get("Title")
	r.Check = r.Title
	r.ToolSeverity = row.Get("Severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	r.CWEs = kit.CWEs(row.Get("CweId", "Cwe"))
	ids := strings.Fields(row.Get("Vulnerability Id", "CVE"))
	r.CVEs = kit.CVEs(ids...)
	for _, id := range ids {
		if len(kit.CVEs(id)) == 0 {
			r.OtherIDs = append(r.OtherIDs, id)
		}
	}
	r.CVSS = kit.Score("3.1", row.Get("CVSSV3"), kit.Float(row.Get("CVSSV3_score")))
	r.Description, r.Impact, r.Remediation = row.Get("Description"), row.Get("Impact"), row.Get("Mitigation")
	r.References = strings.Fields(row.Get("References"))
	r.SeenAt = date(row.Get("Date"))
	setEndpoint(&r.Place, row.Get("Url"))
	if row.Get("Url") != "" {
		r.Class = kit.ClassWeb
	}
	r.Place.File, r.Place.StartLine = row.Get("file_path"), kit.Int(row.Get("line"))
	r.Place.Package.Name, r.Place.Package.Version = row.Get("component_name"), row.Get("component_version")
	is := func(name string) bool {
		column := map[string]string{"false_p": "FalsePositive", "active": "Active", "is_mitigated": "IsMitigated"}[name]
		return column != "" && strings.EqualFold(row.Get(column), "true")
	}
	dojoStatus(&r, is, row.Get("Active") != "")
	return r
}
