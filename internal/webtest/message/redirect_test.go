package message_test

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// An answer leads where a browser goes, which reads a backslash in an address as a slash, and in a query as it is.
func TestRedirect(t *testing.T) {
	for to, want := range map[string]string{"/a": "http://x/a", `/\h.test/a`: "http://h.test/a", `\\h.test`: "http://h.test",
		`/a?to=\b`: `http://x/a?to=\b`, "//h.test/": "http://h.test/"} {
		r, err := message.New(http.MethodGet, "http://x/")
		if err != nil {
			t.Fatal(err)
		}
		answer := &message.Response{Status: http.StatusFound, Header: http.Header{"Location": {to}}, Request: r}
		if got := answer.Redirect(); got == nil || got.String() != want {
			t.Errorf("%s: %v, want %s", to, got, want)
		}
	}
}
