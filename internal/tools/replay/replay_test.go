package replay_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/replay"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

func boundary(t *testing.T, doc task.Scope) *scope.Scope {
	t.Helper()
	s, err := scope.New(scope.Boundary{Doc: doc})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func outgoing(t *testing.T, at string) network.Outgoing {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return network.Outgoing{Method: http.MethodPut, URL: u, Host: u.Host, Header: http.Header{"X-One": {"1"}}, Body: []byte("body")}
}

// A request is sent as it is, once, and a redirect is not followed.
func TestSend(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
		fmt.Fprintf(w, "%s %s %s %q %s", r.Method, r.RequestURI, r.Header.Get("X-One"), r.Header["User-Agent"], body)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	x, err := replay.Send(t.Context(), boundary(t, task.Scope{Hosts: []string{host}}), outgoing(t, server.URL+"/a%2fb?x=1"))
	if err != nil || requests != 1 || x.Status != http.StatusFound ||
		!strings.HasSuffix(string(x.Response), "\r\n\r\nPUT /a%2fb?x=1 1 [] body") ||
		!strings.HasPrefix(string(x.Request), "PUT /a%2fb?x=1 HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 4\r\n") ||
		!strings.HasSuffix(string(x.Request), "X-One: 1\r\n\r\nbody") {
		t.Errorf("%d requests, %v, %d\n%s\n%s", requests, err, x.Status, x.Request, x.Response)
	}
	server.Close()
	x, err = replay.Send(t.Context(), boundary(t, task.Scope{Hosts: []string{host}}), outgoing(t, server.URL+"/"))
	if err != nil || x.Error == "" || x.Status != 0 {
		t.Errorf("a server that is gone: %+v, %v", x, err)
	}
}

// What the scope of a task does not have is not sent.
func TestScopeHolds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	named := outgoing(t, server.URL+"/")
	named.Host = "other.acme-corp.com" // a name that may be somebody's
	for name, c := range map[string]struct {
		scope task.Scope
		o     network.Outgoing
	}{
		"another host":  {task.Scope{Hosts: []string{"192.0.2.1"}}, outgoing(t, server.URL+"/")},
		"another port":  {task.Scope{Hosts: []string{host}, Ports: []int{1}}, outgoing(t, server.URL+"/")},
		"a method":      {task.Scope{Hosts: []string{host}, Methods: []string{"GET"}}, outgoing(t, server.URL+"/")},
		"a path":        {task.Scope{Hosts: []string{host}, Paths: []string{"/only"}}, outgoing(t, server.URL+"/")},
		"left out":      {task.Scope{Hosts: []string{host}, Exclude: []string{"127.0.0.1"}}, outgoing(t, server.URL+"/")},
		"passive":       {task.Scope{Hosts: []string{host}, Intrusiveness: task.Passive}, outgoing(t, server.URL+"/")},
		"a site's name": {task.Scope{Hosts: []string{host}}, named},
	} {
		if _, err := replay.Send(t.Context(), boundary(t, c.scope), c.o); !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
