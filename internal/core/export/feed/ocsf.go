package feed

import (
	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

// ocsfSeverity are the severity_id and severity of OCSF.
var ocsfSeverity = map[string]struct {
	id   int
	name string
}{
	"info": {1, "Informational"}, "low": {2, "Low"}, "medium": {3, "Medium"}, "high": {4, "High"},
	"critical": {5, "Critical"}, "unknown": {0, "Unknown"}}

// ocsfStatus are the status_id and status of OCSF, and its activity: 1 Create, 2 Update, 3 Close.
var ocsfStatus = map[finding.Status]struct {
	id       int
	name     string
	activity int
}{
	finding.Open:          {1, "New", 1},
	finding.Triaged:       {2, "In Progress", 2},
	finding.FixInProgress: {2, "In Progress", 2},
	finding.FalsePositive: {
		3,
		"Suppressed",
		3,
	},
	finding.AcceptedRisk: {3, "Suppressed", 3},
	finding.Duplicate:    {3, "Suppressed", 3},
	finding.Fixed:        {4, "Resolved", 3},
}

const ocsfVersion = "1.3.0"

// AppendOCSF appends a finding as an event of the class Vulnerability Finding (2002) of OCSF 1.3, on one line.
func AppendOCSF(dst []byte, f *fact.Finding, version string) []byte {
	severity, status := ocsfSeverity[f.Severity], ocsfStatus[f.Status]
	vulnerability := object{"title": f.Name, "severity": severity.name, "vendor_name": "Vedette",
		"first_seen_time": f.CreatedAt.UnixMilli(), "last_seen_time": f.UpdatedAt.UnixMilli()}
	for key, text := range map[string]string{"desc": f.Description} {
		if text != "" {
			vulnerability[key] = text
		}
	}
	if len(f.References) > 0 {
		vulnerability["references"] = f.References
	}
	if f.Remediation != "" {
		vulnerability["remediation"] = object{"desc": f.Remediation}
	}
	if len(f.CVEs) > 0 {
		cve := object{"uid": f.CVEs[0]}
		if f.CVSS.Vector != "" {
			cve["cvss"] = []object{{"version": f.CVSS.Version, "base_score": f.CVSS.Score, "vector_string": f.CVSS.Vector}}
		}
		vulnerability["cve"] = cve
	}
	// A vulnerability needs a CVE or a CWE; what has neither gets the class that the NVD uses then.
	if len(f.CWEs) > 0 {
		cwe := object{"uid": cweID(f.CWEs[0])}
		if w, known := fact.WeaknessOf(f.CWEs[0]); known {
			cwe["caption"] = w.Name
		}
		vulnerability["cwe"] = cwe
	} else if len(f.CVEs) == 0 {
		vulnerability["cwe"] = object{"uid": "NVD-CWE-noinfo", "caption": "Insufficient Information"}
	}
	out := object{
		"activity_id":   status.activity,
		"activity_name": [...]string{"Unknown", "Create", "Update", "Close"}[status.activity],
		"category_uid":  2,
		"category_name": "Findings",
		"class_uid":     2002,
		"class_name":    "Vulnerability Finding",
		"type_uid":      200200 + status.activity,
		"time":          f.UpdatedAt.UnixMilli(),
		"severity_id":   severity.id,
		"severity":      severity.name,
		"status_id":     status.id,
		"status":        status.name,
		"status_detail": string(f.Status),
		"metadata": object{
			"version": ocsfVersion,
			"uid":     f.ID,
			"product": object{"name": "Vedette", "vendor_name": "Vedette",
				"version": version},
		},
		"finding_info": object{
			"uid":             f.Hash,
			"title":           f.Name,
			"created_time":    f.CreatedAt.UnixMilli(),
			"modified_time":   f.UpdatedAt.UnixMilli(),
			"first_seen_time": f.CreatedAt.UnixMilli(),
			"types":           append([]string{}, f.Tags...),
		},
		"vulnerabilities": []object{vulnerability},
		"resources":       []object{{"type": "host", "name": f.Address(), "uid": f.Place}},
		"unmapped":        object{"vuln_status": string(f.Status), "template_id": f.TemplateID, "scan_id": f.ScanID},
	}
	return append(dst, encode(out)...)
}
