// Package rule finds secrets and misconfigurations in lines that a change adds.
//
// A rule looks at one line at a time: a regular expression for what it finds, and for some another that excuses the
// line, or one for the key of the list that the line is in, which the lines above show. Secret rules are for the forms
// of providers' keys, and for values of a telling name that are random enough (Shannon's entropy, in bits a
// character); what is a placeholder by its text is left out. Misconfiguration rules are for kinds of file, told by
// their paths. A line gets a rule's name once, and of several secrets on a line the first.
//
// No finding holds a secret: it is shown by its first four characters.
package rule

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// Severities are all of them, the worst first.
var Severities = []Severity{Critical, High, Medium, Low, Info}

// AtLeast reports whether s is as bad as other, or worse.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, other)
}

// Kind is what a finding is about.
type Kind string

// The kinds.
const (
	Secret Kind = "secrets"
	Config Kind = "misconfiguration"
	Code   Kind = "code" // no rule here finds it
)

// By is who finds.
type By string

// Who finds.
const (
	ByRules By = "rules"
	ByModel By = "model" // what a language model says is its opinion: nobody has verified it

	ByGitleaks By = "gitleaks"
	BySemgrep  By = "semgrep"
)

// Finding is what a rule says of a line.
type Finding struct {
	Rule     string   `json:"rule" doc:"The rule's name, as who found it calls it; model for what a model says."`
	FoundBy  By       `json:"found_by" enum:"rules,gitleaks,semgrep,model" doc:"rules: of this server. gitleaks, semgrep: by the program, where it is installed. model: it is the opinion of a language model, which nobody has verified."`
	Kind     Kind     `json:"kind" enum:"secrets,misconfiguration,code" doc:"What it is about."`
	Severity Severity `json:"severity" enum:"critical,high,medium,low,info"`
	Path     string   `json:"path" doc:"The file."`
	Line     int      `json:"line" doc:"In the new file, from 1."`
	Title    string   `json:"title" doc:"What it is."`
	Why      string   `json:"why" doc:"Why it matters."`
	Shown    string   `json:"shown,omitempty" doc:"Of a secret: its first characters."`
	Fixed    string   `json:"fixed,omitempty" doc:"The line as it could be, where a rule knows."`
}

// maxLine is how much of a line is read, in bytes: longer ones are made by programs.
const maxLine = 4096

// Check is what the rules find on an added line of a file, and the secrets on it, which nobody is to be shown. above
// are the lines before it that the change shows, the nearest last.
func Check(path string, number int, text string, above ...string) (out []Finding, secrets []string) {
	if len(text) > maxLine {
		text = text[:maxLine]
	}
	if f, found := secretOn(text); len(found) > 0 {
		f.FoundBy, f.Path, f.Line = ByRules, path, number
		out, secrets = append(out, f), found
	}
	kinds := kindsOf(path)
	if len(kinds) == 0 {
		return out, secrets
	}
	for _, r := range configRules {
		if !slices.Contains(kinds, r.file) || !r.finds.MatchString(text) || r.unless != nil && r.unless.MatchString(text) {
			continue
		}
		isItem := strings.HasPrefix(strings.TrimSpace(text), "-")
		if list := lists[r.name]; list != nil && isItem && !list.MatchString(keyOf(text, above)) {
			continue
		}
		f := Finding{Rule: r.name, FoundBy: ByRules, Kind: Config, Severity: r.severity, Path: path, Line: number,
			Title: r.title, Why: r.why}
		if r.fix != "" && len(secrets) == 0 {
			f.Fixed = r.finds.ReplaceAllString(text, r.fix)
		}
		out = append(out, f)
	}
	return out, secrets
}

var key = regexp.MustCompile(`^(\s*)(?:-\s+)?["']?([\w.-]+)["']?:\s*(?:#.*)?$`)

// keyOf is the key of the list that an item of YAML is in; "" if the lines above do not show it.
func keyOf(item string, above []string) string {
	indent := len(item) - len(strings.TrimLeft(item, " "))
	for _, line := range slices.Backward(above) {
		if m := key.FindStringSubmatch(line); m != nil && len(m[1]) <= indent {
			return m[2]
		}
	}
	return ""
}

// secretRule is the form of a key. The first group of finds, if it has one, is the secret; else all of it is.
type secretRule struct {
	name, title string
	severity    Severity
	finds       *regexp.Regexp
	entropy     float64 // the least, in bits a character; 0: any
}

// secretOn is what the rules find on a line, and all secrets there.
func secretOn(text string) (first Finding, secrets []string) {
	for _, r := range secretRules {
		for _, m := range r.finds.FindAllStringSubmatch(text, 10) {
			value := m[len(m)-1]
			if value == "" || entropy(value) < r.entropy || isPlaceholder(value) {
				continue
			}
			if len(secrets) == 0 {
				first = Finding{Rule: r.name, Kind: Secret, Severity: r.severity, Title: r.title, Shown: Shown(value),
					Why: WhySecret}
			}
			if !slices.Contains(secrets, value) {
				secrets = append(secrets, value)
			}
		}
	}
	return first, secrets
}

// WhySecret is why a secret in a change matters.
const WhySecret = "Whoever can read the repository can use it, also after it is removed: it stays in the history. " +
	"Revoke it, and have the program read the new one from its environment or a store of secrets."

// Shown is what people see of a secret.
func Shown(value string) string {
	if len(value) < 12 {
		return "********"
	}
	return value[:4] + "********"
}

// entropy is Shannon's, in bits a byte.
func entropy(text string) (bits float64) {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

var placeholder = regexp.MustCompile(`(?i)example|changeme|placeholder|your[_-]|dummy|sample|redacted|xxxx|\*\*\*|\.\.\.|` +
	`\$\{|\{\{|<[a-z_ -]+>|(?:^|[^a-z])(?:fake|test|todo)(?:[^a-z]|$)|1234567|abcdefg`)

func isPlaceholder(value string) bool { return placeholder.MatchString(value) || entropy(value) < 1 }
