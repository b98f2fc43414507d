package textsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"
)

// Limits of regular expressions. Package regexp needs up to the product of program and text in steps, and cannot be
// stopped; where that may be long, the text is handed to it in pieces.
const (
	maxProgram = 50_000      // instructions, about; repetitions count as often as they are
	maxDirect  = 100_000_000 // instructions times bytes for which a search is not looked after
	stepsCheck = 500_000     // of them between two looks at the clock
	maxSearch  = 5 * time.Second
)

// ErrSlow is the error of a search that takes too long.
var ErrSlow = errors.New("the regular expression takes too long")

// program is about the number of instructions of an expression, up to maxProgram+1.
func program(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)/2
	for _, sub := range tree.Sub {
		size = min(size+program(sub), maxProgram+1)
	}
	if tree.Op == syntax.OpRepeat {
		size = min(size*max(tree.Min+1, tree.Max, 1), maxProgram+1)
	}
	return size
}

var errTooLarge = errors.New("the expression is too large")

// TooLarge reports whether Compile refused an expression for its size.
func TooLarge(err error) bool { return errors.Is(err, errTooLarge) }

func tooLarge(source string) error {
	return fmt.Errorf("%.40q: %w", source, errTooLarge)
}

// MatchContext is Match that ends with the context, or with ErrSlow.
func (p *Pattern) MatchContext(ctx context.Context, data []byte) (bool, error) {
	t := NewText(data)
	if !p.Possible(t, t.Contains) {
		return false, nil
	}
	if p.Sure(t) {
		return true, nil
	}
	return p.Search(ctx, data)
}

// MatchStringContext is MatchContext for a string.
func (p *Pattern) MatchStringContext(ctx context.Context, s string) (bool, error) {
	return p.MatchContext(ctx, view(s))
}

func (p *Pattern) direct(data []byte) bool { return p.size*len(data) <= maxDirect }

// Search reports whether the compiled expression matches, without a look at literals. The error is that of the
// context, or ErrSlow.
func (p *Pattern) Search(ctx context.Context, data []byte) (bool, error) {
	if p.direct(data) {
		return p.Regexp().Match(data), nil
	}
	r := p.reader(ctx, data, time.Now().Add(maxSearch))
	found := p.Regexp().MatchReader(r)
	return found && r.err == nil, r.err
}

// FindAll is FindAllSubmatchIndex of the compiled expression, with the errors of Search.
func (p *Pattern) FindAll(ctx context.Context, data []byte, n int) ([][]int, error) {
	if p.direct(data) {
		return p.Regexp().FindAllSubmatchIndex(data, n), nil
	}
	var all [][]int
	deadline := time.Now().Add(maxSearch)
	for pos, last := 0, -1; len(all) < n && pos <= len(data); {
		found, err := p.next(ctx, data, pos, deadline)
		if err != nil || found == nil {
			return all, err
		}
		// As package regexp: an empty match is none right behind another.
		empty := found[1] == pos
		accepted := !empty || found[0] != last
		if last = found[1]; empty {
			_, width := utf8.DecodeRune(data[pos:])
			pos += max(width, 1)
		} else {
			pos = found[1]
		}
		if accepted {
			all = append(all, found)
		}
	}
	return all, nil
}

// next is the first match from pos on.
func (p *Pattern) next(ctx context.Context, data []byte, pos int, deadline time.Time) ([]int, error) {
	if pos == 0 {
		r := p.reader(ctx, data, deadline)
		found := p.Regexp().FindReaderSubmatchIndex(r)
		return found, r.err
	}
	// With the character before, on which ^ and \b depend.
	_, width := utf8.DecodeLastRune(data[:pos])
	r := p.reader(ctx, data[pos-width:], deadline)
	found := p.later().FindReaderSubmatchIndex(r)
	if r.err != nil || found == nil {
		return nil, r.err
	}
	found = found[2:]
	for i := range found {
		if found[i] >= 0 {
			found[i] += pos - width
		}
	}
	return found, nil
}

// laterOf is the expression for a text with one character before those that are searched.
func laterOf(source string) *regexp.Regexp {
	return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + source + `)`)
}

// reader hands out a text until the context or its time ends.
type reader struct {
	ctx      context.Context
	data     []byte
	deadline time.Time
	every    int // characters between two looks at the clock
	left     int // until the next
	err      error
}

func (p *Pattern) reader(ctx context.Context, data []byte, deadline time.Time) *reader {
	return &reader{ctx: ctx, data: data, deadline: deadline, every: max(1, stepsCheck/p.size)}
}

func (r *reader) ReadRune() (rune, int, error) {
	if r.left--; r.left < 0 {
		r.left = r.every
		if r.err = r.ctx.Err(); r.err == nil && time.Now().After(r.deadline) {
			r.err = ErrSlow
		}
	}
	if r.err != nil || len(r.data) == 0 {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.data)
	r.data = r.data[size:]
	return c, size, nil
}
