package trackertest

import (
	"net/http"
	"strings"
	"testing"
)

// A desk refuses what its provider would not understand, breaks connections when it is told to, and counts.
func TestDesk(t *testing.T) {
	for _, provider := range Providers() {
		d := New(t, provider)
		if !strings.HasPrefix(d.Config(), d.Name()+":\n") {
			t.Error(d.Config())
		}
		resp, err := http.Get(d.URL + "/nothing")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound || len(d.Wrong()) != 1 {
			t.Errorf("%s: %d, %q", provider, resp.StatusCode, d.Wrong())
		}
		d.Refuse(Refusal{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}})
		if resp, err = http.Get(d.URL); err != nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %v %v", provider, resp, err)
		} else {
			_ = resp.Body.Close()
		}
		d.Down(true)
		if resp, err = http.Get(d.URL); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s answers while it is down", provider)
		}
	}
}
