package client_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A certificate that nobody trusts is no reason not to test, and is told of once.
func TestUntrustedCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := client.New(client.Config{Dial: new(net.Dialer).DialContext})
	defer c.Close()
	at, _ := url.Parse(s.URL)
	for range 2 {
		answer, err := c.Send(t.Context(), message.From(http.MethodGet, at), client.Options{Fresh: true})
		if err != nil || answer.Status != http.StatusNotFound {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	if got := c.Untrusted(); len(got) != 1 || !strings.Contains(got[0], "unknown authority") {
		t.Errorf("%q", got)
	}
}
