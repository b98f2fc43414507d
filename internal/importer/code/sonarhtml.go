package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// sonarHTML reads the page of sonar-report: the rows of the table with rules, severities and components; what the rules
// say is in another table, behind it.
func sonarHTML() kit.Format {
	return kit.Format{
		Name: "sonarqube-html", Title: "SonarQube HTML report", Tool: "sonarqube", Kinds: []string{"HTML", "zip"},
		Class: kit.ClassCode, Twice: true, Example: "sonar-report --output report.html",
		Families: []string{"sonarqube", "sonar"},
		Signs:    []string{"text:<html text:Sonar", "text:<html text:sonar"},
		Read: func(in *kit.Input, out *kit.Out) error {
			described := map[string]string{}
			err := in.HTMLTables(func(header, row []string, _ int) error {
				get := cells(header, row)
				if get("severity") == "" && get("rule") != "" && len(row) > 1 {
					described[get("rule")] = row[1]
				}
				return nil
			})
			if err != nil {
				return err
			}
			return in.HTMLTables(func(header, row []string, line int) error {
				get := cells(header, row)
				if get("severity") == "" || get("rule") == "" || get("component") == "" {
					return nil
				}
				return out.Add(sonarRow(line, get, described[get("rule")]))
			})
		},
	}
}

// cells gives the cell under a column, by its name in lower case.
func cells(header, row []string) func(string) string {
	return func(column string) string {
		for i, name := range header {
			if strings.EqualFold(strings.TrimSpace(name), column) && i < len(row) {
				return row[i]
			}
		}
		return ""
	}
}

func sonarRow(line int, get func(string) string, described string) kit.Record {
	rule := get("rule")
	r := kit.Record{Line: line, Check: rule, Title: kit.First(get("message"), get("description"), rule)}
	r.ToolSeverity = get("severity")
	r.Severity, r.Status = sonarLevels[strings.ToUpper(r.ToolSeverity)], kit.Open
	r.Description = kit.First(described, get("description"))
	r.CWEs, r.CVEs = kit.CWEs(r.Description), kit.CVEs(r.Title)
	r.References = kit.URLs(described)
	r.Reference, r.StatusText = get("key"), get("status")
	r.Place = kit.Place{File: get("component"), StartLine: kit.Int(get("line"))}
	if project, path, ok := strings.Cut(r.Place.File, ":"); ok {
		r.Place.Component, r.Place.File = project, path
	}
	return r
}
