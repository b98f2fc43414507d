package forgery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A form of a new password that other sites can send is found, and sets the one that the user has; not one with a token,
// nor one that asks for the password before, nor one that answers the same to what it refuses.
func TestPasswordForgery(t *testing.T) {
	const body = "password_new=x&password_confirm=x"
	never := func(*http.Request) bool { return false }
	posted := func(r *http.Request) bool { return r.Method == http.MethodGet }
	for name, c := range map[string]struct {
		body    string
		refuses func(r *http.Request) bool
		silent  bool
		want    int
		sites   []http.SameSite // of the session and of another cookie
	}{
		"open":    {body, never, false, 1, nil},
		"others":  {body, never, false, 1, []http.SameSite{http.SameSiteNoneMode, http.SameSiteStrictMode}},
		"kept":    {body, posted, false, 0, []http.SameSite{http.SameSiteLaxMode, http.SameSiteNoneMode}},
		"link":    {body, never, false, 1, []http.SameSite{http.SameSiteLaxMode, http.SameSiteNoneMode}},
		"strict":  {body, never, false, 0, []http.SameSite{http.SameSiteStrictMode, http.SameSiteStrictMode}},
		"origin":  {body, func(r *http.Request) bool { return r.Header.Get("Origin") != "" || r.Method == http.MethodGet }, false, 0, nil},
		"referer": {body, func(r *http.Request) bool { return r.Header.Get("Referer") != "" || r.Method == http.MethodGet }, false, 1, nil},
		"token": {body + "&csrf_token=t7", func(r *http.Request) bool { return r.FormValue("csrf_token") != "t7" }, false, 0,
			nil},
		"former": {body + "&old_password=x", never, false, 0, nil},
		"silent": {body, never, true, 0, nil},
	} {
		var set []string
		lab := kittest.NewTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, err := r.Cookie("user")
			switch fine := r.FormValue("password_new") == r.FormValue("password_confirm"); {
			case err != nil:
				w.WriteHeader(http.StatusUnauthorized)
			case c.silent:
				fmt.Fprint(w, "<p>Thank you.</p>")
			case c.refuses(r) || !fine:
				fmt.Fprint(w, "<p>It was not set.</p>")
			default:
				set = append(set, r.FormValue("password_new"))
				fmt.Fprint(w, "<p>It was set.</p>")
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Password = func(*client.User) string { return "Right-1" }
		r, err := message.New(http.MethodPost, lab.URL+"/account/secret")
		if err != nil {
			t.Fatal(err)
		}
		if c.sites != nil {
			lab.World.Users[0] = client.NewUser("alice")
			lab.World.Users[0].SetCookies(r.URL, []*http.Cookie{{Name: "user", Value: "alice", Path: "/", SameSite: c.sites[0],
				Secure: true},
				{Name: "theme", Value: "dark", Path: "/", SameSite: c.sites[1]}})
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = []byte(c.body)
		lab.World.Pages = func() []*message.Request { return []*message.Request{r} }
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf-of-password"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, password := range set {
			if password != "Right-1" {
				t.Errorf("%s: it was set to %q", name, password)
			}
		}
		for _, f := range found {
			if strings.Contains(string(f.Request.Body), "Right-1") {
				t.Errorf("%s: the finding has the password", name)
			}
		}
	}
}
