package starter_test

import (
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// TestInfo holds every template to the fields a reader of a finding needs, and to what
// makes a check harmless.
func TestInfo(t *testing.T) {
	cwe := regexp.MustCompile(`^cwe-\d+$`)
	for _, tmpl := range templates(t) {
		t.Run(tmpl.ID, func(t *testing.T) {
			if want := tmpl.ID + ".yaml"; path.Base(tmpl.Path) != want || !strings.HasPrefix(tmpl.ID, "vedette-") {
				t.Errorf("the file %s holds the id %s", tmpl.Path, tmpl.ID)
			}
			info := tmpl.Info
			for field, text := range map[string]string{
				"name": info.Name, "description": info.Description, "impact": info.Impact, "remediation": info.Remediation,
			} {
				if len(text) < 10 {
					t.Errorf("info.%s says too little: %q", field, text)
				}
			}
			if !slices.Equal(info.Author, []string{"vedette"}) {
				t.Errorf("info.author is %q", info.Author)
			}
			if folder := path.Dir(tmpl.Path); !slices.Contains(info.Tags, folder) {
				t.Errorf("info.tags %q lack the category %q", info.Tags, folder)
			}
			if len(info.Reference) == 0 {
				t.Error("info.reference is empty")
			}
			for _, r := range info.Reference {
				if u, err := url.Parse(r); err != nil || u.Scheme != "https" || u.Host == "" {
					t.Errorf("info.reference %q is not an https address", r)
				}
			}
			if c := info.Classification; c == nil || len(c.CWEID) == 0 || !cwe.MatchString(c.CWEID[0]) {
				t.Errorf("info.classification has no cwe-id: %+v", c)
			} else {
				checkSeverity(t, info.Severity, c)
			}
			checkRequests(t, tmpl)
		})
	}
}

// checkSeverity holds severity, score and metrics of CVSS against each other.
func checkSeverity(t *testing.T, severity syntax.Severity, c *syntax.Classification) {
	t.Helper()
	if c.CVSSMetrics == "" {
		if severity.Rank() > syntax.SeverityInfo.Rank() {
			t.Errorf("severity %s without cvss-metrics", severity)
		}
		return
	}
	score, ok := cvss(c.CVSSMetrics)
	if !ok || math.Abs(score-c.CVSSScore) > 0.001 {
		t.Errorf("cvss-score is %v, the metrics %s give %v", c.CVSSScore, c.CVSSMetrics, score)
	}
	band := syntax.SeverityCritical
	switch {
	case score < 4:
		band = syntax.SeverityLow
	case score < 7:
		band = syntax.SeverityMedium
	case score < 9:
		band = syntax.SeverityHigh
	}
	if severity != band {
		t.Errorf("severity is %s, a score of %v is %s", severity, score, band)
	}
}

// cvss is the base score of CVSS 3.1 for metrics that need no privileges (PR:N), as
// all checks from outside are; https://www.first.org/cvss/v3.1/specification-document,
// section 7.1.
func cvss(metrics string) (score float64, ok bool) {
	weights := map[string]float64{
		"CVSS:3.1": 1, "AV:N": 0.85, "AC:L": 0.77, "AC:H": 0.44, "PR:N": 0.85, "UI:N": 0.85, "UI:R": 0.62, "S:U": 1,
	}
	exploitability, untouched, count := 8.22, 1.0, 0
	for metric := range strings.SplitSeq(metrics, "/") {
		count++
		if name, level, _ := strings.Cut(metric, ":"); name == "C" || name == "I" || name == "A" {
			impact, known := map[string]float64{"N": 0, "L": 0.22, "H": 0.56}[level]
			if !known {
				return 0, false
			}
			untouched *= 1 - impact
			continue
		}
		w, known := weights[metric]
		if !known {
			return 0, false
		}
		exploitability *= w
	}
	if count != 9 || untouched == 1 {
		return 0, false
	}
	sum := min(6.42*(1-untouched)+exploitability, 10)
	return math.Ceil(math.Round(sum*100000)/10000) / 10, true
}

// checkRequests holds a template to methods that change nothing, and to the number of
// requests it declares.
func checkRequests(t *testing.T, tmpl *syntax.Template) {
	t.Helper()
	for _, protocol := range tmpl.Protocols {
		if slices.Contains([]string{"code", "file", "headless"}, protocol) {
			t.Errorf("asks for what servers do not run: %s", protocol)
		}
	}
	requests := 0
	for _, block := range tmpl.HTTP {
		if requests += len(block.Path); len(block.Fuzzing) > 0 {
			requests += len(block.Fuzzing[0].Fuzz.Values) - len(block.Path) // for each parameter
		}
		if !slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, block.Method) || block.Body != "" {
			t.Errorf("%s with a body of %d bytes is not harmless", block.Method, len(block.Body))
		}
		if len(block.Matchers) == 0 {
			t.Error("a block without matchers reports everything")
		}
		if len(block.Matchers) > 1 && block.MatchersCondition != "and" {
			t.Error("matchers are not joined by and")
		}
	}
	for _, block := range tmpl.SSL {
		if requests++; block.TLSVersionEnum {
			requests += 5 // SSL 3.0 to TLS 1.3
		}
	}
	if declared := tmpl.Info.Metadata["max-request"]; declared != requests {
		t.Errorf("max-request is %v, it sends %d", declared, requests)
	}
}
