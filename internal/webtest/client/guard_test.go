package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// gate is an application whose sessions end. /me and all other addresses refuse who is not logged in with 401; /public
// greets those who are. What its path says happens once the answer is known.
type gate struct {
	mu       sync.Mutex
	valid    int // the number of the session that counts
	logins   int
	refuses  bool // logins
	each     bool // session ends at its first request
	after    int  // ends each session after so many requests; 0: none
	inThis   int
	requests map[string]int // by method and path
	came     chan bool      // gets true when /late was asked for
	hold     chan struct{}  // for which /late waits
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/late" {
		g.came <- true
		<-g.hold
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests[r.Method+r.URL.Path]++
	if r.URL.Path == "/login" {
		if g.logins++; g.refuses {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		g.valid, g.inThis = g.valid+1, 0
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(g.valid), Path: "/", SameSite: http.SameSiteLaxMode})
		return
	}
	k, err := r.Cookie("sid")
	in := err == nil && k.Value == fmt.Sprint(g.valid)
	if r.URL.Path != "/me" && in {
		if g.inThis++; g.each || g.after > 0 && g.inThis > g.after {
			g.valid++
			in = false
		}
	}
	switch {
	case r.URL.Path == "/late":
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "gone", Path: "/"})
	case r.URL.Path == "/public" && in:
		fmt.Fprint(w, "hello bob")
	case r.URL.Path == "/public":
		fmt.Fprint(w, "hello")
	case !in || r.URL.Query().Get("q") == "'":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/end", r.URL.Path == "/read-end":
		g.valid++
	}
}

func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.valid++
}

func (g *gate) asked(what string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[what]
}

// guarded is a user of a gate who is logged in and kept so.
func guarded(t *testing.T, g *gate) (*client.Client, *client.User, string) {
	t.Helper()
	g.requests, g.came, g.hold = map[string]int{}, make(chan bool), make(chan struct{})
	c, at := open(t, client.Config{Level: client.Active}, g.ServeHTTP)
	logIn := func(ctx context.Context) (*client.User, error) {
		fresh := client.NewUser("bob")
		answer, err := c.Send(ctx, get(t, at+"/login"), client.Options{As: fresh, Forced: true})
		if err == nil && answer.Status != http.StatusOK {
			err = errors.New("the password is refused")
		}
		return fresh, err
	}
	u, err := logIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u.Guard(client.Guard{Hosts: []string{strings.TrimPrefix(at, "http://")}, Cookies: map[string]bool{"sid": true},
		LogIn: logIn, Shows: func(_ *message.Request, a *message.Response) client.Sign {
			switch {
			case a.Status == http.StatusUnauthorized:
				return client.SignedOut
			case string(a.Body) == "hello":
				return client.Missing
			}
			return client.SignedIn
		}, Alive: func(ctx context.Context) (bool, error) {
			answer, err := c.Send(ctx, get(t, at+"/me"), client.Options{As: u, AsIs: true})
			return err == nil && answer.Status == http.StatusOK, err
		}})
	return c, u, at
}

// All requests of a user whose session has ended are answered as if it had not, and one of them logs in.
func TestOneLoginForAll(t *testing.T) {
	g := &gate{}
	c, u, at := guarded(t, g)
	for round := range 3 {
		g.end()
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				answer, err := c.Send(t.Context(), get(t, at+fmt.Sprintf("/page%d", i)), client.Options{As: u})
				if err != nil || answer.Status != http.StatusOK {
					t.Errorf("page %d: %v, %+v", i, err, answer)
				}
			})
		}
		group.Wait()
		if g.logins != round+2 || u.Renewals() != round+1 {
			t.Errorf("round %d: %d logins, %d renewals", round, g.logins, u.Renewals())
		}
	}
}

// A test that is answered as if nobody was logged in costs one look at the session, and no login; what looks as usual
// costs nothing.
func TestAnswersThatLookLikeALogout(t *testing.T) {
	g := &gate{}
	c, u, at := guarded(t, g)
	for n := range 20 {
		answer, err := c.Send(t.Context(), get(t, at+"/page?q='"), client.Options{As: u})
		if err != nil || answer.Status != http.StatusUnauthorized || g.asked("GET/me") != n+1 {
			t.Fatalf("%v, %+v, %d looks after %d", err, answer, g.asked("GET/me"), n)
		}
		if _, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: u}); err != nil {
			t.Fatal(err)
		}
	}
	if g.logins != 1 || g.asked("GET/page") != 40 || g.asked("GET/me") != 20 {
		t.Errorf("%d logins, asked %v", g.logins, g.requests)
	}
}

// A user who is not let in any more is tried some times, once: then nothing is sent for them.
func TestLostUsers(t *testing.T) {
	g := &gate{}
	c, u, at := guarded(t, g)
	g.refuses = true
	g.end()
	for range 3 {
		_, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: u})
		if !errors.Is(err, client.ErrSignedOut) || err.Error() != "bob is not logged in any more: the password is refused" {
			t.Fatal(err)
		}
	}
	if g.logins != 6 || g.asked("GET/page") != 1 || u.Lost() == nil {
		t.Errorf("%d logins, asked %v, lost: %v", g.logins, g.requests, u.Lost())
	}
	if _, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: client.NewUser("eve")}); err != nil {
		t.Error("another user is lost, too:", err)
	}
}

// Where each session ends at once, that is given up after some logins.
func TestSessionsThatEndAtOnce(t *testing.T) {
	g := &gate{each: true}
	c, u, at := guarded(t, g)
	for n := 0; u.Lost() == nil; n++ {
		if _, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: u}); !errors.Is(err, client.ErrSignedOut) || n > 50 {
			t.Fatal(n, err)
		}
	}
	if !strings.Contains(u.Lost().Error(), "end as soon as they begin") || g.logins > 50 {
		t.Errorf("%d logins, %v", g.logins, u.Lost())
	}
}

// What is about the session itself is answered as it is.
func TestRequestsAboutTheSession(t *testing.T) {
	page := func(at, name, value string) *message.Request { return get(t, at+"/page").With(name, value) }
	for name, c := range map[string]struct {
		r    func(at string) *message.Request
		o    func(u *client.User) client.Options
		want int // logins
	}{
		"its cookie":       {r: func(at string) *message.Request { return page(at, "Cookie", "sid=7") }},
		"its header":       {r: func(at string) *message.Request { return page(at, "X-Key", "7") }},
		"another cookie":   {r: func(at string) *message.Request { return page(at, "Cookie", "lang=en") }, want: 1},
		"another header":   {r: func(at string) *message.Request { return page(at, "X-Other", "7") }, want: 1},
		"a logout":         {r: func(at string) *message.Request { return get(t, at+"/logout") }},
		"as it is":         {o: func(u *client.User) client.Options { return client.Options{As: u, AsIs: true} }},
		"nobody":           {o: func(*client.User) client.Options { return client.Options{} }},
		"kept back":        {o: func(u *client.User) client.Options { return client.Options{As: u, From: client.Elsewhere} }},
		"not kept back":    {o: func(u *client.User) client.Options { return client.Options{As: u, From: client.ByLink} }, want: 1},
		"an usual request": {want: 1},
	} {
		g := &gate{}
		sender, u, at := guarded(t, g)
		sender.May.Logout = true
		u.SetHeader(strings.TrimPrefix(at, "http://"), "X-Key", "1")
		r, o := get(t, at+"/page"), client.Options{As: u}
		if c.r != nil {
			r = c.r(at)
		}
		if c.o != nil {
			o = c.o(u)
		}
		g.end()
		answer, err := sender.Send(t.Context(), r, o)
		if err != nil || g.logins != 1+c.want || (answer.Status == http.StatusOK) != (c.want == 1) {
			t.Errorf("%s: %v, %d logins, %+v", name, err, g.logins, answer)
		}
	}
}

// A request that may write is sent again only if it was refused, and once.
func TestWritesAreNotSentTwice(t *testing.T) {
	for name, c := range map[string]struct {
		method, path string
		each         bool
		sent         int
		fails        bool
	}{
		"refused":               {http.MethodPut, "/page", false, 2, false},
		"refused twice":         {http.MethodPut, "/page", true, 2, true},
		"done as nobody":        {http.MethodPut, "/public", false, 1, true},
		"read as nobody":        {http.MethodGet, "/public", false, 2, false},
		"read and always ended": {http.MethodGet, "/page", true, 5, true},
	} {
		g := &gate{}
		sender, u, at := guarded(t, g)
		r := get(t, at+c.path)
		r.Method = c.method
		g.end()
		g.each = c.each
		_, err := sender.Send(t.Context(), r, client.Options{As: u})
		if sent := g.asked(c.method + c.path); sent != c.sent || errors.Is(err, client.ErrSignedOut) != c.fails {
			t.Errorf("%s: sent %d times, %v", name, sent, err)
		}
	}
}

// A chain begins again in the new session, but for steps that may have written.
func TestChainsInANewSession(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: 2, http.MethodPut: 1} {
		g := &gate{after: 1}
		c, u, at := guarded(t, g)
		first, last := get(t, at+"/first"), get(t, at+"/last")
		first.Method, last.After = method, first
		g.mu.Lock()
		g.inThis = 0
		g.mu.Unlock()
		answer, err := c.Send(t.Context(), last, client.Options{As: u})
		if method == http.MethodPut && (err != nil || answer.Status != http.StatusOK) {
			t.Errorf("%s: %v, %+v", method, err, answer)
		}
		if n := g.asked(method + "/first"); method == http.MethodPut && n != want || n < want {
			t.Errorf("%s: the first step was sent %d times", method, n)
		}
	}
}

// The answer to a request of a session that was replaced meanwhile does not touch the new one.
func TestLateAnswers(t *testing.T) {
	g := &gate{}
	c, u, at := guarded(t, g)
	g.end()
	late := make(chan error)
	go func() {
		_, err := c.Send(t.Context(), get(t, at+"/late"), client.Options{As: u})
		late <- err
	}()
	<-g.came
	if _, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: u}); err != nil {
		t.Fatal(err)
	}
	close(g.hold)
	if err := <-late; err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Send(t.Context(), get(t, at+"/page"), client.Options{As: u}); err != nil || answer.Status != 200 ||
		g.logins != 2 {
		t.Errorf("%v, %+v, %d logins", err, answer, g.logins)
	}
}

// A target of tests that ends the session is tested no further, though it is tested beside others, which are.
func TestTargetsThatEndTheSession(t *testing.T) {
	g := &gate{}
	c, u, at := guarded(t, g)
	var group sync.WaitGroup
	sent := map[string]int{}
	for _, path := range []string{"/read-end", "/a", "/b", "/c"} {
		refused := 0
		group.Go(func() {
			ctx := client.Testing(t.Context(), path)
			for range 60 {
				if _, err := c.Send(ctx, get(t, at+path), client.Options{As: u}); errors.Is(err, client.ErrScope) {
					refused++
				} else if err != nil {
					t.Error(path, err)
				}
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			sent[path] = 60 - refused
		})
	}
	group.Wait()
	if sent["/a"] != 60 || sent["/b"] != 60 || sent["/c"] != 60 || sent["/read-end"] == 60 || !u.EndsSession("/read-end") ||
		u.EndsSession("/a") {
		t.Errorf("sent %v, %d logins", sent, g.logins)
	}
}
