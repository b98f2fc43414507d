package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	word       kind = iota
	targetLike      // recognised as a target, valid or not
	path            // /something, without a host
	cve             // a CVE id
	comma           // and other separators
	colon           // or =
	stop            // end of a sentence
	newline         // one line end
	blank           // an empty line
	bullet          // mark of a list item
	open            // bracket
	closing         // bracket
)

// token is a piece of the instruction and what was made of it.
type token struct {
	kind  kind
	text  string  // as written
	norm  string  // of words: lower-case, without a plural s
	read  reading // of targets
	label bool    // text of a link: not a target itself

	excluded bool // must not be touched
	loose    bool // excluded after an unwanted check: "but no TLS on a.com"
	negated  bool // what it asks for is not wanted
	mention  bool // mentioned in passing: neither target nor exclusion
	consumed bool // was used
}

type tokens []token

func (ts tokens) at(i int) token {
	if i < 0 || i >= len(ts) {
		return token{kind: blank}
	}
	return ts[i]
}

func (ts tokens) consume(i, n int) {
	for j := i; j < min(i+n, len(ts)); j++ {
		ts[j].consumed = true
	}
}

var (
	schemeAhead = shape(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	v6Ahead     = shape(`^\[[0-9A-Fa-f:.%a-z]*:[0-9A-Fa-f:.%a-z]*\][^\s"<>,;]*`)
	cveShape    = shape(`(?i)^cve[-_–]?(\d{4})[-_–](\d{4,7})$`)
	listMark    = shape(`^(?:[-*•+–]|\(?\d{1,2}[.)]|#{1,6})$`)
	linkLabel   = shape(`\[[^\[\]\n]{1,200}\]\(`)
	rangeAhead  = shape(`^\d{1,3}(?:\.\d{1,3}){3}(?:[ \t]*[-–—][ \t]*|[ \t]+(?:to|through|thru|until)[ \t]+)\d{1,3}(?:\.\d{1,3}){3}`)
)

type lexer struct {
	tokens

	text   string
	end    int     // of the current chunk: where white space begins
	labels [][]int // spans of link texts
}

func lex(text string) tokens {
	l := &lexer{text: text, labels: linkLabel().FindAllStringIndex(text, -1)}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			at = l.space(at)
		case rangeLength(text[at:]) > 0:
			end := at + rangeLength(text[at:])
			l.piece(at, end)
			at = end
		default:
			at += max(l.chunk(at), size)
		}
	}
	return l.tokens
}

// space skips white space and keeps line ends.
func (l *lexer) space(at int) int {
	end := len(l.text) - len(strings.TrimLeftFunc(l.text[at:], unicode.IsSpace))
	switch strings.Count(l.text[at:end], "\n") {
	case 0:
	case 1:
		l.add(token{kind: newline})
	default:
		l.add(token{kind: blank})
	}
	return end
}

func (l *lexer) add(t token) { l.tokens = append(l.tokens, t) }

func (l *lexer) atLineStart() bool {
	last := l.at(len(l.tokens) - 1).kind
	return last == newline || last == blank
}

// chunk reads one piece or separator and returns its length.
func (l *lexer) chunk(at int) int {
	if at >= l.end {
		l.end = len(l.text)
		if n := strings.IndexFunc(l.text[at:], unicode.IsSpace); n >= 0 {
			l.end = at + n
		}
	}
	rest := cutAtRune(l.text[at:l.end], maxPiece)
	if l.atLineStart() && listMark().MatchString(rest) {
		l.add(token{kind: bullet})
		return len(rest)
	}
	r, size := utf8.DecodeRuneInString(rest)
	mark, separates := separators[r]
	v6 := trimEnd(v6Ahead().FindString(rest))
	if _, ok := read(v6); !ok {
		v6 = ""
	}
	n := len(v6)
	switch {
	case schemeAhead().MatchString(rest):
		n = urlLength(rest)
	case n > 0:
	case separates:
		l.add(token{kind: mark, text: rest[:size]})
		return size
	default:
		n = pieceLength(rest)
	}
	if n > maxPiece-utf8.UTFMax {
		l.add(token{kind: word, text: cutAtRune(rest, 40) + "…", norm: unread})
		return l.end - at
	}
	l.piece(at, at+n)
	return n
}

// unread is the norm of a piece that is too long to be looked at.
const unread = "…"

// maxPiece bounds a target, in bytes.
const maxPiece = 2048

// cutAtRune is the longest prefix of at most n bytes that ends with a whole rune.
func cutAtRune(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// rangeLength is the length of an address range at the start of rest, or 0.
func rangeLength(rest string) int {
	n := len(rangeAhead().FindString(rest))
	if after := strings.TrimLeft(rest[n:], "."); after != "" && (len(after) == len(rest[n:]) || after[0] > ' ') {
		if r, _ := utf8.DecodeRuneInString(after); unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return 0
		}
	}
	return n
}

var separators = map[rune]kind{
	',': comma, '，': comma, '、': comma, '|': comma, '&': comma, '"': comma, '“': comma, '”': comma, '„': comma,
	'«': comma, '»': comma, '`': comma, '\'': comma, '‘': comma, '’': comma, '—': comma, '…': comma, '~': comma,
	'\\': comma,
	';':  stop, '!': stop, '?': stop, '。': stop, '=': colon, '：': colon,
	'(': open, '[': open, '{': open, '<': open, ')': closing, ']': closing, '}': closing, '>': closing,
}

// pieceLength is the length of the piece at the start of rest. An apostrophe within a word and the [.] of a defanged
// name do not separate.
func pieceLength(rest string) int {
	for i, r := range rest {
		if i == 0 {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		switch _, separates := separators[r]; {
		case r == '[' && strings.HasPrefix(rest[i:], "[.]"), r == ']' && strings.HasSuffix(rest[:i], "[."):
		case (r == '\'' || r == '’') && unicode.IsLetter(before) && contraction().MatchString(rest[i+utf8.RuneLen(r):]):
		case separates:
			return i
		case (before == ':' || before == '/') && schemeAhead().MatchString(rest[i:]):
			return i
		}
	}
	return len(rest)
}

// contraction is what follows the apostrophe in "don't"; that of "example.com's" separates.
var contraction = shape(`^t\b`)

// urlLength is the length of the URL at the start of rest: up to a quote, an angle bracket, or a comma before another
// target, without the punctuation of the sentence.
func urlLength(rest string) int {
	end := len(rest)
	if i := strings.IndexAny(rest, "\"<>`“”«»，、。"); i > 0 {
		end = i
	}
	hostEnd := strings.Index(rest, "://") + 3
	hostEnd += strings.IndexAny(rest[hostEnd:]+"/", "/?#")
	for i, r := range rest[:end] {
		if r != ',' && r != ';' && r != '|' {
			continue
		}
		if i < hostEnd {
			end = i // a host name has none of these
			break
		}
		next := rest[i+1 : end]
		if j := strings.IndexAny(next, ",;|"); j >= 0 && !schemeAhead().MatchString(next) {
			next = next[:j]
		}
		if got, ok := read(trimEnd(next)); next == "" || ok && got.why != unknownSuffix {
			end = i
			break
		}
	}
	return max(len(trimEnd(rest[:end])), 1)
}

// trimEnd cuts off the punctuation of the sentence; a closing bracket stays when it was opened within the piece.
func trimEnd(piece string) string {
	for piece != "" {
		last, size := utf8.DecodeLastRuneInString(piece)
		switch last {
		case '.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '’', '‘':
		case ')', ']', '}':
			opening := map[rune]string{')': "(", ']': "[", '}': "{"}[last]
			if strings.Count(piece, opening) >= strings.Count(piece, string(last)) {
				return piece
			}
		default:
			return piece
		}
		piece = piece[:len(piece)-size]
	}
	return piece
}

// shortForms end in a dot that does not end a sentence.
var shortForms = map[string]bool{"e.g": true, "i.e": true, "etc": true, "vs": true, "incl": true, "excl": true,
	"approx": true, "resp": true}

// piece adds text[from:to], which may be several words.
func (l *lexer) piece(from, to int) {
	whole := l.text[from:to]
	bare := strings.TrimLeft(trimEnd(whole), "_#•–")
	if !strings.HasPrefix(bare, "*.") {
		bare = strings.TrimLeft(bare, "*")
	}
	if bare != "" {
		l.part(bare, from)
	}
	switch tail := whole[len(trimEnd(whole)):]; {
	case shortForms[strings.ToLower(bare)]:
	case strings.ContainsAny(tail, ".!?;"):
		l.add(token{kind: stop, text: "."})
	case strings.Contains(tail, ":"):
		l.add(token{kind: colon})
	case strings.Contains(tail, ","):
		l.add(token{kind: comma})
	}
}

// known adds a piece that is a target, a path or a CVE id as a whole.
func (l *lexer) known(bare string, at int) bool {
	if m := cveShape().FindStringSubmatch(bare); m != nil {
		l.add(token{kind: cve, text: bare, norm: "CVE-" + m[1] + "-" + m[2]})
		return true
	}
	if strings.HasPrefix(bare, "/") && len(bare) > 1 {
		l.add(token{kind: path, text: bare})
		return true
	}
	got, ok := read(bare)
	if !ok || got.why == unknownSuffix && strings.Contains(bare, "/") {
		return false
	}
	t := token{kind: targetLike, text: bare, read: got}
	for _, span := range l.labels {
		t.label = t.label || at > span[0] && at < span[1]
	}
	l.add(t)
	return true
}

// words adds the words of a piece. "scope:example.com", "TLS/SSL" and "off-limits" are cut; names with dots stay
// whole.
func (l *lexer) words(piece string, at int) {
	if len(piece) > maxWord {
		l.add(token{kind: word, text: cutAtRune(piece, 40) + "…", norm: unread})
		return
	}
	if i := strings.IndexAny(piece, ":/"); i > 0 && i < len(piece)-1 {
		l.part(piece[:i], at)
		if piece[i] == ':' {
			l.add(token{kind: colon})
		} else {
			l.add(token{kind: comma})
		}
		l.part(piece[i+1:], at+i+1)
		return
	}
	if i := strings.IndexByte(piece, '-'); i > 0 && i < len(piece)-1 && !digitsOnly(piece) {
		l.words(piece[:i], at)
		l.words(piece[i+1:], at+i+1)
		return
	}
	l.add(token{kind: word, text: piece, norm: fold(piece)})
}

// maxWord bounds a piece that is cut into words, in bytes.
const maxWord = 256

func (l *lexer) part(piece string, at int) {
	if !l.known(piece, at) {
		l.words(piece, at)
	}
}

func digitsOnly(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '-' }) < 0
}

// fold brings a word into the form of the tables: lower-case, without apostrophes and without a plural s.
func fold(s string) string {
	s = strings.ToLower(strings.Trim(s, ":-_'’"))
	s = strings.NewReplacer("'", "", "’", "").Replace(s)
	switch {
	case len(s) > 4 && strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case len(s) > 4 && strings.HasSuffix(s, "ie"):
		return s[:len(s)-2] + "y" // as cookies
	case len(s) > 3 && strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") &&
		!strings.HasSuffix(s, "is"):
		return s[:len(s)-1]
	}
	return s
}
