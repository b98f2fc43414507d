// Package errs has the error type for everything that a caller can cause.
//
// It has a Kind (which decides the HTTP status and the exit code), a Code (stable, for programs), a Param (the
// invalid field, if any) and a Message (for people). Any other error is internal: the caller sees "Internal
// error.", the log has the details.
package errs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"unicode/utf8"
)

// Kind is the category of an error. Kinds never change.
type Kind string

// The kinds.
const (
	Internal         Kind = "internal"
	Invalid          Kind = "invalid"
	Unauthenticated  Kind = "unauthenticated"
	Forbidden        Kind = "forbidden"
	NotFound         Kind = "not_found"
	MethodNotAllowed Kind = "method_not_allowed"
	Conflict         Kind = "conflict"
	TooLarge         Kind = "too_large"
	Unsupported      Kind = "unsupported_media_type"
	NotAcceptable    Kind = "not_acceptable"
	FailedDependency Kind = "failed_dependency" // another service failed
	RateLimited      Kind = "rate_limited"
	Unavailable      Kind = "unavailable"
	NoSpace          Kind = "insufficient_storage"
	Timeout          Kind = "timeout"
)

var statuses = map[Kind]int{
	Internal:         http.StatusInternalServerError,
	Invalid:          http.StatusBadRequest,
	Unauthenticated:  http.StatusUnauthorized,
	Forbidden:        http.StatusForbidden,
	NotFound:         http.StatusNotFound,
	MethodNotAllowed: http.StatusMethodNotAllowed,
	Conflict:         http.StatusConflict,
	TooLarge:         http.StatusRequestEntityTooLarge,
	Unsupported:      http.StatusUnsupportedMediaType,
	NotAcceptable:    http.StatusNotAcceptable,
	FailedDependency: http.StatusFailedDependency,
	RateLimited:      http.StatusTooManyRequests,
	Unavailable:      http.StatusServiceUnavailable,
	NoSpace:          http.StatusInsufficientStorage,
	Timeout:          http.StatusGatewayTimeout,
}

// Status is the HTTP status of a kind; an unknown kind is internal.
func (k Kind) Status() int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// KindOfStatus is the kind for an HTTP status that a library chose. 422 is Invalid, because the APIs answer
// 400 to every malformed request.
func KindOfStatus(status int) Kind {
	for k, s := range statuses {
		if s == status {
			return k
		}
	}
	if status >= 400 && status < 500 {
		return Invalid
	}
	return Internal
}

// Error is an error with what the caller may know about it.
type Error struct {
	Kind    Kind
	Code    string // stable, for programs; the kind when empty
	Param   string // the invalid field, parameter or header
	Message string // for people; safe to show
	Extra   map[string]string
	cause   error
}

// maxMessage is how many bytes of a message are kept: some repeat what was sent, which others can make large.
const maxMessage = 4096

// New returns an error of a kind with a code and a formatted message.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: Clip(fmt.Sprintf(format, args...), maxMessage)}
}

// Field returns an Invalid error for a field, with the code invalid_FIELD.
func Field(param, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: "invalid_" + codeWord(param), Param: param,
		Message: Clip(fmt.Sprintf(format, args...), maxMessage)}
}

// Missing is the error for an id that does not exist or belongs to another team: the same for both, so that
// ids of other teams cannot be discovered. Its code is WHAT_not_found.
func Missing(what string) *Error {
	return &Error{Kind: NotFound, Code: what + "_not_found", Message: "There is no such " + what + "."}
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause, which is logged and never shown.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of e with a cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// With returns a copy of e with an extra value for the caller, such as turnstile_site_key; each API decides
// which of them it shows.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Extra = maps.Clone(e.Extra)
	if c.Extra == nil {
		c.Extra = map[string]string{}
	}
	c.Extra[key] = value
	return &c
}

// At returns a copy of e that names the invalid field, unless e already names one.
func (e *Error) At(param string) *Error {
	c := *e
	c.Param = cmp.Or(c.Param, param)
	return &c
}

// From is the *Error in err's chain, or an Internal one with err as its cause. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Code: "internal_error", Message: "Internal error.", cause: err}
}

// Is reports whether err's chain has an *Error of this kind.
func Is(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

// Clip cuts a text of others to most bytes, to repeat it in a message or to store it. It cuts between characters
// and marks the cut with "…".
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// ClipChars cuts a text to most characters, with "…" as the last one if it was longer.
func ClipChars(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}

func codeWord(param string) string {
	var word []byte
	for _, c := range []byte(param[:min(len(param), 48)]) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			word = append(word, c)
		case c >= 'A' && c <= 'Z':
			word = append(word, c+'a'-'A')
		case len(word) > 0 && word[len(word)-1] != '_':
			word = append(word, '_')
		}
	}
	return cmp.Or(string(word), "request")
}
