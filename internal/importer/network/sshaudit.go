package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func sshAudit() kit.Format {
	return kit.Format{
		Name: "ssh_audit", Title: "ssh-audit", Tool: "ssh-audit", Kinds: []string{"JSON"}, Class: kit.ClassConfig,
		Example: "ssh-audit -jj HOST > report.json",
		Signs:   []string{"json:banner json:kex", "json:[].banner json:[].kex"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				target := v.Text("target")
				host, port := kit.HostPort(target)
				if ip := v.Text("target_ip"); host == "" {
					host = ip
				}
				if port == 0 {
					port = 22
				}
				if host == "" && !v.Get("banner").Exists() {
					return out.Reject(v.Line, v.Position, "it has no target")
				}
				place := kit.Place{Scheme: "ssh", Host: host, Port: port, Protocol: "tcp", Service: "ssh"}
				for _, kind := range []string{"kex", "key", "enc", "mac"} {
					for _, a := range v.List(kind) {
						if err := sshAlgorithm(out, kind, a, place); err != nil {
							return err
						}
					}
				}
				for _, c := range v.List("cves") {
					r := c.Record()
					r.Check, r.CVEs, r.Class = c.Text("name"), kit.CVEs(c.Text("name")), kit.ClassCVE
					r.Title = kit.Join(": ", c.Text("name"), c.Text("description"))
					r.Description = c.Text("description")
					score := kit.Float(c.Text("cvssv2"))
					r.CVSS, r.Severity = kit.Score("2.0", "", score), sshScore(score)
					r.ToolSeverity, r.Status, r.Place = c.Text("cvssv2"), kit.Open, place
					r.Place.Component = v.Text("banner.software")
					if err := out.Add(r); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// sshScore maps a score of CVSS 2, which has no critical.
func sshScore(score float64) kit.Severity {
	if s := kit.SeverityOfScore(score); s != kit.Critical {
		return s
	}
	return kit.High
}

var sshKinds = map[string]string{"kex": "key exchange", "key": "host key", "enc": "cipher", "mac": "MAC"}

// sshAlgorithm adds an algorithm that ssh-audit fails or warns of.
func sshAlgorithm(out *kit.Out, kind string, a kit.Value, place kit.Place) error {
	fail, warn := a.Texts("notes.fail"), a.Texts("notes.warn")
	r := a.Record()
	switch {
	case len(fail) > 0:
		r.Severity, r.ToolSeverity = kit.High, "fail"
	case len(warn) > 0:
		r.Severity, r.ToolSeverity = kit.Medium, "warn"
	default:
		out.Ignore(1, "the algorithm is not objected to")
		return nil
	}
	name := a.Text("algorithm")
	r.Check, r.Matcher = "ssh-"+kind, name
	r.Title = "Weak " + sshKinds[kind] + ": " + name
	r.Description = strings.Join(append(append(fail, warn...), a.Texts("notes.info")...), "\n")
	r.Status, r.Place = kit.Open, place
	if bits := a.Text("keysize"); bits != "" {
		r.Evidence.Matched = bits + " bits"
	}
	return out.Add(r)
}
