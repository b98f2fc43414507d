package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// The limits of an evaluation.
const (
	// MaxResult bounds the result of a function or a rendered text, in bytes.
	MaxResult = 16 << 20

	maxHeld    = 8 * MaxResult   // bytes of all values that unfinished calls of an evaluation hold
	maxCompute = 5 * time.Second // of one evaluation, without waits
	maxSlow    = 4 << 20         // bytes that a function takes that needs long for each
	maxShort   = 8 << 10         // bytes of what is short: keys, layouts, versions, cookies

	checkEvery = 256 << 10 // bytes of work between two looks at the clock
	costOfCall = 64        // of a call without any text, in bytes of work
)

// The errors of an evaluation that reached a limit.
var (
	ErrTooLarge = errors.New("the value is too large")
	ErrTooLong  = errors.New("the evaluation takes too long")
)

// Limited reports whether an error says that an evaluation reached a limit.
func Limited(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrTooLong) || errors.Is(err, textsearch.ErrSlow)
}

// Budget is what one evaluation has used. The zero value is that of an evaluation that begins.
type Budget struct {
	work    int            // bytes read since the last look at the clock
	started cputime.Moment // at the first look
	waited  time.Duration
	held    int
}

// Spend counts work by the bytes that it reads. The error is that of the context, or ErrTooLong.
func (b *Budget) Spend(ctx context.Context, bytes int) error {
	if b.work += bytes + costOfCall; b.work < checkEvery {
		return nil
	}
	b.work = 0
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if b.started.IsZero() {
		b.started = cputime.Now()
	}
	if b.started.Without(b.waited).Over(maxCompute) {
		return ErrTooLong
	}
	return nil
}

// Hold counts a value that is kept until Release. The error is ErrTooLarge.
func (b *Budget) Hold(bytes int) error {
	if b.held += bytes; b.held > maxHeld {
		return ErrTooLarge
	}
	return nil
}

// Release gives back what Hold has counted.
func (b *Budget) Release(bytes int) { b.held -= bytes }

// Size is about the number of bytes of a value.
func Size(v any) int {
	size := 0
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case []string:
		for _, s := range v {
			size += 16 + len(s)
		}
	case []any:
		for _, x := range v {
			size += 16 + Size(x)
		}
	}
	return size
}

// slow bounds the text of a function that needs long for each byte.
func slow(f Function) Function { return atMost(maxSlow, f) }

// atMost bounds the arguments of a function, in bytes altogether.
func atMost(limit int, f Function) Function {
	run := f.Run
	f.Run = func(env *Env, args []any) (any, error) {
		size := 0
		for _, a := range args {
			size += Size(a)
		}
		if size > limit {
			return nil, fmt.Errorf("%w: %d bytes are more than %d", ErrTooLarge, size, limit)
		}
		return run(env, args)
	}
	return f
}

// runeSet reports whether characters are in a text, in a time that does not depend on its length.
func runeSet(chars string) func(rune) bool {
	if len(chars) <= 64 {
		return func(c rune) bool { return strings.ContainsRune(chars, c) }
	}
	var ascii [utf8.RuneSelf]bool
	others := map[rune]bool{}
	for _, c := range chars {
		if c < utf8.RuneSelf {
			ascii[c] = true
		} else if !others[c] {
			others[c] = true
		}
	}
	return func(c rune) bool {
		if c < utf8.RuneSelf {
			return ascii[c]
		}
		return others[c]
	}
}
