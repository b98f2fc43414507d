// Package apiclient calls web APIs whose addresses and credentials users configure: chats, issue trackers,
// clouds. A call is one request. Its answer is read up to a bound and decoded; a failure becomes an Error that
// can be shown to people: it holds the service's message and no secret. The http.Client comes from a
// netguard.Guard, which checks every dial.
package apiclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const (
	maxAnswer  = 8 << 20 // bytes read of an answer
	maxMessage = 300     // bytes of its message that are shown
	maxAfter   = time.Hour
)

// Error is a call that failed.
type Error struct {
	Service string        // such as GitHub
	Status  int           // of the answer; 0: there was none
	Code    string        // the service's own, such as AccessDenied
	Message string        // the service's own, or what went wrong; no secrets
	After   time.Duration // the wait that the service asked for
	Limited bool          // refused because there were too many requests, whatever the status
	Cause   error         // why there was no answer
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status == 0 {
		return e.Service + " cannot be reached: " + e.Message
	}
	text := fmt.Sprintf("%s answered %d", e.Service, e.Status)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Limited || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// RetryAfter is how long to wait before trying again; retry is false for an error that will not pass.
func RetryAfter(err error) (wait time.Duration, retry bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, true
	}
	return e.After, e.Temporary()
}

// Request is one call.
type Request struct {
	Service string // its name, for messages
	Method  string // POST when empty
	URL     string
	Header  http.Header                      // with credentials
	Body    any                              // url.Values is sent as a form, anything else as JSON; nil: none
	Sign    func(body []byte, h http.Header) // adds headers that depend on the bytes that are sent; may be nil
	Decode  func(text []byte, out any) error // json.Unmarshal when nil
	Secrets []string                         // never repeated in errors
}

// Do sends a request and decodes the body of the answer, if there is one, into out (a pointer; nil: not
// decoded). Every status but 2xx is an *Error.
func Do(ctx context.Context, client *http.Client, r Request, out any) error {
	req, err := r.build(ctx)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return r.unreachable(err)
	}
	defer resp.Body.Close()
	share := membudget.Process().Share()
	defer share.Release()
	text, err := share.ReadAll(ctx, resp.Body, maxAnswer)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		code, message := complaint(text)
		message = line(r.censor(strings.TrimSpace(code + " " + message)))
		wait, limited := after(resp.Header)
		limited = limited || resp.StatusCode == http.StatusTooManyRequests || code == limitedCode
		return &Error{Service: r.Service, Status: resp.StatusCode, Code: code, Message: message, After: wait,
			Limited: limited && resp.StatusCode >= 400 && resp.StatusCode < 500}
	}
	if err != nil {
		return r.unreachable(err)
	}
	if out == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	decode := r.Decode
	if decode == nil {
		decode = json.Unmarshal
	}
	if decode(text, out) != nil {
		return &Error{Service: r.Service, Status: resp.StatusCode, Message: "its answer is not what was asked for"}
	}
	return nil
}

func (r Request) build(ctx context.Context) (*http.Request, error) {
	var text []byte
	var body io.Reader
	kind := ""
	switch b := r.Body.(type) {
	case nil:
	case url.Values:
		text, kind = []byte(b.Encode()), "application/x-www-form-urlencoded"
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return nil, err
		}
		kind = "application/json"
	}
	if kind != "" {
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), r.URL, body)
	if err != nil {
		return nil, &Error{Service: r.Service, Message: "its address is not a URL"}
	}
	req.Header = http.Header{"Accept": {"application/json"}}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	maps.Copy(req.Header, r.Header)
	if r.Sign != nil {
		r.Sign(text, req.Header)
	}
	req.Header.Set("User-Agent", "vedette")
	return req, nil
}

// unreachable is the error of a request without an answer. It does not hold the URL, which may be secret.
func (r Request) unreachable(err error) *Error {
	message := err.Error()
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		message = wrapped.Err.Error()
	}
	return &Error{Service: r.Service, Message: r.censor(message), Cause: err}
}

// complaint finds the code and the message of an error in an answer: members of a JSON object under the names
// that services use, the elements Code and Message of XML, or the text itself.
func complaint(text []byte) (code, message string) {
	var doc struct {
		Message     string          `json:"message"`
		Description string          `json:"description"`
		Error       json.RawMessage `json:"error"`
		Details     string          `json:"error_description"` // RFC 6749
		Errors      any             `json:"errors"`
	}
	if json.Unmarshal(text, &doc) != nil {
		if code, message = xmlComplaint(text); code != "" {
			return code, message
		}
		return "", string(text)
	}
	switch {
	case len(doc.Error) == 0 || string(doc.Error) == "null":
		message = doc.Message
	case json.Unmarshal(doc.Error, &code) == nil:
		message = cmp.Or(doc.Details, doc.Message)
	default:
		var detail struct {
			Code, Status any
			Message      string
		}
		_ = json.Unmarshal(doc.Error, &detail)                    // of another shape, nothing can be read from it
		for _, value := range []any{detail.Code, detail.Status} { // Google has a number in code and the name in status
			if text, ok := value.(string); ok {
				code = text
			}
		}
		message = cmp.Or(detail.Message, doc.Message)
	}
	if list, ok := doc.Errors.([]any); ok && message == "" && code == "" {
		code, message = graphComplaint(list)
	}
	if message == "" && code == "" && doc.Errors != nil {
		message = fmt.Sprint(doc.Errors)
	}
	return code, cmp.Or(message, doc.Description)
}

// graphComplaint reads the first error of a GraphQL answer.
func graphComplaint(errors []any) (code, message string) {
	for _, one := range errors {
		doc, _ := one.(map[string]any)
		extensions, _ := doc["extensions"].(map[string]any)
		code, _ = extensions["code"].(string)
		message, _ = doc["message"].(string)
		if message != "" {
			return code, message
		}
	}
	return "", ""
}

func xmlComplaint(text []byte) (code, message string) {
	read := xml.NewDecoder(bytes.NewReader(text))
	for field := (*string)(nil); ; {
		token, err := read.Token()
		if err != nil {
			return code, message
		}
		switch t := token.(type) {
		case xml.StartElement:
			field = map[string]*string{"Code": &code, "Message": &message}[t.Name.Local]
		case xml.CharData:
			if field != nil && *field == "" {
				*field = string(t)
			}
		case xml.EndElement:
			field = nil
		}
	}
}

func line(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) })
	return errs.Clip(strings.Join(words, " "), maxMessage)
}

func (r Request) censor(text string) string {
	for _, secret := range r.Secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "********")
		}
	}
	return text
}

// limitedCode is how Linear says that there were too many requests, with the status 400.
const limitedCode = "RATELIMITED"

// after is how long a service asks callers to wait, an hour at most, and whether it says that there were too many
// requests: by Retry-After (seconds or a date), or as GitHub and GitLab do, by the number of requests that are left and
// the time of their return.
func after(h http.Header) (wait time.Duration, limited bool) {
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the clock that the other times are of
	}
	asked := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(asked, 64); err == nil && seconds >= 0 {
		wait, limited = time.Duration(min(seconds, maxAfter.Seconds())*float64(time.Second)), true
	} else if at, err := http.ParseTime(asked); err == nil {
		wait, limited = at.Sub(now), true
	}
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		if h.Get(prefix+"Remaining") != "0" {
			continue
		}
		limited = true
		if at, err := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64); err == nil && wait == 0 {
			wait = time.Unix(at, 0).Sub(now)
		}
	}
	return min(max(wait, 0), maxAfter), limited
}
