package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func openvas() kit.Format {
	return kit.Format{
		Name: "openvas-xml", Title: "OpenVAS, Greenbone XML", Tool: "openvas", Kinds: []string{"XML"},
		Families: []string{"openvas", "greenbone"},
		Example:  "Greenbone: Reports, Download, XML", Class: kit.ClassConfig,
		Signs: []string{"xml:report/report/results", "xml:get_reports_response", "xml:report@content_type",
			"xml:report/results/result/nvt", "xml:report/report xml:report@id"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.XML(kit.Elements{
				"**/report/scan_start": func(n *kit.Node) error {
					out.Report("", "", kit.Time(n.Text()))
					return nil
				},
				"**/results/result": func(n *kit.Node) error { return out.Add(openvasRecord(n)) },
			})
		},
	}
}

func openvasRecord(n *kit.Node) kit.Record {
	r := n.Record()
	nvt := n.Find("nvt")
	r.Check, r.Title = nvt.Attr("oid"), kit.First(n.Get("name"), nvt.Get("name"))
	r.ToolSeverity = kit.First(n.Get("threat"), n.Get("severity"))
	openvasSeverity(&r, kit.Float(n.Get("severity")))
	r.Confidence = n.Get("qod/value")
	for _, ref := range nvt.All("refs/ref") {
		openvasReference(&r, ref.Attr("type"), ref.Attr("id"))
	}
	r.CVEs = append(r.CVEs, kit.CVEs(nvt.Get("cve"))...)
	tags := map[string]string{}
	for pair := range strings.SplitSeq(nvt.Get("tags"), "|") {
		key, value, _ := strings.Cut(pair, "=")
		tags[key] = value
	}
	score := kit.Float(kit.First(nvt.Get("cvss_base"), n.Get("severity")))
	r.CVSS = kit.Score("2.0", tags["cvss_base_vector"], score)
	for _, s := range nvt.All("severities/severity") {
		r.CVSS = append(r.CVSS, kit.Score("2.0", s.Get("value"), score)...)
		break
	}
	r.Description = kit.Join("\n\n", tags["summary"], tags["insight"], tags["affected"])
	r.Impact = tags["impact"]
	r.Remediation = kit.First(nvt.Get("solution"), tags["solution"])
	r.Tags = []string{nvt.Get("family")}
	r.Evidence.Matched = n.Get("description")
	r.SeenAt = kit.Time(kit.First(n.Get("creation_time"), n.Get("modification_time")))
	r.Reference = n.Attr("id")
	host := n.Find("host")
	r.Place = kit.Place{Host: kit.First(host.Get("hostname"), host.Text()), IP: host.Text()}
	openvasPort(&r.Place, n.Get("port"))
	r.Class = serviceClass(r)
	r.Place.Path = n.Get("path")
	return r
}

func openvasReference(r *kit.Record, kind, id string) {
	switch strings.ToLower(kind) {
	case "cve", "cve_id":
		r.CVEs = append(r.CVEs, kit.CVEs(id)...)
	case "url":
		r.References = append(r.References, id)
	case "bid", "bugtraq_id":
		r.OtherIDs = append(r.OtherIDs, "BID-"+id)
	default:
		r.OtherIDs = append(r.OtherIDs, id)
	}
}

// openvasSeverity maps the words of Greenbone; a false positive is one that a person has marked.
func openvasSeverity(r *kit.Record, score float64) {
	r.Status = kit.Open
	switch strings.ToLower(r.ToolSeverity) {
	case "critical", "high", "medium", "low":
		r.Severity = kit.SeverityOf(r.ToolSeverity)
	case "log", "debug", "none", "info":
		r.Severity = kit.Info
	case "false positive":
		r.Severity, r.Status = kit.Info, kit.FalsePositive
	default:
		r.Severity = kit.SeverityOfScore(max(score, 0))
	}
}

// openvasPort reads 443/tcp; general/tcp is the whole host.
func openvasPort(p *kit.Place, text string) {
	number, protocol, _ := strings.Cut(text, "/")
	p.Port = kit.Int(number)
	if p.Protocol = strings.TrimSpace(protocol); p.Port == 0 && number != "general" && number != "" {
		// https (443/tcp), of old versions
		if _, rest, ok := strings.Cut(text, "("); ok {
			openvasPort(p, strings.TrimSuffix(rest, ")"))
		}
	}
}

func openvasCSV() kit.Format {
	return kit.Format{
		Name: "openvas-csv", Title: "OpenVAS, Greenbone CSV", Tool: "openvas", Kinds: []string{"CSV"},
		Families: []string{"openvas", "greenbone"},
		Example:  "Greenbone: Reports, Download, CSV Results", Class: kit.ClassConfig,
		Signs: []string{"csv:NVTOID csv:NVTName"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table([]string{"NVT Name"}, nil, func(row kit.Row) error {
				if row.Get("NVT Name", "NVT OID") == "" {
					return out.Reject(row.Line, "", "it has no NVT")
				}
				return out.Add(openvasRow(row))
			})
		},
	}
}

func openvasRow(row kit.Row) kit.Record {
	r := row.Record()
	r.Check, r.Title = row.Get("NVT OID", "NVT Name"), row.Get("NVT Name")
	r.ToolSeverity = row.Get("Severity")
	score := kit.Float(row.Get("CVSS"))
	openvasSeverity(&r, score)
	r.Confidence = row.Get("QoD")
	r.CVEs = kit.CVEs(row.Get("CVEs"), r.Title)
	r.CVSS = kit.Score("", "", score)
	r.Description = kit.Join("\n\n", row.Get("Summary"), row.Get("Vulnerability Insight"), row.Get("Affected Software/OS"))
	r.Impact, r.Remediation = row.Get("Impact"), row.Get("Solution")
	r.References = kit.URLs(row.Get("Other References"))
	for _, b := range words(row.Get("BIDs")) {
		r.OtherIDs = append(r.OtherIDs, "BID-"+strings.TrimSpace(b))
	}
	r.OtherIDs = append(r.OtherIDs, words(row.Get("CERTs"))...)
	r.Evidence.Matched = row.Get("Specific Result")
	r.SeenAt = kit.Time(row.Get("Timestamp"))
	r.Reference = row.Get("Result ID")
	r.Place = kit.Place{Host: row.Get("Hostname", "IP"), IP: row.Get("IP"), Port: kit.Int(row.Get("Port")),
		Protocol: row.Get("Port Protocol")}
	r.Class = serviceClass(r)
	return r
}
