package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What a server refuses has its kind, code and message; a stream that breaks off is an error.
func TestAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/tasks":
			_, _ = w.Write([]byte("data: {\"type\": \"status\", \"task_id\": \"t\"}\n\n"))
		case "/key":
			_, _ = w.Write([]byte(`"` + r.Header.Get("X-Api-Key") + r.Header.Get("Authorization") + `"`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"code": "task_not_found", "message": "There is no such task."}`))
		}
	}))
	t.Cleanup(server.Close)
	for want, c := range map[string]Client{
		"k": {Base: server.URL + "/", Key: "k", JWT: "j"}, "Bearer j": {Base: server.URL, JWT: "j"},
	} {
		var got string
		if err := c.Call(t.Context(), "GET", "/key", nil, &got); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	c := Client{Base: server.URL}
	err := c.Call(t.Context(), "GET", "/other", nil, nil)
	if e, is := errors.AsType[*errs.Error](err); !is || e.Kind != errs.NotFound || e.Code != "task_not_found" {
		t.Errorf("refused with %v", err)
	}
	events, err := c.CreateTask(t.Context(), Task{Instruction: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	n := 0
	for e, err := range events {
		if last = err; err == nil && e.TaskID == "t" {
			n++
		}
	}
	if n != 1 || last == nil {
		t.Errorf("%d events, then %v", n, last)
	}
}
