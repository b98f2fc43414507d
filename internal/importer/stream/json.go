// Package stream looks at reports byte by byte where the libraries would keep too much of them: the structure of JSON
// texts, and a guard in front of the decoder of XML. What it hands on is bounded by MaxItem.
package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// MaxItem is how large one item of a report may be, in bytes.
const MaxItem = 8 << 20

// MaxDepth is how deep brackets of JSON and elements of XML may nest.
const MaxDepth = 200

// maxKey is how much of the name of a member is kept.
const maxKey = 4 << 10

// Malformed is the error for a report that cannot be read at all, or not to its end: errs.Invalid with the code
// import_malformed.
func Malformed(format string, args ...any) *errs.Error {
	return errs.New(errs.Invalid, "import_malformed", format, args...).At("file")
}

// JSON reads the structure of a JSON text: brackets, names, strings. What it passes over is not kept and not
// checked further than that; what it takes is checked by the caller.
type JSON struct {
	Line int // of the next byte, from 1

	r *bufio.Reader

	keeping bool
	kept    []byte
	over    bool // what is kept grew beyond MaxItem and was given up
}

// NewJSON reads r, from its first line.
func NewJSON(r *bufio.Reader) *JSON { return &JSON{Line: 1, r: r} }

func (s *JSON) next() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		s.Line++
	}
	if s.keeping {
		s.keep(c)
	}
	return c, nil
}

func (s *JSON) keep(c byte) {
	if len(s.kept) >= MaxItem {
		s.over = true
		s.kept = s.kept[:0]
	}
	if !s.over {
		s.kept = append(s.kept, c)
	}
}

// Space passes over blanks and returns the byte behind them, which stays unread.
func (s *JSON) Space() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r':
		case '\n':
			s.Line++
		default:
			return c, s.r.UnreadByte()
		}
	}
}

// Early words the end of a text that is not complete.
func (s *JSON) Early(err error) error {
	if errors.Is(err, io.EOF) {
		return Malformed("The JSON ends too early, in line %d.", s.Line)
	}
	return err
}

func (s *JSON) unexpected(c byte, want string) error {
	return Malformed("The report is not valid JSON: line %d has %q where %s is expected.", s.Line, rune(c), want)
}

// Object calls do behind each name of an object; do reads the value.
func (s *JSON) Object(do func(key string) error) error {
	if _, err := s.next(); err != nil { // {
		return err
	}
	for n := 0; ; n++ {
		c, err := s.Space()
		if err != nil {
			return s.Early(err)
		}
		if c == '}' && n == 0 {
			_, err = s.next()
			return err
		}
		if c != '"' {
			return s.unexpected(c, "a name")
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if err := do(key); err != nil {
			return err
		}
		end, err := s.comma('}')
		if err != nil || end {
			return err
		}
	}
}

// key reads a name and its colon; of names longer than 4 KB, which no report has, the beginning.
func (s *JSON) key() (string, error) {
	var key []byte
	if _, err := s.next(); err != nil {
		return "", err
	}
	for {
		c, err := s.next()
		if err != nil {
			return "", s.Early(err)
		}
		if c == '"' {
			break
		}
		if c == '\\' {
			key = append(key, c)
			if c, err = s.next(); err != nil {
				return "", s.Early(err)
			}
		}
		if len(key) < maxKey {
			key = append(key, c)
		}
	}
	if c, err := s.Space(); err != nil {
		return "", s.Early(err)
	} else if c != ':' {
		return "", s.unexpected(c, "a colon")
	}
	_, err := s.next()
	return string(key), err
}

// comma reads what stands behind a value: a comma, or the closing bracket, which ends the list.
func (s *JSON) comma(closing byte) (end bool, err error) {
	c, err := s.Space()
	if err != nil {
		return false, s.Early(err)
	}
	if c != ',' && c != closing {
		return false, s.unexpected(c, "a comma or a closing bracket")
	}
	_, err = s.next()
	return c == closing, err
}

// Array calls do before each element of an array; do reads it.
func (s *JSON) Array(do func(i int) error) error {
	if _, err := s.next(); err != nil { // [
		return err
	}
	for i := 0; ; i++ {
		c, err := s.Space()
		if err != nil {
			return s.Early(err)
		}
		if c == ']' && i == 0 {
			_, err = s.next()
			return err
		}
		if err := do(i); err != nil {
			return err
		}
		end, err := s.comma(']')
		if err != nil || end {
			return err
		}
	}
}

// Take reads a value and returns its bytes, until the next call; nothing when it is too large.
func (s *JSON) Take(without map[string]bool) (raw []byte, over bool, err error) {
	if cap(s.kept) > 1<<20 {
		s.kept = nil
	}
	s.keeping, s.kept, s.over = true, s.kept[:0], false
	c, err := s.Space()
	switch {
	case err != nil:
	case len(without) == 0 || c != '{':
		err = s.Skip()
	default:
		err = s.Object(func(key string) error {
			if !without[key] {
				return s.Skip()
			}
			s.keeping = false
			err := s.Skip()
			s.keeping = true
			for _, c := range []byte("null") {
				s.keep(c)
			}
			return err
		})
	}
	s.keeping = false
	return s.kept, s.over, err
}

// Skip passes over a value.
func (s *JSON) Skip() error {
	c, err := s.Space()
	if err != nil {
		return s.Early(err)
	}
	switch c {
	case '{', '[':
		return s.nested()
	case '"':
		_, err = s.next()
		if err == nil {
			err = s.text()
		}
		return err
	case '}', ']', ',', ':':
		return s.unexpected(c, "a value")
	}
	return s.word(c)
}

// word passes over a number, true, false or null.
func (s *JSON) word(c byte) error {
	if (c < '0' || c > '9') && c != '-' && c != 't' && c != 'f' && c != 'n' && c != 'N' && c != 'I' {
		return s.unexpected(c, "a value")
	}
	for {
		ahead, err := s.r.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch ahead[0] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return nil
		case '"', '{', '[', ':':
			return s.unexpected(ahead[0], "a comma")
		}
		if _, err := s.next(); err != nil {
			return err
		}
	}
}

// text passes over the rest of a string, as much at a time as is in the buffer.
func (s *JSON) text() error {
	for {
		if _, err := s.r.Peek(1); err != nil {
			return s.Early(err)
		}
		ahead, _ := s.r.Peek(s.r.Buffered())
		plain := ahead
		if end := bytes.IndexByte(plain, '"'); end >= 0 {
			plain = plain[:end]
		}
		if escape := bytes.IndexByte(plain, '\\'); escape >= 0 {
			plain = plain[:escape]
		}
		s.Line += bytes.Count(plain, []byte{'\n'})
		if s.keeping {
			s.keepAll(plain)
		}
		ended := len(plain) < len(ahead)
		if _, err := s.r.Discard(len(plain)); err != nil {
			return err
		}
		if !ended {
			continue
		}
		c, err := s.next()
		if err != nil || c == '"' {
			return err
		}
		if _, err := s.next(); err != nil { // what is escaped
			return s.Early(err)
		}
	}
}

func (s *JSON) keepAll(part []byte) {
	if len(s.kept)+len(part) > MaxItem {
		s.over = true
		s.kept = s.kept[:0]
	}
	if !s.over {
		s.kept = append(s.kept, part...)
	}
}

// nested passes over an object or an array with all that is in it.
func (s *JSON) nested() error {
	var open [MaxDepth]byte
	depth := 0
	for {
		c, err := s.next()
		if err != nil {
			return s.Early(err)
		}
		switch c {
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		case '{', '[':
			if depth == MaxDepth {
				return Malformed("The brackets of line %d nest deeper than %d.", s.Line, MaxDepth)
			}
			open[depth] = c + 2 // the closing bracket stands two behind the opening one
			depth++
		case '}', ']':
			depth--
			if open[depth] != c { //nolint:gosec // an opening bracket was read before, or the function has ended
				return s.unexpected(c, "another bracket")
			}
			if depth == 0 {
				return nil
			}
		}
	}
}

// Deep says whether the brackets of a valid JSON text nest deeper than MaxDepth.
func Deep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
