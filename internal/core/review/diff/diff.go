// Package diff reads the patch of one file, as GitHub's API gives it: the hunks of a unified diff without the lines
// that name the files.
//
// A hunk's header says where its lines begin in the new file and how many there are. The lines are counted against it,
// so that a line of the file that looks like a header stays a line, and a patch that lies about its counts is refused.
package diff

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Line is a line of the new file that the patch shows.
type Line struct {
	Number int    // in the new file, from 1
	Text   string // without its end, and without the sign
	Added  bool   // else it was there before
}

// ErrMalformed is the error about a patch that is none.
var ErrMalformed = errors.New("the patch is malformed")

const maxNumber = 100_000_000 // a line of no file that people write

var header = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)

// hunk is what is still to come of one.
type hunk struct{ old, fresh, number int }

func (h hunk) open() bool { return h.old > 0 || h.fresh > 0 }

// Parse reads the lines of the new file that a patch shows, in order. An empty patch has none.
func Parse(patch string) (out []Line, err error) {
	if patch == "" {
		return nil, nil
	}
	var h hunk
	for text := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		switch {
		case strings.HasPrefix(text, `\`): // no newline at the end of the file
		case !h.open():
			if h, err = begin(text); err != nil {
				return nil, err
			}
		case strings.HasPrefix(text, "+") && h.fresh > 0:
			out = append(out, Line{h.number, lineOf(text), true})
			h.fresh, h.number = h.fresh-1, h.number+1
		case strings.HasPrefix(text, "-") && h.old > 0:
			h.old--
		case (text == "" || text[0] == ' ' || text == "\r") && h.old > 0 && h.fresh > 0:
			out = append(out, Line{h.number, lineOf(text), false})
			h.old, h.fresh, h.number = h.old-1, h.fresh-1, h.number+1
		default:
			return nil, ErrMalformed
		}
	}
	if h.open() {
		return nil, ErrMalformed
	}
	return out, nil
}

// lineOf is the text of a line behind its sign. An empty line of context may have lost its blank.
func lineOf(text string) string {
	if text != "" && text[0] != '\r' {
		text = text[1:]
	}
	return strings.TrimSuffix(text, "\r")
}

func begin(text string) (hunk, error) {
	m := header.FindStringSubmatch(text)
	if m == nil {
		return hunk{}, ErrMalformed
	}
	number := func(i, missing int) int {
		n, err := strconv.Atoi(m[i])
		if err != nil {
			return missing
		}
		return n
	}
	h := hunk{number(2, 1), number(4, 1), number(3, 0)}
	if h.number > maxNumber || h.fresh > 0 && h.number == 0 {
		return hunk{}, ErrMalformed
	}
	return h, nil
}
