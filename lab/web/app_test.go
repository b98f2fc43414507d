package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Every proof shows the weakness of the case that has it, and none shows one where there is none.
func TestProofs(t *testing.T) {
	cases, err := Cases("go")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Start()
	defer server.Close()
	place := Place{Self: server.URL, Files: t.TempDir()}
	site := t.TempDir()
	if err := WriteSite(site, place, cases); err != nil {
		t.Fatal(err)
	}
	app, err := NewApp(site, place, cases)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	server.Config.Handler = app
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i := range cases {
		c := &cases[i]
		if c.Expect == "" || c.Expect == "slow" { // a test measures no time
			continue
		}
		got, came, err := c.Shows(t.Context(), client, place)
		if err != nil || got != c.True {
			t.Errorf("%s: %q shows %v, want %v: %s %v", c.Path, c.Proof, got, c.True, came, err)
		}
	}
	answer, err := client.Get(server.URL + "/catalog/where/")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
}
