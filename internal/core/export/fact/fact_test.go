package fact

import (
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestFacts(t *testing.T) {
	d, err := finding.DocumentOf(engine.Event{TemplateID: "x", MatchedAt: "https://a.example/x?q=1", FuzzingParameter: "q",
		FuzzingPosition: "query", Info: syntax.Info{Name: "N", Classification: &syntax.Classification{
			CVEID: []string{"cve-2021-44228", "nonsense"}, CWEID: []string{"cwe-89", "cwe-x"}, CVSSScore: 9.8,
			CVSSMetrics: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}}}, "https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	f := Of(d)
	f.Complete()
	if f.Name != "N" || f.Place != "https://a.example/x?q=1" || f.Scheme != "https" || f.Parameter != "q" || f.ParameterIn != "query" ||
		!slices.Equal(f.CVEs, []string{"CVE-2021-44228"}) || !slices.Equal(f.CWEs, []int{89}) ||
		f.CVSS.Text() != "9.8 (CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H)" || !strings.Contains(f.Remediation, "bound parameters") {
		t.Errorf("%+v", f)
	}
	for _, bad := range []CVSS{scored(5, "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"), scored(5, "x"), scored(5, "CVSS:3.1/AV:N")} {
		if bad.Vector != "" || bad.Score != 5 {
			t.Errorf("%+v", bad)
		}
	}
	if w := scored(0, "CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"); w.Score != 9.8 || w.Version != "3.0" {
		t.Errorf("%+v", w)
	}
}

func TestWeaknessesAreInOrder(t *testing.T) {
	for i, w := range weaknesses {
		if i > 0 && w.CWE <= weaknesses[i-1].CWE || w.Name == "" || w.Impact == "" || w.Remediation == "" {
			t.Errorf("%+v", w)
		}
	}
}

const template = `id: t
info:
  name: T
  author: a
  severity: high
http:
  - path: ["{{BaseURL}}/"]
    matchers:
      - type: word
        name: shadow
        words: ["root:x:0:0"]
      - type: regex
        regex: ["version [0-9.]+"]
      - type: dsl
        dsl: ["contains(body, 'MARKER') && status_code == 200"]
      - type: word
        negative: true
        words: ["absent"]
`

// TestProofIsShown: what proves a finding is in the excerpt and marked, wherever in the answer it stands.
func TestProofIsShown(t *testing.T) {
	h := HintsOf([]byte(template), "")
	for _, proof := range []string{"root:x:0:0", "version 1.2.3", "MARKER", "extracted"} {
		for _, before := range []int{0, 100, 2600, 200_000} {
			text := strings.Repeat("é line\n", before/7) + proof + strings.Repeat("\ntail absent", 1000)
			e := h.With("extracted").Find(text, 2500)
			if len(e.Marked) != 1 || e.Text[e.Marked[0][0]:e.Marked[0][1]] != proof || len(e.Text) > 2600 ||
				e.Before+len(e.Text)+e.After != len(text) || !strings.HasPrefix(text[e.Before:], e.Text) {
				t.Errorf("%s after %d: %v of %d bytes, %d before", proof, before, e.Marked, len(e.Text), e.Before)
			}
		}
	}
	if e := h.Find("nothing of it", 5); e.Text != "nothi" || e.After != 8 || len(e.Marked) > 0 {
		t.Errorf("%+v", e)
	}
	if h := HintsOf([]byte(template), "shadow"); slices.Contains(h.Texts, "absent") || !slices.Contains(h.Texts, "root:x:0:0") {
		t.Errorf("%+v", h)
	}
	if h := HintsOf([]byte("no: [template"), ""); len(h.Texts) > 0 {
		t.Error("a text that is no template has hints")
	}
}

// FuzzFind: an excerpt is a part of its text, and its marks are ranges of it, in order.
func FuzzFind(f *testing.F) {
	f.Add(template, "root:x:0:0", "é\nroot:x:0:0\n", 10)
	f.Add("id: x", "a", "aaaa", 0)
	f.Fuzz(func(t *testing.T, template, hint, text string, most int) {
		h := HintsOf([]byte(template), "").With(hint)
		e := h.Find(text, min(max(most, 1), 5000))
		if !strings.HasPrefix(text[e.Before:], e.Text) || e.Before+len(e.Text)+e.After != len(text) {
			t.Fatalf("%d + %d + %d of %d", e.Before, len(e.Text), e.After, len(text))
		}
		at := 0
		for _, m := range e.Marked {
			if m[0] < at || m[1] <= m[0] || m[1] > len(e.Text) {
				t.Fatalf("marks %v of %d bytes", e.Marked, len(e.Text))
			}
			at = m[1]
		}
	})
}
