package web

import (
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var qualysLevels = map[string]kit.Severity{
	"1": kit.Low, "2": kit.Low, "3": kit.Medium, "4": kit.High, "5": kit.Critical,
}

// qualysWAS joins each detection to the glossary behind the lists, by its number (QID).
func qualysWAS() kit.Format {
	return kit.Format{
		Name: "qualys_webapp", Title: "Qualys WAS", Tool: "qualys-was", Kinds: []string{"XML"}, Class: kit.ClassWeb,
		Example: "Qualys WAS: Reports, XML", Twice: true,
		Signs: []string{"xml:WAS_SCAN_REPORT", "xml:WAS_WEBAPP_REPORT"},
		Read: func(in *kit.Input, out *kit.Out) error {
			glossary := map[string]*kit.Node{}
			site := ""
			err := in.XML(kit.Elements{
				"**/HEADER/GENERATION_DATETIME": func(n *kit.Node) error {
					out.Report("", "", qualysTime(n.Text()))
					return nil
				},
				"**/GLOSSARY/QID_LIST/QID": func(n *kit.Node) error {
					glossary[n.Get("QID")] = n
					return nil
				},
				"**/APPENDIX/WEBAPP/URL": func(n *kit.Node) error {
					site = n.Text()
					return nil
				},
			})
			if err != nil {
				return err
			}
			add := func(n *kit.Node) error { return out.Add(qualysWASRecord(n, glossary[n.Get("QID")], site)) }
			return in.XML(kit.Elements{
				"**/VULNERABILITY_LIST/VULNERABILITY":               add,
				"**/SENSITIVE_CONTENT_LIST/SENSITIVE_CONTENT":       add,
				"**/INFORMATION_GATHERED_LIST/INFORMATION_GATHERED": add,
			})
		},
	}
}

func qualysTime(text string) time.Time {
	zone := strings.Replace(text, "GMT", "", 1)
	return kit.Time(zone, "02 Jan 2006 03:04PM -0700", "02 Jan 2006 03:04PM MST", "02 Jan 2006 03:04PM ")
}

func qualysWASRecord(n, entry *kit.Node, site string) kit.Record {
	r := n.Record()
	r.Check = n.Get("QID")
	r.Title = kit.First(entry.Get("TITLE"), "QID "+r.Check)
	r.ToolSeverity = entry.Get("SEVERITY")
	r.Severity, r.Status = qualysLevels[r.ToolSeverity], kit.Open
	if n.Name == "INFORMATION_GATHERED" {
		r.Severity, r.Class = kit.Info, kit.ClassExposure
	}
	r.Description, r.Impact = kit.Plain(entry.Get("DESCRIPTION")), kit.Plain(entry.Get("IMPACT"))
	r.Remediation = kit.Plain(entry.Get("SOLUTION"))
	r.CWEs = kit.CWEs(strings.FieldsFunc(entry.Get("CWE"), func(c rune) bool { return c == ',' || c == ' ' })...)
	r.CVEs = kit.CVEs(entry.Get("CVE_LIST"), entry.Get("DESCRIPTION"))
	r.CVSS = append(kit.Score("3.0", entry.Get("CVSS_V3/VECTOR_STRING"), kit.Float(entry.Get("CVSS_V3/BASE"))),
		kit.Score("2.0", "", kit.Float(entry.Get("CVSS_BASE")))...)
	r.Tags = []string{entry.Get("WASC"), entry.Get("OWASP")}
	r.Place = kit.Place{URL: kit.First(n.Get("URL"), site)}
	if name := n.Get("PARAM"); name != "" {
		r.Place.Parameter = kit.Parameter{Name: name}
	}
	if payload := n.Find("PAYLOADS/PAYLOAD"); payload != nil {
		request := payload.Find("REQUEST")
		r.Place.Method = request.Get("METHOD")
		r.Evidence = kit.Evidence{Request: kit.Join("\n", request.Get("METHOD")+" "+request.Get("URL"),
			request.Find("HEADERS").Deep(), qualysText(request.Find("BODY"))),
			Response: qualysText(payload.Find("RESPONSE/CONTENTS")), Matched: payload.Get("PAYLOAD")}
	}
	if data := n.Find("DATA"); data != nil {
		r.Evidence.Matched = qualysText(data)
	}
	r.SeenAt = qualysTime(kit.First(n.Get("DETECTION_DATE"), n.Get("LAST_TIME_DETECTED")))
	r.Reference = kit.First(n.Get("UNIQUE_ID"), n.Get("ID"))
	if strings.EqualFold(n.Get("IGNORED"), "true") {
		r.Status = kit.AcceptedRisk
		r.StatusText = kit.First(n.Get("IGNORE_REASON"), "ignored")
		if strings.Contains(strings.ToUpper(r.StatusText), "FALSE") {
			r.Status = kit.FalsePositive
		}
	}
	if strings.EqualFold(n.Get("STATUS"), "fixed") {
		r.Status = kit.Fixed
	}
	return r
}

func qualysText(n *kit.Node) string {
	if n.Attr("base64") == "true" {
		return kit.Base64(n.Text())
	}
	return n.Text()
}
