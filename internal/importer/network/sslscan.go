package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// sslscan reports what it saw without judging it: what is a weakness is decided here, and has the severity Info.
func sslscan() kit.Format {
	return kit.Format{
		Name: "sslscan", Title: "sslscan", Tool: "sslscan", Kinds: []string{"XML"}, Class: kit.ClassConfig,
		Example: "sslscan --xml=report.xml HOST", Signs: []string{"xml:document xml:document/ssltest"},
		Read: readSSLScan,
	}
}

// sslWeakness is what an element of the report shows; without a title, the reason why it shows no weakness.
type sslWeakness struct {
	check, title, matched, cve string
	pass                       string
}

func readSSLScan(in *kit.Input, out *kit.Out) error {
	var base kit.Record
	add := func(n *kit.Node, w sslWeakness) error {
		if w.title == "" {
			out.Ignore(1, kit.First(w.pass, "the check passed"))
			return nil
		}
		r := base
		r.Line, r.Position = n.Record().Line, n.Record().Position
		r.Check, r.Title, r.Evidence.Matched, r.CVEs = w.check, w.title, w.matched, kit.CVEs(w.cve)
		r.Class, r.Detail = serviceClass(r), tlsDetail(w.title)
		return out.Add(r)
	}
	one := func(judge func(*kit.Node) sslWeakness) func(*kit.Node) error {
		return func(n *kit.Node) error { return add(n, judge(n)) }
	}
	return in.XML(kit.Elements{
		"document<": func(n *kit.Node) error {
			out.Report("", n.Attr("version"), kit.Time(""))
			return nil
		},
		"document/ssltest<": func(n *kit.Node) error {
			base = kit.Record{Severity: kit.Info, Status: kit.Open, Place: kit.Place{
				Host: kit.First(n.Attr("sniname"), n.Attr("host")), Port: kit.Int(n.Attr("port")), Protocol: "tcp"}}
			if kit.IsIP(n.Attr("host")) {
				base.Place.IP = n.Attr("host")
			}
			return nil
		},
		"document/ssltest/heartbleed": one(func(n *kit.Node) (w sslWeakness) {
			if version := n.Attr("sslversion"); n.Attr("vulnerable") == "1" {
				w = sslWeakness{"heartbleed", "Heartbleed (" + version + ")", version, "CVE-2014-0160", ""}
			}
			return w
		}),
		"document/ssltest/compression": one(func(n *kit.Node) (w sslWeakness) {
			if n.Attr("supported") == "1" {
				w = sslWeakness{"tls-compression", "TLS compression is on", "supported=1", "CVE-2012-4929", ""}
			}
			return w
		}),
		"document/ssltest/renegotiation": one(func(n *kit.Node) (w sslWeakness) {
			if n.Attr("supported") == "1" && n.Attr("secure") == "0" {
				w = sslWeakness{"insecure-renegotiation", "Insecure renegotiation", "secure=0", "CVE-2009-3555", ""}
			}
			return w
		}),
		"document/ssltest/protocol": one(func(n *kit.Node) (w sslWeakness) {
			name := strings.ToUpper(n.Attr("type")) + "v" + n.Attr("version")
			if n.Attr("enabled") == "1" && name != "TLSv1.2" && name != "TLSv1.3" {
				w = sslWeakness{"deprecated-protocol", "Deprecated protocol " + name, name, "", ""}
			}
			return w
		}),
		"document/ssltest/cipher": one(sslCipher),
		"**/certificate": func(n *kit.Node) error {
			expired, own := n.Get("expired") == "true", n.Get("self-signed") == "true"
			text := n.Get("subject") + "\n" + n.Get("not-valid-after")
			if !expired && !own {
				return add(n, sslWeakness{pass: "the certificate is in order"})
			}
			if expired {
				if err := add(n, sslWeakness{"certificate-expired", "Expired certificate", text, "", ""}); err != nil {
					return err
				}
			}
			if own {
				return add(n, sslWeakness{"certificate-self-signed", "Self-signed certificate", text, "", ""})
			}
			return nil
		},
	})
}

// tlsDetail is the version of TLS or the cipher that a title names, as all tools are to write it.
func tlsDetail(title string) string {
	for _, words := range []string{"Deprecated protocol ", "Weak cipher suites in ", "Weak cipher "} {
		if rest, ok := strings.CutPrefix(title, words); ok {
			return strings.NewReplacer("tlsv", "tls", "tls ", "tls", "sslv", "ssl", "ssl ", "ssl").Replace(strings.ToLower(rest))
		}
	}
	return ""
}

func sslCipher(n *kit.Node) sslWeakness {
	name, strength := n.Attr("cipher"), n.Attr("strength")
	switch status := n.Attr("status"); {
	case status != "accepted" && status != "preferred":
		return sslWeakness{pass: "the server does not accept the cipher"}
	case strength == "strong" || strength == "acceptable" || strength == "":
		return sslWeakness{pass: "the cipher is strong enough"}
	}
	title := "Weak cipher " + name + " (" + n.Attr("sslversion") + ")"
	return sslWeakness{"weak-cipher", title, strength + " " + name, "", ""}
}
