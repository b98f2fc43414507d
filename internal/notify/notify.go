// Package notify speaks to the services that tell people: it sends one JSON request and
// says what came of it. Its rooms are alert (chats and mail) and tracker (issues).
//
// Every address in it was named by a user, so every dial goes through the guard that the
// client was made with (netguard.Guard.Client).
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer = 1 << 20 // bytes read of an answer
	maxSaid   = 300     // bytes of it that are repeated to a person
	maxAfter  = time.Hour
)

// Error is a request that did not do what it should.
type Error struct {
	Service string        // such as GitHub
	Status  int           // of the answer; 0: there was none
	Said    string        // what the service said, or what went wrong, in words; no secrets
	After   time.Duration // how long the service asked to wait
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status == 0 {
		return e.Service + " cannot be reached: " + e.Said
	}
	text := fmt.Sprintf("%s answered %d", e.Service, e.Status)
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// Temporary says whether the same request may work later.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// After is how long to wait before trying again, as the service asked for it; retry is
// false for an error that will not pass.
func After(err error) (wait time.Duration, retry bool) {
	e, ok := errors.AsType[*Error](err)
	return e.wait(), !ok || e.Temporary()
}

func (e *Error) wait() time.Duration {
	if e == nil {
		return 0
	}
	return e.After
}

// Request is one request with a JSON body.
type Request struct {
	Service string // its name, for messages
	Method  string // POST when empty
	URL     string
	Header  http.Header // with credentials
	Body    any         // marshalled; nil: none
	Secrets []string    // never repeated in errors
}

// Do sends a request and reads the answer, if it has a body, into out (a pointer; nil:
// not read). Every answer but 2xx is an *Error.
func Do(ctx context.Context, client *http.Client, r Request, out any) error {
	var body io.Reader
	if r.Body != nil {
		text, err := json.Marshal(r.Body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	method := r.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return &Error{Service: r.Service, Said: "its address is not a URL"}
	}
	maps.Copy(req.Header, r.Header)
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "vedette")
	resp, err := client.Do(req)
	if err != nil {
		return &Error{Service: r.Service, Said: r.censor(reason(err))}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &Error{Service: r.Service, Status: resp.StatusCode, Said: r.censor(said(text)), After: after(resp.Header)}
	}
	if err != nil {
		return &Error{Service: r.Service, Said: r.censor(reason(err))}
	}
	if out == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &Error{Service: r.Service, Status: resp.StatusCode, Said: "its answer is not what was asked for"}
	}
	return nil
}

// reason is an error without the URL, which may hold a secret.
func reason(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return err.Error()
}

// said finds the words in an answer: the message of a JSON object, or the text.
func said(text []byte) string {
	var doc struct {
		Message     string `json:"message"`
		Description string `json:"description"`
		Error       any    `json:"error"`
		Errors      any    `json:"errors"`
	}
	words := string(text)
	if json.Unmarshal(text, &doc) == nil {
		switch {
		case doc.Message != "":
			words = doc.Message
		case doc.Description != "":
			words = doc.Description
		case doc.Errors != nil:
			words = fmt.Sprint(doc.Errors)
		case doc.Error != nil:
			words = fmt.Sprint(doc.Error)
		}
	}
	words = strings.Join(strings.Fields(strings.Map(printable, words)), " ")
	if len(words) > maxSaid {
		words = strings.ToValidUTF8(words[:maxSaid], "") + "…"
	}
	return words
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

func (r Request) censor(text string) string {
	for _, secret := range r.Secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "********")
		}
	}
	return text
}

// after reads how long a service wants to be left alone, an hour at most.
func after(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64)
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds*float64(time.Second)), maxAfter)
}
