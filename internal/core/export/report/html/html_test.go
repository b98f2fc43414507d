package html

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/report/reporttest"
	"golang.org/x/net/html"
)

func render(t *testing.T, d report.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, d); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("VEDETTE_KEEP_PDF"); keep != "" { // to look at
		if err := os.WriteFile(filepath.Join(keep, "report.html"), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestNothingIsLoadedAndNothingRuns: hostile texts are texts, and nothing of the file asks for anything outside it.
func TestNothingIsLoadedAndNothingRuns(t *testing.T) {
	file := render(t, reporttest.Document())
	doc, err := html.Parse(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{"html": "lang", "meta": "charset http-equiv content name", "head": "", "title": "", "style": "",
		"body": "", "header": "", "img": "src alt", "div": "class", "h1": "", "h2": "class", "h3": "", "h4": "", "p": "class", "dl": "",
		"dt": "", "dd": "", "b": "", "main": "", "span": "class", "br": "", "ul": "", "li": "", "table": "class", "thead": "", "tbody": "",
		"tr": "", "th": "", "td": "", "svg": "viewbox height preserveaspectratio aria-hidden role aria-label",
		"rect": "width height class x y", "text": "x y font-size", "pre": "", "mark": ""}
	var text strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
		if n.Type == html.ElementNode {
			attributes, ok := allowed[strings.ToLower(n.Data)]
			if !ok {
				t.Errorf("there is a <%s>", n.Data)
			}
			for _, a := range n.Attr {
				if !strings.Contains(" "+attributes+" ", " "+strings.ToLower(a.Key)+" ") {
					t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
				}
				if a.Key == "src" && !strings.HasPrefix(a.Val, "data:image/png;base64,") {
					t.Errorf("<%s> loads %q", n.Data, a.Val)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	for _, want := range append([]string{"Penetration test", "Example Security GmbH", "CVE-2021-41773", "Not tested"},
		plain(strings.Join(reporttest.Hostile, "\x00"))) {
		for part := range strings.SplitSeq(want, `\u{0}`) {
			if !strings.Contains(text.String(), part) {
				t.Errorf("the report does not say %q", part)
			}
		}
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(file)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src &#39;none&#39;; style-src &#39;sha256-") ||
		strings.Contains(policy[1], "unsafe") {
		t.Errorf("policy: %q", policy)
	}
	if !strings.Contains(file, "<mark>root:x:0:0:root:/root:/bin/bash</mark>") {
		t.Error("the proof is not marked")
	}
	if strings.ContainsAny(file, "\x00\x1b\u202e") {
		t.Error("there are characters that show nothing")
	}
}

func TestReportOfNothing(t *testing.T) {
	if file := render(t, report.Build(report.Input{Name: "N"})); !strings.Contains(file, "There are no findings.") {
		t.Error(file)
	}
}
