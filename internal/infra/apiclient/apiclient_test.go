package apiclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // error; empty: none
		retry  bool
		wait   time.Duration
	}{
		{"an object", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id": "x"}`) }, "", false, 0},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", false, 0},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
			"not what was asked for", false, 0},
		{"no right", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error": "who is t0ken?"}`, http.StatusUnauthorized)
		}, "S answered 401: who is ********?", false, 0},
		{"errors", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"errors": {"name": "bad"}}`, 400) },
			"map[name:bad]", false, 0},
		{"a flood", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("é", 5000), 500) }, "…",
			true, 0},
		{"a day", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
		}, "S answered 429", true, time.Hour},
		{"a quota of GitHub", func(w http.ResponseWriter, _ *http.Request) {
			now := time.Now()
			w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Unix()+40, 10))
			http.Error(w, `{"message": "API rate limit exceeded"}`, http.StatusForbidden)
		}, "S answered 403: API rate limit", true, 40 * time.Second},
		{"a second limit of GitHub", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusForbidden)
		}, "S answered 403", true, time.Minute},
		{"a limit of Linear", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"errors": [{"message": "Rate limit exceeded", "extensions": {"code": "RATELIMITED"}}]}`, 400)
		}, "S answered 400: RATELIMITED Rate limit exceeded", true, 0},
		{"a date", func(w http.ResponseWriter, _ *http.Request) {
			now := time.Now().UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(90*time.Second).Format(http.TimeFormat))
			w.WriteHeader(503)
		}, "S answered 503", true, 90 * time.Second},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "S cannot be reached", true,
			0},
	} {
		server := httptest.NewServer(c.answer)
		var out struct{ ID string }
		err := Do(t.Context(), server.Client(),
			Request{Service: "S", URL: server.URL + "/t0ken", Body: 1, Secrets: []string{"t0ken"}}, &out)
		server.Close()
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wait, retry := RetryAfter(err)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "t0ken") ||
			len(err.Error()) > 400 || retry != c.retry || wait != c.wait {
			t.Errorf("%s: %v, retry %v after %v", c.name, err, retry, wait)
		}
	}
	if _, retry := RetryAfter(errors.New("another")); !retry {
		t.Error("an error of our own is for good")
	}
	if err := Do(t.Context(), http.DefaultClient, Request{Service: "S", URL: "::"}, nil); err == nil ||
		!strings.Contains(err.Error(), "not a URL") {
		t.Error(err)
	}
}
