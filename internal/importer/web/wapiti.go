package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var wapitiLevels = map[string]kit.Severity{
	"4": kit.Critical, "3": kit.High, "2": kit.Medium, "1": kit.Low, "0": kit.Info,
}

func wapiti() kit.Format {
	return kit.Format{
		Name: "wapiti-xml", Title: "Wapiti XML", Tool: "wapiti", Kinds: []string{"XML"},
		Class: kit.ClassWeb, Twice: true, Families: []string{"wapiti"},
		Example: "wapiti -u URL -f xml -o report.xml", Signs: []string{"xml:report@type=security xml:report/report_infos"},
		Read: func(in *kit.Input, out *kit.Out) error {
			target := ""
			kinds := map[int64]*kit.Node{} // by where they begin
			kind := func(k *kit.Node) error {
				kinds[k.Offset] = k
				return nil
			}
			paths := []string{"report/vulnerabilities/vulnerability", "report/anomalies/anomaly",
				"report/additionals/additional"}
			routes := kit.Elements{"report/report_infos/info": func(i *kit.Node) error {
				switch i.Attr("name") {
				case "target":
					target = i.Text()
				case "dateOfScan":
					out.Report("", "", kit.Time(i.Text()))
				case "generatorVersion":
					out.Report("", strings.TrimPrefix(i.Text(), "Wapiti "), kit.Time(""))
				}
				return nil
			}}
			for _, p := range paths {
				routes[p+"!entries"] = kind
			}
			if err := in.XML(routes); err != nil {
				return err
			}
			at := int64(0)
			routes = kit.Elements{}
			for _, p := range paths {
				routes[p+"<"] = func(k *kit.Node) error {
					at = k.Offset
					return nil
				}
				routes[p+"/entries/entry"] = func(e *kit.Node) error {
					k := kinds[at]
					if k == nil {
						return out.Reject(e.Line, e.Record().Position, "its kind cannot be read")
					}
					r := wapitiRecord(e.Record(), k.Attr("name"), target, e.Get)
					wapitiKind(&r, k.Name, k.Get("description"), k.Get("solution"))
					for _, ref := range k.All("references/reference") {
						r.CWEs = append(r.CWEs, kit.CWEs(ref.Get("title"))...)
						r.References = append(r.References, ref.Get("url"))
					}
					return out.Add(r)
				}
			}
			return in.XML(routes)
		},
	}
}

func wapitiRecord(r kit.Record, name, target string, get func(string) string) kit.Record {
	r.Check, r.Title, r.Matcher = name, name, get("module")
	r.ToolSeverity = get("level")
	r.Severity, r.Status = wapitiLevels[r.ToolSeverity], kit.Open
	r.Place = kit.Place{URL: target, Method: get("method")}
	if path := get("path"); strings.Contains(path, "://") {
		r.Place.URL = path
	} else if scheme, rest, ok := strings.Cut(target, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		r.Place.URL = join(scheme+"://"+host, path)
	}
	r.Evidence = kit.Evidence{Request: get("http_request"), Matched: get("info")}
	r.Place.Parameter = wapitiParameter(get("parameter"), r.Evidence.Request)
	r.Detail = wapitiDetail(get("info"))
	r.CVEs = kit.CVEs(get("info"))
	return r
}

// wapitiDetail is the header or the cookie that an entry is about: all of a page have the same name.
func wapitiDetail(info string) string {
	if header, ok := strings.CutSuffix(strings.TrimSpace(info), " is not set"); ok && !strings.Contains(header, " ") {
		return strings.ToLower(header)
	}
	if _, cookie, ok := strings.Cut(info, " flag is not set in the cookie : "); ok {
		return strings.TrimSpace(cookie)
	}
	return ""
}

// wapitiParameter reads a name, or pairs of names and values of older versions.
func wapitiParameter(text, request string) kit.Parameter {
	var names []string
	for pair := range strings.SplitSeq(text, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name != "" {
			names = append(names, unescaped(name))
		}
	}
	if len(names) == 0 {
		return kit.Parameter{}
	}
	return kit.Parameter{Name: strings.Join(names, ","), In: inRequest(request, names[0])}
}

// wapitiKind adds what holds for all entries of a kind. Beside vulnerabilities there are anomalies, such as errors of
// the server, and additionals, such as what it runs.
func wapitiKind(r *kit.Record, kind, description, solution string) {
	r.Description = kit.Join("\n", description, r.Evidence.Matched)
	r.Remediation = solution
	if strings.HasPrefix(kind, "additional") {
		r.Class = kit.ClassExposure
	}
	if !strings.HasPrefix(kind, "vulnerabilit") {
		r.Tags = append(r.Tags, strings.TrimSuffix(strings.Replace(kind, "ies", "y", 1), "s"))
	}
}

func wapitiJSON() kit.Format {
	return kit.Format{
		Name: "wapiti-json", Title: "Wapiti JSON", Families: []string{"wapiti"},
		Tool: "wapiti", Kinds: []string{"JSON"},
		Class: kit.ClassWeb, Twice: true,
		Example: "wapiti -u URL -f json -o report.json", Signs: []string{"json:classifications json:vulnerabilities",
			"json:vulnerabilities json:anomalies json:infos"},
		Read: func(in *kit.Input, out *kit.Out) error {
			kinds := map[string]kit.Value{}
			target := ""
			err := in.JSON(kit.Routes{
				"classifications.*": func(v kit.Value) error {
					kinds[v.Key] = v
					return nil
				},
				"infos": func(v kit.Value) error {
					target = v.Text("target")
					out.Report("", strings.TrimPrefix(v.Text("version"), "Wapiti "), kit.Time(v.Text("date")))
					return nil
				},
			})
			if err != nil {
				return err
			}
			routes := kit.Routes{}
			for _, part := range []string{"vulnerabilities", "anomalies", "additionals"} {
				routes[part+".*[]"] = func(v kit.Value) error {
					r := wapitiRecord(v.Record(), v.Key, target, v.Text)
					k := kinds[v.Key]
					wapitiKind(&r, part, k.Text("desc"), k.Text("sol"))
					r.Tags = append(r.Tags, v.Texts("wstg")...)
					err := k.Each("ref", func(title string, ref kit.Value) error {
						r.CWEs = append(r.CWEs, kit.CWEs(title)...)
						r.References = append(r.References, ref.String())
						return nil
					})
					if err != nil {
						return err
					}
					r.Evidence.Response = v.Text("detail.response")
					return out.Add(r)
				}
			}
			return in.JSON(routes)
		},
	}
}
