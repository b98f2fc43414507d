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
			"Security findings", "Quarterly scan of the shop — Überprüfung", "Summary", "It covers 65 findings at",
			"Findings by severity",
			". Apache HTTP Server 2.4.49 - path traversal", "CVE-2021-41773", "9.8", "Remediation", "Update to 2.4.51 or newer.",
			"Git configuration exposed",
			"Уязвимость конфигурации", "目录列表暴露", "ディレクトリ一覧", "디렉터리", "Հայերեն", "ქართული", `\u{1f600}`, "root:x:0:0:root:/root:/bin/bash", //nolint:gosmopolitan // scripts are tested
			"Left out: 5,505 bytes", `) Tj ET Q endstream endobj <</JS(app.alert\(1\))/S/JavaScript>>`,
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
	if pages != 3 || !strings.Contains(text, "There are no findings.") {
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
		"It covers 2,500 findings", "Only the 2,000 worst are described",
		"500 are left out here.",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if i, j := strings.Index(flat, "1 Critical"), strings.Index(flat, "2 Critical"); i < 0 || j < i {
		t.Error("the worst are not first")
	}
}
