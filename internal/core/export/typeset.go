package export

import (
	"embed"
	"fmt"
	"strings"
	"unicode"

	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The fonts of reports, each with its licence in fonts/README.md.
//
//go:embed fonts/*.ttf
var fontFiles embed.FS

type face struct {
	family string
	style  fontstyle.Type
	bytes  []byte
	font   *sfnt.Font
	used   bool
}

type glyph struct {
	face    *face   // nil: no font has the character
	advance float64 // its width, as a part of the font's size
}

// fontset is a font with fallbacks for the characters that it lacks.
type fontset struct {
	faces  []*face
	glyphs map[rune]glyph
	buffer sfnt.Buffer
}

type typesetter struct {
	faces             []*face
	plain, bold, mono *fontset
}

func newTypesetter() (*typesetter, error) {
	t := &typesetter{}
	for _, f := range []struct {
		family string
		style  fontstyle.Type
		file   string
	}{
		{"sans", fontstyle.Normal, "LiberationSans-Regular"}, {"sans", fontstyle.Bold, "LiberationSans-Bold"},
		{"mono", fontstyle.Normal, "LiberationMono-Regular"}, {"wide", fontstyle.Normal, "DejaVuSans"},
		{"asian", fontstyle.Normal, "DroidSansFallback"},
	} {
		text, err := fontFiles.ReadFile("fonts/" + f.file + ".ttf")
		if err != nil {
			return nil, err
		}
		parsed, err := sfnt.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("font %s: %w", f.file, err)
		}
		t.faces = append(t.faces, &face{family: f.family, style: f.style, bytes: text, font: parsed})
	}
	all := t.faces
	set := func(first *face) *fontset {
		return &fontset{faces: []*face{first, all[3], all[4]}, glyphs: map[rune]glyph{}}
	}
	t.plain, t.bold, t.mono = set(all[0]), set(all[1]), set(all[2])
	all[0].used = true // for page numbers
	return t, nil
}

// glyph finds the font that has a character. Invisible ones and those beyond the basic plane have none.
func (s *fontset) glyph(r rune) (glyph, bool) {
	if g, known := s.glyphs[r]; known {
		return g, g.face != nil
	}
	var g glyph
	if r >= ' ' && r < 0xffff && unicode.IsPrint(r) && !unicode.Is(unicode.Bidi_Control, r) {
		for _, f := range s.faces {
			index, err := f.font.GlyphIndex(&s.buffer, r)
			if err != nil || index == 0 {
				continue
			}
			advance, err := f.font.GlyphAdvance(&s.buffer, index, fixed.I(1000), font.HintingNone)
			if err == nil {
				g = glyph{f, float64(advance) / 64 / 1000}
				break
			}
		}
	}
	s.glyphs[r] = g
	return g, g.face != nil
}

type run struct {
	face *face
	text string
	x    float64 // mm from the beginning of the line
}

type line struct {
	runs  []run
	width float64 // mm
}

const mmPerPoint = 25.4 / 72

// lines breaks a text into lines of at most width mm, in a size in points: at a blank or punctuation, or else anywhere.
// A character that no font has is written as \u{…}.
func (s *fontset) lines(text string, size, width float64) (out []line) {
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		out = append(out, s.paragraph(s.printable(paragraph), size*mmPerPoint, width)...)
	}
	return out
}

// printable replaces characters that no font has by their numbers.
func (s *fontset) printable(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(strings.ReplaceAll(text, "\t", "    "), "\uFFFD") {
		if _, ok := s.glyph(r); ok {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// paragraph breaks a text without line ends; unit is the size in mm.
func (s *fontset) paragraph(text string, unit, width float64) (out []line) {
	runes := []rune(text)
	begin, good, wide := 0, 0, 0.0 // good: the last index at which the line may end
	for i := range runes {
		g, _ := s.glyph(runes[i])
		wide += g.advance * unit
		if wide > width && i > begin && runes[i] != ' ' {
			if good <= begin {
				good = i
			}
			out = append(out, s.line(runes[begin:good], unit))
			for begin = good; begin < i && runes[begin] == ' '; {
				begin++
			}
			wide = 0
			for _, r := range runes[begin : i+1] {
				g, _ := s.glyph(r)
				wide += g.advance * unit
			}
		}
		if strings.ContainsRune(" /?&=,;-_|", runes[i]) || runes[i] >= 0x2e80 {
			good = i + 1
		}
	}
	return append(out, s.line(runes[begin:], unit))
}

// line divides a line into runs.
func (s *fontset) line(runes []rune, unit float64) (l line) {
	text := strings.TrimRight(string(runes), " ")
	for _, r := range text {
		g, _ := s.glyph(r)
		if n := len(l.runs); n == 0 || l.runs[n-1].face != g.face {
			g.face.used = true
			l.runs = append(l.runs, run{face: g.face, x: l.width})
		}
		l.runs[len(l.runs)-1].text += string(r)
		l.width += g.advance * unit
	}
	return l
}
