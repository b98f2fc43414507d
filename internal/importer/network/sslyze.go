package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// sslyze reports what it saw without judging it. What is a weakness is decided here, by these rules: a protocol older
// than TLS 1.2 that accepts any cipher suite; in later ones, a suite that is broken; a vulnerability that was tested
// for; a certificate that no, or not every, store trusts or that is for another name. Its JSON gives Medium, the XML
// of older versions Info.

type sslyzeProtocol struct {
	name string
	old  bool
}

var sslyzeProtocols = map[string]sslyzeProtocol{
	"ssl_2_0_cipher_suites": {"SSL 2.0", true}, "ssl_3_0_cipher_suites": {"SSL 3.0", true},
	"tls_1_0_cipher_suites": {"TLS 1.0", true}, "tls_1_1_cipher_suites": {"TLS 1.1", true},
	"tls_1_2_cipher_suites": {"TLS 1.2", false}, "tls_1_3_cipher_suites": {"TLS 1.3", false},
	"sslv2": {"SSL 2.0", true}, "sslv3": {"SSL 3.0", true}, "tlsv1": {"TLS 1.0", true}, "tlsv1_1": {"TLS 1.1", true},
	"tlsv1_2": {"TLS 1.2", false}, "tlsv1_3": {"TLS 1.3", false},
}

var sslyzeOrder = []string{
	"ssl_2_0_cipher_suites", "ssl_3_0_cipher_suites", "tls_1_0_cipher_suites", "tls_1_1_cipher_suites",
	"tls_1_2_cipher_suites", "tls_1_3_cipher_suites",
}

// sslyzeHost adds the weaknesses of one server.
type sslyzeHost struct {
	out  *kit.Out
	base kit.Record
}

// add adds a weakness when it is there, and counts the check as passed when it is not.
func (h sslyzeHost) add(there bool, check, title, matched string, cves ...string) error {
	if !there {
		h.out.Ignore(1, "the check passed")
		return nil
	}
	r := h.base
	r.Check, r.Title, r.Evidence.Matched, r.CVEs = check, title, matched, kit.CVEs(cves...)
	r.Class, r.Detail = serviceClass(r), tlsDetail(title)
	return h.out.Add(r)
}

func (h sslyzeHost) suites(p sslyzeProtocol, accepted []string) error {
	if p.old {
		return h.add(len(accepted) > 0, "deprecated-protocol", "Deprecated protocol "+p.name, strings.Join(accepted, "\n"))
	}
	var weak []string
	for _, name := range accepted {
		for _, part := range []string{"_NULL", "RC4", "EXPORT", "_anon_", "3DES", "_DES_", "_MD5", "_RC2_", "_IDEA_"} {
			if strings.Contains(name, part) {
				weak = append(weak, name)
				break
			}
		}
	}
	return h.add(len(weak) > 0, "weak-cipher", "Weak cipher suites in "+p.name, strings.Join(weak, "\n"))
}

func sslyze() kit.Format {
	return kit.Format{
		Name: "sslyze-json", Title: "sslyze JSON", Tool: "sslyze", Kinds: []string{"JSON"}, Families: []string{"sslyze"},
		Example: "sslyze --json_out=report.json HOST", Class: kit.ClassConfig,
		Signs: []string{"json:server_scan_results", "json:sslyze_version"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{
				"date_scans_completed": func(v kit.Value) error {
					out.Report("", "", kit.Time(v.String()))
					return nil
				},
				"server_scan_results[]": func(v kit.Value) error { return sslyzeServer(out, v) },
			})
		},
	}
}

func sslyzeServer(out *kit.Out, v kit.Value) error {
	location := v.Sub("server_info.server_location")
	if !location.Exists() {
		location = v.Sub("server_location") // since version 5
	}
	r := v.Record()
	r.Severity, r.Status = kit.Medium, kit.Open
	r.Place = kit.Place{Host: location.Text("hostname"), IP: location.Text("ip_address"),
		Port: kit.Int(location.Text("port")), Protocol: "tcp"}
	h := sslyzeHost{out, r}
	results := v.Sub("scan_commands_results")
	if !results.Exists() {
		results = v.Sub("scan_result")
	}
	part := func(name string) kit.Value {
		if result := results.Sub(name + ".result"); result.Exists() {
			return result
		}
		return results.Sub(name)
	}
	for _, name := range sslyzeOrder {
		var accepted []string
		for _, s := range part(name).List("accepted_cipher_suites") {
			accepted = append(accepted, s.Text("cipher_suite.name"))
		}
		if err := h.suites(sslyzeProtocols[name], accepted); err != nil {
			return err
		}
	}
	reneg := part("session_renegotiation")
	insecure := reneg.Get("supports_secure_renegotiation")
	client := reneg.Get("accepts_client_renegotiation").Bool() ||
		reneg.Get("is_vulnerable_to_client_renegotiation_dos").Bool()
	robot := part("robot").Text("robot_result")
	for _, check := range []struct {
		there              bool
		check, title, text string
		cve                string
	}{
		{part("heartbleed").Get("is_vulnerable_to_heartbleed").Bool(), "heartbleed", "Heartbleed", "", "CVE-2014-0160"},
		{part("openssl_ccs_injection").Get("is_vulnerable_to_ccs_injection").Bool(), "ccs-injection", "CCS injection", "",
			"CVE-2014-0224"},
		{strings.HasPrefix(robot, "VULNERABLE"), "robot", "ROBOT", robot, "CVE-2017-13099"},
		{client, "client-renegotiation", "Renegotiation begun by clients", "", ""},
		{insecure.Exists() && !insecure.Bool(), "insecure-renegotiation", "Insecure renegotiation", "", "CVE-2009-3555"},
		{part("tls_compression").Get("supports_compression").Bool(), "tls-compression", "TLS compression is on", "",
			"CVE-2012-4929"},
	} {
		if err := h.add(check.there, check.check, check.title, check.text, check.cve); err != nil {
			return err
		}
	}
	return sslyzeCertificates(h, part("certificate_info"))
}

func sslyzeCertificates(h sslyzeHost, info kit.Value) error {
	for _, d := range info.List("certificate_deployments") {
		matches := d.Get("leaf_certificate_subject_matches_hostname")
		err := h.add(matches.Exists() && !matches.Bool(), "certificate-name", "The certificate is for another name", "")
		if err != nil {
			return err
		}
		var problems []string
		for _, p := range d.List("path_validation_results") {
			problem := kit.First(p.Text("openssl_error_string"), p.Text("validation_error"))
			if ok := p.Get("was_validation_successful"); problem == "" && ok.Exists() && !ok.Bool() {
				problem = "not trusted"
			}
			if problem != "" {
				problems = append(problems, p.Text("trust_store.name")+": "+problem)
			}
		}
		err = h.add(len(problems) > 0, "certificate-trust", "The certificate is not trusted", strings.Join(problems, "\n"))
		if err != nil {
			return err
		}
	}
	return nil
}

func sslyzeXML() kit.Format {
	return kit.Format{
		Name: "sslyze-xml", Title: "sslyze XML", Tool: "sslyze", Kinds: []string{"XML"}, Families: []string{"sslyze"},
		Example: "sslyze --xml_out=report.xml HOST (versions 1 and 2)", Class: kit.ClassConfig,
		Signs: []string{"xml:document@SSLyzeVersion", "xml:document/results/target"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.XML(kit.Elements{
				"document<": func(n *kit.Node) error {
					out.Report("", n.Attr("SSLyzeVersion"), kit.Time(""))
					return nil
				},
				"document/results/target": func(n *kit.Node) error { return sslyzeTarget(out, n) },
			})
		},
	}
}

func sslyzeTarget(out *kit.Out, n *kit.Node) error {
	r := n.Record()
	r.Severity, r.Status = kit.Info, kit.Open
	r.Place = kit.Place{Host: n.Attr("host"), IP: n.Attr("ip"), Port: kit.Int(n.Attr("port")), Protocol: "tcp"}
	h := sslyzeHost{out, r}
	for _, k := range n.Kids {
		if p, ok := sslyzeProtocols[k.Name]; ok {
			var accepted []string
			for _, s := range k.All("acceptedCipherSuites/cipherSuite") {
				accepted = append(accepted, s.Attr("name"))
			}
			if err := h.suites(p, accepted); err != nil {
				return err
			}
		}
	}
	reneg, robot := n.Find("reneg/sessionRenegotiation"), n.Find("robot/robotAttack").Attr("resultEnum")
	var problems []string
	for _, p := range n.All("certinfo/certificateValidation/pathValidation") {
		if result := p.Attr("validationResult"); result != "ok" {
			problems = append(problems, p.Attr("usingTrustStore")+": "+kit.First(result, p.Attr("error")))
		}
	}
	name := n.Find("certinfo/certificateValidation/hostnameValidation")
	yes := func(path, attribute string) bool { return n.Find(path).Attr(attribute) == "True" }
	for _, check := range []struct {
		there              bool
		check, title, text string
		cve                string
	}{
		{yes("heartbleed/openSslHeartbleed", "isVulnerable"), "heartbleed", "Heartbleed", "", "CVE-2014-0160"},
		{yes("openssl_ccs/openSslCcsInjection", "isVulnerable"), "ccs-injection", "CCS injection", "",
			"CVE-2014-0224"},
		{strings.HasPrefix(robot, "VULNERABLE"), "robot", "ROBOT", robot, "CVE-2017-13099"},
		{reneg.Attr("canBeClientInitiated") == "True", "client-renegotiation", "Renegotiation begun by clients", "", ""},
		{reneg.Attr("isSecure") == "False", "insecure-renegotiation", "Insecure renegotiation", "", "CVE-2009-3555"},
		{yes("compression/compressionMethod", "isSupported"), "tls-compression", "TLS compression is on", "",
			"CVE-2012-4929"},
		{name.Attr("certificateMatchesServerHostname") == "False", "certificate-name", "The certificate is for another name",
			name.Attr("serverHostname"), ""},
		{len(problems) > 0, "certificate-trust", "The certificate is not trusted", strings.Join(problems, "\n"), ""},
	} {
		if err := h.add(check.there, check.check, check.title, check.text, check.cve); err != nil {
			return err
		}
	}
	return nil
}
