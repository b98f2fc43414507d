package redirect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A message whose link has the host that a request names is found where a page shows it, by the host itself and by a
// header of proxies, for the address that a page shows of the user; not one with a host of its own, nor one that names the
// host as a text.
func TestHostOfMessages(t *testing.T) {
	for name, c := range map[string]struct {
		link func(r *http.Request) string
		want string
	}{
		"other name": {func(r *http.Request) string { return "http://" + r.Host + "/set" }, "Host"},
		"script":     {func(r *http.Request) string { return "http://" + r.Host + "/set" }, "Host"},
		"host":       {func(r *http.Request) string { return "http://" + r.Host + "/set" }, "Host"},
		"forwarded":  {func(r *http.Request) string { return "https://" + r.Header.Get("X-Forwarded-Host") + "/set" }, "X-Forwarded-Host"},
		"one field":  {func(r *http.Request) string { return "http://" + r.Host + "/set" }, "Host"},
		"two fields": {func(r *http.Request) string { return "http://" + r.Host + "/set" }, ""},
		"own":        {func(*http.Request) string { return "https://club.lab.example/set" }, ""},
		"text":       {func(r *http.Request) string { return "asked at " + r.Host }, ""},
	} {
		var mu sync.Mutex
		sent, known := "", []string{"alice", "alice@club.example"}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			switch {
			case r.Method == http.MethodPost && slices.Contains(known, strings.TrimSpace(r.FormValue("e-mail")+r.FormValue("kunden-nick")+r.FormValue("navn")+handle(r))):
				sent += "<p>" + c.link(r) + "</p>"
			case r.URL.Path == "/messages":
				fmt.Fprint(w, "<h1>For alice@club.example</h1>"+sent)
			}
		}))
		at, err := url.Parse(lab.URL)
		if err != nil {
			t.Fatal(err)
		}
		u := client.NewUser("alice")
		u.SetCookies(at, []*http.Cookie{{Name: "user", Value: "alice"}})
		lab.World.Users = []*client.User{u}
		form, err := message.New(http.MethodPost, lab.URL+"/lost-password")
		if err != nil {
			t.Fatal(err)
		}
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form.Body = []byte("e-mail=tester@example.com")
		switch name {
		case "other name":
			form.URL.Path, form.Body = "/passwort-vergessen", []byte("kunden-nick=tester")
		case "one field":
			form.URL.Path, form.Body = "/glemt", []byte("navn=test&csrf=x")
		case "two fields":
			form.URL.Path, form.Body = "/glemt", []byte("navn=test&gate=x")
		case "script":
			form.Header.Set("Content-Type", "application/json")
			form.URL.Path, form.Body = "/api/recover", []byte(`{"handle":"tester"}`)
		}
		page, err := message.New(http.MethodGet, lab.URL+"/messages")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{form, page} }
		found := lab.Run(t, hostOfMessages(), &kit.Target{})
		if got := strings.TrimSpace(payloadsOf(found)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// handle is the member of JSON that names a user.
func handle(r *http.Request) string {
	var in struct{ Handle string }
	_ = json.NewDecoder(r.Body).Decode(&in) // "" where it is a form
	return in.Handle
}

func payloadsOf(all []kit.Finding) (out string) {
	for _, f := range all {
		out += f.Payload + " "
	}
	return out
}
