package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

const dayFirst = "02/01/2006, 15:04:05"

func acunetix() kit.Format {
	return kit.Format{
		Name: "acunetix-xml", Title: "Acunetix XML", Tool: "acunetix", Kinds: []string{"XML"}, Families: []string{"acunetix"},
		Example: "Acunetix: Scans, Export, XML", Class: kit.ClassWeb, Signs: []string{"xml:ScanGroup xml:ScanGroup/Scan"},
		Read: func(in *kit.Input, out *kit.Out) error {
			start := ""
			return in.XML(kit.Elements{
				"ScanGroup<": func(n *kit.Node) error {
					out.Report("", "", kit.Time(n.Attr("ExportedOn"), dayFirst))
					return nil
				},
				"ScanGroup/Scan/StartURL": func(n *kit.Node) error {
					start = n.Text()
					return nil
				},
				"ScanGroup/Scan/StartTime": func(n *kit.Node) error {
					if n.Parent.Parent.Attr("ExportedOn") == "" {
						out.Report("", "", kit.Time(n.Text(), dayFirst))
					}
					return nil
				},
				"ScanGroup/Scan/Crawler<": func(n *kit.Node) error {
					if !strings.Contains(start, "://") {
						start = kit.First(n.Attr("StartUrl"), start)
					}
					return nil
				},
				"ScanGroup/Scan/ReportItems/ReportItem": func(n *kit.Node) error { return out.Add(acunetixRecord(n, start)) },
			})
		},
	}
}

func acunetixRecord(n *kit.Node, start string) kit.Record {
	r := n.Record()
	r.Title = n.Get("Name")
	r.Check = r.Title
	r.Matcher = n.Get("ModuleName")
	r.ToolSeverity = n.Get("Severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	if strings.EqualFold(n.Get("IsFalsePositive"), "true") {
		r.Status = kit.FalsePositive
	}
	r.Description = kit.Plain(kit.Join("\n", n.Get("Description"), n.Get("Details"), n.Get("DetailedInformation")))
	r.Impact, r.Remediation = kit.Plain(n.Get("Impact")), kit.Plain(n.Get("Recommendation"))
	for _, c := range n.All("CWEList/CWE") {
		r.CWEs = append(r.CWEs, kit.CWEs(kit.First(c.Attr("id"), c.Text()), c.Text())...)
	}
	r.CVEs = kit.CVEs(n.Find("CVEList").Deep())
	r.References = n.Texts("References/Reference/URL")
	r.CVSS = append(kit.Score("2.0", n.Get("CVSS/Descriptor"), kit.Float(n.Get("CVSS/Score"))),
		kit.Score("3.0", n.Get("CVSS3/Descriptor"), kit.Float(n.Get("CVSS3/Score")))...)
	r.Evidence = kit.Evidence{Request: n.Get("TechnicalDetails/Request"), Response: n.Get("TechnicalDetails/Response"),
		Matched: kit.Plain(n.Get("Details"))}
	r.Tags = []string{n.Get("Type")}
	r.Place = acunetixPlace(start, n.Get("Affects"))
	r.Place.Method = method(r.Evidence.Request)
	if name := n.Get("Parameter"); name != "" {
		r.Place.Parameter = kit.Parameter{Name: name, In: inRequest(r.Evidence.Request, name)}
	}
	r.Place.File, r.Place.StartLine = n.Get("AOP_SourceFile"), kit.Int(n.Get("AOP_SourceLine"))
	r.Reference = n.Attr("id")
	return r
}

// acunetixPlace puts the path that is affected behind the origin of the scan, which may be written without a scheme.
// Some items affect the "Web Server": no path.
func acunetixPlace(start, affects string) (p kit.Place) {
	scheme, rest, found := strings.Cut(start, "://")
	if !found {
		scheme, rest = "", start
	}
	host, _, _ := strings.Cut(rest, "/")
	path := ""
	if strings.HasPrefix(affects, "/") {
		path = affects
	}
	if scheme != "" {
		p.URL = join(scheme+"://"+host, kit.First(path, "/"))
		return p
	}
	p.Host, p.Port = kit.HostPort(host)
	p.Path = path
	return p
}

func acunetix360() kit.Format {
	return kit.Format{
		Name: "acunetix360", Title: "Acunetix 360, Invicti", Tool: "acunetix360", Kinds: []string{"JSON"},
		Families: []string{"acunetix"},
		Example:  "Acunetix 360: Scans, Report, Vulnerabilities List (JSON)", Class: kit.ClassWeb, Twice: true,
		Signs: []string{"json:Target.ScanId json:Vulnerabilities", "json:Generated json:Target json:Vulnerabilities",
			"json:Generated json:Vulnerabilities[].LookupId", "json:Generated json:Target.ScanId json:Vulnerabilities"},
		Read: func(in *kit.Input, out *kit.Out) error {
			err := in.JSON(kit.Routes{"Generated": func(v kit.Value) error {
				out.Report("", "", kit.Time(v.String(), "02/01/2006 03:04 PM"))
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"Vulnerabilities[]": func(v kit.Value) error { return out.Add(acunetix360Record(v)) }})
		},
	}
}

func acunetix360Record(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title, r.Reference = v.Text("Type"), v.Text("Name"), v.Text("LookupId")
	r.ToolSeverity = v.Text("Severity")
	r.Severity = kit.SeverityOf(kit.First(map[string]string{"BestPractice": "info"}[r.ToolSeverity], r.ToolSeverity))
	r.Confidence = v.Text("Certainty")
	r.StatusText, r.Status = v.Text("State"), kit.Open
	switch state := strings.ToLower(r.StatusText); {
	case strings.Contains(state, "falsepositive"):
		r.Status = kit.FalsePositive
	case strings.Contains(state, "acceptedrisk"):
		r.Status = kit.AcceptedRisk
	case strings.Contains(state, "fixed"):
		r.Status = kit.Fixed
	}
	class := v.Sub("Classification")
	r.CWEs = kit.CWEs(strings.Split(class.Text("Cwe"), ",")...)
	for _, name := range []string{"Cvss31", "Cvss"} {
		c := class.Sub(name)
		r.CVSS = append(r.CVSS, kit.Score("3.0", c.Text("Vector"), kit.Float(c.Text("BaseScore.Value")))...)
	}
	if id := class.Text("Capec"); id != "" {
		r.OtherIDs = append(r.OtherIDs, "CAPEC-"+id)
	}
	if id := class.Text("Wasc"); id != "" {
		r.OtherIDs = append(r.OtherIDs, "WASC-"+id)
	}
	r.Description, r.Impact = kit.Plain(v.Text("Description")), kit.Plain(v.Text("Impact"))
	r.Remediation = kit.Plain(kit.Join("\n", v.Text("RemedialProcedure"), v.Text("RemedialActions")))
	r.References = kit.URLs(v.Text("ExternalReferences"), v.Text("RemedyReferences"))
	var extra []string
	for _, e := range v.List("ExtraInformation") {
		extra = append(extra, e.Text("Name")+": "+e.Text("Value"))
	}
	r.Evidence = kit.Evidence{Request: v.Text("HttpRequest.Content"), Response: v.Text("HttpResponse.Content"),
		Matched: kit.Join("\n", kit.Plain(v.Text("ProofOfConcept")), strings.Join(extra, "\n"))}
	r.Place = kit.Place{URL: v.Text("Url"), Method: v.Text("HttpRequest.Method")}
	if name := kit.First(v.Text("VulnerableParameter"), v.Text("Parameter")); name != "" {
		r.Place.Parameter = kit.Parameter{Name: name, In: inRequest(r.Evidence.Request, name)}
	}
	r.SeenAt = kit.Time(kit.First(v.Text("LastSeenDate"), v.Text("FirstSeenDate")), "02/01/2006 03:04 PM")
	return r
}
