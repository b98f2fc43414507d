package llm

import (
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
	for _, other := range []string{doc.Message, string(doc.Detail), string(body)} {
		if s.message == "" {
			s.message = other
		}
	}
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

// verdict is what a status means.
type verdict struct {
	kind  errs.Kind
	code  string
	words string
	quote bool // the provider's words help, and have no key in them
}

func (s *status) judge() (verdict, bool) {
	switch {
	case s.code == http.StatusUnauthorized:
		// Providers quote a part of the key here.
		return verdict{errs.FailedDependency, CodeKey, "The model's provider rejected the key", false}, false
	case s.code == http.StatusForbidden:
		return verdict{errs.FailedDependency, CodeKey, "The key may not do this at the model's provider", true}, false
	case s.code == http.StatusPaymentRequired, s.code == http.StatusTooManyRequests && s.word == "insufficient_quota":
		return verdict{errs.RateLimited, CodeLimited, "The account at the model's provider has no credit left", true}, false
	case s.code == http.StatusTooManyRequests:
		return verdict{errs.RateLimited, CodeLimited, "The model's provider limits how often it is asked", true}, true
	case s.code == http.StatusRequestTimeout, s.code == http.StatusTooEarly, s.code >= 500 && s.code != http.StatusNotImplemented:
		return verdict{errs.Unavailable, CodeUnavailable, fmt.Sprintf("The model's provider is not available (status %d)", s.code), true}, true
	case s.code == http.StatusNotFound:
		return verdict{errs.FailedDependency, CodeRequest, "The model's provider knows no such model or address", true}, false
	default:
		return verdict{errs.FailedDependency, CodeRequest, fmt.Sprintf("The model's provider refused the request (status %d)", s.code), true}, false
	}
}

func (v verdict) because(s *status, key string) error {
	words := s.message
	if !v.quote {
		words = ""
	}
	if words = plainWords(words, key); words != "" {
		words = ": " + words
	}
	return errs.New(v.kind, v.code, "%s%s.", v.words, strings.TrimRight(words, "."))
}

// plainWords are a provider's words, bounded, on one line; none when any part of the key
// that is worth something may be in them.
func plainWords(words, key string) string {
	if holdsKey(words, key) {
		return ""
	}
	words = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(words, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(words); len(runes) > maxWords {
		words = string(runes[:maxWords]) + "…"
	}
	return words
}

// holdsKey reports whether eight characters of key, one after the other, or all of a
// shorter one, are in words.
func holdsKey(words, key string) bool {
	const part = 8
	if len(key) <= part {
		return key != "" && strings.Contains(words, key)
	}
	for i := range len(key) - part + 1 {
		if strings.Contains(words, key[i:i+part]) {
			return true
		}
	}
	return false
}

// redact keeps an error for the log only when it says nothing of the key.
func redact(err error, key string) error {
	if holdsKey(err.Error(), key) {
		return errors.New("an error whose words have the key in them")
	}
	return err
}

// malformed is the error of an answer that cannot be read.
func malformed(how string) error {
	return errs.New(errs.FailedDependency, CodeAnswer, "The model's answer cannot be read: %s.", how)
}

// statusOf is the HTTP status that an error in the middle of a stream stands for.
func statusOf(word string) int {
	switch word {
	case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota":
		return http.StatusTooManyRequests
	case "authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "invalid_request_error", "request_too_large", "content_filter", "content_policy_violation":
		return http.StatusBadRequest
	default:
		return http.StatusServiceUnavailable
	}
}
