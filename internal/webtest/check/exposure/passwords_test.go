package exposure

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// Passwords of people in an answer are found, in a list and in an object within one; not masked ones, those of nobody,
// of a description, nor one that the request has sent.
func TestPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		body, sent string
		want       int
	}{
		"list":        {`{"users":[{"username":"a","password":"hunter22"}]}`, "", 1},
		"digest":      {`[{"id":1,"profile":{"email":"a@b.example","password_hash":"$2b$10$abcdefgh"}}]`, "", 1},
		"masked":      {`{"users":[{"username":"a","password":"********"}]}`, "", 0},
		"of nobody":   {`{"password":"must have eight letters"}`, "", 0},
		"description": {`{"openapi":"3.0.1","example":{"username":"a","password":"hunter22"}}`, "", 0},
		"sent":        {`{"username":"a","password":"hunter22"}`, `{"username":"a","password":"hunter22"}`, 0},
	} {
		lab := kittest.New(t, page("application/json", c.body))
		method := http.MethodGet
		if c.sent != "" {
			method = http.MethodPost
		}
		if found := lab.Run(t, kittest.Named(t, Checks(), "password-exposure"), lab.Target(t, method, "/v1/all", c.sent)); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
