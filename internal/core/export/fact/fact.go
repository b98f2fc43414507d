// Package fact says what is known about a finding in the form that exports need: names, classes, scores and texts of
// one finding, with what a template or the class of the weakness says where the finding itself is silent, and the
// part of an answer that proves it.
package fact

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/cvss"
)

// Finding is one finding in the words of exports.
type Finding struct {
	ID, Hash, ScanID string
	Name             string
	Severity         string // one of finding.Severities
	Status           finding.Status
	Regression       bool
	DueAt            time.Time // zero: it has no date
	DueState         string    // how late it is; empty: it has no date, or nobody is to fix it any more
	IsKEV            bool      // its CVE is known to be exploited
	TemplateID       string
	Matcher          string
	Scheme           string // of Place; empty: it has none
	Host             string
	Port             int    // 0: none
	Place            string // where it was found, as text: a URL, or host and port
	Target           string
	Parameter        string // empty: none is known
	ParameterIn      string // query, path, header, cookie or body
	CVEs             []string
	CWEs             []int
	CVSS             CVSS
	Description      string
	Impact           string
	Remediation      string
	References       []string
	Tags             []string
	Extracted        []string
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// CVSS is a score with its vector.
type CVSS struct {
	Score   float64 // 0: none
	Vector  string  // well-formed and of this score; or empty
	Version string  // "3.0" or "3.1"; empty without a vector
}

// Text is the score and the vector; empty: there is none.
func (c CVSS) Text() string {
	if c.Score == 0 {
		return ""
	}
	score := strconv.FormatFloat(c.Score, 'f', 1, 64)
	if c.Vector != "" {
		score += " (" + c.Vector + ")"
	}
	return score
}

const (
	maxText   = 8000 // bytes of a text
	maxListed = 50   // references, classes …
)

// Of reads a document.
func Of(d *finding.Document) Finding {
	f := Finding{
		ID: d.ID, Hash: d.Hash, ScanID: d.ScanID, Name: cmp.Or(Clip(d.Info("name").Text, 300), Clip(d.TemplateID, 300)),
		Severity: d.Severity, Status: d.Status, Regression: d.IsRegression, TemplateID: Clip(d.TemplateID, 300),
		Matcher: Clip(d.Event("matcher-name").Text, 300), Host: d.Host, Port: d.Port, Target: Clip(d.Target.Text, 2000),
		Parameter: Clip(d.Event("fuzzing_parameter").Text, 300), ParameterIn: Clip(d.Event("fuzzing_position").Text, 30),
		Description: Clip(d.Info("description").Text, maxText), Impact: Clip(d.Info("impact").Text, maxText),
		Remediation: Clip(d.Info("remediation").Text, maxText), References: texts(d.Info("reference").Texts()),
		Extracted: texts(d.Event("extracted-results").Texts()), CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
		DueState: d.Follows.DueState, IsKEV: d.Follows.IsKEV,
		Tags: strings.FieldsFunc(d.Tags, func(r rune) bool { return r == ',' }),
	}
	if d.HasDate() {
		f.DueAt = d.DueAt()
	}
	f.Place = Clip(cmp.Or(d.Event("matched-at").Text, d.Target.Text, address(d.Host, d.Port)), 2000)
	if u, err := url.Parse(f.Place); err == nil && u.Host != "" {
		f.Scheme = strings.ToLower(u.Scheme)
	}
	f.CVEs, f.CWEs = cveIDs(
		texts(d.Classification("cve-id").Texts()),
	), cweNumbers(
		texts(d.Classification("cwe-id").Texts()),
	)
	if id := strings.ToUpper(d.TemplateID); len(f.CVEs) == 0 && IsCVE(id) {
		f.CVEs = []string{id}
	}
	score, _ := strconv.ParseFloat(d.Classification("cvss-score").JSON, 64)
	f.CVSS = scored(score, d.Classification("cvss-metrics").Text)
	return f
}

// Classify adds the classes and the score of a template's classification where the finding has none; nil has none.
func (f *Finding) Classify(c *syntax.Classification) {
	if c == nil {
		return
	}
	if len(f.CWEs) == 0 {
		f.CWEs = cweNumbers(c.CWEID)
	}
	if len(f.CVEs) == 0 {
		f.CVEs = cveIDs(c.CVEID)
	}
	if f.CVSS.Score == 0 {
		f.CVSS = scored(c.CVSSScore, c.CVSSMetrics)
	}
}

func cweNumbers(all []string) (out []int) {
	for _, id := range all {
		if n, err := strconv.Atoi(strings.TrimPrefix(strings.ToLower(id), "cwe-")); err == nil && n > 0 && n < 10_000 {
			out = append(out, n)
		}
	}
	return out
}

func cveIDs(all []string) (out []string) {
	for _, id := range all {
		if id = strings.ToUpper(id); IsCVE(id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Complete adds what the class of the weakness says where the finding says nothing.
func (f *Finding) Complete() {
	for _, cwe := range f.CWEs {
		w, known := WeaknessOf(cwe)
		if !known {
			continue
		}
		f.Impact, f.Remediation = cmp.Or(f.Impact, w.Impact), cmp.Or(f.Remediation, w.Remediation)
	}
}

func texts(all []string) (out []string) {
	for _, text := range all[:min(len(all), maxListed)] {
		if text != "" {
			out = append(out, Clip(text, 2000))
		}
	}
	return out
}

var cveID = regexp.MustCompile(`^CVE-[0-9]{4}-[0-9]{4,19}$`)

// IsCVE reports whether a text is the id of a CVE in capitals.
func IsCVE(id string) bool { return strings.HasPrefix(id, "CVE-") && cveID.MatchString(id) }

// scored keeps a vector only if it is of the score: formats refuse a file where they disagree.
func scored(score float64, vector string) CVSS {
	out := CVSS{}
	if score > 0 && score <= 10 {
		out.Score = score
	}
	v, err := cvss.Parse(vector)
	if err != nil || v.Version == "4.0" || v.Base == 0 || out.Score != 0 && v.Base != out.Score {
		return out
	}
	return CVSS{v.Base, vector, v.Version}
}

// Rating is the word for a CVSS 3 score, in capitals.
func Rating(score float64) string { return strings.ToUpper(cvss.Rating(score)) }

func address(host string, port int) string {
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// Address is the host with its port.
func (f *Finding) Address() string { return address(f.Host, f.Port) }

// Clip cuts a text to most bytes, not within a character.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " […]"
}

// IsURL reports whether a text is an address of the web that readers of other formats take for one.
func IsURL(text string) bool {
	if len(text) > 2000 || strings.ContainsAny(text, " <>\"{}|\\^`") {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
