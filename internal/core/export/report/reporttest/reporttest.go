// Package reporttest has a report for the tests of what draws one: each kind of block, and texts that mean harm.
package reporttest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

// At is when the report was made.
var At = time.Date(2026, 11, 25, 16, 0, 0, 0, time.UTC)

// Hostile are texts that would break out of a format that is not careful.
var Hostile = []string{
	"<script>alert(1)</script>",
	`"><img src=x onerror=alert(1)>`,
	"</w:t></w:r><w:r><w:t>",
	"]]>",
	"&amp;&lt;",
	"{{.Title}}",
	"\u202egnp.exe",
	"nul\x00byte",
	"esc\x1b[31m",
	"</pre></main>",
	"javascript:alert(1)",
	") Tj ET endstream endobj",
}

// Logo is a picture of 300 by 100 pixels.
func Logo() []byte {
	picture := image.NewRGBA(image.Rect(0, 0, 300, 100))
	for x := range 300 {
		for y := range 100 {
			picture.Set(x, y, color.RGBA{R: 0x12, G: uint8(0x32 + x/4), B: 0x4f, A: 255})
		}
	}
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // into memory
	return out.Bytes()
}

func one(id, name, severity string, status finding.Status, place string, port int) report.Finding {
	f := report.Finding{
		Finding: fact.Finding{
			ID:          id,
			Name:        name,
			Severity:    severity,
			Status:      status,
			TemplateID:  "t-" + name[:3],
			Place:       place,
			Host:        "shop.example.com",
			Port:        port,
			CreatedAt:   At.AddDate(0, 0, -3),
			UpdatedAt:   At.AddDate(0, 0, -1),
			Description: "Whoever asks can download it.",
			References:  []string{"https://owasp.org/www-project-top-ten/"},
		},
	}
	f.CWEs = []int{22}
	f.Complete()
	return f
}

// Input is what the report is made of.
func Input() report.Input { //nolint:funlen // one value
	traversal := one(
		"f1",
		"Path traversal",
		"critical",
		finding.Open,
		"https://shop.example.com/cgi-bin/.%2e/etc/passwd",
		443,
	)
	traversal.Parameter, traversal.ParameterIn = "file", "query"
	traversal.CVSS = fact.CVSS{Score: 9.8, Vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", Version: "3.1"}
	traversal.CVEs, traversal.Verified, traversal.Retest = []string{
		"CVE-2021-41773",
	}, "3 of 3 further requests showed it again", "matched"
	answer := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat(
		"filler line\n",
		400,
	) + "root:x:0:0:root:/root:/bin/bash\n" +
		strings.Repeat(
			"more\n",
			300,
		)
	hints := fact.Hints{Texts: []string{"root:x:0:0:root:/root:/bin/bash"}}
	traversal.Exchanges = []report.Exchange{
		{
			Title: "Detection",
			Request: fact.Excerpt{
				Text: "GET /cgi-bin/.%2e/etc/passwd HTTP/1.1\r\nHost: shop.example.com\r\nCookie: sid=[masked:32:4f2a91]\r\n\r\n",
			},
			Response: hints.Find(answer, 1200),
		},
		{
			Title:    "Verification",
			Request:  fact.Excerpt{Text: "GET /cgi-bin/.%2e/etc/passwd HTTP/1.1\r\n"},
			Response: hints.Find(answer, 300),
		},
	}
	in := report.Input{
		Name:   "Quarterly test of the shop — Überprüfung",
		Team:   "blue",
		At:     At,
		Masked: true,
		Style: report.Style{
			Title:   "Penetration test",
			Company: "Example Security GmbH",
			Client:  "Shop AG",
			Author:  "A. Tester",
			Contact: "a@example.com",
			Logo:    Logo(),
		},
		Works: []report.Work{
			{
				Kind:      "scan",
				Name:      "Shop",
				ID:        "s1",
				By:        "alice@example.com",
				Status:    "finished",
				Began:     At.AddDate(0, 0, -3),
				Ended:     At.AddDate(0, 0, -2),
				Method:    "Detection templates were run against the targets.",
				Scope:     []string{"https://shop.example.com", "10.0.0.0/28"},
				MoreScope: 3,
				Excluded: []string{
					"db.internal",
				},
				Done:   [][2]string{{"Requests sent", "12,345"}, {"Empty", ""}},
				Limits: [][2]string{{"Network", "through a proxy"}},
				NotTested: []report.Gap{
					{What: "Failed, such as 10.0.0.3", Why: "No answer", N: 120},
					{What: "Skipped", Why: "The template needs a browser", N: 5},
				},
			},
			{
				Kind:        "task",
				Name:        "Look for exposed files",
				ID:          "k1",
				By:          "bob@example.com",
				Status:      "completed",
				Instruction: "Look for exposed files on https://shop.example.com",
				Began: At.AddDate(
					0,
					0,
					-1,
				),
				Ended:     At.AddDate(0, 0, -1).Add(time.Hour),
				Method:    "The built-in planner chose templates.",
				Summary:   "1 verified finding: 1 medium.",
				NotTested: []report.Gap{{What: "Left out of the plan", Why: "It never logs in."}},
			},
		},
		Findings: []report.Finding{
			one("f5", "Server banner", "info", finding.Open, "https://shop.example.com/", 443),
			one("f2", "Directory listing", "medium", finding.FixInProgress, "https://shop.example.com/a/", 443),
			one("f3", "Directory listing", "medium", finding.Fixed, "https://shop.example.com/b/", 443),
			one(
				"f4",
				"Directory listing",
				"medium",
				finding.AcceptedRisk,
				"https://shop.example.com:8443/"+strings.Repeat("long/path?x=y&", 12),
				8443,
			),
			traversal,
		},
	}
	for i, text := range Hostile {
		f := one("h"+string(rune('a'+i)), "Hostile "+text, "low", finding.FalsePositive, "https://h.example.com/"+text, 80)
		f.Description, f.Impact, f.Remediation, f.Parameter, f.Extracted, f.References = text, text, text, text, []string{
			text,
		}, []string{
			text,
		}
		f.Exchanges = []report.Exchange{
			{Title: text, Request: fact.Excerpt{Text: text}, Response: fact.Hints{Texts: []string{text}}.Find("x"+text, 100)},
		}
		in.Findings = append(in.Findings, f)
	}
	for _, f := range in.Findings {
		in.Totals.Add(f.Name, f.Host, f.Severity, f.Status, f.ID == "f2", f.CreatedAt)
	}
	return in
}

// Document is the report.
func Document() report.Document { return report.Build(Input()) }
