package web

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func nikto() kit.Format {
	return kit.Format{
		Name: "nikto-xml", Title: "Nikto XML", Tool: "nikto", Kinds: []string{"XML"}, Class: kit.ClassWeb,
		Families: []string{"nikto"}, Example: "nikto -h URL -Format xml -output report.xml", Signs: []string{"xml:niktoscan"},
		Read: func(in *kit.Input, out *kit.Out) error {
			var scan *kit.Node
			return in.XML(kit.Elements{
				"**/niktoscan<": func(n *kit.Node) error {
					out.Report("", n.Attr("version"), kit.Time(n.Attr("scanstart")))
					return nil
				},
				"**/scandetails<": func(n *kit.Node) error {
					scan = n
					out.Report("", "", kit.Time(n.Attr("starttime")))
					return nil
				},
				"**/scandetails/item": func(n *kit.Node) error {
					r := niktoRecord(n.Record(), n.Attr("id"), n.Get("description"), n.Attr("method"), n.Get("references"))
					r.Place.URL = kit.First(n.Get("namelink"), join(scan.Attr("sitename"), n.Get("uri")), n.Get("iplink"))
					r.Place.IP = scan.Attr("targetip")
					if osvdb := kit.Int(n.Attr("osvdbid")); osvdb > 0 {
						r.Severity = kit.Medium
						r.OtherIDs = []string{"OSVDB-" + kit.Number(osvdb)}
					}
					return out.Add(r)
				},
			})
		},
	}
}

func niktoRecord(r kit.Record, id, message, method, references string) kit.Record {
	r.Check, r.Title, r.Description = id, message, message
	r.Severity, r.Status = kit.Info, kit.Open
	r.Place.Method = method
	r.Detail = niktoDetail(message)
	r.CVEs = kit.CVEs(message, references)
	r.References = kit.URLs(references)
	return r
}

// niktoNames are the header or the cookie in messages that one number has for all of them.
var niktoNames = regexp.MustCompile(`(?i)(?:uncommon header(?:\(s\))? '|retrieved |suggested security header missing: |cookie )` +
	`([\w-]+)(?:' found|.* header:| created without the (?:httponly|secure) flag|\.|$)`)

// niktoDetail is the header or the cookie that a message is about.
func niktoDetail(message string) string {
	if m := niktoNames.FindStringSubmatch(message); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

func niktoJSON() kit.Format {
	return kit.Format{
		Name: "nikto-json", Title: "Nikto JSON", Tool: "nikto", Kinds: []string{"JSON"}, Class: kit.ClassWeb,
		Example: "nikto -h URL -Format json -output report.json", Families: []string{"nikto"}, Twice: true,
		Signs: []string{"json:[].host json:[].banner json:[].vulnerabilities", "json:host json:banner json:vulnerabilities"},
		Read: func(in *kit.Input, out *kit.Out) error {
			hosts := map[int]kit.Value{}
			head := func(v kit.Value) error {
				hosts[hostIndex(v)] = v
				return nil
			}
			const drop = "!vulnerabilities"
			if err := in.JSON(kit.Routes{"[]" + drop: head}); err != nil {
				return err
			}
			if len(hosts) == 0 { // one object, not in a list
				if err := in.JSON(kit.Routes{drop: head}); err != nil {
					return err
				}
			}
			item := func(v kit.Value) error {
				host := hosts[0]
				if len(v.Index) > 1 {
					host = hosts[v.Index[0]]
				}
				return out.Add(niktoJSONRecord(v, host))
			}
			return in.JSON(kit.Routes{"[].vulnerabilities[]": item, "vulnerabilities[]": item})
		},
	}
}

func hostIndex(v kit.Value) int {
	if len(v.Index) > 0 {
		return v.Index[0]
	}
	return 0
}

func niktoJSONRecord(v, host kit.Value) kit.Record {
	references := strings.Join(v.Texts("references"), "\n")
	r := niktoRecord(v.Record(), v.Text("id"), v.Text("msg"), v.Text("method"), references)
	r.Place.Host, r.Place.IP = host.Text("host"), host.Text("ip")
	r.Place.Port = kit.Int(host.Text("port"))
	if target := v.Text("url"); strings.Contains(target, "://") {
		r.Place.URL = target
	} else {
		r.Place.Scheme = "http"
		if r.Place.Port == 443 || r.Place.Port == 8443 {
			r.Place.Scheme = "https"
		}
		r.Place.Path = target
	}
	if osvdb := kit.Int(strings.TrimPrefix(kit.First(v.Text("OSVDB"), v.Text("osvdb")), "OSVDB-")); osvdb > 0 {
		r.Severity = kit.Medium
		r.OtherIDs = []string{"OSVDB-" + kit.Number(osvdb)}
	}
	return r
}
