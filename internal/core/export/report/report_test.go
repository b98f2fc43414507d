package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/report/reporttest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// said is all texts of a report, one a line.
func said(d report.Document) string {
	lines := []string{d.Title, d.Subtitle, d.Company, d.Notice}
	for _, b := range d.Blocks {
		lines = append(lines, b.Text, b.Excerpt.Text)
		lines = append(append(lines, b.Items...), b.Header...)
		for _, f := range b.Facts {
			lines = append(lines, f[0]+": "+f[1])
		}
		for _, row := range b.Rows {
			lines = append(lines, strings.Join(row, " | "))
		}
	}
	return strings.Join(lines, "\n")
}

func headings(d report.Document) (out []string) {
	for _, b := range d.Blocks {
		if b.Kind == report.Heading && b.Level == 1 {
			out = append(out, b.Text)
		}
	}
	return out
}

// TestOrder: what decides comes first, the worst first, and one cause is described once, with its places as a list.
func TestOrder(t *testing.T) {
	d := reporttest.Document()
	if got := headings(d); !slices.Equal(got, []string{"Summary", "Scope and method", "Not tested", "Findings", "State and retests", "Appendix"}) {
		t.Errorf("%q", got)
	}
	var causes []string
	for _, b := range d.Blocks {
		if b.Kind == report.FindingTag {
			causes = append(causes, b.Severity+" "+b.Text)
		}
	}
	if len(causes) != 3+len(reporttest.Hostile) || causes[0] != "critical 1. Path traversal" || causes[1] != "medium 2. Directory listing" ||
		!strings.HasPrefix(causes[len(causes)-1], "info ") {
		t.Errorf("%q", causes)
	}
	text := said(d)
	for _, want := range []string{
		"This report is about 1 scan and 1 task from 22 November 2026 to 24 November 2026, for Shop AG.",
		"1 critical, 3 medium, 12 low and 1 info", "1 had been fixed and came back",
		"125 tests of single targets with single templates were not made", "Critical: Path traversal at 1 place (finding 1).",
		"Asked for by: alice@example.com", "Instruction: Look for exposed files", "Out of scope: db.internal", "and 3 more",
		"Failed, such as 10.0.0.3 | No answer | 120", "Left out of the plan | It never logs in. | ",
		"2 | Medium | Directory listing | 3 | 1 of 3 open", "https://shop.example.com/b/ | 443 |  | Medium | fixed | 22 November 2026",
		"CWE: CWE-22: Improper Limitation", "CVSS: 9.8 (CVSS:3.1/", "Port: 443", "Parameter: file (query)", "root:x:0:0:root:/root:/bin/bash",
		"Verification: answer", "Map names to files by a list", "1 | Critical | https://shop.example.com/cgi-bin/.%2e/etc/passwd | open | 22 November 2026 | 24 November 2026 | matched",
		"Passwords, sessions, tokens and keys are masked",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(text, "Empty:") {
		t.Error("it has a fact without a value")
	}
}

// TestAudienceAndSections: an executive gets no evidence; sections are on or off as asked.
func TestAudienceAndSections(t *testing.T) {
	in := reporttest.Input()
	in.Style.Audience = report.Executive
	d := report.Build(in)
	if text := said(d); strings.Contains(text, "GET /cgi-bin") || slices.Contains(headings(d), "Appendix") || !strings.Contains(text, "What to do first") {
		t.Error("the report for executives has the wrong parts")
	}
	in.Style.Sections = []report.Section{report.Status, report.Summary}
	if got := headings(report.Build(in)); !slices.Equal(got, []string{"Summary", "State and retests"}) {
		t.Errorf("%q", got)
	}
}

func TestStyleOfATeamIsTheDefault(t *testing.T) {
	team := report.Style{Title: "T", Company: "C", Logo: reporttest.Logo(), Sections: []report.Section{report.Summary}, Audience: report.Executive}
	got := report.Style{Title: "mine"}.Or(team)
	if got.Title != "mine" || got.Company != "C" || len(got.Logo) == 0 || len(got.Sections) != 1 || got.Audience != report.Executive {
		t.Errorf("%+v", got)
	}
}

func TestLogosAreChecked(t *testing.T) {
	for name, logo := range map[string][]byte{"text": []byte("no picture"), "svg": []byte("<svg/>"), "cut": reporttest.Logo()[:60],
		"large": make([]byte, 513<<10)} {
		if err := (report.Style{Logo: logo}).Check("report."); errs.From(err) == nil || errs.From(err).Param != "report.logo" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (report.Style{Logo: reporttest.Logo()}).Check(""); err != nil {
		t.Error(err)
	}
}
