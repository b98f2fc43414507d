package export

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// pdfText is the text of a PDF as readers see it, and the number of its pages. Options are
// those of pdftotext.
func pdfText(t *testing.T, file []byte, options ...string) (text string, pages int) {
	t.Helper()
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext (poppler-utils) is not here")
	}
	path := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("VEDETTE_KEEP_PDF"); keep != "" { // to look at
		if err := os.WriteFile(filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")+".pdf"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := exec.Command("pdfinfo", path).CombinedOutput()
	if err != nil || bytes.Contains(said, []byte("Error")) {
		t.Fatalf("pdfinfo: %v\n%s", err, said)
	}
	if m := regexp.MustCompile(`(?m)^Pages:\s+(\d+)`).FindSubmatch(said); m == nil {
		t.Fatalf("pdfinfo does not tell the pages: %s", said)
	} else if _, err := fmt.Sscan(string(m[1]), &pages); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pdftotext", append(options, "-layout", path, "-")...).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Syntax Error")) {
		t.Fatalf("pdftotext: %v\n%s", err, out)
	}
	return string(out), pages
}

// sample are findings as a report would have them, and some that mean harm.
func sample() []engine.Event {
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	base := engine.Event{Host: "shop.example.com", Port: "443", Type: "http", MatcherStatus: true, Timestamp: at,
		IP: "192.0.2.7"}
	one := func(id, path string, info syntax.Info, change func(*engine.Event)) engine.Event {
		e := base
		e.TemplateID, e.MatchedAt, e.Info = id, "https://shop.example.com"+path, info
		e.Request = "GET " + path + " HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: Vedette\r\nAccept: */*\r\n\r\n"
		e.Response = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: nginx\r\n\r\n<!doctype html>\n<title>Index of /</title>\n"
		if change != nil {
			change(&e)
		}
		return e
	}
	return []engine.Event{
		one("git-config", "/.git/config", syntax.Info{
			Name: "Git configuration exposed", Severity: "medium", Tags: []string{"config", "git", "exposure"},
			Author:      []string{"pdteam"},
			Description: "The server hands out the folder of a Git repository. Whoever asks can download the whole history of the source code, with the credentials that were ever committed to it.",
			Impact:      "Source code and secrets become public.",
			Remediation: "Deny access to /.git in the web server:\n\n- nginx: location ~ /\\.git { deny all; }\n- deploy without the repository",
			Reference:   []string{"https://owasp.org/www-project-web-security-testing-guide/latest/4-Web_Application_Security_Testing/02-Configuration_and_Deployment_Management_Testing/"},
			Classification: &syntax.Classification{CVSSScore: 5.3, CVSSMetrics: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:N/A:N",
				CWEID: []string{"cwe-200"}},
		}, func(e *engine.Event) { e.ExtractedResults = []string{"url = git@github.com:example/shop.git"} }),
		one("CVE-2021-41773", "/cgi-bin/.%2e/.%2e/.%2e/.%2e/etc/passwd", syntax.Info{
			Name: "Apache HTTP Server 2.4.49 - path traversal", Severity: "critical", Tags: []string{"cve", "lfi", "apache"},
			Description:    "A change made to path normalization lets a request reach files outside the document root.",
			Remediation:    "Update to 2.4.51 or newer.",
			Classification: &syntax.Classification{CVSSScore: 9.8, CVEID: []string{"cve-2021-41773"}, CWEID: []string{"cwe-22"}},
		}, func(e *engine.Event) {
			e.Response = "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("root:x:0:0:root:/root:/bin/bash\n", 200)
		}),
		one("scripts", "/页面/日本語/한국어", syntax.Info{ //nolint:gosmopolitan // scripts are tested
			Name: "Уязвимость конфигурации · Ευπάθεια · 目录列表暴露 · ディレクトリ一覧 · 디렉터리", Severity: "high", //nolint:gosmopolitan // scripts are tested
			Description: "Сервер показывает содержимое каталога. 服务器显示目录内容，任何人都可以看到文件名。サーバーはディレクトリの内容を表示します。Ελληνικά. Українська. Հայերեն. ქართული. 서버가 디렉터리를 표시합니다. →✓ 😀 ไทย", //nolint:gosmopolitan // scripts are tested
		}, nil),
		one("hostile", "/x", syntax.Info{
			Name: "=cmd|' /C calc'!A0 ) Tj ET Q endstream endobj <</JS(app.alert\\(1\\))/S/JavaScript>> \u202egnp.exe\x00\x1b[31m", Severity: "low",
			Description: strings.Repeat("averyveryverylongwordwithoutanyplacetobreakit", 20) +
				" \\) (unbalanced ((( <script>alert(1)</script>",
		}, func(e *engine.Event) {
			e.MatchedAt = "https://shop.example.com/" + strings.Repeat("a/b?c=d&", 60)
			e.Response = strings.Repeat("\\(", 400) + ") Tj\nendstream\nendobj\n%%EOF\n" + strings.Repeat("x", 3000)
		}),
		one("headers", "/", syntax.Info{Name: "Security headers are missing", Severity: "info"},
			func(e *engine.Event) { e.Request, e.Response = "", "" }),
	}
}

func TestPDFIsAReport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", sample()...)
		r.add(t, "s2", events(0, 60)...)
		text, pages := pdfText(t, r.file(t, Request{Format: PDF, Name: "Quarterly scan of the shop — Überprüfung"}))
		for _, want := range []string{
			"Security findings", "Quarterly scan of the shop — Überprüfung", "Summary", "This report covers 65 findings at",
			"Findings by severity",
			". Apache HTTP Server 2.4.49 - path traversal", "CVE-2021-41773", "9.8", "Remediation", "Update to 2.4.51 or newer.",
			"Git configuration exposed",
			"Уязвимость конфигурации", "目录列表暴露", "ディレクトリ一覧", "디렉터리", "Հայերեն", "ქართული", `\u{1f600}`, "root:x:0:0:root:/root:/bin/bash", //nolint:gosmopolitan // scripts are tested
			"The first 2,500 of 6,419 bytes are shown.", `) Tj ET Q endstream endobj <</JS(app.alert\(1\))/S/JavaScript>>`,
			`\u{202e}gnp.exe`,
			fmt.Sprintf("Page 1 of %d", pages), fmt.Sprintf("Page %d of %d", pages, pages),
		} {
			if !strings.Contains(squeeze(text), squeeze(want)) { // a line may have been broken anywhere
				t.Errorf("the report does not say %q", want)
			}
		}
		if pages < 10 || pages > 40 || strings.Contains(text, "\u202e") {
			t.Errorf("%d pages", pages)
		}
	})
}

// squeeze is a text without blanks.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

func TestPDFOfNothing(t *testing.T) {
	r := setUp(t, dbtest.Open(t, "sqlite"))
	text, pages := pdfText(t, r.file(t, Request{Format: PDF}))
	if pages != 2 || !strings.Contains(text, "There are no findings.") {
		t.Errorf("%d pages: %s", pages, text)
	}
}

// TestPDFIsBounded: a report that cannot hold everything says so, and holds the worst.
func TestPDFIsBounded(t *testing.T) {
	r := setUp(t, dbtest.Open(t, "sqlite"))
	r.add(t, "s", events(0, maxSections+500)...)
	began := time.Now()
	file := r.file(t, Request{Format: PDF})
	t.Logf("%d bytes in %s", len(file), time.Since(began))
	text, pages := pdfText(t, file, "-l", "5")
	last, _ := pdfText(t, file, "-f", strconv.Itoa(pages-1))
	text += last
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"This report covers 2,500 findings", "Only the 2,000 worst are described",
		"500 more findings are not described here: a report describes at most 2,000.", "2000. ",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(flat, "UNKNOWN 20") || !strings.Contains(flat, "CRITICAL 1. ") {
		t.Error("the worst are not first")
	}
}

func TestTrendHasFewBars(t *testing.T) {
	for _, c := range []struct {
		days []int64
		unit string
		bars int
	}{{nil, "day", 0}, {[]int64{20000}, "day", 1}, {[]int64{20000, 20030}, "day", 31}, {[]int64{20000, 20031}, "week", 6},
		{[]int64{20000, 20300}, "month", 10}, {[]int64{0, 20000}, "month", maxBuckets}} {
		t0 := totals{byDay: map[int64]int{}}
		for _, day := range c.days {
			t0.byDay[day] = 7
		}
		unit, bars := t0.trend()
		last := 0
		if len(bars) > 0 {
			last = bars[len(bars)-1].n
		}
		if unit != c.unit || len(bars) != c.bars || len(c.days) > 0 && last != 7 {
			t.Errorf("%v: %d bars by %s, the last of %d", c.days, len(bars), unit, last)
		}
	}
}

// TestLinesFit: no line is wider than it may be, and none loses a character.
func TestLinesFit(t *testing.T) {
	ts, err := newTypesetter()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sample() {
		for _, text := range []string{e.Info.Name, e.Info.Description, e.Response, e.MatchedAt} {
			for _, fonts := range []*fontset{ts.plain, ts.bold, ts.mono} {
				var said strings.Builder
				for _, l := range fonts.lines(text, 9, 60) {
					if l.width > 60.001 {
						t.Errorf("a line is %.1f mm wide: %+v", l.width, l.runs)
					}
					for _, r := range l.runs {
						said.WriteString(r.text)
					}
				}
				if got, want := squeeze(said.String()),
					squeeze(fonts.printable(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", " "), "\n", " "))); got != want {
					t.Errorf("lines say %q, want %q", got, want)
				}
			}
		}
	}
}

func TestScale(t *testing.T) {
	for most, want := range map[int]int{1: 1, 5: 1, 6: 2, 10: 2, 11: 5, 25: 5, 26: 10, 1_000_000: 200_000} {
		if got := scale(most); got != want {
			t.Errorf("scale(%d) = %d, want %d", most, got, want)
		}
	}
}
