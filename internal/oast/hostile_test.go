package oast_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/oast"
)

// between serves what a server of ours answers, after spoil has seen the answers to polls.
func between(t *testing.T, ours string, spoil func(w http.ResponseWriter, answer []byte)) string {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+ours+r.URL.RequestURI(), r.Body)
		if err != nil {
			return
		}
		answer, err := http.DefaultClient.Do(again)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		if r.URL.Path == "/poll" {
			spoil(w, body)
			return
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(body)
	}))
	t.Cleanup(site.Close)
	return strings.TrimPrefix(site.URL, "http://")
}

// What cannot be read in a server's answer is said, and takes nothing of the rest away.
func TestGarbledInteractions(t *testing.T) {
	s, at := serve(t, oast.Config{Watch: true}, "http")
	c := client(t, between(t, at[0], func(w http.ResponseWriter, answer []byte) {
		_, _ = w.Write(bytes.Replace(answer, []byte(`"data":["`), []byte(`"data":["!","AAAA","`+strings.Repeat("A", 400)+`","`), 1))
	}), "")
	names := c.Names()
	names.Host = at[0]
	id, address := names.URL()
	answer, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	next(t, s)
	all, err := c.Poll(t.Context())
	if len(all) != 1 || all[0].UniqueID != id || err == nil || !strings.Contains(err.Error(), "interaction") {
		t.Errorf("%+v: %v", all, err)
	}
}

// A server that answers a poll without end, or with what is not its protocol, is an error.
func TestHostileAnswers(t *testing.T) {
	_, at := serve(t, oast.Config{}, "http")
	block := []byte(strings.Repeat("A", 1<<20))
	for name, spoil := range map[string]func(w http.ResponseWriter){
		"more than": func(w http.ResponseWriter) {
			_, err := io.WriteString(w, `{"data":["`)
			for err == nil {
				_, err = w.Write(block)
			}
		},
		"invalid character": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"aes_key":           func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"data":["x"],"aes_key":"AAAA"}`) },
		"depth":             func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("[", 1<<20)) },
		"unexpected EOF": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{")
		},
		"429": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests); _, _ = w.Write(block) },
		"server gave HTTP": func(w http.ResponseWriter) { // to more redirects than a client follows
			w.Header().Set("Location", "https://"+strings.TrimPrefix(at[0], "http://")+"/poll")
			w.WriteHeader(http.StatusFound)
		},
	} {
		c := client(t, between(t, at[0], func(w http.ResponseWriter, _ []byte) { spoil(w) }), "")
		all, err := c.Poll(t.Context())
		if len(all) > 0 || err == nil || !strings.Contains(err.Error(), name) || len(err.Error()) > 600 {
			t.Errorf("%s: %d interactions, %.300v", name, len(all), err)
		}
	}
}

// A poll ends with its context, whatever the server does.
func TestSilentServer(t *testing.T) {
	_, at := serve(t, oast.Config{}, "http")
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, between(t, at[0], func(w http.ResponseWriter, _ []byte) {
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-ctx.Done()
	}), "")
	if _, err := c.Poll(ctx); err == nil {
		t.Error("an answer without an end was read")
	}
}
