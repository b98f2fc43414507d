package discover

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// SourceState is how a source behaved; nothing found is never confused with not asked.
type SourceState string

// The states of a source.
const (
	SourceOK       SourceState = "ok"
	SourceEmpty    SourceState = "empty"        // it answered, and knows nothing
	SourceLimited  SourceState = "limited"      // it wants fewer requests, or cut its answer
	SourceKey      SourceState = "key_rejected" // it refused the key
	SourceBlocked  SourceState = "blocked"      // it, or our own rules, refused us
	SourceTimedOut SourceState = "timed_out"
	SourceFailed   SourceState = "failed"  // anything else
	SourceSkipped  SourceState = "skipped" // not asked; Detail says why
)

// SourceReport is how one source behaved when it was asked about one thing.
type SourceReport struct {
	Source string        `json:"source"`
	About  string        `json:"about"` // the domain, address or range
	State  SourceState   `json:"state"`
	Count  int           `json:"count"`
	Took   time.Duration `json:"took"` // nanoseconds
	Detail string        `json:"detail,omitempty"`
}

// SourceError is why a source gave nothing, or not all.
type SourceError struct {
	State  SourceState
	Detail string
}

// Error implements error.
func (e SourceError) Error() string { return e.Detail }

// StateOf gives the state of a source that found something or not, and ended with err, which may be nil.
func StateOf(err error, found bool) (SourceState, string) {
	if err == nil && found {
		return SourceOK, ""
	} else if err == nil {
		return SourceEmpty, ""
	}
	if e, ok := errors.AsType[SourceError](err); ok {
		return e.State, e.Detail
	}
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return SourceBlocked, "Our own rules refuse its address: " + Clean(denied.Why, maxDetail) + "."
	}
	switch {
	case IsTimeout(err):
		return SourceTimedOut, "It did not answer in time."
	case errors.Is(err, context.Canceled):
		return SourceFailed, "The search was stopped."
	}
	return SourceFailed, Clean("It cannot be asked: "+WithoutURL(err).Error(), maxDetail)
}

const maxDetail = 300 // bytes

// IsTimeout reports whether an error is one of time.
func IsTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// WithoutURL is an error of net/http without the URL, which may hold a key.
func WithoutURL(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

// Clean makes text from outside one line of valid UTF-8 of at most n bytes, without control characters and marks
// that change the direction of writing.
func Clean(s string, n int) string {
	var b strings.Builder
	b.Grow(min(len(s), n))
	gap := ""
	for _, c := range s {
		switch {
		case unicode.IsSpace(c):
			if b.Len() > 0 {
				gap = " "
			}
			continue
		case c == utf8.RuneError, unicode.IsControl(c), unicode.Is(unicode.Cf, c), unicode.Is(unicode.Co, c):
			continue
		}
		if b.Len()+len(gap)+utf8.RuneLen(c) > n {
			break
		}
		b.WriteString(gap)
		b.WriteRune(c)
		gap = ""
	}
	return b.String()
}
