package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// sqlmap has no severities: each is an injection that was verified, and High.

const sqlmapRemedy = "Give values to the database as bound parameters."

func sqlmapCSV() kit.Format {
	return kit.Format{
		Name: "sqlmap-csv", Title: "sqlmap results", Tool: "sqlmap", Kinds: []string{"CSV"}, Class: kit.ClassWeb,
		Example: "sqlmap -m urls.txt --results-file report.csv", Families: []string{"sqlmap"},
		Signs: []string{"csv:Target+URL csv:Place csv:Parameter", "csv:TargetURL csv:Place csv:Parameter"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Table([]string{"Target URL", "Place", "Parameter"}, nil, func(row kit.Row) error {
				if row.Get("Parameter") == "" {
					out.Ignore(1, "no parameter of the target can be injected")
					return nil
				}
				r := sqlmapRecord(row.Record(), row.Get("Parameter"), row.Get("Place"))
				r.Place.URL = row.Get("Target URL")
				r.Evidence.Matched = kit.Join("\n", row.Get("Technique(s)"), row.Get("Note(s)"))
				return out.Add(r)
			})
		},
	}
}

func sqlmapRecord(r kit.Record, name, place string) kit.Record {
	r.Check, r.Title, r.Matcher = "sql-injection", "SQL injection in the parameter "+name, place
	r.Severity, r.Status, r.CWEs = kit.High, kit.Open, []int{89}
	r.Remediation = sqlmapRemedy
	where := map[string]string{"GET": "query", "POST": "form", "COOKIE": "cookie", "URI": "path", "USER-AGENT": "header",
		"REFERER": "header", "HOST": "header", "CUSTOM HEADER": "header", "(CUSTOM) HEADER": "header", "JSON": "json",
		"(CUSTOM) POST": "json"}
	r.Place.Parameter = kit.Parameter{Name: name, In: where[strings.ToUpper(place)]}
	if place == "GET" || place == "POST" {
		r.Place.Method = place
	}
	return r
}

// sqlmapLog reads the log that sqlmap keeps for a host: between lines of dashes there are the parameters with their
// payloads. It does not name the target.
func sqlmapLog() kit.Format {
	return kit.Format{
		Name: "sqlmap-log", Title: "sqlmap log", Tool: "sqlmap", Kinds: []string{"text"}, Class: kit.ClassWeb,
		Example: "the file log in sqlmap's output folder of a host", Families: []string{"sqlmap"}, Empty: true,
		Signs: []string{"text:injection+point(s) text:Parameter:"},
		Read: func(in *kit.Input, out *kit.Out) error {
			var r *kit.Record
			var lines []string
			database := ""
			flush := func() error {
				if r == nil {
					return nil
				}
				r.Evidence.Matched = strings.TrimSpace(strings.Join(lines, "\n"))
				r.Description = r.Evidence.Matched
				done := *r
				r, lines = nil, nil
				return out.Add(done)
			}
			found := false
			err := in.Lines(func(line string, n int) error {
				found = found || strings.Contains(line, "sqlmap")
				switch {
				case strings.HasPrefix(line, "Parameter: "):
					if err := flush(); err != nil {
						return err
					}
					name, place := strings.TrimPrefix(line, "Parameter: "), ""
					if at := strings.LastIndex(name, " ("); at > 0 {
						name, place = name[:at], strings.TrimSuffix(name[at+2:], ")")
					}
					name = strings.TrimSuffix(strings.TrimPrefix(name, "#1*"), "*")
					next := sqlmapRecord(kit.Record{Line: n}, kit.First(name, "#1"), place)
					r = &next
				case strings.HasPrefix(line, "---"):
					return flush()
				case r != nil && len(lines) < 1000:
					lines = append(lines, strings.TrimSpace(line))
				case strings.HasPrefix(line, "back-end DBMS"):
					database = line
				}
				return nil
			})
			if err == nil {
				err = flush()
			}
			if err == nil && !found && database == "" {
				return kit.Malformed("The text is no log of sqlmap.")
			}
			return err
		},
	}
}
