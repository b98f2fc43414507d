package network

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var qualysLevels = map[string]kit.Severity{
	"1": kit.Info, "2": kit.Low, "3": kit.Medium, "4": kit.High, "5": kit.Critical,
}

const qualysDate = "01/02/2006 15:04:05"

// qualysRecord adds what both formats have. Qualys counts from 1, minimal, to 5, urgent.
func qualysRecord(r kit.Record, qid, title, level, kind, status string) kit.Record {
	r.Check, r.Title, r.ToolSeverity = qid, title, level
	r.Severity = qualysLevels[level]
	switch strings.ToLower(kind) {
	case "ig", "information gathered", "info":
		r.Severity = kit.Info
	}
	r.Status, r.StatusText = kit.Open, status
	if strings.EqualFold(status, "fixed") {
		r.Status = kit.Fixed
	}
	return r
}

func qualysCSV() kit.Format {
	return kit.Format{
		Name: "qualys-csv", Title: "Qualys CSV", Tool: "qualys", Kinds: []string{"CSV"}, Families: []string{"qualys"},
		Example: "Qualys VMDR: Reports, CSV", Class: kit.ClassConfig,
		Signs: []string{"csv:QID csv:Title csv:Severity csv:IP", "csv:QID csv:Title csv:VulnStatus"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table([]string{"QID", "Title", "Severity"}, nil, func(row kit.Row) error {
				if kit.Int(row.Get("QID")) == 0 {
					return out.Reject(row.Line, "", "it has no QID")
				}
				return out.Add(qualysRow(row))
			})
		},
	}
}

var qualysScore = regexp.MustCompile(`^([0-9.]+)\s*(?:\(([^)]{5,200})\))?`)

func qualysRow(row kit.Row) kit.Record {
	r := qualysRecord(row.Record(), row.Get("QID"), row.Get("Title"), row.Get("Severity"), row.Get("Type"),
		row.Get("Vuln Status"))
	r.CVEs = kit.CVEs(row.Get("CVE ID"))
	r.Description, r.Impact, r.Remediation = row.Get("Threat"), row.Get("Impact"), row.Get("Solution")
	for _, c := range [][2]string{{"3.0", row.Get("CVSS3 Base", "CVSS3.1 Base")}, {"2.0", row.Get("CVSS Base")}} {
		if m := qualysScore.FindStringSubmatch(c[1]); m != nil {
			r.CVSS = append(r.CVSS, kit.Score(c[0], m[2], kit.Float(m[1]))...)
		}
	}
	for _, b := range words(row.Get("Bugtraq ID")) {
		r.OtherIDs = append(r.OtherIDs, "BID-"+strings.TrimSpace(b))
	}
	r.OtherIDs = append(r.OtherIDs, words(row.Get("Vendor Reference"))...)
	r.Tags = []string{row.Get("Category")}
	r.Evidence.Matched = row.Get("Results", "Instance")
	r.SeenAt = kit.Time(row.Get("Last Detected", "First Detected"), qualysDate)
	r.Place = kit.Place{Host: row.Get("FQDN", "DNS", "IP"), IP: row.Get("IP"), Port: kit.Int(row.Get("Port")),
		Protocol: row.Get("Protocol")}
	r.Class = serviceClass(r)
	return r
}

// qualys reads the report of assets, whose findings are joined to the glossary behind them, and the older report of a
// scan, which has all in one place.
func qualys() kit.Format {
	return kit.Format{
		Name: "qualys-xml", Title: "Qualys XML", Tool: "qualys", Kinds: []string{"XML"}, Twice: true,
		Families: []string{"qualys"},
		Example:  "Qualys VMDR: Reports, XML", Class: kit.ClassConfig,
		Signs: []string{"xml:ASSET_DATA_REPORT", "xml:SCAN/IP", "xml:SCAN/HEADER"},
		Read: func(in *kit.Input, out *kit.Out) error {
			glossary := map[string]*kit.Node{}
			err := in.XML(kit.Elements{
				"**/HEADER/GENERATION_DATETIME": func(n *kit.Node) error {
					out.Report("", "", kit.Time(n.Text()))
					return nil
				},
				"**/GLOSSARY/VULN_DETAILS_LIST/VULN_DETAILS": func(n *kit.Node) error {
					glossary[n.Get("QID")] = n
					return nil
				},
			})
			if err != nil {
				return err
			}
			var host map[string]string
			keep := func(n *kit.Node) error {
				host[n.Name] = n.Text()
				return nil
			}
			return in.XML(kit.Elements{
				"**/HOST_LIST/HOST<": func(*kit.Node) error {
					host = map[string]string{}
					return nil
				},
				"**/HOST_LIST/HOST/IP": keep, "**/HOST_LIST/HOST/DNS": keep,
				"**/VULN_INFO_LIST/VULN_INFO": func(n *kit.Node) error {
					return out.Add(qualysInfo(n, glossary[n.Get("QID")], host))
				},
				"SCAN/IP/VULNS/CAT/VULN":         func(n *kit.Node) error { return out.Add(qualysVuln(n)) },
				"SCAN/IP/PRACTICES/CAT/PRACTICE": func(n *kit.Node) error { return out.Add(qualysVuln(n)) },
				"SCAN/IP/INFOS/CAT/INFO":         func(n *kit.Node) error { return out.Add(qualysVuln(n)) },
				"SCAN/IP/SERVICES/CAT/SERVICE":   func(n *kit.Node) error { return out.Add(qualysVuln(n)) },
			})
		},
	}
}

func qualysInfo(n, entry *kit.Node, host map[string]string) kit.Record {
	qid := n.Get("QID")
	r := qualysRecord(n.Record(), qid, kit.First(entry.Get("TITLE"), "QID "+qid), entry.Get("SEVERITY"), n.Get("TYPE"),
		n.Get("VULN_STATUS"))
	r.CVEs = kit.CVEs(entry.Find("CVE_ID_LIST").Deep())
	r.Description, r.Impact = kit.Plain(entry.Get("THREAT")), kit.Plain(entry.Get("IMPACT"))
	r.Remediation = kit.Plain(entry.Get("SOLUTION"))
	v3 := entry.Find("CVSS3_SCORE")
	r.CVSS = append(kit.Score("3.0", v3.Get("CVSS3_VECTOR"), kit.Float(v3.Get("CVSS3_BASE"))),
		kit.Score("2.0", "", kit.Float(entry.Get("CVSS_SCORE/CVSS_BASE")))...)
	r.Tags = []string{entry.Get("CATEGORY")}
	r.Evidence.Matched = n.Get("RESULT")
	r.SeenAt = kit.Time(kit.First(n.Get("LAST_FOUND"), n.Get("FIRST_FOUND")))
	r.Place = kit.Place{Host: kit.First(n.Get("FQDN"), host["DNS"], host["IP"]), IP: host["IP"],
		Port: kit.Int(n.Get("PORT")), Protocol: n.Get("PROTOCOL"), Service: n.Get("SERVICE")}
	r.Class = serviceClass(r)
	return r
}

func qualysVuln(n *kit.Node) kit.Record {
	kind := ""
	if n.Name == "INFO" || n.Name == "SERVICE" {
		kind = "ig"
	}
	r := qualysRecord(n.Record(), n.Attr("number"), n.Get("TITLE"), n.Attr("severity"), kind, "")
	r.CVEs = kit.CVEs(n.Attr("cveid"), n.Find("CVE_ID_LIST").Deep())
	r.Description, r.Impact = kit.Plain(n.Get("DIAGNOSIS")), kit.Plain(n.Get("CONSEQUENCE"))
	r.Remediation, r.Evidence.Matched = kit.Plain(n.Get("SOLUTION")), n.Get("RESULT")
	cat := n.Parent
	ip := cat.Parent.Parent
	r.Place = kit.Place{Host: kit.First(ip.Attr("name"), ip.Attr("value")), IP: ip.Attr("value"),
		Port: kit.Int(cat.Attr("port")), Protocol: cat.Attr("protocol")}
	r.Tags = []string{cat.Attr("value")}
	r.Class = serviceClass(r)
	return r
}
