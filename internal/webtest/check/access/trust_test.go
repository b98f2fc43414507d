package access

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A login that takes true for a password is found, whatever its fields are called; not one that looks at types, nor one
// that takes anything.
func TestLoginByType(t *testing.T) {
	for name, c := range map[string]struct {
		fine func(password any) bool
		want int
	}{
		"loose":    {func(p any) bool { return p == true || p == "right" }, 1},
		"strict":   {func(p any) bool { return p == "right" }, 0},
		"anything": {func(any) bool { return true }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Member   string
				Passcode any
			}
			_ = json.NewDecoder(r.Body).Decode(&in)
			w.Header().Set("Content-Type", "application/json")
			if in.Member != "alice" || !c.fine(in.Passcode) {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":"wrong"}`)
				return
			}
			fmt.Fprint(w, `{"token":"0123456789abcdef"}`)
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		target := lab.Target(t, http.MethodPost, "/v1/enter", `{"member":"x","passcode":"y"}`)
		found := lab.Run(t, kittest.Named(t, Checks(), "login-by-type"), target)
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A code that is no login is compared by type, too; what true switches on is no secret, and false switches it off.
func TestSecretByType(t *testing.T) {
	for name, c := range map[string]struct {
		status func(code any) int
		want   int
	}{
		"loose":  {func(code any) int { return map[bool]int{true: 200, false: 404}[code == true || code == "right"] }, 1},
		"strict": {func(code any) int { return map[bool]int{true: 200, false: 404}[code == "right"] }, 0},
		"switch": {func(code any) int {
			if _, isBool := code.(bool); isBool {
				return http.StatusOK
			}
			return http.StatusUnprocessableEntity
		}, 0},
		"anything": {func(any) int { return http.StatusOK }, 0},
		"filter":   {func(code any) int { return map[bool]int{true: 200, false: 202}[code == true] }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in map[string]any
			_ = json.NewDecoder(r.Body).Decode(&in)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status(in["code"]))
			fmt.Fprint(w, "{}")
		}))
		for body, want := range map[string]int{`{"door":"4","code":"x"}`: c.want, `{"code":"x","pin":"1"}`: 0} {
			target := lab.Target(t, http.MethodPost, "/door/check", body)
			found := lab.Run(t, kittest.Named(t, Checks(), "login-by-type"), target)
			if len(found) != want {
				t.Errorf("%s: %s: %s", name, body, kittest.Titles(found))
			}
			for _, f := range found {
				lab.Holds(t, f)
			}
		}
	}
}

// A role in an object that a cookie has, in Base64, is found; not in one that the application does not believe.
func TestRoleInAnObjectOfACookie(t *testing.T) {
	state := func(role string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"lang":"en","role":"` + role + `"}`))
	}
	for name, believes := range map[string]bool{"believed": true, "looked up": false} {
		lab := kittest.New(t, ward(func(r *http.Request, who string) bool {
			k, err := r.Cookie("state")
			if err != nil || !believes {
				return who == "carol"
			}
			text, _ := url.QueryUnescape(k.Value)
			raw, _ := base64.StdEncoding.DecodeString(text)
			var in struct{ Role string }
			return json.Unmarshal(raw, &in) == nil && in.Role == "overseer"
		}))
		alice, carol := lab.As(t, "alice"), lab.As(t, "carol")
		r, err := message.New(http.MethodGet, lab.URL+"/staff/wages")
		if err != nil {
			t.Fatal(err)
		}
		alice.SetCookies(r.URL, []*http.Cookie{{Name: "state", Value: state("reader")}})
		carol.SetCookies(r.URL, []*http.Cookie{{Name: "state", Value: state("overseer")}})
		lab.World.Users = []*client.User{alice, carol}
		lab.World.Pages = func() []*message.Request { return []*message.Request{r} }
		if found := lab.Run(t, kittest.Named(t, Checks(), "role-of-client"), &kit.Target{}); believes != (len(found) == 1) {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
