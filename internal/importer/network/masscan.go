package network

import "github.com/vedette-sec/vedette/internal/importer/kit"

func masscan() kit.Format {
	return kit.Format{
		Name: "masscan-json", Title: "Masscan JSON", Families: []string{"masscan"}, Tool: "masscan", Kinds: []string{"JSON"},
		Example: "masscan NETWORK -p PORTS -oJ report.json", Class: kit.ClassExposure, Empty: true,
		Signs: []string{"json:[].ip json:[].ports[].port", "json:ip json:ports[].port"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				if v.Get("finished").Exists() {
					return nil // the last line of older versions
				}
				ports := v.List("ports")
				if v.Text("ip") == "" || len(ports) == 0 {
					return out.Reject(v.Line, v.Position, "it has no ip and ports")
				}
				for _, p := range ports {
					if err := masscanPort(out, v, p); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func masscanPort(out *kit.Out, v, p kit.Value) error {
	if status := p.Text("status"); status != "" && status != "open" {
		out.Ignore(1, "the port is not open")
		return nil
	}
	port := kit.Int(p.Text("port"))
	if port < 0 || port > 65535 || !p.Get("port").Exists() {
		return out.Reject(v.Line, v.Position, "it has no port")
	}
	r := openPort(v.Record(), "", v.Text("ip"), port, kit.First(p.Text("proto"), "tcp"), p.Text("service.name"))
	r.Evidence.Matched = p.Text("service.banner")
	r.SeenAt = kit.Time(v.Text("timestamp"))
	return out.Add(r)
}

// masscanXML differs from Nmap's in its scanner attribute, and has the time at each host.
func masscanXML() kit.Format {
	return kit.Format{
		Name: "masscan-xml", Title: "Masscan XML", Families: []string{"masscan"}, Tool: "masscan", Kinds: []string{"XML"},
		Example: "masscan NETWORK -p PORTS -oX report.xml", Class: kit.ClassExposure, Empty: true,
		Signs: []string{"xml:nmaprun xml:nmaprun@scanner=masscan"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.XML(kit.Elements{"nmaprun/host": func(n *kit.Node) error {
				for _, p := range n.All("ports/port") {
					if p.Find("state").Attr("state") != "open" {
						out.Ignore(1, "the port is not open")
						continue
					}
					service := p.Find("service")
					r := openPort(p.Record(), "", n.Find("address").Attr("addr"), kit.Int(p.Attr("portid")), p.Attr("protocol"),
						service.Attr("name"))
					r.Evidence.Matched = service.Attr("banner")
					r.SeenAt = kit.Time(n.Attr("endtime"))
					if err := out.Add(r); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}
