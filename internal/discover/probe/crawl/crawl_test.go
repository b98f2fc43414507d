package crawl_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/crawl"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// A site without an end, with links to elsewhere and links that act: what is read is
// bounded, and neither is asked for.
func TestAnEndlessSite(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<a href="%[1]sa/">a</a><a href="%[1]sb/">b</a><a href="%[1]sc/">c</a><a href="%[1]sd/">d</a><a href="%[1]se/">e</a><a href="http://outside.test/">o</a><a href="/logout">x</a><a href="/delete/1">d</a><a href="javascript:alert(1)">j</a>`, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	client := &web.Client{Timeout: time.Minute, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}}
	at, _ := url.Parse(server.URL + "/")
	v, err := client.Visit(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	found, note := crawl.Site(t.Context(), client, v)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) > 34 || note == "" || len(found) > 500 || found[0] != server.URL+"/" ||
		!slices.Contains(found, server.URL+"/logout") {
		t.Errorf("%d requests, %d endpoints, note %q", len(asked), len(found), note)
	}
	for _, a := range asked {
		if a == "GET /logout" || a == "GET /delete/1" || a[:4] != "GET " {
			t.Errorf("asked: %s", a)
		}
	}
	for _, f := range found {
		if u, err := url.Parse(f); err != nil || u.Host != at.Host {
			t.Errorf("an endpoint of elsewhere: %s", f)
		}
	}
}
