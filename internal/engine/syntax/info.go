package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Info is the info block. Events carry its JSON form.
type Info struct {
	Name           string          `key:"name" json:"name"`
	Author         []string        `key:"author" list:"words" json:"author"` // lower case, never nil
	Tags           []string        `key:"tags" list:"words" json:"tags"`     // lower case, never nil
	Description    string          `key:"description" json:"description,omitempty"`
	Impact         string          `key:"impact" json:"impact,omitempty"`
	Remediation    string          `key:"remediation" json:"remediation,omitempty"`
	Reference      []string        `key:"reference" list:"commas" json:"reference,omitempty"`
	Severity       Severity        `key:"severity" of:"info low medium high critical unknown" json:"severity"`
	Metadata       map[string]any  `key:"metadata" json:"metadata,omitempty"` // string, int, float64, bool, nil, []any, map[string]any
	Classification *Classification `key:"classification" json:"classification,omitempty"`
}

// Classification places a template in public catalogues of weaknesses.
type Classification struct {
	CPE            string   `key:"cpe" json:"cpe,omitempty"`
	CVEID          []string `key:"cve-id" list:"words" json:"cve-id,omitempty"` // lower case, as in the public templates
	CVSSMetrics    string   `key:"cvss-metrics" json:"cvss-metrics,omitempty"`
	CVSSScore      float64  `key:"cvss-score" json:"cvss-score,omitempty"`           // 0 to 10
	CWEID          []string `key:"cwe-id" list:"words" json:"cwe-id,omitempty"`      // lower case
	EPSSPercentile float64  `key:"epss-percentile" json:"epss-percentile,omitempty"` // 0 to 1
	EPSSScore      float64  `key:"epss-score" json:"epss-score,omitempty"`           // 0 to 1
}

// Severity is how severe a finding is.
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

// Rank orders severities from 0 for unknown (and for any other text) to 5 for critical.
func (s Severity) Rank() int { return max(0, slices.Index(severities, s)) }

func (i *Info) check(r *reader, n *yaml.Node) error {
	if strings.TrimSpace(i.Name) == "" {
		return r.faultIn(n, "name", "a template needs a name")
	}
	if len(i.Author) == 0 {
		return r.faultIn(n, "author", "a template needs an author")
	}
	if i.Severity == "" {
		i.Severity = SeverityUnknown
	}
	if i.Tags == nil {
		i.Tags = []string{}
	}
	return nil
}
