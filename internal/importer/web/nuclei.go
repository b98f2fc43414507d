package web

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func nuclei() kit.Format {
	return kit.Format{
		Name: "nuclei", Title: "Nuclei", Tool: "nuclei", Kinds: []string{"JSON", "JSONL"},
		Example: "nuclei -u URL -jsonl -o report.jsonl", Class: kit.ClassWeb, Empty: true,
		Signs: []string{"json:template-id json:info", "json:templateID json:info", "json:[].template-id json:[].info",
			"json:[].templateID json:[].info"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				if v.Get("matcher-status").Exists() && !v.Get("matcher-status").Bool() {
					out.Ignore(1, "the template did not match")
					return nil
				}
				if v.Text("template-id")+v.Text("templateID") == "" {
					return out.Reject(v.Line, v.Position, "it has no template-id")
				}
				return out.Add(nucleiRecord(v))
			})
		},
	}
}

func nucleiRecord(v kit.Value) kit.Record {
	r := v.Record()
	info := v.Sub("info")
	r.Check = kit.First(v.Text("template-id"), v.Text("templateID"))
	r.Matcher = kit.First(v.Text("matcher-name"), v.Text("matcher_name"), v.Text("extractor-name"))
	r.Title = kit.First(info.Text("name"), r.Check)
	r.ToolSeverity = kit.First(info.Text("severity"), v.Text("severity"))
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	r.Tags = list(info, "tags")
	class := info.Sub("classification")
	r.CVEs = kit.CVEs(append(class.Texts("cve-id"), r.Check)...)
	r.CWEs = kit.CWEs(class.Texts("cwe-id")...)
	r.CVSS = kit.Score("3.1", class.Text("cvss-metrics"), class.Get("cvss-score").Float())
	r.Description, r.Impact = info.Text("description"), info.Text("impact")
	r.Remediation = info.Text("remediation")
	r.References = list(info, "reference")
	r.Class = nucleiClass(r)
	r.Place = nucleiPlace(v)
	r.Evidence = kit.Evidence{Request: v.Text("request"), Response: v.Text("response"),
		Matched: strings.Join(v.Texts("extracted-results"), "\n")}
	r.SeenAt = kit.Time(v.Text("timestamp"))
	r.Reference = v.Text("vuln_hash")
	r.Status = kit.Open
	return r
}

// list is an array, or one text with commas or line ends, as older versions write it.
func list(v kit.Value, path string) (all []string) {
	for _, t := range v.Texts(path) {
		all = append(all, strings.FieldsFunc(t, func(r rune) bool { return r == ',' || r == '\n' })...)
	}
	return all
}

func nucleiClass(r kit.Record) kit.Class {
	has := func(tags ...string) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(r.Tags, t) })
	}
	switch {
	case len(r.CVEs) > 0:
		return kit.ClassCVE
	case has("exposure", "tech", "panel", "detect", "discovery", "detection", "service"):
		return kit.ClassExposure
	case has("misconfig", "misconfiguration", "ssl", "tls", "default-login"):
		return kit.ClassConfig
	}
	return kit.ClassWeb
}

func nucleiPlace(v kit.Value) kit.Place {
	var p kit.Place
	matched := kit.First(v.Text("matched-at"), v.Text("matched"), v.Text("url"), v.Text("host"))
	host := v.Text("host")
	if strings.Contains(matched, "://") {
		p.URL = matched
	} else {
		p.Host, p.Port = kit.HostPort(matched)
	}
	switch {
	case strings.Contains(host, "://") && p.URL == "" && v.Text("type") == "http":
		p.URL = host
	case strings.Contains(host, "://") || p.URL != "" || p.Host != "":
	default:
		p.Host, p.Port = kit.HostPort(host)
	}
	if port := kit.Int(v.Text("port")); port > 0 && p.Port == 0 && p.URL == "" {
		p.Port = port
	}
	p.IP = v.Text("ip")
	switch v.Text("type") {
	case "tcp", "network", "ssl", "javascript":
		p.Protocol = "tcp"
	}
	if name := v.Text("fuzzing_parameter"); name != "" {
		p.Parameter = kit.Parameter{Name: name, In: v.Text("fuzzing_position")}
		p.Method = v.Text("fuzzing_method")
	}
	if line, _, ok := strings.Cut(v.Text("request"), " HTTP/"); ok && p.Method == "" && len(line) < 8192 {
		if method, _, ok := strings.Cut(line, " "); ok && !strings.ContainsAny(method, "\r\n;:") {
			p.Method = method
		}
	}
	return p
}
