package pdf

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
	runs   []run
	width  float64      // mm
	marked [][2]float64 // from and to, in mm
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
	for _, at := range s.breaks(runes, unit, width) {
		out = append(out, s.line(runes[at[0]:at[1]], unit))
	}
	return out
}

// breaks are the beginnings and ends of lines.
func (s *fontset) breaks(runes []rune, unit, width float64) (out [][2]int) {
	begin, good, wide := 0, 0, 0.0 // good: the last index at which the line may end
	for i := range runes {
		g, _ := s.glyph(runes[i])
		wide += g.advance * unit
		if wide > width && i > begin && runes[i] != ' ' {
			if good <= begin {
				good = i
			}
			out = append(out, [2]int{begin, good})
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
	return append(out, [2]int{begin, len(runes)})
}

// marked is lines for a text with marks, which are ranges of its bytes.
func (s *fontset) marked(text string, marks [][2]int, size, width float64) (out []line) {
	unit := size * mmPerPoint
	var runes []rune // of the present paragraph
	var flags []bool // whether each is marked
	flush := func() {
		for _, at := range s.breaks(runes, unit, width) {
			l := s.line(runes[at[0]:at[1]], unit)
			x := 0.0
			for i := at[0]; i < at[1] && x < l.width; i++ {
				g, _ := s.glyph(runes[i])
				wide := g.advance * unit
				if flags[i] {
					if n := len(l.marked); n > 0 && l.marked[n-1][1] >= x-0.001 {
						l.marked[n-1][1] = x + wide
					} else {
						l.marked = append(l.marked, [2]float64{x, x + wide})
					}
				}
				x += wide
			}
			out = append(out, l)
		}
		runes, flags = runes[:0], flags[:0]
	}
	at := 0
	for i, r := range text {
		for at < len(marks) && i >= marks[at][1] {
			at++
		}
		if r == '\n' {
			flush()
			continue
		}
		if r == '\r' && strings.HasPrefix(text[i+1:], "\n") {
			continue
		}
		is := at < len(marks) && i >= marks[at][0]
		for _, shown := range s.printable(string(r)) {
			runes, flags = append(runes, shown), append(flags, is)
		}
	}
	if len(runes) > 0 {
		flush()
	}
	return out
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
