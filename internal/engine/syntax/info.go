package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Info is the info block. Its JSON form is the one that events carry.
type Info struct {
	Name           string          `json:"name"`
	Author         []string        `json:"author"`
	Tags           []string        `json:"tags"`
	Description    string          `json:"description,omitempty"`
	Impact         string          `json:"impact,omitempty"`
	Remediation    string          `json:"remediation,omitempty"`
	Reference      []string        `json:"reference,omitempty"`
	Severity       Severity        `json:"severity"`
	Metadata       map[string]any  `json:"metadata,omitempty"` // strings, numbers, booleans, nil, []any, map[string]any
	Classification *Classification `json:"classification,omitempty"`
}

// Classification places a template in public catalogues of weaknesses.
type Classification struct {
	CPE            string   `json:"cpe,omitempty"`
	CVEID          []string `json:"cve-id,omitempty"` // lower case, as users of the public templates know them
	CVSSMetrics    string   `json:"cvss-metrics,omitempty"`
	CVSSScore      float64  `json:"cvss-score,omitempty"` // 0 to 10
	CWEID          []string `json:"cwe-id,omitempty"`     // lower case
	EPSSPercentile float64  `json:"epss-percentile,omitempty"`
	EPSSScore      float64  `json:"epss-score,omitempty"` // 0 to 1
}

// Severity is how much a finding matters.
type Severity string

// The severities, least first; Unknown is for templates that do not say.
const (
	SeverityInfo     Severity = "info"
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
	SeverityUnknown  Severity = "unknown"
)

var severities = []Severity{SeverityUnknown, SeverityInfo, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical}

// Rank orders severities: 0 for unknown (and for what is none), 1 for info, up to 5
// for critical.
func (s Severity) Rank() int { return max(0, slices.Index(severities, s)) }

func (r *reader) info(n *yaml.Node, at string) (Info, error) {
	info := Info{Severity: SeverityUnknown, Author: []string{}, Tags: []string{}}
	err := r.mapping(n, at, fields{
		"name":        r.text(&info.Name),
		"author":      r.words(&info.Author, true),
		"tags":        r.words(&info.Tags, true),
		"description": r.text(&info.Description),
		"impact":      r.text(&info.Impact),
		"remediation": r.text(&info.Remediation),
		"reference":   r.words(&info.Reference, false),
		"severity": func(n *yaml.Node, at string) error {
			var word string
			if err := r.text(&word)(n, at); err != nil {
				return err
			}
			info.Severity = Severity(strings.ToLower(strings.TrimSpace(word)))
			if !slices.Contains(severities, info.Severity) {
				return r.fault(n, at, "severity %q is none of info, low, medium, high, critical, unknown", word)
			}
			return nil
		},
		"metadata": func(n *yaml.Node, at string) error {
			v, err := r.any(n, at, 0)
			if err != nil || v == nil {
				return err
			}
			m, ok := v.(map[string]any)
			if !ok {
				return r.fault(n, at, "must be a mapping")
			}
			info.Metadata = m
			return nil
		},
		"classification": func(n *yaml.Node, at string) error {
			c, err := r.classification(n, at)
			info.Classification = c
			return err
		},
	})
	if err != nil {
		return info, err
	}
	if strings.TrimSpace(info.Name) == "" {
		return info, r.fault(n, at+".name", "a template needs a name")
	}
	if len(info.Author) == 0 {
		return info, r.fault(n, at+".author", "a template needs an author")
	}
	return info, nil
}

func (r *reader) classification(n *yaml.Node, at string) (*Classification, error) {
	var c Classification
	err := r.mapping(n, at, fields{
		"cpe":             r.text(&c.CPE),
		"cve-id":          r.words(&c.CVEID, true),
		"cvss-metrics":    r.text(&c.CVSSMetrics),
		"cvss-score":      r.float(&c.CVSSScore),
		"cwe-id":          r.words(&c.CWEID, true),
		"epss-percentile": r.float(&c.EPSSPercentile),
		"epss-score":      r.float(&c.EPSSScore),
	})
	return &c, err
}
