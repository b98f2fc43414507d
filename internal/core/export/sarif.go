package export

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homePage    = "https://github.com/vedette-sec/vedette"

	maxRules    = 16 << 20 // bytes of all rules: imported results may name any number of templates
	maxRuleText = 4000     // bytes of one text of a rule
)

// writeSARIF writes a log with one run: first the results, then the tool with the rules that they name, so that
// results can be streamed. The order of members in an object has no meaning.
func (f *File) writeSARIF(ctx context.Context, out *output) error {
	if err := out.text(`{"$schema":"` + sarifSchema +
		`","version":"2.1.0","runs":[{"columnKind":"utf16CodeUnits","results":[`); err != nil {
		return err
	}
	rules := ruleSet{byID: map[string]json.RawMessage{}}
	err := f.list(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		if err := rules.add(d); err != nil {
			return nil, err
		}
		result, err := json.Marshal(resultOf(d))
		return append(dst, result...), err
	})
	if err != nil {
		return err
	}
	tool, err := json.Marshal(map[string]any{"driver": map[string]any{
		"name": "Vedette", "informationUri": homePage, "rules": rules.sorted(),
	}})
	if err != nil {
		return err
	}
	return out.text("\n],\"tool\":" + string(tool) + "}]}\n")
}

type ruleSet struct {
	byID map[string]json.RawMessage
	size int
}

// add adds the template of a finding. A full set takes no more: a result may name a rule that is not described.
func (r *ruleSet) add(d *finding.Document) error {
	if _, known := r.byID[d.TemplateID]; known || r.size >= maxRules {
		return nil
	}
	rule, err := json.Marshal(ruleOf(d))
	if err != nil {
		return err
	}
	r.byID[d.TemplateID] = rule
	r.size += len(rule)
	return nil
}

func (r *ruleSet) sorted() []json.RawMessage {
	out := make([]json.RawMessage, 0, len(r.byID))
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		out = append(out, r.byID[id])
	}
	return out
}

// levels are SARIF's levels of severities.
var levels = map[string]string{"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note",
	"unknown": "note"}

// scores replace the CVSS score of templates without one: readers of SARIF sort by it.
var scores = map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0", "info": "0.0",
	"unknown": "0.0"}

func ruleOf(d *finding.Document) *sarif.ReportingDescriptor {
	text := func(key string) string { return fact.Clip(d.Info(key).Text, maxRuleText) }
	name := cmp.Or(text("name"), d.TemplateID)
	rule := sarif.NewReportingDescriptor().WithID(d.TemplateID).WithName(name).WithShortDescription(message(name)).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(levels[d.Severity]))
	if description := text("description"); description != "" {
		rule.WithFullDescription(message(description))
	}
	var help []string
	for _, key := range []string{"impact", "remediation"} {
		if t := text(key); t != "" {
			help = append(help, t)
		}
	}
	references := d.Info("reference").Texts()
	for _, reference := range references[:min(len(references), 20)] {
		help = append(help, fact.Clip(reference, 500))
	}
	if len(help) > 0 {
		rule.WithHelp(message(strings.Join(help, "\n\n")))
	}
	for _, reference := range references {
		if u, err := url.Parse(reference); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			rule.WithHelpURI(u.String())
			break
		}
	}
	properties := sarif.NewPropertyBag().Add("security-severity", securitySeverity(d))
	tags := append([]string{"security"}, strings.FieldsFunc(d.Tags, func(r rune) bool { return r == ',' })...)
	slices.Sort(tags)
	return rule.WithProperties(properties.WithTags(slices.Compact(tags)))
}

func securitySeverity(d *finding.Document) string {
	if n, err := strconv.ParseFloat(d.Classification("cvss-score").JSON, 64); err == nil && n > 0 && n <= 10 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return scores[d.Severity]
}

func message(text string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(text)
}

// resultOf is a finding as a result, without the members that the library would write with their defaults: they make a
// file three times as large.
func resultOf(d *finding.Document) map[string]any {
	at := cmp.Or(d.Event("matched-at").Text, d.Host)
	text := fact.Clip(cmp.Or(d.Info("name").Text, d.TemplateID), maxRuleText) + " at " + fact.Clip(at, maxRuleText)
	if extracted := d.Event("extracted-results").Texts(); len(extracted) > 0 {
		text += ": " + fact.Clip(strings.Join(extracted, ", "), maxRuleText)
	}
	location := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI(reference(at)))
	out := map[string]any{
		"ruleId": d.TemplateID, "kind": "fail", "level": levels[d.Severity], "message": map[string]string{"text": text},
		"locations":           []any{map[string]any{"physicalLocation": location}},
		"partialFingerprints": map[string]string{"vulnHash/v1": d.Hash},
		"properties": map[string]any{
			"vuln_id": d.ID, "scan_id": d.ScanID, "severity": d.Severity, "vuln_status": d.Status, "host": d.Host,
			"created_at": d.CreatedAt,
		},
	}
	switch d.Status {
	case finding.FalsePositive, finding.AcceptedRisk, finding.Duplicate:
		out["suppressions"] = []*sarif.Suppression{
			sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(string(d.Status)),
		}
	}
	return out
}

// reference makes any text a URI reference.
func reference(text string) string {
	text = fact.Clip(text, maxRuleText)
	if u, err := url.Parse(text); err == nil && (u.Scheme == "" && u.Opaque == "" && u.Host == "" || u.Host != "") {
		return u.String()
	}
	return url.PathEscape(text)
}
