package token

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/coder/websocket"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestHijacking(t *testing.T) {
	for name, c := range map[string]struct {
		anyOrigin, everybody bool
		sameSite             http.SameSite
		theme                http.SameSite // of a cookie that is not the session's; 0: there is none
		want                 int
	}{
		"any origin is answered":              {anyOrigin: true, want: 1},
		"own origin alone":                    {},
		"nothing of the user is in it":        {anyOrigin: true, everybody: true},
		"the browser keeps the cookie":        {anyOrigin: true, sameSite: http.SameSiteLaxMode},
		"the cookie is sent from everywhere":  {anyOrigin: true, sameSite: http.SameSiteNoneMode, want: 1},
		"the session is sent, another is not": {anyOrigin: true, theme: http.SameSiteLaxMode, want: 1},
		"another is sent, the session is not": {anyOrigin: true, sameSite: http.SameSiteLaxMode,
			theme: http.SameSiteNoneMode},
		"own origin alone, cookie from anybody": {sameSite: http.SameSiteNoneMode},
	} {
		lab := kittest.NewTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: c.anyOrigin})
			if err != nil {
				return
			}
			defer conn.CloseNow()
			for {
				if _, _, err := conn.Read(r.Context()); err != nil {
					return
				}
				answer := "log in first"
				if cookie, err := r.Cookie("sid"); err == nil && cookie.Value == "7f3a" || c.everybody {
					answer = `{"user": "anna", "balance": 120, "currency": "EUR"}`
				}
				if conn.Write(r.Context(), websocket.MessageText, []byte(answer)) != nil {
					return
				}
			}
		}))
		at, err := url.Parse(lab.URL + "/ws")
		if err != nil {
			t.Fatal(err)
		}
		u := client.NewUser("anna")
		u.SetCookies(at, []*http.Cookie{{Name: "sid", Value: "7f3a", Path: "/", SameSite: c.sameSite, Secure: true}})
		if c.theme != 0 {
			u.SetCookies(at, []*http.Cookie{{Name: "theme", Value: "dark", Path: "/", SameSite: c.theme, Secure: true}})
		}
		target := &kit.Target{Request: message.NewMessage(at, `{"type":"balance"}`), User: u}
		found := lab.Run(t, hijacking(), target)
		if len(found) != c.want {
			t.Errorf("%s: %d findings, want %d: %s", name, len(found), c.want, kittest.Titles(found))
		}
		if len(found) > 0 {
			if err := found[0].Proof.Check(); err != nil {
				t.Errorf("%s: proof: %v", name, err)
			}
		}
		target.User = nil
		if found := lab.Run(t, hijacking(), target); len(found) > 0 {
			t.Error(fmt.Sprint(name, ": nobody is logged in"))
		}
	}
}
