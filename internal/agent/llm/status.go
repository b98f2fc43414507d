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
	refusalBytes = 64 << 10 // of the body of an answer that is an error
	maxWords     = 300      // characters of a provider's words in an error of ours
)

// status is an answer that is not a success.
type status struct {
	code    int
	after   time.Duration // that the provider asks to wait
	word    string        // the provider's own code, such as insufficient_quota
	message string
}

func (s *status) Error() string { return fmt.Sprintf("HTTP status %d: %s", s.code, s.message) }

// filtered reports whether a filter declined the prompt: Azure says so with a status.
func (s *status) filtered() bool {
	return s.word == "content_filter" || s.word == "content_policy_violation"
}

// newStatus reads the error bodies of OpenAI's kind ({"error": {message, type, code}}), of
// Anthropic's ({"error": {message, type}}) and of those that are simpler.
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
	s.word, s.message = errorOf(doc.Error)
	s.message = cmp.Or(s.message, doc.Message, string(doc.Detail), string(body))
	return s
}

// errorOf reads the error of a body or of a stream: an object, or only words.
func errorOf(raw json.RawMessage) (word, message string) {
	var object struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"` // a word, or a number
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

// retryAfter reads Retry-After (RFC 9110, 10.2.3: seconds or a date) and the
// milliseconds that some providers send beside it; 0: nothing usable.
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

// failure is the error that a status means, and whether another try may help.
func (s *status) failure(key string) (failure error, again bool) {
	kind, code, text := errs.FailedDependency, CodeRequest, "The model's provider refused the request (status "+strconv.Itoa(s.code)+")"
	quote := s.message
	switch {
	case s.code == http.StatusUnauthorized:
		code, text, quote = CodeKey, "The model's provider rejected the key", "" // providers quote a part of the key here
	case s.code == http.StatusForbidden:
		code, text = CodeKey, "The key may not do this at the model's provider"
	case s.code == http.StatusPaymentRequired, s.code == http.StatusTooManyRequests && s.word == "insufficient_quota":
		kind, code, text = errs.RateLimited, CodeLimited, "The account at the model's provider has no credit left"
	case s.code == http.StatusTooManyRequests:
		kind, code, text, again = errs.RateLimited, CodeLimited, "The model's provider limits how often it is asked", true
	case s.code == http.StatusRequestTimeout, s.code == http.StatusTooEarly, s.code >= 500 && s.code != http.StatusNotImplemented:
		kind, code, again = errs.Unavailable, CodeUnavailable, true
		text = fmt.Sprintf("The model's provider is not available (status %d)", s.code)
	case s.code == http.StatusNotFound:
		text = "The model's provider knows no such model or address"
	}
	if quote = printable(quote, key); quote != "" {
		text += ": " + strings.TrimRight(quote, ".")
	}
	return errs.New(kind, code, "%s.", text), again
}

// plainWords are a provider's words, bounded, on one line; none when any part of the key
// that is worth something may be in them.
func printable(text, key string) string {
	if holdsKey(text, key) {
		return ""
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxWords {
		text = string(runes[:maxWords]) + "…"
	}
	return text
}

// holdsKey reports whether eight characters of key, one after the other, or all of a
// shorter one, are in words.
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

// redact keeps an error for the log only when it says nothing of the key.
func withoutKey(err error, key string) error {
	if holdsKey(err.Error(), key) {
		return errors.New("an error whose words have the key in them")
	}
	return err
}

// malformed is the error of an answer that cannot be read.
func malformed(how string) error {
	return errs.New(errs.FailedDependency, CodeAnswer, "The model's answer cannot be read: %s.", how)
}

// streamError is an error in the middle of a stream, with the HTTP status that it stands for.
func streamError(word, message string) error {
	s := &status{code: http.StatusServiceUnavailable, word: word, message: message}
	switch word {
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
