package stream

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// Guard stands between a report and the decoder, which keeps a whole text or tag in memory and refuses characters
// that XML does not have but tools write. It cuts texts and values beyond MaxItem, and replaces such characters, also
// those that are written as references (&#0;).
type Guard struct {
	Line int // of the next byte, from 1

	r     *bufio.Reader
	cut   bool // something was cut since WasCut was asked
	state xmlState
	run   int  // bytes of the text, of the comment, or of all values of the tag so far
	tag   int  // characters of the tag beside its values so far
	quote rune // of the value within a tag; 0 outside
	ends  int  // how many of the characters that end a comment or CDATA stand before
	depth int  // of < in a declaration
	left  []byte
}

// NewGuard stands in front of r, and decodes the character set that the first line of the text declares, if it is one
// with a byte for each character.
func NewGuard(r *bufio.Reader) *Guard {
	if isNarrow(declared(r)) {
		r = bufio.NewReaderSize(&narrow{r: r}, 64<<10)
	}
	return &Guard{Line: 1, r: r}
}

type xmlState int

const (
	inText xmlState = iota
	inTag
	inCDATA
	inComment
	inDeclaration
)

const maxDeclaration = 1 << 20

// Read implements io.Reader.
func (g *Guard) Read(p []byte) (int, error) {
	for len(g.left) == 0 {
		if err := g.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.left)
	g.left = g.left[n:]
	return n, nil
}

// WasCut says whether the token that the decoder read last was cut. The guard is never a whole token ahead of it when
// it cuts.
func (g *Guard) WasCut() bool {
	was := g.cut
	g.cut = false
	return was
}

// fill takes what is in the buffer, at least one character.
func (g *Guard) fill() error {
	g.left = g.left[:0]
	for {
		c, size, err := g.r.ReadRune()
		if err != nil {
			if len(g.left) > 0 {
				return nil
			}
			return err
		}
		if c == '\n' {
			g.Line++
		}
		if c == utf8.RuneError && size == 1 || c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0xFFFE || c == 0xFFFF {
			c = utf8.RuneError
		}
		if err := g.char(c); err != nil {
			return err
		}
		if len(g.left) > 0 && (len(g.left) > 32<<10 || g.r.Buffered() == 0) {
			return nil
		}
	}
}

func (g *Guard) char(c rune) error {
	switch g.state {
	case inText:
		g.text(c)
	case inTag:
		if g.quote == 0 {
			g.tag++
		}
		if g.tag > MaxItem {
			return Malformed("The report is not XML that can be read: a tag of line %d is larger than 8 MB.", g.Line)
		}
		g.inTag(c)
	case inCDATA:
		g.until(c, ']', "]]>")
	case inComment:
		g.until(c, '-', "-->")
	case inDeclaration:
		if g.run++; g.run > maxDeclaration {
			return Malformed("The declaration before line %d is larger than 1 MB.", g.Line)
		}
		switch c {
		case '<':
			g.depth++
		case '>':
			g.depth--
		}
		if g.depth == 0 {
			g.enter(inText)
		}
		g.left = utf8.AppendRune(g.left, c)
	}
	return nil
}

func (g *Guard) enter(s xmlState) {
	g.state, g.run, g.tag, g.quote, g.ends, g.depth = s, 0, 0, 0, 0, 1
}

func (g *Guard) text(c rune) {
	switch c {
	case '<':
		ahead, _ := g.r.Peek(8)
		switch {
		case strings.HasPrefix(string(ahead), "![CDATA["):
			g.enter(inCDATA)
		case strings.HasPrefix(string(ahead), "!--"):
			g.enter(inComment)
			g.ends = -2 // <!--> is no comment
		case strings.HasPrefix(string(ahead), "!"):
			g.enter(inDeclaration)
		default:
			g.enter(inTag)
		}
		g.left = append(g.left, '<')
	case '&':
		g.put(g.reference())
	default:
		g.putRune(c)
	}
}

func (g *Guard) inTag(c rune) {
	switch {
	case g.quote != 0 && c == g.quote:
		g.quote = 0
	case g.quote != 0 && c == '&':
		g.put(g.reference())
		return
	case g.quote != 0:
		g.putRune(c)
		return
	case c == '"' || c == '\'':
		g.quote = c
	case c == '>':
		g.enter(inText)
	}
	g.left = utf8.AppendRune(g.left, c)
}

// until passes a comment or CDATA on to its end.
func (g *Guard) until(c, mark rune, end string) {
	whole := g.run <= MaxItem
	switch {
	case c == mark:
		g.ends++
	case c == '>' && g.ends >= 2:
		if whole {
			end = ">"
		}
		g.left = append(g.left, end...)
		g.enter(inText)
		return
	default:
		g.ends = min(g.ends, 0)
		if g.ends < 0 && c != '!' {
			g.ends = 0
		}
	}
	g.putRune(c)
}

func (g *Guard) putRune(c rune) {
	if g.run > MaxItem {
		g.cut = true
		return
	}
	before := len(g.left)
	g.left = utf8.AppendRune(g.left, c)
	g.run += len(g.left) - before
}

func (g *Guard) put(s string) {
	if g.run > MaxItem {
		g.cut = true
		return
	}
	g.run += len(s)
	g.left = append(g.left, s...)
}

// reference is what to put for a reference, whose & was read: itself, unless it means a character that XML has not.
func (g *Guard) reference() string {
	ahead, err := g.r.Peek(12)
	if err != nil && len(ahead) == 0 || len(ahead) < 3 || ahead[0] != '#' {
		return "&"
	}
	digits, _, found := strings.Cut(string(ahead[1:]), ";")
	if !found {
		return "&"
	}
	value, base := rune(0), rune(10)
	number := digits
	if rest, ok := strings.CutPrefix(digits, "x"); ok {
		number, base = rest, 16
	}
	if number == "" {
		return "&"
	}
	for _, d := range strings.ToLower(number) {
		n := d - '0'
		if d >= 'a' {
			n = d - 'a' + 10
		}
		if n < 0 || n >= base {
			return "&"
		}
		if value = value*base + n; value > utf8.MaxRune {
			break
		}
	}
	bad := value < ' ' && value != '\t' && value != '\n' && value != '\r' || value > utf8.MaxRune ||
		value >= 0xD800 && value < 0xE000 || value == 0xFFFE || value == 0xFFFF
	if !bad {
		return "&"
	}
	_, _ = g.r.Discard(len(digits) + 2)
	return "\uFFFD"
}

// Charset is asked by the decoder for what a report declares: UTF-16 has become UTF-8 before, and NewGuard has seen to
// the rest.
func Charset(label string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be":
		return r, nil
	}
	if isNarrow(label) {
		return r, nil
	}
	return nil, Malformed("The character set %.40q of the report is not known.", label)
}

func isNarrow(label string) bool {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "iso-8859-1", "latin1", "iso-8859-15", "windows-1252", "cp1252":
		return true
	}
	return false
}

// declared is the character set that the first line of an XML text names.
func declared(r *bufio.Reader) string {
	head, _ := r.Peek(256)
	line, _, _ := strings.Cut(string(head), "?>")
	_, value, found := strings.Cut(line, "encoding=")
	if !found || !strings.HasPrefix(line, "<?xml") || len(value) < 2 {
		return ""
	}
	label, _, _ := strings.Cut(value[1:], value[:1])
	return label
}

// narrow reads Windows-1252, of which ISO 8859-1 is a part where it has letters.
type narrow struct {
	r    *bufio.Reader
	left []byte
}

const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ"

// Read implements io.Reader.
func (n *narrow) Read(p []byte) (int, error) {
	for len(n.left) < 4096 {
		c, err := n.r.ReadByte()
		if err != nil {
			if len(n.left) > 0 {
				break
			}
			return 0, err
		}
		switch {
		case c < 0x80:
			n.left = append(n.left, c)
		case c < 0xA0:
			n.left = utf8.AppendRune(n.left, []rune(windows1252)[c-0x80])
		default:
			n.left = utf8.AppendRune(n.left, rune(c))
		}
	}
	size := copy(p, n.left)
	n.left = append(n.left[:0], n.left[size:]...)
	return size, nil
}
