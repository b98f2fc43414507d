package packages

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// trivyReport are the parts around the findings, by the position of the result that the findings are in.
type trivyReport struct {
	name, kind string               // of the artifact
	results    map[string]kit.Value // without their lists
	resources  map[string]kit.Value // of a cluster
}

// trivyLists are where results stand: at the top (version 2 of the schema), in an array (version 1), or in a resource
// of a cluster.
var trivyLists = []string{"Results[]", "[]", "Vulnerabilities[].Results[]", "Misconfigurations[].Results[]",
	"Resources[].Results[]", "Findings[].Results[]"}

const trivyDrop = "!Vulnerabilities,Misconfigurations,Secrets,Licenses,Packages,CustomResources"

// trivy reads reports of images, file systems, repositories, SBOMs and clusters.
func trivy() kit.Format {
	return kit.Format{
		Name: "trivy", Title: "Trivy", Tool: "trivy", Kinds: []string{"JSON"}, Class: kit.ClassPackage, Twice: true,
		Example: "trivy image --format json -o report.json IMAGE",
		Signs: []string{"json:SchemaVersion json:ArtifactName", "json:[].Target json:[].Vulnerabilities", "json:ClusterName",
			"json:Results[].Target json:Results[].Class"},
		Read: func(in *kit.Input, out *kit.Out) error {
			report := trivyReport{results: map[string]kit.Value{}, resources: map[string]kit.Value{}}
			created := ""
			heads := kit.Routes{"ArtifactName": keep(&report.name), "ArtifactType": keep(&report.kind),
				"CreatedAt": keep(&created)}
			items := kit.Routes{}
			for _, list := range trivyLists {
				heads[list+trivyDrop] = func(v kit.Value) error {
					report.results[v.Position] = v
					return nil
				}
				items[list+".Vulnerabilities[]"] = func(v kit.Value) error { return out.Add(report.vulnerability(v)) }
				items[list+".Misconfigurations[]"] = func(v kit.Value) error {
					if status := v.Text("Status"); status != "" && status != "FAIL" {
						out.Ignore(1, "the check passed")
						return nil
					}
					return out.Add(report.misconfiguration(v))
				}
				items[list+".Secrets[]"] = func(v kit.Value) error { return out.Add(report.secret(v)) }
				items[list+".Licenses[]"] = func(v kit.Value) error { return out.Add(report.licence(v)) }
			}
			if err := in.JSON(heads); err != nil {
				return err
			}
			resources := kit.Routes{}
			for _, list := range trivyLists[2:] {
				resources[strings.TrimSuffix(list, ".Results[]")+"!Results"] = func(v kit.Value) error {
					report.resources[v.Position] = v
					return nil
				}
			}
			if err := in.JSON(resources); err != nil {
				return err
			}
			out.Report("", "", kit.Time(created))
			return in.JSON(items)
		},
	}
}

// around are the result that an item is in, and the resource of a cluster that the result is about.
func (t trivyReport) around(v kit.Value) (result, resource kit.Value) {
	at := v.Position[:max(strings.LastIndexByte(v.Position, '.'), 0)]
	result = t.results[at]
	return result, t.resources[at[:max(strings.LastIndexByte(at, '.'), 0)]]
}

func (t trivyReport) base(v kit.Value) (r kit.Record, result kit.Value) {
	result, resource := t.around(v)
	r = v.Record()
	r.ToolSeverity = v.Text("Severity")
	r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
	r.Title, r.Description = v.Text("Title"), v.Text("Description")
	r.References = append([]string{v.Text("PrimaryURL")}, v.Texts("References")...)
	r.Place.Resource = kit.Resource{Kind: resource.Text("Kind"), Namespace: resource.Text("Namespace"),
		Name: resource.Text("Name")}
	image := ""
	switch target := result.Text("Target"); {
	case t.kind == "container_image":
		image = t.name
	case t.kind == "" && strings.HasSuffix(target, ")") && strings.Contains(target, " ("): // image:tag (debian 10.4)
		image = target[:strings.LastIndex(target, " (")]
	}
	r.Place.Package.Image = image
	if t.kind == "repository" {
		r.Place.Repository = t.name
	}
	r.Place.Component = t.name
	return r, result
}

func (t trivyReport) vulnerability(v kit.Value) kit.Record {
	r, result := t.base(v)
	r.Check = v.Text("VulnerabilityID")
	identify(&r, append(v.Texts("VendorIDs"), r.Check)...)
	r.CWEs = kit.CWEs(v.Texts("CweIDs")...)
	r.CVSS = trivyScores(v)
	image := r.Place.Package.Image
	r.Place.Package = kit.PURL(kit.First(v.Text("PkgIdentifier.PURL"), v.Text("Ref")))
	p := &r.Place.Package
	if !strings.HasPrefix(p.PURL, "pkg:") {
		*p = kit.Package{}
	}
	p.Ecosystem, p.Image = kit.First(p.Ecosystem, result.Text("Type")), image
	p.Name, p.Version = v.Text("PkgName"), v.Text("InstalledVersion")
	p.FixedIn = v.Text("FixedVersion")
	if class := result.Text("Class"); class == "lang-pkgs" || class == "" && image == "" {
		p.Manifest = kit.First(v.Text("PkgPath"), result.Text("Target"))
	}
	name := r.Check + " in " + p.Name + " " + p.Version
	if r.Title == "" {
		r.Title = name
	}
	if p.FixedIn != "" {
		r.Remediation = "Upgrade " + p.Name + " to " + p.FixedIn + "."
	}
	r.StatusText = v.Text("Status") // of the fix: fixed means that one exists
	if r.StatusText == "not_affected" {
		r.Status = kit.NotAffected
	}
	r.Reference = v.Text("Fingerprint")
	return r
}

// trivyScores takes the scores of the source that decided about the severity, else those of NVD, else any.
func trivyScores(v kit.Value) (scores []kit.CVSS) {
	sources := []kit.Value{}
	for _, name := range []string{v.Text("SeveritySource"), "nvd", "ghsa", "redhat"} {
		if s := v.Sub("CVSS." + gjson.Escape(name)); name != "" && s.Exists() {
			sources = append(sources, s)
		}
	}
	for _, version := range [][3]string{{"4.0", "V40Vector", "V40Score"}, {"3.1", "V3Vector", "V3Score"},
		{"2.0", "V2Vector", "V2Score"}} {
		for _, s := range sources {
			if score := kit.Score(version[0], s.Text(version[1]), kit.Float(s.Text(version[2]))); score != nil {
				scores = append(scores, score...)
				break
			}
		}
	}
	return scores
}

func (t trivyReport) misconfiguration(v kit.Value) kit.Record {
	r, result := t.base(v)
	r.Class = kit.ClassConfig
	r.Check = kit.First(v.Text("ID"), v.Text("AVDID"))
	r.Remediation = v.Text("Resolution")
	r.Evidence.Matched = v.Text("Message")
	cause := v.Sub("CauseMetadata")
	if r.Place.Resource.Kind == "" {
		r.Place.File = result.Text("Target")
	}
	r.Place.StartLine, r.Place.EndLine = kit.Int(cause.Text("StartLine")), kit.Int(cause.Text("EndLine"))
	r.Place.Symbol = cause.Text("Resource")
	var lines []string
	for _, l := range cause.List("Code.Lines") {
		lines = append(lines, l.Text("Content"))
	}
	r.Place.Snippet = strings.Join(lines, "\n")
	r.Tags = []string{result.Text("Type"), v.Text("Type")}
	return r
}

func (t trivyReport) secret(v kit.Value) kit.Record {
	r, result := t.base(v)
	r.Class = kit.ClassSecret
	r.Check, r.Tags = v.Text("RuleID"), []string{v.Text("Category")}
	r.Place.File = result.Text("Target")
	r.Place.StartLine, r.Place.EndLine = kit.Int(v.Text("StartLine")), kit.Int(v.Text("EndLine"))
	r.Evidence.Matched = v.Text("Match") // Trivy masks the secret
	return r
}

func (t trivyReport) licence(v kit.Value) kit.Record {
	r, _ := t.base(v)
	r.Class = kit.ClassCompliance
	r.Check = "license:" + v.Text("Name")
	r.Title = "Licence " + v.Text("Name") + " of " + kit.First(v.Text("PkgName"), v.Text("FilePath"))
	r.Confidence, r.Tags = v.Text("Confidence"), []string{v.Text("Category")}
	r.Place.Package.Name = v.Text("PkgName")
	r.Place.File = v.Text("FilePath")
	return r
}
