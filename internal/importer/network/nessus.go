package network

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var nessusLevels = map[string]kit.Severity{
	"0": kit.Info, "1": kit.Low, "2": kit.Medium, "3": kit.High, "4": kit.Critical,
}

func nessus() kit.Format {
	return kit.Format{
		Name: "nessus-xml", Title: "Nessus", Tool: "nessus", Kinds: []string{"XML"}, Families: []string{"nessus", "tenable"},
		Example: "Nessus, Tenable.io, Tenable WAS: Export, Nessus", Class: kit.ClassConfig,
		Signs: []string{"xml:NessusClientData_v2"},
		Read: func(in *kit.Input, out *kit.Out) error {
			var properties map[string]string
			return in.XML(kit.Elements{
				"NessusClientData_v2/Report/ReportHost<": func(*kit.Node) error {
					properties = map[string]string{}
					return nil
				},
				"NessusClientData_v2/Report/ReportHost/HostProperties": func(n *kit.Node) error {
					for _, tag := range n.All("tag") {
						properties[tag.Attr("name")] = tag.Text()
					}
					return nil
				},
				"NessusClientData_v2/Report/ReportHost/ReportItem": func(n *kit.Node) error {
					return out.Add(nessusRecord(n, n.Parent.Attr("name"), properties))
				},
			})
		},
	}
}

func nessusRecord(n *kit.Node, host string, properties map[string]string) kit.Record {
	r := n.Record()
	r.Check = n.Attr("pluginID")
	r.Title = kit.First(n.Attr("pluginName"), n.Get("plugin_name"))
	r.ToolSeverity = n.Attr("severity")
	r.Severity, r.Status = nessusLevels[r.ToolSeverity], kit.Open
	r.CVEs = kit.CVEs(n.Texts("cve")...)
	r.CWEs = kit.CWEs(n.Texts("cwe")...)
	for _, x := range n.Texts("xref") {
		if !strings.HasPrefix(x, "CWE:") {
			r.OtherIDs = append(r.OtherIDs, x)
			continue
		}
		r.CWEs = append(r.CWEs, kit.CWEs(x)...)
	}
	for _, b := range n.Texts("bid") {
		r.OtherIDs = append(r.OtherIDs, "BID-"+b)
	}
	r.CVSS = append(kit.Score("4.0", n.Get("cvss4_vector"), kit.Float(n.Get("cvss4_base_score"))),
		kit.Score("3.0", n.Get("cvss3_vector"), kit.Float(n.Get("cvss3_base_score")))...)
	r.CVSS = append(r.CVSS, kit.Score("2.0", n.Get("cvss_vector"), kit.Float(n.Get("cvss_base_score")))...)
	r.Description = kit.Join("\n\n", n.Get("synopsis"), n.Get("description"))
	r.Remediation = n.Get("solution")
	r.References = kit.URLs(strings.Join(n.Texts("see_also"), "\n"))
	r.Tags = []string{n.Attr("pluginFamily")}
	r.Evidence = kit.Evidence{Matched: n.Get("plugin_output"), Request: n.Get("request_headers"),
		Response: kit.Join("\n\n", n.Get("response_headers"), n.Get("response_body"))}
	r.SeenAt = kit.Time(kit.First(properties["HOST_START"], properties["HOST_END"]))
	r.Class = nessusClass(r)
	r.Place = kit.Place{Host: kit.First(properties["host-fqdn"], host), IP: properties["host-ip"],
		Port: kit.Int(n.Attr("port")), Protocol: n.Attr("protocol"), Service: n.Attr("svc_name")}
	if kit.IsIP(host) && r.Place.IP == "" {
		r.Place.IP = host
	}
	if strings.Contains(host, "://") {
		nessusPage(&r, kit.First(n.Get("uri"), host))
	}
	return r
}

func nessusClass(r kit.Record) kit.Class {
	switch {
	case len(r.CVEs) > 0:
		return kit.ClassCVE
	case r.Severity == kit.Info:
		return kit.ClassExposure
	}
	return kit.ClassConfig
}

var nessusInput = regexp.MustCompile(`on URL '([^']{1,1000})'(?: by exploiting '([^']{1,50})' element named '([^']{1,200})')?`)

// nessusPage takes the page and the input of a finding of Tenable WAS from its text.
func nessusPage(r *kit.Record, site string) {
	r.Class = kit.ClassWeb
	r.Place.Host, r.Place.URL = "", site
	m := nessusInput.FindStringSubmatch(r.Evidence.Matched)
	if m == nil {
		return
	}
	if strings.Contains(m[1], "://") {
		r.Place.URL = m[1]
	}
	if m[3] != "" {
		in := map[string]string{"form": "form", "link": "query", "cookie": "cookie", "header": "header", "json": "json"}[m[2]]
		r.Place.Parameter = kit.Parameter{Name: m[3], In: in}
	}
}

func nessusCSV() kit.Format {
	return kit.Format{
		Name: "nessus-csv", Title: "Nessus CSV", Tool: "nessus", Kinds: []string{"CSV"},
		Families: []string{"nessus", "tenable"},
		Example:  "Nessus, Tenable.io, Tenable.sc: Export, CSV", Class: kit.ClassConfig,
		Signs: []string{"csv:PluginID csv:Host csv:Risk", "csv:Plugin csv:PluginName csv:Severity",
			"csv:PluginID csv:Severity csv:PluginName", "csv:PluginID csv:Host csv:Severity"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table(nil, nil, func(row kit.Row) error {
				if id := row.Get("Plugin ID", "Plugin"); kit.Int(id) == 0 {
					return out.Reject(row.Line, "", "it has no plugin id")
				}
				return out.Add(nessusRow(row))
			})
		},
	}
}

func nessusRow(row kit.Row) kit.Record {
	r := row.Record()
	r.Check = row.Get("Plugin ID", "Plugin")
	r.Title = row.Get("Name", "Plugin Name", "asset.name")
	r.ToolSeverity = row.Get("Severity", "Risk", "Risk Factor", "definition.severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	if level, ok := nessusLevels[r.ToolSeverity]; ok {
		r.Severity = level
	}
	r.Status, r.StatusText = kit.Open, row.Get("Vulnerability State")
	switch strings.ToLower(r.StatusText) {
	case "fixed":
		r.Status = kit.Fixed
	case "accepted":
		r.Status = kit.AcceptedRisk
	}
	if row.Get("Accept Risk Comment") != "" {
		r.Status, r.StatusText = kit.AcceptedRisk, row.Get("Accept Risk Comment")
	}
	r.CVEs = kit.CVEs(row.Get("CVE"))
	r.CVSS = append(kit.Score("3.0", row.Get("CVSS V3 Vector", "CVSS3 Vector"), kit.Float(row.Get("CVSS V3 Base Score",
		"CVSS v3.0 Base Score", "CVSS3 Base Score", "CVSSv3"))),
		kit.Score("2.0", row.Get("CVSS V2 Vector", "CVSS Vector"), kit.Float(row.Get("CVSS V2 Base Score",
			"CVSS v2.0 Base Score", "CVSS Base Score", "CVSS")))...)
	r.Description = kit.Join("\n\n", row.Get("Synopsis"), row.Get("Description"))
	r.Remediation = row.Get("Solution", "Steps to Remediate")
	r.References = kit.URLs(row.Get("See Also"))
	for _, b := range words(row.Get("BID")) {
		r.OtherIDs = append(r.OtherIDs, "BID-"+strings.TrimSpace(b))
	}
	for _, x := range words(row.Get("Cross References", "XREF")) {
		if kind, number, ok := strings.Cut(strings.TrimSpace(strings.Replace(x, " #", ":", 1)), ":"); ok {
			if kind == "CWE" {
				r.CWEs = append(r.CWEs, kit.CWEs(number)...)
				continue
			}
			r.OtherIDs = append(r.OtherIDs, kind+":"+strings.TrimSpace(number))
		}
	}
	r.Tags = []string{row.Get("Family", "Plugin Family")}
	r.Evidence.Matched = row.Get("Plugin Output", "Plugin Text")
	r.SeenAt = kit.Time(row.Get("Last Found", "Last Observed", "Host Start", "First Discovered"))
	r.Class = nessusClass(r)
	nessusRowPlace(&r, row)
	return r
}

func nessusRowPlace(r *kit.Record, row kit.Row) {
	r.Place = kit.Place{Host: row.Get("FQDN", "DNS Name", "Host", "asset.host_name"), IP: row.Get("IP Address", "IP"),
		Port: kit.Int(row.Get("Port")), Protocol: row.Get("Protocol"), Service: row.Get("Service")}
	if r.Place.IP == "" && kit.IsIP(row.Get("Host")) {
		r.Place.IP = row.Get("Host")
	}
	switch scheme := strings.ToLower(r.Place.Protocol); scheme {
	case "http", "https": // of Tenable WAS
		r.Place.Scheme, r.Place.Protocol = scheme, "tcp"
		nessusPage(r, scheme+"://"+r.Place.Host+"/")
	}
}
