package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// tlsx reads what a TLS server showed: the service, and what is wrong with its certificate, which tlsx gives no
// severity and Vedette calls Low.
func tlsx() kit.Format {
	return kit.Format{
		Name: "tlsx", Title: "tlsx", Tool: "tlsx", Kinds: []string{"JSONL"}, Empty: true,
		Example: "tlsx -u HOST -json -o report.jsonl", Class: kit.ClassExposure,
		Signs: []string{"json:host json:port json:tls_version", "json:host json:port json:probe_status json:tls_connection"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				if status := v.Get("probe_status"); status.Exists() && !status.Bool() {
					out.Ignore(1, "the server did not answer with TLS")
					return nil
				}
				if v.Text("host") == "" {
					return out.Reject(v.Line, v.Position, "it has no host")
				}
				return tlsxAdd(out, v)
			})
		},
	}
}

func tlsxAdd(out *kit.Out, v kit.Value) error {
	r := v.Record()
	r.Check, r.Title = "tls-service", "TLS service"
	if version := v.Text("tls_version"); version != "" {
		r.Title += " (" + version + ")"
	}
	r.Severity, r.Status = kit.Info, kit.Open
	r.SeenAt = kit.Time(v.Text("timestamp"))
	r.Place = kit.Place{Host: v.Text("host"), IP: v.Text("ip"), Port: kit.Int(v.Text("port")), Protocol: "tcp"}
	var facts []string
	for _, name := range []string{"cipher", "subject_cn", "subject_dn", "issuer_dn", "serial", "not_before",
		"not_after", "sni"} {
		if t := v.Text(name); t != "" {
			facts = append(facts, name+": "+t)
		}
	}
	if names := v.Texts("subject_an"); len(names) > 0 {
		facts = append(facts, "subject_an: "+strings.Join(names, ", "))
	}
	r.Description = strings.Join(facts, "\n")
	if err := out.Add(r); err != nil {
		return err
	}
	for _, flaw := range [][2]string{
		{"expired", "Expired certificate"}, {"self_signed", "Self-signed certificate"},
		{"mismatched", "The certificate is for another name"}, {"revoked", "Revoked certificate"},
		{"untrusted", "The certificate is not trusted"},
	} {
		if v.Get(flaw[0]).Bool() {
			f := r
			f.Check, f.Title, f.Severity, f.Class = "certificate-"+flaw[0], flaw[1], kit.Low, kit.ClassConfig
			if err := out.Add(f); err != nil {
				return err
			}
		}
	}
	return nil
}
