package code

import (
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var sarifLevels = map[string]kit.Severity{
	"error": kit.High, "warning": kit.Medium, "note": kit.Low, "none": kit.Info,
}

// sarifRun are the parts of a run that its results refer to, which may stand behind them.
type sarifRun struct {
	tool, version    string
	rules            []kit.Value
	byID             map[string]int
	bases            map[string]string
	artifacts        []string
	repository, head string
	end              string
}

// sarif reads SARIF 2.1. A result is one record, at its first place; the others are named in its description.
func sarif() kit.Format {
	return kit.Format{
		Name: "sarif", Title: "SARIF 2.1", Tool: "sarif", Kinds: []string{"JSON"}, Class: kit.ClassCode, Twice: true,
		Example: "the option for SARIF of many tools",
		Signs:   []string{"json:runs json:version", "json:runs json:$schema", "json:runs[].tool.driver"},
		Read: func(in *kit.Input, out *kit.Out) error {
			runs, err := sarifHeads(in)
			if err != nil {
				return err
			}
			for _, r := range runs {
				if len(runs) == 1 {
					out.Report(r.tool, r.version, kit.Time(r.end))
				}
			}
			return in.JSON(kit.Routes{"runs[].results[]": func(v kit.Value) error {
				switch kind := v.Text("kind"); kind {
				case "pass", "notApplicable":
					out.Ignore(1, "the kind of the result is "+kind)
					return nil
				}
				run := runs[v.Index[0]]
				if run == nil {
					run = &sarifRun{}
				}
				return out.Add(run.record(v))
			}})
		},
	}
}

func sarifHeads(in *kit.Input) (map[int]*sarifRun, error) {
	runs := map[int]*sarifRun{}
	at := func(v kit.Value) *sarifRun {
		if runs[v.Index[0]] == nil {
			runs[v.Index[0]] = &sarifRun{byID: map[string]int{}, bases: map[string]string{}}
		}
		return runs[v.Index[0]]
	}
	rule := func(v kit.Value) error {
		r := at(v)
		r.byID[v.Text("id")] = len(r.rules)
		r.rules = append(r.rules, v)
		return nil
	}
	extension := func(v kit.Value) error {
		r := at(v)
		if _, known := r.byID[v.Text("id")]; !known {
			r.byID[v.Text("id")] = len(r.rules)
			r.rules = append(r.rules, v)
		}
		return nil
	}
	text := func(do func(*sarifRun, string)) func(kit.Value) error {
		return func(v kit.Value) error {
			do(at(v), v.String())
			return nil
		}
	}
	err := in.JSON(kit.Routes{
		"runs[].tool.driver.name":    text(func(r *sarifRun, t string) { r.tool = t }),
		"runs[].tool.driver.version": text(func(r *sarifRun, t string) { r.version = t }),
		"runs[].tool.driver.semanticVersion": text(func(r *sarifRun, t string) {
			if r.version == "" {
				r.version = t
			}
		}),
		"runs[].tool.driver.rules[]": rule,
		"runs[].originalUriBaseIds": func(v kit.Value) error {
			return v.Each("@this", func(name string, base kit.Value) error {
				at(v).bases[name] = base.Text("uri")
				return nil
			})
		},
		"runs[].artifacts[]": func(v kit.Value) error {
			r := at(v)
			r.artifacts = append(r.artifacts, v.Text("location.uri"))
			return nil
		},
		"runs[].versionControlProvenance[]": func(v kit.Value) error {
			r := at(v)
			r.repository, r.head = v.Text("repositoryUri"), v.Text("revisionId")
			return nil
		},
		"runs[].invocations[]": func(v kit.Value) error {
			r := at(v)
			r.end = kit.First(v.Text("endTimeUtc"), v.Text("startTimeUtc"), r.end)
			return nil
		},
	})
	if err == nil {
		err = in.JSON(kit.Routes{"runs[].tool.extensions[].rules[]": extension})
	}
	return runs, err
}

func (s *sarifRun) rule(v kit.Value) kit.Value {
	id := kit.First(v.Text("ruleId"), v.Text("rule.id"))
	if at, ok := s.byID[id]; ok {
		return s.rules[at]
	}
	index := v.Get("ruleIndex")
	if !index.Exists() {
		index = v.Get("rule.index")
	}
	if i := int(index.Int()); index.Exists() && i >= 0 && i < len(s.rules) {
		return s.rules[i]
	}
	if at, ok := s.byID[strings.SplitN(id, "/", 2)[0]]; ok { // of a hierarchical id
		return s.rules[at]
	}
	return kit.Value{}
}

func (s *sarifRun) record(v kit.Value) kit.Record {
	r := v.Record()
	rule := s.rule(v)
	r.Tool, r.ToolVersion = s.tool, s.version
	r.Check = kit.First(v.Text("ruleId"), v.Text("rule.id"), rule.Text("id"))
	message := kit.First(v.Text("message.text"), v.Text("message.markdown"), s.message(v, rule))
	r.Title = kit.First(rule.Text("shortDescription.text"), message, rule.Text("name"), r.Check)
	r.Description = kit.Join("\n\n", message, kit.First(rule.Text("fullDescription.text"), rule.Text("help.text")))
	s.severity(&r, v, rule)
	sarifStatus(&r, v)
	sarifIDs(&r, v, rule)
	r.Remediation = kit.First(rule.Text("help.text"), rule.Text("help.markdown"))
	r.References = append(kit.URLs(rule.Text("helpUri")), kit.URLs(rule.Text("help.text"))...)
	r.Tags = append(v.Texts("properties.tags"), rule.Texts("properties.tags")...)
	r.Confidence = kit.First(rule.Text("properties.precision"), v.Text("properties.issue_confidence"), v.Text("rank"))
	places := v.List("locations")
	if len(places) > 0 {
		r.Place = s.place(places[0])
	}
	for i, p := range places {
		if i > 0 && i < 20 {
			at := s.place(p)
			r.Description += "\nAlso at: " + kit.Join(":", kit.First(at.File, at.URL, at.Symbol), kit.Number(at.StartLine))
		}
	}
	if r.Place.URL == "" {
		r.Place.Repository, r.Place.Commit = s.repository, s.head
	}
	r.Class = sarifClass(r, s.tool)
	if request := v.Sub("webRequest"); request.Exists() {
		r.Class, r.Place.Method = kit.ClassWeb, request.Text("method")
		r.Place.URL = kit.First(request.Text("target"), r.Place.URL)
	}
	r.SeenAt = kit.Time(s.end)
	return r
}

// message is the text of a message that the rule has, with its placeholders filled.
func (s *sarifRun) message(v, rule kit.Value) string {
	text := rule.Text("messageStrings." + strings.ReplaceAll(v.Text("message.id"), ".", `\.`) + ".text")
	for i, argument := range v.Texts("message.arguments") {
		number := kit.Number(i)
		if i == 0 {
			number = "0"
		}
		text = strings.ReplaceAll(text, "{"+number+"}", argument)
	}
	return text
}

// severity: a score of the rule for its security says most, then the level of the result, then that of the rule, then
// the default of SARIF, which is warning.
func (s *sarifRun) severity(r *kit.Record, v, rule kit.Value) {
	level := kit.First(v.Text("level"), rule.Text("defaultConfiguration.level"), "warning")
	r.ToolSeverity = level
	r.Severity = sarifLevels[level]
	if v.Text("kind") == "informational" {
		r.Severity = kit.Info
	}
	for _, score := range []string{v.Text("properties.security-severity"), rule.Text("properties.security-severity")} {
		if score == "" {
			continue
		}
		r.ToolSeverity = score
		if word := kit.SeverityOf(score); word != kit.Unknown {
			r.Severity = word
		} else if f := kit.Float(score); f > 0 || score == "0" || score == "0.0" {
			r.Severity = kit.SeverityOfScore(f)
		}
		return
	}
}

func sarifStatus(r *kit.Record, v kit.Value) {
	r.Status, r.StatusText = kit.Open, v.Text("baselineState")
	if r.StatusText == "absent" {
		r.Status = kit.Fixed
	}
	for _, s := range v.List("suppressions") {
		if state := kit.First(s.Text("status"), s.Text("state")); state == "" || state == "accepted" {
			r.Status = kit.FalsePositive
			r.StatusText = kit.First(s.Text("justification"), "suppressed: "+kit.First(s.Text("kind"), "no kind"))
		}
	}
	for _, name := range []string{"fingerprints", "partialFingerprints"} {
		var prints []string
		_ = v.Each(name, func(key string, value kit.Value) error {
			prints = append(prints, key+"="+value.String())
			return nil
		})
		if slices.Sort(prints); len(prints) > 0 && r.Reference == "" {
			r.Reference = prints[0]
		}
	}
	r.Reference = kit.First(r.Reference, v.Text("guid"), v.Text("correlationGuid"))
}

func sarifIDs(r *kit.Record, v, rule kit.Value) {
	texts := append(v.Texts("properties.tags"), rule.Texts("properties.tags")...)
	texts = append(texts, r.Check, v.Text("properties.cwe"), rule.Text("properties.cwe"), rule.Text("name"))
	for _, relation := range rule.List("relationships") {
		texts = append(texts, relation.Text("target.id"))
	}
	for _, t := range append(v.List("taxa"), rule.List("taxa")...) {
		if strings.EqualFold(t.Text("toolComponent.name"), "CWE") {
			texts = append(texts, "CWE-"+strings.TrimPrefix(t.Text("id"), "CWE-"))
		}
	}
	texts = append(texts, rule.Text("shortDescription.text"))
	var marked []string // bare numbers are no weaknesses here
	for _, t := range texts {
		if strings.Trim(t, "0123456789 ") != "" {
			marked = append(marked, strings.ReplaceAll(t, "cwe/cwe-0", "CWE-"))
		}
	}
	r.CWEs, r.CVEs = kit.CWEs(marked...), kit.CVEs(append(marked, v.Text("message.text"))...)
	r.OtherIDs = kit.OtherIDs(marked...)
}

func (s *sarifRun) place(v kit.Value) (p kit.Place) {
	artifact := v.Sub("physicalLocation.artifactLocation")
	uri := artifact.Text("uri")
	if index := artifact.Get("index"); uri == "" && index.Exists() {
		if i := index.Int(); i >= 0 && i < int64(len(s.artifacts)) {
			uri = s.artifacts[i]
		}
	}
	relative := !strings.Contains(uri, "://") && !strings.HasPrefix(uri, "/")
	if base := s.bases[artifact.Text("uriBaseId")]; base != "" && relative {
		if !strings.HasPrefix(base, "file:") { // where the checkout was on the machine says nothing
			uri = strings.TrimSuffix(base, "/") + "/" + uri
		}
	}
	if strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://") {
		p.URL = uri
	} else {
		p.File = file(uri)
		if plain, err := url.PathUnescape(p.File); err == nil {
			p.File = plain
		}
	}
	region := v.Sub("physicalLocation.region")
	p.StartLine, p.EndLine = kit.Int(region.Text("startLine")), kit.Int(region.Text("endLine"))
	p.Column = kit.Int(region.Text("startColumn"))
	p.Snippet = kit.First(region.Text("snippet.text"), v.Text("physicalLocation.contextRegion.snippet.text"))
	for _, l := range v.List("logicalLocations") {
		p.Symbol = kit.First(p.Symbol, l.Text("fullyQualifiedName"), l.Text("name"))
	}
	return p
}

func sarifClass(r kit.Record, tool string) kit.Class {
	tool = strings.ToLower(tool)
	named := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(tool, w) })
	}
	switch {
	case named("gitleaks", "trufflehog", "detect-secrets", "secret"):
		return kit.ClassSecret
	case len(r.CVEs) > 0 && len(kit.CVEs(r.Check)) > 0, named("grype", "dependency-check", "osv-scanner"):
		return kit.ClassPackage
	case named("checkov", "kics", "tfsec", "terrascan", "dockle", "kubescape", "trivy"):
		return kit.ClassConfig
	case r.Place.URL != "":
		return kit.ClassWeb
	}
	return kit.ClassCode
}
