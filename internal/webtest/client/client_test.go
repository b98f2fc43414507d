package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// open is a client that may reach the server, and the server's requests.
func open(t *testing.T, c client.Config, h http.HandlerFunc) (*client.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	target, err := netguard.ParseTarget(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c.Dial, c.Allow = scope.Dial, allow(scope)
	if c.Level == client.Passive {
		c.Level = client.Safe
	}
	made := client.New(c)
	t.Cleanup(made.Close)
	return made, s.URL
}

func get(t *testing.T, address string) *message.Request {
	t.Helper()
	r, err := message.New(http.MethodGet, address)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSendReadsAnswers(t *testing.T) {
	c, at := open(t, client.Config{Body: 10}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusFound)
		z := gzip.NewWriter(w)
		fmt.Fprint(z, r.URL.RequestURI()+" and more")
		_ = z.Close()
	})
	r, err := c.Send(t.Context(), get(t, at+"/a%2fb?q=<%zz"), client.Options{})
	if err != nil || r.Status != 302 || string(r.Body) != "/a%2fb?q=<" || !r.Truncated || r.Took <= 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestScope(t *testing.T) {
	c, at := open(t, client.Config{}, func(http.ResponseWriter, *http.Request) {})
	u, _ := url.Parse(at)
	for _, address := range []string{"http://example.com/", "http://127.0.0.1:1/", "http://localhost:" + u.Port()} {
		if _, err := c.Send(t.Context(), get(t, address), client.Options{}); !errors.Is(err, client.ErrScope) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if c.Sent() != 0 {
		t.Errorf("%d requests counted", c.Sent())
	}
}

func TestBudgets(t *testing.T) {
	var served atomic.Int32
	c, at := open(t, client.Config{Requests: 5, Sent: 2}, func(http.ResponseWriter, *http.Request) { served.Add(1) })
	var group sync.WaitGroup
	var refused atomic.Int32
	for range 10 {
		group.Go(func() {
			if _, err := c.Send(t.Context(), get(t, at), client.Options{}); errors.Is(err, client.ErrBudget) {
				refused.Add(1)
			}
		})
	}
	group.Wait()
	if served.Load() != 3 || refused.Load() != 7 || c.Over() != "requests" {
		t.Errorf("%d served, %d refused, over %q", served.Load(), refused.Load(), c.Over())
	}
	late, at := open(t, client.Config{Until: time.Now().Add(-time.Second)}, func(http.ResponseWriter, *http.Request) {})
	if _, err := late.Send(t.Context(), get(t, at), client.Options{}); !errors.Is(err, client.ErrBudget) || late.Over() != "time" {
		t.Error(err)
	}
}

// A page of the browser takes seconds to open: none does when the budget is used up.
func TestPagesObeyTheBudget(t *testing.T) {
	for bound, c := range map[string]client.Config{
		"time": {Until: time.Now().Add(-time.Second)}, "requests": {Requests: 3, Sent: 3},
	} {
		over, at := open(t, c, func(http.ResponseWriter, *http.Request) {})
		r := get(t, at)
		if _, err := over.Page(t.Context(), nil, client.NewUser(""), r.URL, time.Minute); !errors.Is(err, client.ErrBudget) {
			t.Errorf("%s: a page opens: %v", bound, err)
		}
	}
}

func TestUsersKeepTheirCookies(t *testing.T) {
	c, at := open(t, client.Config{Header: http.Header{"X-All": {"1"}, "Cookie": {"all=1"}}},
		func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: r.URL.Query().Get("set")})
			fmt.Fprint(w, r.Header.Get("Cookie"), "|", r.Header.Get("Authorization"), "|", r.Header.Get("X-All"))
		})
	host, _ := url.Parse(at)
	a, b := client.NewUser("a"), client.NewUser("b")
	a.SetHeader(host.Host, "Authorization", "Bearer x")
	send := func(r *message.Request, as *client.User, want string) {
		t.Helper()
		answer, err := c.Send(t.Context(), r, client.Options{As: as})
		if err != nil || string(answer.Body) != want {
			t.Errorf("%v: %s, want %s", err, answer.Body, want)
		}
	}
	send(get(t, at+"/?set=A"), a, "all=1|Bearer x|1")
	send(get(t, at+"/?set=B"), b, "all=1||1")
	tested := get(t, at+"/?set=A2").Put(message.Place{Component: message.Cookie, Name: "sid"}, "te'st")
	send(tested, a, "sid=te'st; all=1|Bearer x|1")
	send(get(t, at+"/?set=A"), a, "sid=A; all=1|Bearer x|1") // what a test set is not kept
	send(get(t, at), nil, "all=1||1")
	send(get(t, at), b, "sid=B; all=1||1")
}

// Of what a browser keeps back from other sites neither a request has anything, nor does its answer change it.
func TestCookiesOfOrigins(t *testing.T) {
	c, at := open(t, client.Config{}, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"no", "lax"} {
			http.SetCookie(w, &http.Cookie{Name: name, Value: r.FormValue("set")})
		}
		fmt.Fprint(w, r.Header.Get("Cookie"))
	})
	host, _ := url.Parse(at)
	for from, want := range map[client.Origin]struct {
		line      string
		some, all bool
		after     string
	}{
		client.OwnPage:     {"lax=1; no=1; none=1; strict=1", true, true, "lax=2; no=2; none=1; strict=1"},
		client.ByLink:      {"lax=1; no=1", true, false, "lax=2; no=2; none=1; strict=1"},
		client.Elsewhere:   {"no=1", true, false, "lax=1; no=2; none=1; strict=1"},
		client.AllBrowsers: {"", false, false, "lax=1; no=1; none=1; strict=1"},
	} {
		u := client.NewUser("u")
		u.SetCookies(host, []*http.Cookie{{Name: "no", Value: "1"}, {Name: "none", Value: "1", SameSite: http.SameSiteNoneMode},
			{Name: "lax", Value: "1", SameSite: http.SameSiteLaxMode},
			{Name: "strict", Value: "1", SameSite: http.SameSiteStrictMode}})
		if some, all := u.Sends(host, from); some != want.some || all != want.all {
			t.Errorf("%d: some %v, all %v", from, some, all)
		}
		for _, line := range []struct {
			from client.Origin
			want string
		}{{from, want.line}, {client.OwnPage, want.after}} {
			answer, err := c.Send(t.Context(), get(t, at+"/?set=2"), client.Options{As: u, From: line.from})
			if err != nil {
				t.Fatal(err)
			}
			sent := strings.Split(string(answer.Body), "; ")
			slices.Sort(sent)
			if got := strings.Join(sent, "; "); got != line.want {
				t.Errorf("%d: sent %q, want %q", from, got, line.want)
			}
		}
	}
	secured, err := url.Parse("https://lab.example/")
	if err != nil {
		t.Fatal(err)
	}
	s := client.NewUser("s")
	s.SetCookies(secured, []*http.Cookie{{Name: "none", Value: "1", SameSite: http.SameSiteNoneMode, Secure: true},
		{Name: "bare", Value: "1", SameSite: http.SameSiteNoneMode}})
	if some, all := s.Sends(secured, client.AllBrowsers); !some || all {
		t.Errorf("of cookies for all sites the secure one goes alone: some %v, all %v", some, all)
	}
	lone := client.NewUser("lone")
	if some, all := lone.Sends(host, client.OwnPage); some || all {
		t.Error("a user without cookies sends some")
	}
}

// TestAlone holds two requests in flight while a third wants its host for itself.
func TestAlone(t *testing.T) {
	arrived, release := make(chan string, 10), make(chan struct{})
	c, at := open(t, client.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		if r.URL.Path != "/alone" {
			<-release
		}
	})
	var group sync.WaitGroup
	send := func(path string, alone bool) {
		group.Go(func() {
			if _, err := c.Send(t.Context(), get(t, at+path), client.Options{Alone: alone}); err != nil {
				t.Error(err)
			}
		})
	}
	send("/1", false)
	send("/2", false)
	<-arrived
	<-arrived
	send("/alone", true)
	select {
	case path := <-arrived:
		t.Errorf("%s was sent beside others", path)
	default:
	}
	close(release)
	if path := <-arrived; path != "/alone" {
		t.Error(path)
	}
	group.Wait()
}

// TestGone has every dial fail: tries become rarer, and then the target counts as gone.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := client.New(client.Config{Level: client.Safe,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, errors.New("refused")
			}})
		defer c.Close()
		began := time.Now()
		var err error
		for range 30 {
			if _, err = c.Send(t.Context(), get(t, "http://gone.test/"), client.Options{}); errors.Is(err, client.ErrDown) {
				break
			}
		}
		if took := time.Since(began); !errors.Is(err, client.ErrDown) || took < 20*time.Second || took > 2*time.Minute || dials > 14 {
			t.Errorf("%v after %s and %d dials", err, took, dials)
		}
	})
}

// TestDroppedTests serves what is not a test: the target is not gone.
func TestDroppedTests(t *testing.T) {
	hijack := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "fine")
	}
	c, at := open(t, client.Config{Now: skipping()}, hijack)
	for range 13 {
		_, err := c.Send(t.Context(), get(t, at+"/?x"), client.Options{})
		if err == nil || errors.Is(err, client.ErrDown) {
			t.Fatal(err)
		}
	}
	if r, err := c.Send(t.Context(), get(t, at), client.Options{}); err != nil || string(r.Body) != "fine" {
		t.Error(err)
	}
}

// skipping is a clock on which no pause is still to come.
func skipping() func() time.Time {
	var calls atomic.Int64
	began := time.Now()
	return func() time.Time { return began.Add(time.Duration(calls.Add(1)) * time.Minute) }
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(client.Config{}, func(n int, _ string) string { return status(n == 1, "429 Too Many\r\nRetry-After: 30") })
		defer c.Close()
		for _, want := range []time.Duration{0, 30 * time.Second} {
			began := time.Now()
			_, err := c.Send(t.Context(), get(t, "http://busy.test/"), client.Options{Fresh: true})
			if took := time.Since(began); err != nil || took.Round(time.Second) != want {
				t.Errorf("%v after %s, want %s", err, took, want)
			}
		}
	})
}

func allow(scope *netguard.Scope) func(string, *url.URL) error {
	return func(_ string, u *url.URL) error {
		if !scope.AllowsURL(u) {
			return errors.New("it is out of scope")
		}
		return nil
	}
}

// TestSlow holds that requests that are asked to wait keep no others from their turn, and are few.
func TestSlow(t *testing.T) {
	const slow = 6
	arrived, release := make(chan bool, 2*slow), make(chan struct{})
	c, at := open(t, client.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- true
			<-release
		}
	})
	var group sync.WaitGroup
	for range slow {
		group.Go(func() {
			if _, err := c.Send(t.Context(), get(t, at+"/slow"), client.Options{Slow: true}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		<-arrived
	}
	for range 20 { // while four wait, the others go on
		if _, err := c.Send(t.Context(), get(t, at+"/"), client.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(arrived); n != 0 {
		t.Errorf("%d more are asked to wait at a time", n)
	}
	close(release)
	group.Wait()
	if n := len(arrived); n != slow-4 {
		t.Errorf("%d of %d waited for their turn", n, slow-4)
	}
}
