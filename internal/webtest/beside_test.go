package webtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/access"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// order is an interface, described by itself, whose members have passwords; open lets each set that of any.
type order struct {
	mu      sync.Mutex
	open    bool
	members map[string]string
	set     []string // whose passwords were set
}

const orderText = `{"openapi":"3.0.1","info":{"title":"o","version":"1"},"paths":{
 "/members":{"post":{"responses":{"201":{"description":"made"}},"requestBody":{"content":{"application/json":{"schema":{"type":"object",
  "properties":{"handle":{"type":"string"},"password":{"type":"string"}}}}}}}},
 "/enter":{"post":{"responses":{"200":{"description":"a token"}},"requestBody":{"content":{"application/json":{"schema":{"type":"object",
  "properties":{"handle":{"type":"string"},"password":{"type":"string"}}}}}}}},
 "/members/{handle}/password":{"put":{"responses":{"200":{"description":"set"}},
  "parameters":[{"name":"handle","in":"path","required":true,"schema":{"type":"string","example":"alice"}}],
  "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"password":{"type":"string"}}}}}}}}}}`

func (o *order) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	in := map[string]string{}
	_ = json.NewDecoder(r.Body).Decode(&in)
	who, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer 0123456789abcdef-")
	part := strings.Split(r.URL.Path, "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/openapi.json":
		fmt.Fprint(w, orderText)
	case r.Method == http.MethodPost && r.URL.Path == "/members" && in["handle"] != "" && o.members[in["handle"]] == "":
		o.members[in["handle"]] = in["password"]
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPost && r.URL.Path == "/enter" && in["password"] != "" && o.members[in["handle"]] == in["password"]:
		fmt.Fprintf(w, `{"token":"0123456789abcdef-%s"}`, in["handle"])
	case r.Method == http.MethodPost && r.URL.Path == "/enter":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPut && len(part) == 4 && o.members[who] != "" && (o.open || part[2] == who) && in["password"] != "":
		o.members[part[2]] = in["password"]
		o.set = append(o.set, part[2])
		fmt.Fprint(w, `{"done":true}`)
	default:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{}`)
	}
}

// Where users are given and passwords can be set of those whom a request names, two users are registered beside them, and
// one of these is the victim: never a given one.
func TestUsersBesideTheGiven(t *testing.T) {
	for name, open := range map[string]bool{"open": true, "closed": false} {
		app := &order{open: open, members: map[string]string{"alice": "right-1", "bob": "right-2"}}
		var checks []kit.Check
		for _, c := range access.Checks() {
			if c.ID == "access-by-writing" {
				checks = append(checks, c)
			}
		}
		cfg := serve(t, webtest.Config{Checks: checks, Accounts: []session.Account{{User: "alice", Password: "right-1"},
			{User: "bob", Password: "right-2"}}}, app.ServeHTTP)
		cfg.Client.Level = client.Active
		report, err := webtest.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		ours := 0
		for handle := range app.members {
			if strings.HasPrefix(handle, "vdt") {
				ours++
			}
		}
		if ours != 2 || (len(report.Findings) == 1) != open {
			t.Errorf("%s: %d registered, %d findings, notes %q", name, ours, len(report.Findings), report.Notes)
		}
		if app.members["alice"] != "right-1" || app.members["bob"] != "right-2" {
			t.Errorf("%s: a given user's password was set: %v", name, app.set)
		}
	}
}
