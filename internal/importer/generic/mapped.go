package generic

import (
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Fields are the fields of a record that a column of a CSV file can be, each with the names that are looked for when
// the caller names no column.
var Fields = map[string][]string{
	"title": {"title", "name", "finding", "vulnerability", "issue"}, "check": {"check", "rule", "rule id", "plugin id"},
	"severity": {"severity", "risk", "level", "priority"}, "description": {"description", "details"},
	"impact": {"impact"}, "remediation": {"remediation", "solution", "mitigation", "fix"},
	"references": {"references", "reference", "links"}, "url": {"url", "endpoint", "link"},
	"host": {"host", "hostname", "fqdn", "target", "asset"}, "ip": {"ip", "ip address"}, "port": {"port"},
	"protocol": {"protocol"}, "path": {"path"}, "method": {"method"}, "parameter": {"parameter", "param"},
	"file": {"file", "file path", "filename"}, "line": {"line", "line number"}, "package": {"package", "component"},
	"version": {"version", "installed version"}, "cve": {"cve", "cves"}, "cwe": {"cwe", "cwe id"},
	"cvss": {"cvss", "cvss score"}, "cvss_vector": {"cvss vector"}, "status": {"status", "state"},
	"date": {"date", "last seen", "detected"}, "id": {"id", "unique id"}, "evidence": {"evidence", "proof", "output"},
	"tool": {"tool", "scanner"}, "tags": {"tags", "labels"},
}

// mapped reads any CSV file with a header. It is never recognised by itself: what its columns mean must be said.
func mapped() kit.Format {
	return kit.Format{
		Name: "csv", Title: "CSV with named columns", Tool: "csv", Kinds: []string{"CSV"}, Class: kit.ClassConfig,
		Example: "any table with a header; columns are named with --column FIELD=NAME",
		Read: func(in *kit.Input, out *kit.Out) error {
			columns := in.Options.Columns
			for _, field := range slices.Sorted(maps.Keys(columns)) {
				if Fields[field] == nil {
					return errs.Field("columns", "There is no field %.40q. There are: %s.", field,
						strings.Join(slices.Sorted(maps.Keys(Fields)), ", "))
				}
			}
			wanted := slices.Sorted(maps.Values(columns))
			return in.Table(wanted, nil, func(row kit.Row) error {
				get := func(field string) string {
					if name := columns[field]; name != "" {
						return row.Get(name)
					}
					return row.Get(Fields[field]...)
				}
				if get("title")+get("check") == "" {
					return out.Reject(row.Line, "", "it has no title")
				}
				return out.Add(mappedRecord(row.Record(), get))
			})
		},
	}
}

var statusWords = map[string]kit.Status{
	"fixed": kit.Fixed, "closed": kit.Fixed, "resolved": kit.Fixed, "remediated": kit.Fixed, "mitigated": kit.Fixed,
	"false positive": kit.FalsePositive, "false_positive": kit.FalsePositive, "accepted": kit.AcceptedRisk,
	"accepted risk": kit.AcceptedRisk, "risk accepted": kit.AcceptedRisk, "accepted_risk": kit.AcceptedRisk,
	"not affected": kit.NotAffected, "not_affected": kit.NotAffected,
}

func mappedRecord(r kit.Record, get func(string) string) kit.Record {
	r.Tool, r.Title, r.Check = get("tool"), get("title"), kit.First(get("check"), get("title"))
	r.ToolSeverity = get("severity")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	r.CVSS = kit.Score("3.1", get("cvss_vector"), kit.Float(get("cvss")))
	if r.Severity == kit.Unknown && kit.Float(get("cvss")) > 0 {
		r.Severity = kit.SeverityOfScore(kit.Float(get("cvss")))
	}
	r.CVEs = kit.CVEs(get("cve"), get("title"))
	r.CWEs = kit.CWEs(strings.FieldsFunc(get("cwe"), func(c rune) bool { return c == ',' || c == ';' || c == ' ' })...)
	r.Description, r.Impact, r.Remediation = get("description"), get("impact"), get("remediation")
	r.References = strings.Fields(get("references"))
	r.Tags = strings.FieldsFunc(get("tags"), func(c rune) bool { return c == ',' || c == ';' })
	r.StatusText, r.Status = get("status"), kit.Open
	if s, ok := statusWords[strings.ToLower(r.StatusText)]; ok {
		r.Status = s
	}
	r.SeenAt, r.Reference, r.Evidence.Matched = date(get("date")), get("id"), get("evidence")
	setEndpoint(&r.Place, get("url"))
	r.Place.Host = kit.First(r.Place.Host, get("host"))
	if r.Place.Port == 0 {
		r.Place.Port = kit.Int(get("port"))
	}
	r.Place.IP, r.Place.Protocol, r.Place.Path = get("ip"), get("protocol"), kit.First(r.Place.Path, get("path"))
	r.Place.Method = get("method")
	if name := get("parameter"); name != "" {
		r.Place.Parameter = kit.Parameter{Name: name}
	}
	r.Place.File, r.Place.StartLine = get("file"), kit.Int(get("line"))
	if r.Place.URL != "" {
		r.Place.Host = "" // that of the URL
	}
	r.Place.Package.Name, r.Place.Package.Version = get("package"), get("version")
	switch {
	case get("url") != "" || get("parameter") != "":
		r.Class = kit.ClassWeb
	case get("package") != "":
		r.Class = kit.ClassPackage
	case get("file") != "":
		r.Class = kit.ClassCode
	case len(r.CVEs) > 0:
		r.Class = kit.ClassCVE
	}
	return r
}
