package network

import "github.com/vedette-sec/vedette/internal/importer/kit"

func naabu() kit.Format {
	return kit.Format{
		Name: "naabu", Title: "naabu", Tool: "naabu", Kinds: []string{"JSONL", "JSON"},
		Example: "naabu -host HOST -json -o report.jsonl", Class: kit.ClassExposure, Empty: true,
		Signs: []string{"json:ip json:port !json:ports !json:url !json:tls_version !json:template-id",
			"json:host json:port json:protocol !json:url !json:tls_version !json:template-id !json:version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				port := kit.Int(kit.First(v.Text("port.Port"), v.Text("port")))
				if port < 1 || port > 65535 || v.Text("ip")+v.Text("host") == "" {
					return out.Reject(v.Line, v.Position, "it has no host and port")
				}
				protocol := kit.First(v.Text("protocol"), "tcp")
				r := openPort(v.Record(), v.Text("host"), v.Text("ip"), port, protocol, v.Text("service"))
				r.SeenAt = kit.Time(v.Text("timestamp"))
				return out.Add(r)
			})
		},
	}
}
