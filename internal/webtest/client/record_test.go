package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// What is sent is recorded as it was sent, with what was answered, and raw bytes and lost answers too.
func TestRecord(t *testing.T) {
	var mu sync.Mutex
	var got []traffic.Exchange
	c, at := open(t, client.Config{Header: http.Header{"X-Mine": {"1"}}, Body: 4, Record: func(x traffic.Exchange) {
		mu.Lock()
		got = append(got, x)
		mu.Unlock()
	}}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "answer")
	})
	r := get(t, at+"/a?b=1")
	r.Method, r.Body = http.MethodPost, []byte("body")
	if _, err := c.Send(t.Context(), r, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), get(t, at+"/lost"), client.Options{Fresh: true}); err == nil {
		t.Fatal("the lost answer came")
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Raw(t.Context(), u, []byte("GET /raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	find := func(part string) traffic.Exchange {
		i := slices.IndexFunc(got, func(x traffic.Exchange) bool { return strings.Contains(string(x.Request), part) })
		if i < 0 {
			t.Fatalf("%q was not recorded: %+v", part, got)
		}
		return got[i]
	}
	if x := find("POST /a?b=1 HTTP/1.1\r\nHost: " + u.Host + "\r\n"); x.Status != 200 || x.URL != at+"/a?b=1" || !x.ResponseCut ||
		!strings.HasSuffix(string(x.Request), "\r\n\r\nbody") || !strings.Contains(string(x.Request), "X-Mine: 1\r\n") ||
		!strings.HasPrefix(string(x.Response), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(x.Response), "\r\n\r\nansw") {
		t.Errorf("%+v", x)
	}
	if x := find("/lost"); x.Status != 0 || x.Error == "" || x.Response != nil {
		t.Errorf("%+v", x)
	}
	if x := find("/raw"); x.Status != 200 || x.Method != "GET" {
		t.Errorf("%+v", x)
	}
}
