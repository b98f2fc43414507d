package web

import (
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func burp() kit.Format {
	return kit.Format{
		Name: "burp", Title: "Burp Suite XML", Tool: "burp", Kinds: []string{"XML"},
		Example: "Burp Suite: Target, Issues, Report selected issues, XML", Class: kit.ClassWeb,
		Signs: []string{"xml:issues xml:issues@burpVersion", "xml:issues/issue/serialNumber"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.XML(kit.Elements{
				"issues<": func(n *kit.Node) error {
					out.Report("", n.Attr("burpVersion"), kit.Time(n.Attr("exportTime")))
					return nil
				},
				"issues/issue": func(n *kit.Node) error { return out.Add(burpRecord(n)) },
			})
		},
	}
}

func burpRecord(n *kit.Node) kit.Record {
	r := n.Record()
	r.Check, r.Title, r.Reference = n.Get("type"), n.Get("name"), n.Get("serialNumber")
	burpSeverity(&r, n.Get("severity"))
	r.Confidence = n.Get("confidence")
	r.Description = kit.Plain(kit.Join("\n", n.Get("issueBackground"), n.Get("issueDetail"),
		strings.Join(n.Texts("issueDetailItems/issueDetailItem"), "\n")))
	r.Remediation = kit.Plain(kit.Join("\n", n.Get("remediationBackground"), n.Get("remediationDetail")))
	r.References = kit.URLs(n.Get("references"))
	r.CWEs = kit.CWEs(n.Get("vulnerabilityClassifications"))
	r.CVEs = kit.CVEs(n.Get("issueDetail"))
	host := n.Find("host")
	r.Place = kit.Place{URL: join(host.Text(), n.Get("path")), IP: host.Attr("ip")}
	if pair := n.Find("requestresponse"); pair != nil {
		request := pair.Find("request")
		r.Evidence.Request, r.Evidence.Response = burpText(request), burpText(pair.Find("response"))
		r.Place.Method = kit.First(request.Attr("method"), method(r.Evidence.Request))
	}
	r.Place.Parameter = burpParameter(n.Get("location"), r.Evidence.Request)
	return r
}

func burpText(n *kit.Node) string {
	if n.Attr("base64") == "true" {
		return kit.Base64(n.Text())
	}
	return n.Text()
}

func burpSeverity(r *kit.Record, word string) {
	r.ToolSeverity, r.Severity, r.Status = word, kit.SeverityOf(word), kit.Open
	if w := strings.ToLower(word); w == "false positive" || w == "false_positive" {
		r.Severity, r.Status = kit.Info, kit.FalsePositive
	}
}

// burpParameter reads the end of a location: /path [name parameter], [name cookie], [name HTTP header].
func burpParameter(location, request string) kit.Parameter {
	begin, end := strings.LastIndexByte(location, '['), strings.LastIndexByte(location, ']')
	if begin < 0 || end < begin {
		return kit.Parameter{}
	}
	text := location[begin+1 : end]
	for _, kind := range []struct{ ending, in string }{
		{" cookie", "cookie"}, {" HTTP header", "header"}, {" JSON parameter", "json"}, {" URL parameter", "query"},
		{" body parameter", "form"}, {" parameter", ""},
	} {
		if name, ok := strings.CutSuffix(text, kind.ending); ok {
			in := kind.in
			if in == "" {
				in = inRequest(request, name)
			}
			return kit.Parameter{Name: name, In: in}
		}
	}
	if strings.HasPrefix(text, "URL path") {
		return kit.Parameter{Name: text, In: "path"}
	}
	return kit.Parameter{Name: text}
}

// join puts a path behind the origin of a URL.
func join(origin, path string) string {
	if strings.Contains(path, "://") || origin == "" {
		return path
	}
	if path != "" && path[0] != '/' {
		path = "/" + path
	}
	return strings.TrimRight(origin, "/") + path
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

func burpAPI() kit.Format {
	return kit.Format{
		Name: "burp_api", Title: "Burp REST API", Tool: "burp", Kinds: []string{"JSON"},
		Example: "GET /v0.1/scan/ID of Burp Suite", Class: kit.ClassWeb,
		Signs: []string{"json:issue_events", "json:issue_events[].issue"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{"issue_events[]": func(v kit.Value) error {
				if kind := v.Text("type"); kind != "issue_found" && kind != "issue_updated" && kind != "" {
					out.Ignore(1, "an event that reports no issue")
					return nil
				}
				return out.Add(burpAPIRecord(v))
			}})
		},
	}
}

func burpAPIRecord(v kit.Value) kit.Record {
	r := v.Record()
	issue := v.Sub("issue")
	r.Check, r.Title = issue.Text("type_index"), issue.Text("name")
	r.Reference = issue.Text("serial_number")
	burpSeverity(&r, issue.Text("severity"))
	r.Confidence = issue.Text("confidence")
	r.Description = kit.Plain(kit.Join("\n", issue.Text("description"), issue.Text("issue_background")))
	r.Remediation = kit.Plain(kit.Join("\n", issue.Text("remediation_background"), issue.Text("remediation_detail")))
	r.References = kit.URLs(issue.Text("references"))
	r.CWEs = kit.CWEs(issue.Text("vulnerability_classifications"))
	r.Place.URL = join(issue.Text("origin"), issue.Text("path"))
	for _, e := range issue.List("evidence") {
		pair := e.Sub("request_response")
		if r.Evidence.Request == "" {
			r.Evidence.Request, r.Evidence.Response = segments(pair, "request"), segments(pair, "response")
		}
	}
	r.Place.Method = method(r.Evidence.Request)
	r.Place.Parameter = burpParameter(issue.Text("caption"), r.Evidence.Request)
	return r
}

// segments are the parts of a message; those left out have a length only.
func segments(v kit.Value, path string) string {
	var b strings.Builder
	for _, s := range v.List(path) {
		if data := s.Text("data"); data != "" {
			b.WriteString(kit.Base64(data))
		} else if n := s.Text("length"); n != "" {
			b.WriteString("[" + n + " bytes]")
		}
	}
	return b.String()
}
