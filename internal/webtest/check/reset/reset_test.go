package reset

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A token that is made of the user, of the time, or of a number is found; not one that is random, nor one that the link
// does not need, nor a digest of the name elsewhere.
func TestComputedTokens(t *testing.T) {
	number := 40
	for name, c := range map[string]struct {
		token func(who string) string
		link  string
		any   bool
		want  string
	}{
		"the name":    {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "https://club.example/reset?token=", false, "the MD5 of the name of the user"},
		"the address": {func(who string) string { return base64.StdEncoding.EncodeToString([]byte(who + "@club.example")) }, "/reset?key=", false, "base64 of the address of the user"},
		"the time":    {func(string) string { return fmt.Sprint(time.Now().Unix()) }, "/reset?t=", false, "the time"},
		"both, in a path": {func(who string) string {
			return fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, who, ":", time.Now().Unix())))
		}, "/reset/", false, "the SHA-1 of the user and the time"},
		"numbers":          {func(string) string { number++; return fmt.Sprintf("%x", md5.Sum(fmt.Append(nil, number))) }, "/reset?code=", false, "the MD5 of a number"},
		"random":           {func(string) string { return rand.Text() }, "/reset?token=", false, ""},
		"not looked at":    {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "/reset?token=", true, ""},
		"of another":       {func(string) string { return fmt.Sprintf("%x", md5.Sum([]byte("bob"))) }, "/reset?token=", false, ""},
		"a picture's name": {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "https://faces.example/avatar/", false, ""},
	} {
		var mu sync.Mutex
		sent := []string{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			given := r.URL.Query().Get(strings.TrimSuffix(strings.TrimPrefix(c.link[strings.Index(c.link, "?")+1:], "?"), "="))
			switch {
			case r.Method == http.MethodPost && r.FormValue("user") == "alice":
				sent = append(sent, c.token("alice"))
			case r.URL.Path == "/messages":
				fmt.Fprint(w, "<h1>alice@club.example</h1>")
				for _, token := range sent {
					fmt.Fprintf(w, `<a href="%s">here</a>`, c.link+token)
				}
			case strings.HasPrefix(r.URL.Path, "/reset"):
				for _, token := range sent {
					if c.any || given == token || strings.HasSuffix(r.URL.Path, "/"+token) {
						fmt.Fprint(w, `<form><input name="new" type="password"></form>`)
						return
					}
				}
				http.Error(w, "this link is not good", http.StatusNotFound)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		form := lab.Target(t, http.MethodPost, "/forgotten", "user=tester").Request
		page := lab.Target(t, http.MethodGet, "/messages", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{form, page} }
		got := ""
		for _, f := range lab.Run(t, computed(), &kit.Target{}) {
			got += strings.TrimPrefix(f.Detail, "the token is ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
