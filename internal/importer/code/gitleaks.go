package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Reports of tools for secrets hold the secrets in the clear: here they are in Evidence.Matched and nowhere else, so
// that whoever stores the record can take them out of one place. Snippets have them blanked.

// gitleaks reads the reports of version 8, and of 7 and before. It has no severities: all are High.
func gitleaks() kit.Format {
	return kit.Format{
		Name: "gitleaks", Title: "Gitleaks", Tool: "gitleaks", Kinds: []string{"JSON"}, Class: kit.ClassSecret,
		Example: "gitleaks git -f json -r report.json",
		Signs: []string{"json:[].RuleID json:[].Secret", "json:[].rule json:[].offender", "json:[].RuleID json:[].Match",
			"json:rule json:offender"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				if v.Get("RuleID").Exists() || v.Get("Secret").Exists() {
					return out.Add(gitleaks8(v))
				}
				if !v.Get("rule").Exists() && !v.Get("offender").Exists() {
					return out.Reject(v.Line, v.Position, "it has no rule")
				}
				return out.Add(gitleaks7(v))
			})
		},
	}
}

func gitleaks8(v kit.Value) kit.Record {
	r := v.Record()
	r.Check = v.Text("RuleID")
	r.Title = kit.First(v.Text("Description"), r.Check)
	r.Severity, r.Status = kit.High, kit.Open
	secret := kit.First(v.Text("Secret"), v.Text("Match"))
	r.Evidence.Matched = secret
	r.Place = kit.Place{File: file(v.Text("File")), StartLine: kit.Int(v.Text("StartLine")),
		EndLine: kit.Int(v.Text("EndLine")), Column: kit.Int(v.Text("StartColumn")), Commit: v.Text("Commit"),
		Snippet: blank(v.Text("Match"), secret)}
	r.Tags = v.Texts("Tags")
	r.SeenAt = kit.Time(v.Text("Date"))
	r.Reference = v.Text("Fingerprint")
	if link := v.Text("Link"); link != "" {
		r.References = []string{link}
		if at := strings.Index(link, "/blob/"); at > 0 {
			r.Place.Repository = link[:at]
		}
	}
	r.Description = v.Text("Message")
	return r
}

func gitleaks7(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = v.Text("rule"), v.Text("rule")
	r.Severity, r.Status = kit.High, kit.Open
	secret := v.Text("offender")
	r.Evidence.Matched = secret
	repository := kit.First(v.Text("repoURL"), v.Text("repo"))
	if repository == "." {
		repository = ""
	}
	r.Place = kit.Place{File: file(v.Text("file")), StartLine: kit.Int(v.Text("lineNumber")), Commit: v.Text("commit"),
		Repository: repository, Snippet: blank(v.Text("line"), secret)}
	for tag := range strings.SplitSeq(v.Text("tags"), ",") {
		r.Tags = append(r.Tags, tag)
	}
	r.SeenAt = kit.Time(v.Text("date"))
	r.References = []string{v.Text("leakURL")}
	r.Description = v.Text("commitMessage")
	return r
}

// blank takes a secret out of the text around it.
func blank(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, "[secret]")
}
