package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// trufflehog reads the lines of version 3, and of version 2. A secret that was tried and works is Critical.
func trufflehog() kit.Format {
	return kit.Format{
		Name: "trufflehog", Title: "TruffleHog", Tool: "trufflehog", Kinds: []string{"JSONL"}, Class: kit.ClassSecret,
		Example: "trufflehog git URL --json > report.jsonl", Empty: true,
		Signs: []string{"json:SourceMetadata json:DetectorName", "json:stringsFound json:reason",
			"json:[].SourceMetadata json:[].DetectorName"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				switch {
				case v.Get("DetectorName").Exists():
					return out.Add(trufflehogV3(v))
				case v.Get("stringsFound").Exists():
					return out.Add(trufflehogV2(v))
				case v.Get("level").Exists() && v.Get("msg").Exists():
					out.Ignore(1, "a message about the scan itself")
					return nil
				}
				return out.Reject(v.Line, v.Position, "it has neither DetectorName nor stringsFound")
			})
		},
	}
}

func trufflehogV3(v kit.Value) kit.Record {
	r := v.Record()
	r.Check = v.Text("DetectorName")
	r.Matcher = v.Text("DecoderName")
	r.Title = "Secret of " + r.Check
	r.Severity, r.Status, r.Confidence = kit.High, kit.Open, "unverified"
	if v.Get("Verified").Bool() {
		r.Severity, r.Confidence = kit.Critical, "verified"
		r.Title = "Working secret of " + r.Check
	}
	r.Evidence.Matched = kit.First(v.Text("RawV2"), v.Text("Raw"))
	r.Description = v.Text("DetectorDescription")
	// The one member of Data says what was scanned: Git, Github, Filesystem, S3, Docker …
	_ = v.Each("SourceMetadata.Data", func(kind string, data kit.Value) error {
		r.Tags = []string{strings.ToLower(kind)}
		r.Place = kit.Place{File: file(kit.First(data.Text("file"), data.Text("filename"), data.Text("path"))),
			StartLine: kit.Int(data.Text("line")), Commit: data.Text("commit"),
			Repository: kit.First(data.Text("repository"), data.Text("project_name"))}
		r.Place.Package.Image = data.Text("image")
		if bucket := data.Text("bucket"); bucket != "" {
			r.Place.Resource = kit.Resource{Kind: "bucket", Name: bucket}
		}
		r.References = []string{data.Text("link")}
		r.SeenAt = kit.Time(data.Text("timestamp"))
		return nil
	})
	return r
}

var trufflehogReasons = []struct {
	part     string
	severity kit.Severity
}{
	{"high entropy", kit.Info}, {"oauth", kit.Critical}, {"aws", kit.Critical}, {"heroku", kit.Critical},
	{"generic secret", kit.Medium},
}

func trufflehogV2(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = v.Text("reason"), v.Text("reason")
	r.Severity, r.Status = kit.High, kit.Open
	for _, t := range trufflehogReasons {
		if strings.Contains(strings.ToLower(r.Check), t.part) {
			r.Severity = t.severity
			break
		}
	}
	r.Evidence.Matched = strings.Join(v.Texts("stringsFound"), "\n")
	r.Place = kit.Place{File: file(v.Text("path")), Commit: v.Text("commitHash")}
	r.Description = v.Text("commit")
	r.Tags = []string{v.Text("branch")}
	r.SeenAt = kit.Time(v.Text("date"))
	return r
}

// trufflehog3 reads the reports of another tool than TruffleHog version 3.
func trufflehog3() kit.Format {
	return kit.Format{
		Name: "trufflehog3", Title: "trufflehog3", Tool: "trufflehog3", Kinds: []string{"JSON"}, Class: kit.ClassSecret,
		Example: "trufflehog3 -f json -o report.json FOLDER",
		Signs:   []string{"json:[].rule.id json:[].secret", "json:[].stringsFound json:[].reason"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{"[]": func(v kit.Value) error {
				if v.Get("reason").Exists() {
					return out.Add(trufflehogV2(v))
				}
				if !v.Get("rule").Exists() {
					return out.Reject(v.Line, v.Position, "it has neither rule nor reason")
				}
				r := v.Record()
				r.Check = kit.First(v.Text("rule.id"), v.Text("rule.message"), v.Text("rule"))
				r.Title = kit.First(v.Text("rule.message"), r.Check)
				r.ToolSeverity = v.Text("rule.severity")
				r.Severity, r.Status = kit.SeverityOf(r.ToolSeverity), kit.Open
				r.Evidence.Matched = v.Text("secret")
				r.Place = kit.Place{File: file(v.Text("path")), StartLine: kit.Int(v.Text("line")), Commit: v.Text("commit"),
					Snippet: blank(v.Text("context."+kit.Number(kit.Int(v.Text("line")))), v.Text("secret"))}
				r.Description, r.Reference = v.Text("message"), v.Text("id")
				r.SeenAt = kit.Time(v.Text("date"))
				return out.Add(r)
			}})
		},
	}
}
