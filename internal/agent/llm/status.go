package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	refusalBytes = 64 << 10 // of an error's body
	maxQuote     = 300      // characters quoted from a provider
)

// status is an error of a provider.
type status struct {
	code      int
	after     time.Duration // wanted by the provider
	errorCode string        // the provider's code, such as insufficient_quota
	message   string
}

func (s *status) Error() string { return fmt.Sprintf("HTTP status %d: %s", s.code, s.message) }

func (s *status) isContentFilter() bool {
	return s.errorCode == "content_filter" || s.errorCode == "content_policy_violation"
}

// newStatus reads the error bodies of OpenAI ({"error": {message, type, code}}), Anthropic ({"error": {message,
// type}}) and simpler ones.
func newStatus(code int, header http.Header, body []byte) *status {
	s := &status{code: code, after: retryAfter(header, time.Now())}
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &doc) != nil {
		s.message = string(body)
		return s
	}
	s.errorCode, s.message = errorOf(doc.Error)
	s.message = cmp.Or(s.message, doc.Message, string(doc.Detail), string(body))
	return s
}

// errorOf reads an error: an object or a text.
func errorOf(raw json.RawMessage) (errorCode, message string) {
	var object struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"` // text or number
	}
	if json.Unmarshal(raw, &object) == nil && string(raw) != "null" {
		var code string
		if json.Unmarshal(object.Code, &code) != nil || code == "" {
			code = object.Type
		}
		return code, object.Message
	}
	if json.Unmarshal(raw, &message) != nil {
		return "", ""
	}
	return "", message
}

// retryAfter reads Retry-After (RFC 9110, 10.2.3: seconds or date) or Retry-After-Ms; 0: none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// failure is the error to show, and whether another try may help.
func (s *status) failure(key string) (again bool, failure error) {
	kind, code, text := errs.FailedDependency, CodeRequest,
		"The model's provider refused the request (status "+strconv.Itoa(s.code)+")"
	quote := s.message
	switch {
	case s.code == http.StatusUnauthorized:
		code, text, quote = CodeKey, "The model's provider rejected the key", "" // providers quote a part of the key
	case s.code == http.StatusForbidden:
		code, text = CodeKey, "The key may not do this at the model's provider"
	case s.code == http.StatusPaymentRequired, s.code == http.StatusTooManyRequests && s.errorCode == "insufficient_quota":
		kind, code, text = errs.RateLimited, CodeLimited, "The account at the model's provider has no credit left"
	case s.code == http.StatusTooManyRequests:
		kind, code, text, again = errs.RateLimited, CodeLimited, "The model's provider limits how often it is asked", true
	case s.code == http.StatusRequestTimeout, s.code == http.StatusTooEarly, s.code >= 500 &&
		s.code != http.StatusNotImplemented:
		kind, code, again = errs.Unavailable, CodeUnavailable, true
		text = fmt.Sprintf("The model's provider is not available (status %d)", s.code)
	case s.code == http.StatusNotFound:
		text = "The model's provider knows no such model or address"
	}
	if quote = printable(quote, key); quote != "" {
		text += ": " + strings.TrimRight(quote, ".")
	}
	return again, errs.New(kind, code, "%s.", text)
}

// printable is one bounded line; empty if a part of the key may be in it.
func printable(text, key string) string {
	if holdsKey(text, key) {
		return ""
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"),
		func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxQuote {
		text = string(runes[:maxQuote]) + "…"
	}
	return text
}

// holdsKey reports whether text has eight characters of key in a row, or all of a shorter one.
func holdsKey(text, key string) bool {
	const part = 8
	for i := range len(key) {
		if i == 0 || i+part <= len(key) {
			if strings.Contains(text, key[i:min(i+part, len(key))]) {
				return true
			}
		}
	}
	return false
}

// withoutKey replaces an error that quotes the key.
func withoutKey(err error, key string) error {
	if holdsKey(err.Error(), key) {
		return errors.New("an error whose words have the key in them")
	}
	return err
}

func malformed(how string) error {
	return errs.New(errs.FailedDependency, CodeAnswer, "The model's answer cannot be read: %s.", how)
}

// streamError is an error within a stream, with the HTTP status it stands for.
func streamError(errorCode, message string) error {
	s := &status{code: http.StatusServiceUnavailable, errorCode: errorCode, message: message}
	switch errorCode {
	case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota":
		s.code = http.StatusTooManyRequests
	case "authentication_error", "invalid_api_key":
		s.code = http.StatusUnauthorized
	case "permission_error":
		s.code = http.StatusForbidden
	case "invalid_request_error", "request_too_large", "content_filter", "content_policy_violation":
		s.code = http.StatusBadRequest
	}
	return s
}
