// Package errs holds the one error the house speaks.
//
// A room that refuses something returns an *Error with a Kind (which decides the HTTP
// status and the exit code), a Code (stable, for programs), a Param (the field at
// fault, when there is one) and a Message (for people). Any other error is internal:
// the caller sees two words, the log sees everything.
package errs

import (
	"errors"
	"fmt"
	"net/http"
)

// Kind is the closed, append-only list of what can be wrong with a request.
type Kind string

// The kinds. Status gives each its HTTP status.
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
	FailedDependency Kind = "failed_dependency" // another service did not do what it should
	RateLimited      Kind = "rate_limited"
	Unavailable      Kind = "unavailable"
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
	Timeout:          http.StatusGatewayTimeout,
}

// Status is the HTTP status of a kind; an unknown kind is internal.
func (k Kind) Status() int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// KindOfStatus is the kind for an HTTP status that a library chose. 422 is Invalid
// here: the surfaces answer 400 for every malformed request.
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

// Error is a refusal with everything a caller may know about it.
type Error struct {
	Kind    Kind
	Code    string // stable machine word; the kind when empty
	Param   string // the field, parameter or header at fault
	Message string // for people; safe to show
	Extra   map[string]string
	cause   error
}

// New makes an error of a kind with a code and a message in fmt's words.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Field makes an Invalid error that names the field at fault.
func Field(param, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: "invalid_" + codeWord(param), Param: param, Message: fmt.Sprintf(format, args...)}
}

// Missing is the answer for an id that does not exist or is a stranger's: the same
// words for both, so that nothing can be learnt from the difference.
func Missing(what string) *Error {
	return &Error{Kind: NotFound, Code: what + "_not_found", Message: "There is no such " + what + "."}
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause, which is logged and never shown.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of e that carries its cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// With returns a copy of e with one more fact for the caller (such as
// turnstile_site_key); a surface decides which facts it shows.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Extra = map[string]string{key: value}
	for k, v := range e.Extra {
		if k != key {
			c.Extra[k] = v
		}
	}
	return &c
}

// At returns a copy of e with the field at fault named, unless it already names one.
func (e *Error) At(param string) *Error {
	c := *e
	if c.Param == "" {
		c.Param = param
	}
	return &c
}

// From finds the *Error in err's chain; any other error becomes Internal with err as
// its cause. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Code: "internal_error", Message: "Internal error.", cause: err}
}

// Is reports whether err's chain holds an *Error of this kind.
func Is(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

func codeWord(param string) string {
	word := make([]byte, 0, len(param))
	for i := 0; i < len(param) && i < 48; i++ {
		switch c := param[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			word = append(word, c)
		case c >= 'A' && c <= 'Z':
			word = append(word, c+'a'-'A')
		case len(word) > 0 && word[len(word)-1] != '_':
			word = append(word, '_')
		}
	}
	if len(word) == 0 {
		return "request"
	}
	return string(word)
}
