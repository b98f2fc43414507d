package forgery

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestForgery(t *testing.T) {
	for name, c := range map[string]struct {
		origin     bool
		body       string
		site       http.SameSite
		path       string
		want       int
		confidence kit.Confidence
	}{
		"weak":       {false, "message=hello", 0, "", 1, kit.Probable},
		"all sites":  {false, "message=hello", http.SameSiteNoneMode, "", 1, kit.Proved},
		"origin":     {true, "message=hello", http.SameSiteNoneMode, "", 0, ""},
		"leads back": {false, "mail=a%40example.org", http.SameSiteNoneMode, "/account/mail", 1, kit.Proved},
		"answers":    {false, "mail=a%40example.org", http.SameSiteNoneMode, "/account/show", 0, ""},
		"token":      {false, "message=hello&csrf_token=abc", 0, "", 0, ""},
	} {
		lab := kittest.NewTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("user"); err != nil || c.origin && r.Header.Get("Origin") != "" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			if r.URL.Path == "/account/mail" {
				http.Redirect(w, r, "/account", http.StatusSeeOther)
				return
			}
			fmt.Fprint(w, "<p>sent</p>")
		}))
		target := lab.Target(t, http.MethodPost, cmp.Or(c.path, "/message/send"), c.body)
		target.Response = &message.Response{Request: target.Request, Status: http.StatusOK, Header: http.Header{}}
		if c.path == "/account/mail" {
			target.Response.Status = http.StatusSeeOther
			target.Response.Header.Set("Location", "/account")
		}
		target.User = lab.As(t, "bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/", SameSite: c.site,
			Secure: c.site == http.SameSiteNoneMode}})
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if len(found) != c.want || len(found) == 1 && found[0].Confidence != c.confidence {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}

// forms is an account whose address of mail is changed by a form. What is refused is answered as what is not, and shown
// on a page of its own. With links, its fields are taken from the address, too.
func labForms(links bool, refuses func(r *http.Request) bool) http.Handler {
	var mu sync.Mutex
	mail := "bob@lab.example"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := r.Cookie("user"); err != nil {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		v := r.PostFormValue("mail")
		if links {
			v = r.FormValue("mail")
		}
		if v != "" {
			if !refuses(r) {
				mail = v
			}
			http.Redirect(w, r, "/account/change", http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>Your address is %s</p>", html.EscapeString(mail))
	})
}

// Cookies that say nothing of sites are proof enough with an effect that is seen; so is a token that is not asked for,
// and a form that is sent by GET, which cookies for links (Lax) do not hinder.
func TestForgeryWithEffect(t *testing.T) {
	const at, mail, token = "/account/change", "mail=bob%40lab.example", "&csrf_token=right-token"
	never := func(*http.Request) bool { return false }
	foreign := func(r *http.Request) bool { return r.Header.Get("Sec-Fetch-Site") == "cross-site" }
	named := func(r *http.Request) bool {
		return strings.Contains(r.Header.Get("Referer")+r.Header.Get("Origin"), "example.org")
	}
	strict := func(r *http.Request) bool { return r.FormValue("csrf_token") != "right-token" }
	lax := func(r *http.Request) bool {
		return r.FormValue("csrf_token") != "right-token" && r.Form.Has("csrf_token")
	}
	for name, c := range map[string]struct {
		refuses         func(*http.Request) bool
		method, path    string
		body            string
		site            http.SameSite
		want            int
		wantsConfidence kit.Confidence
	}{
		"no attribute":           {never, http.MethodPost, at, mail, 0, 1, kit.Proved},
		"same site":              {never, http.MethodPost, at, mail, http.SameSiteLaxMode, 1, kit.Probable},
		"silently refused":       {foreign, http.MethodPost, at, mail, 0, 1, kit.Probable},
		"token unchecked":        {lax, http.MethodPost, at, mail + token, 0, 1, kit.Proved},
		"token checked":          {strict, http.MethodPost, at, mail + token, 0, 0, ""},
		"token, same site":       {lax, http.MethodPost, at, mail + token, http.SameSiteLaxMode, 0, ""},
		"POST, a link works":     {never, http.MethodPost, at, mail, http.SameSiteLaxMode, 1, kit.Proved},
		"token, a link works":    {lax, http.MethodPost, at, mail + token, http.SameSiteLaxMode, 1, kit.Proved},
		"strict, a link works":   {never, http.MethodPost, at, mail, http.SameSiteStrictMode, 1, kit.Probable},
		"none is named, it goes": {named, http.MethodPost, at, mail, 0, 1, kit.Proved},
		"by GET":                 {never, http.MethodGet, at + "?" + mail, "", http.SameSiteLaxMode, 1, kit.Proved},
		"GET, strict":            {never, http.MethodGet, at + "?" + mail, "", http.SameSiteStrictMode, 0, ""},
		"GET, no effect":         {foreign, http.MethodGet, at + "?" + mail, "", http.SameSiteLaxMode, 0, ""},
	} {
		lab := kittest.NewTLS(t, labForms(c.method == http.MethodGet || strings.Contains(name, "link"), c.refuses))
		target := lab.Target(t, c.method, c.path, c.body)
		target.Response = &message.Response{Request: target.Request, Status: http.StatusSeeOther,
			Header: http.Header{"Location": {at}}}
		target.User = lab.As(t, "bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/", SameSite: c.site,
			Secure: c.site == http.SameSiteNoneMode}})
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if len(found) != c.want || len(found) == 1 && found[0].Confidence != c.wantsConfidence {
			t.Errorf("%s: found %s, want %d %s", name, kittest.Titles(found), c.want, c.wantsConfidence)
		}
		left, err := lab.World.Client.Send(t.Context(), lab.Target(t, http.MethodGet, "/account/show", "").Request,
			client.Options{As: target.User})
		if err != nil || !strings.Contains(string(left.Body), "bob@lab.example") {
			t.Errorf("%s: it leaves %s %v", name, left.Body, err)
		}
	}
}

// Of several cookies those count that carry the session: with them alone the answer must be that of all.
func TestForgeryBySomeCookies(t *testing.T) {
	const at = "/account/change"
	for name, c := range map[string]struct {
		method         string
		session, theme http.SameSite
		want           kit.Confidence // "": none is found
		says           string         // of the details
	}{
		"session for all":     {http.MethodPost, http.SameSiteNoneMode, http.SameSiteStrictMode, kit.Proved, "SameSite=None"},
		"session says none":   {http.MethodPost, 0, http.SameSiteLaxMode, kit.Proved, "do not say"},
		"theme for all":       {http.MethodPost, http.SameSiteLaxMode, http.SameSiteNoneMode, kit.Probable, "may keep"},
		"theme says nothing":  {http.MethodPost, http.SameSiteLaxMode, 0, kit.Probable, "may keep"},
		"link":                {http.MethodGet, http.SameSiteLaxMode, http.SameSiteStrictMode, kit.Proved, "a link"},
		"link without it":     {http.MethodGet, http.SameSiteStrictMode, http.SameSiteLaxMode, "", ""},
		"link without either": {http.MethodGet, http.SameSiteStrictMode, http.SameSiteStrictMode, "", ""},
	} {
		lab := kittest.NewTLS(t, labForms(c.method == http.MethodGet, func(*http.Request) bool { return false }))
		target := lab.Target(t, http.MethodPost, at, "mail=bob%40lab.example")
		if c.method == http.MethodGet {
			target = lab.Target(t, http.MethodGet, at+"?mail=bob%40lab.example", "")
		}
		target.Response = &message.Response{Request: target.Request, Status: http.StatusSeeOther,
			Header: http.Header{"Location": {at}}}
		target.User = client.NewUser("bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/", SameSite: c.session,
			Secure: c.session == http.SameSiteNoneMode},
			{Name: "theme", Value: "dark", Path: "/", SameSite: c.theme}})
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Confidence != c.want ||
			!strings.Contains(found[0].Detail, c.says)) {
			t.Errorf("%s: found %s, want %q", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
