// Package feed writes findings one by one for the systems that take them in: the generic JSON of DefectDojo, and
// events of the Open Cybersecurity Schema Framework (OCSF).
package feed

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

type object = map[string]any

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil { // of maps, slices and texts it never fails
		return []byte("null")
	}
	return out
}

// DojoHead and DojoTail are around the findings of DefectDojo's generic JSON.
const (
	DojoHead = `{"name":"Vedette","type":"Vedette","findings":[`
	DojoTail = "\n]}\n"
)

// dojoSeverity are DefectDojo's severities.
var dojoSeverity = map[string]string{
	"critical": "Critical",
	"high":     "High",
	"medium":   "Medium",
	"low":      "Low",
	"info":     "Info",
	"unknown":  "Info",
}

// dojoFlags are DefectDojo's flags of a decision: active, verified, false_p, risk_accepted, is_mitigated.
var dojoFlags = map[finding.Status][5]bool{
	finding.Open: {true, false, false, false, false}, finding.Triaged: {true, true, false, false, false},
	finding.FixInProgress: {true, true, false, false, false}, finding.Fixed: {false, true, false, false, true},
	finding.FalsePositive: {false, false, true, false, false}, finding.AcceptedRisk: {false, true, false, true, false},
	finding.Duplicate: {false, false, false, false, false},
}

// AppendDojo appends a finding. It has only keys that DefectDojo knows, since it refuses others; unique_id_from_tool
// is the hash, so that an import that is repeated adds nothing.
func AppendDojo(dst []byte, f *fact.Finding, request, response string) []byte {
	flags := dojoFlags[f.Status]
	out := object{
		"title":               fact.Clip(f.Name, 480),
		"severity":            dojoSeverity[f.Severity],
		"description":         dojoDescription(f),
		"date":                f.CreatedAt.UTC().Format("2006-01-02"),
		"active":              flags[0],
		"verified":            flags[1],
		"false_p":             flags[2],
		"risk_accepted":       flags[3],
		"is_mitigated":        flags[4],
		"unique_id_from_tool": f.Hash,
		"vuln_id_from_tool":   f.TemplateID,
		"dynamic_finding":     true,
		"static_finding":      false,
		"nb_occurences":       1, //nolint:misspell // DefectDojo's spelling
	}
	for key, text := range map[string]string{
		"impact": f.Impact, "mitigation": f.Remediation, "references": strings.Join(f.References, "\n"), "param": f.Parameter,
		"cvssv3": f.CVSS.Vector, "steps_to_reproduce": steps(request, response),
	} {
		if text != "" {
			out[key] = text
		}
	}
	if flags[4] {
		out["mitigated"] = f.UpdatedAt.UTC().Format("2006-01-02T15:04:05+00:00")
	}
	if f.CVSS.Score > 0 {
		out["cvssv3_score"] = f.CVSS.Score
	}
	if len(f.CWEs) > 0 {
		out["cwe"] = f.CWEs[0]
	}
	if len(f.CVEs) > 0 {
		out["cve"], out["vulnerability_ids"] = f.CVEs[0], f.CVEs
	}
	if len(f.Tags) > 0 {
		out["tags"] = f.Tags
	}
	if endpoint := dojoEndpoint(f); endpoint != nil {
		out["endpoints"] = []object{endpoint}
	}
	return append(dst, encode(out)...)
}

func dojoDescription(f *fact.Finding) string {
	text := f.Description
	if text == "" {
		text = f.Name
	}
	text += "\n\nFound at: " + f.Place
	if len(f.Extracted) > 0 {
		text += "\nExtracted: " + strings.Join(f.Extracted, ", ")
	}
	return text
}

// steps are the request and the beginning of its answer, as Markdown.
func steps(request, response string) string {
	if request == "" {
		return ""
	}
	fence := func(text string) string {
		return "```\n" + strings.ReplaceAll(fact.Clip(text, 4000), "```", "` ` `") + "\n```"
	}
	text := "Send this request:\n\n" + fence(request)
	if response != "" {
		text += "\n\nThe answer begins:\n\n" + fence(response)
	}
	return text
}

// dojoEndpoint is the place; nil where the host is none that DefectDojo takes.
func dojoEndpoint(f *fact.Finding) object {
	if f.Host == "" || len(f.Host) > 253 || net.ParseIP(f.Host) == nil && strings.ContainsAny(f.Host, " /?#@:%[]") {
		return nil
	}
	out := object{"host": f.Host}
	if f.Port > 0 {
		out["port"] = f.Port
	}
	if f.Scheme != "" {
		out["protocol"] = f.Scheme
	}
	return out
}

func cweID(n int) string { return "CWE-" + strconv.Itoa(n) }
