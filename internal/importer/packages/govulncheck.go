package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// govulncheck reads the stream (or array) of messages of version 1, and the object of the versions before. A
// vulnerability is reported at several levels; the most exact one is taken: a symbol that is called (High), a package
// that is imported (Low), a module that is required (Info). Versions before 1 have no levels and all are Info.
func govulncheck() kit.Format {
	return kit.Format{
		Name: "govulncheck", Title: "govulncheck", Tool: "govulncheck", Kinds: []string{"JSON"}, Class: kit.ClassPackage,
		Example: "govulncheck -format json ./... > report.json", Twice: true,
		Signs: []string{"json:config.scanner_name", "json:[].config.scanner_name", "json:Vulns json:Modules",
			"json:config.protocol_version", "json:[].config.protocol_version", "json:Calls json:Imports", "json:Vulns[].OSV"},
		Read: func(in *kit.Input, out *kit.Out) error {
			entries, levels := map[string]kit.Value{}, map[string]int{}
			level := func(v kit.Value) error {
				id := v.Text("osv")
				levels[id] = max(levels[id], govulnLevel(v))
				return nil
			}
			entry := func(v kit.Value) error {
				entries[v.Text("id")] = v
				return nil
			}
			config := func(v kit.Value) error {
				out.Report("", v.Text("scanner_version"), kit.Time(""))
				return nil
			}
			err := in.JSON(kit.Routes{"osv": entry, "[].osv": entry, "finding": level, "[].finding": level,
				"config": config, "[].config": config})
			if err != nil {
				return err
			}
			finding := func(v kit.Value) error {
				id := v.Text("osv")
				if govulnLevel(v) < levels[id] {
					out.Ignore(1, "the report has a more exact finding of the same vulnerability")
					return nil
				}
				return out.Add(govulnFinding(v, entries[id]))
			}
			modules := map[string]string{}
			err = in.JSON(kit.Routes{"Requires.Modules.*": func(v kit.Value) error {
				modules[v.Text("Path")] = v.Text("Version")
				return nil
			}})
			if err != nil {
				return err
			}
			return in.JSON(kit.Routes{"finding": finding, "[].finding": finding, "Vulns[]": func(v kit.Value) error {
				r := govulnRecord(v, v.Sub("OSV"))
				r.Severity, r.Place.Symbol = kit.Info, v.Text("PkgPath")+"."+v.Text("Symbol")
				r.Matcher = r.Place.Symbol
				r.Place.Package.Name = kit.First(v.Text("ModPath"), r.Place.Package.Name)
				r.Place.Package.Version = modules[r.Place.Package.Name]
				return out.Add(r)
			}})
		},
	}
}

func govulnLevel(v kit.Value) int {
	switch {
	case v.Text("trace.0.function") != "":
		return 3
	case v.Text("trace.0.package") != "":
		return 2
	}
	return 1
}

func govulnRecord(v, entry kit.Value) kit.Record {
	r := v.Record()
	r.Check = kit.First(entry.Text("id"), v.Text("osv"))
	identify(&r, append(entry.Texts("aliases"), r.Check)...)
	r.Title = kit.First(entry.Text("summary"), r.Check)
	r.Description, r.Status = entry.Text("details"), kit.Open
	for _, ref := range entry.List("references") {
		r.References = append(r.References, ref.Text("url"))
	}
	r.Place.Package = kit.Package{Ecosystem: "golang", Name: entry.Text("affected.0.package.name")}
	return r
}

func govulnFinding(v, entry kit.Value) kit.Record {
	r := govulnRecord(v, entry)
	level := govulnLevel(v)
	r.Severity = [...]kit.Severity{kit.Unknown, kit.Info, kit.Low, kit.High}[level]
	r.Confidence = [...]string{"", "module", "package", "symbol"}[level]
	trace := v.List("trace")
	if len(trace) == 0 {
		return r
	}
	first := trace[0]
	r.Place.Package = kit.Package{Ecosystem: "golang", Name: first.Text("module"), Version: first.Text("version"),
		FixedIn: v.Text("fixed_version")}
	if level == 3 {
		r.Place.Symbol = kit.Join(".", first.Text("package"), strings.TrimPrefix(first.Text("receiver"), "*"),
			first.Text("function"))
		r.Matcher = r.Place.Symbol
	}
	var calls []string
	for _, t := range trace {
		at := t.Sub("position")
		calls = append(calls, kit.Join(" ", kit.Join(".", t.Text("package"), t.Text("receiver"), t.Text("function")),
			kit.Join(":", at.Text("filename"), at.Text("line"))))
	}
	r.Evidence.Matched = strings.Join(calls, "\n")
	last := trace[len(trace)-1].Sub("position") // where our own code calls it
	r.Place.File, r.Place.StartLine = last.Text("filename"), kit.Int(last.Text("line"))
	if fix := v.Text("fixed_version"); fix != "" {
		r.Remediation = "Upgrade " + first.Text("module") + " to " + fix + "."
	}
	return r
}
