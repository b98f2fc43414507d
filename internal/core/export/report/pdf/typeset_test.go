package pdf

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// samples are texts that are hard to set.
var samples = []string{
	"Уязвимость конфигурации · Ευπάθεια · 目录列表暴露 · ディレクトリ一覧 · 디렉터리", //nolint:gosmopolitan // scripts are tested
	"=cmd|' /C calc'!A0 ) Tj ET Q endstream endobj <</JS(app.alert\\(1\\))/S/JavaScript>> \u202egnp.exe\x00\x1b[31m",
	strings.Repeat("averyveryverylongwordwithoutanyplacetobreakit", 20), "https://shop.example.com/" + strings.Repeat("a/b?c=d&", 60),
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n\tx", strings.Repeat("\\(", 400) + ") Tj\nendstream\n", "\xff é 😀 ไทย", "",
}

// squeeze is a text without blanks.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// TestMarksAreDrawn: the marked part of a line is as wide as its text, in every line that it crosses.
func TestMarksAreDrawn(t *testing.T) {
	ts, err := newTypesetter()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range samples {
		for from := 0; from < len(text); from += 1 + len(text)/7 {
			marks := [][2]int{{from, min(len(text), from+1+len(text)/5)}}
			lines := ts.mono.marked(text, marks, 7.5, 60)
			var said strings.Builder
			marked := 0
			for _, l := range lines {
				for _, r := range l.runs {
					said.WriteString(r.text)
				}
				for _, m := range l.marked {
					marked++
					if m[0] < 0 || m[1] <= m[0] || m[1] > l.width+0.001 {
						t.Errorf("%q: a mark from %.2f to %.2f in a line of %.2f", text, m[0], m[1], l.width)
					}
				}
			}
			part := strings.TrimSpace(text[marks[0][0]:marks[0][1]])
			if want := squeeze(ts.mono.printable(strings.NewReplacer("\r\n", " ", "\n", " ").Replace(text))); squeeze(said.String()) != want {
				t.Errorf("lines say %q, want %q", squeeze(said.String()), want)
			}
			if utf8.ValidString(part) && part != "" && marked == 0 {
				t.Errorf("%q is not marked", part)
			}
		}
	}
}

// TestLinesFit: no line is wider than it may be, and none loses a character.
func TestLinesFit(t *testing.T) {
	ts, err := newTypesetter()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range samples {
		{
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
