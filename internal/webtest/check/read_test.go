package check_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The checks that know what users are shown read each page once for each user, and not once for each check. A link that
// ends the session is passed over, and ends none of them.
func TestPagesAreReadOnce(t *testing.T) {
	var mu sync.Mutex
	asked, names := map[string]int{}, map[string]string{}
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := ""
		if k, err := r.Cookie("sid"); err == nil {
			who = names[k.Value]
		}
		if who == "" {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		mu.Lock()
		asked[who+" "+r.URL.RequestURI()]++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Notes</title><p>What %s wrote about this.</p>", who)
	}))
	lab.World.Level = client.Safe
	at, err := url.Parse(lab.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"alice", "bob"} {
		u, session := client.NewUser(who), kit.Word()+kit.Word()
		u.SetCookies(at, []*http.Cookie{{Name: "sid", Value: session}})
		names[session] = who
		lab.World.Users = append(lab.World.Users, u)
	}
	var pages []*message.Request
	for _, path := range []string{"/logout", "/garden", "/kitchen", "/notes", "/tools", "/weather", "/walks"} {
		r, err := message.New(http.MethodGet, lab.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, r)
	}
	lab.World.Pages = func() []*message.Request { return pages }
	var ran []string
	for _, c := range check.All() {
		if c.After != nil && c.Level <= client.Safe {
			ran = append(ran, c.ID)
			lab.Run(t, c, nil)
		}
	}
	for _, id := range []string{"access-of-others", "objects-of-owners", "pages-of-hidden-menus"} {
		if !slices.Contains(ran, id) {
			t.Errorf("%s was not run", id)
		}
	}
	for _, page := range pages {
		for _, u := range lab.World.Users {
			want := 1
			switch {
			case page.URL.Path == "/logout":
				want = 0
			case u.Name == "alice":
				want = 2 // whom parameter-of-role asks again, to learn what changes by itself
			}
			if n := asked[u.Name+" "+page.URL.RequestURI()]; n != want {
				t.Errorf("%s asked for %s %d times, want %d", u.Name, page.URL.Path, n, want)
			}
		}
	}
}
