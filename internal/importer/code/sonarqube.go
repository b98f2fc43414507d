package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

var sonarLevels = map[string]kit.Severity{
	"BLOCKER": kit.Critical, "CRITICAL": kit.High, "MAJOR": kit.Medium, "MINOR": kit.Low, "INFO": kit.Info,
	"HIGH": kit.High, "MEDIUM": kit.Medium, "LOW": kit.Low,
}

// sonarReport are the tables that issues refer to, which may stand behind them.
type sonarReport struct {
	rules, paths map[string]kit.Value
	project      string
}

// sonarqube reads the answers of the REST API (issues and hotspots) and the report of sonar-report.
func sonarqube() kit.Format {
	return kit.Format{
		Name: "sonarqube-json", Title: "SonarQube JSON", Tool: "sonarqube", Kinds: []string{"JSON", "zip"},
		Class: kit.ClassCode, Twice: true,
		Example:  "GET /api/issues/search and /api/hotspots/search of SonarQube, or sonar-report",
		Families: []string{"sonarqube", "sonar"},
		Signs: []string{"json:issues[].rule json:issues[].component", "json:hotspots json:components",
			"json:sonarBaseURL json:issues", "json:issues json:components json:paging", "json:sonarComponent json:rules",
			"json:hotspots[].ruleKey"},
		Read: func(in *kit.Input, out *kit.Out) error {
			tables := sonarReport{rules: map[string]kit.Value{}, paths: map[string]kit.Value{}}
			err := in.JSON(kit.Routes{
				"date": func(v kit.Value) error {
					out.Report("", "", kit.Time(v.String(), "Monday, Jan 2, 2006", "Monday, Jan 02, 2006"))
					return nil
				},
				"sonarComponent": func(v kit.Value) error {
					tables.project = v.String()
					return nil
				},
				"rules.*": func(v kit.Value) error {
					tables.rules[v.Key] = v
					return nil
				},
				"rules[]": func(v kit.Value) error {
					tables.rules[v.Text("key")] = v
					return nil
				},
				"components[]": func(v kit.Value) error {
					tables.paths[v.Text("key")] = v
					return nil
				},
			})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{
				"issues[]":   func(v kit.Value) error { return out.Add(tables.issue(v)) },
				"hotspots[]": func(v kit.Value) error { return out.Add(tables.hotspot(v)) },
			})
		},
	}
}

func (s sonarReport) base(v kit.Value, rule string) kit.Record {
	r := v.Record()
	known := s.rules[rule]
	r.Check, r.Reference = rule, v.Text("key")
	r.Title = kit.First(v.Text("message"), known.Text("name"), v.Text("description"), rule)
	html := kit.First(known.Text("htmlDesc"), known.Text("htmlDescription"))
	r.Description = kit.Plain(kit.First(html, v.Text("description")))
	r.CWEs = kit.CWEs(append(v.Texts("tags"), v.Text("message"), html)...)
	r.CVEs = kit.CVEs(v.Text("message"))
	r.OtherIDs = kit.OtherIDs(v.Text("message"))
	r.References = kit.URLs(html)
	r.Tags = append(v.Texts("tags"), v.Text("type"))
	r.SeenAt = kit.Time(kit.First(v.Text("updateDate"), v.Text("creationDate")))
	component := v.Text("component")
	r.Place = kit.Place{Component: kit.First(v.Text("project"), s.project), File: component,
		StartLine: kit.Int(kit.First(v.Text("textRange.startLine"), v.Text("line"))),
		EndLine:   kit.Int(v.Text("textRange.endLine")), Column: kit.Int(v.Text("textRange.startOffset"))}
	if known := s.paths[component]; known.Exists() {
		r.Place.File = kit.First(known.Text("path"), known.Text("longName"))
	} else if project, path, ok := strings.Cut(component, ":"); ok {
		r.Place.File = path
		r.Place.Component = kit.First(r.Place.Component, project)
	} else if component == r.Place.Component {
		r.Place.File = ""
	}
	r.Status, r.StatusText = kit.Open, kit.First(v.Text("issueStatus"), v.Text("resolution"), v.Text("status"))
	switch strings.ToUpper(kit.First(v.Text("resolution"), v.Text("issueStatus"), v.Text("status"))) {
	case "FALSE-POSITIVE", "FALSE_POSITIVE", "SAFE":
		r.Status = kit.FalsePositive
	case "WONTFIX", "ACCEPTED", "ACKNOWLEDGED":
		r.Status = kit.AcceptedRisk
	case "FIXED", "CLOSED", "RESOLVED", "REMOVED":
		r.Status = kit.Fixed
	}
	return r
}

func (s sonarReport) issue(v kit.Value) kit.Record {
	r := s.base(v, v.Text("rule"))
	r.ToolSeverity = v.Text("severity")
	for _, i := range v.List("impacts") {
		if i.Text("softwareQuality") == "SECURITY" {
			r.ToolSeverity = kit.First(r.ToolSeverity, i.Text("severity"))
		}
	}
	r.Severity = sonarLevels[strings.ToUpper(r.ToolSeverity)]
	return r
}

func (s sonarReport) hotspot(v kit.Value) kit.Record {
	r := s.base(v, v.Text("ruleKey"))
	r.ToolSeverity = v.Text("vulnerabilityProbability")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	r.Tags = append(r.Tags, "hotspot", v.Text("securityCategory"))
	return r
}
