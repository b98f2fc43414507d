package kit_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestReaction(t *testing.T) {
	for name, c := range map[string]struct {
		show         func(v string) string
		effect, echo bool
	}{
		"nothing":          {func(string) string { return "<p>hello" }, false, false},
		"echo":             {func(v string) string { return "<p>you asked for " + html.EscapeString(v) }, false, true},
		"finds":            {func(v string) string { return map[bool]string{true: "<p>one", false: "<p>none"}[v == "alice"] }, true, false},
		"lists the value":  {func(v string) string { return map[bool]string{true: "<p>alice", false: "<p>"}[v == "alice"] }, true, false},
		"breaks on quotes": {func(v string) string { return map[bool]string{true: "<p>error", false: "<p>ok"}[len(v) > 12] }, true, false},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, c.show(r.FormValue("q")))
		}))
		target := lab.Target(t, http.MethodGet, "/?q=alice", "")
		var place message.Place
		for _, p := range target.Places {
			if p.Name == "q" {
				place = p
			}
		}
		for range 2 { // it is asked for once
			got, err := lab.World.React(t.Context(), target, place)
			if err != nil || got.Effect != c.effect || got.Echo != c.echo {
				t.Errorf("%s: effect %v, echo %v, %v", name, got.Effect, got.Echo, err)
			}
		}
		if sent := lab.Sent.Load(); sent != 5 {
			t.Errorf("%s: %d requests, want 5", name, sent)
		}
		if planted := lab.World.Planted(); len(planted) != 1 || planted[0].Place != place {
			t.Errorf("%s: planted %v", name, planted)
		}
	}
}

func TestWordsAndNumbers(t *testing.T) {
	form := regexp.MustCompile(`^q[a-z]{9}z$`)
	for range 200 {
		if w := kit.Word(); !form.MatchString(w) {
			t.Fatalf("word %q", w)
		}
		if n := kit.Number(); n < 10_000 || n > 46_340 {
			t.Fatalf("number %d", n)
		}
	}
}

func TestBrokenConnectionsAreAnswers(t *testing.T) {
	r, err := message.New(http.MethodGet, "http://x/")
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := kit.Broken(t.Context(), r, nil, errors.New("reset")); err != nil || answer.Status != 0 {
		t.Errorf("%v, %v", answer, err)
	}
	for _, kept := range []error{client.ErrBudget, client.ErrDown, client.ErrScope} {
		if _, err := kit.Broken(t.Context(), r, nil, kept); !errors.Is(err, kept) {
			t.Errorf("%v became %v", kept, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kit.Broken(over, r, nil, context.Canceled); err == nil {
		t.Error("a run that is over goes on")
	}
}

// A login is told by the types of the fields of its form, else by their names; a form that registers is none.
func TestLoginsByType(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		fields     [2]string
		want       string
	}{
		"by names":  {"/in", "user=a&password=b", [2]string{}, "user password"},
		"by types":  {"/in", "dock=a&phrase=b&lang=en", [2]string{"dock", "phrase"}, "dock phrase"},
		"neither":   {"/in", "dock=a&phrase=b", [2]string{}, ""},
		"registers": {"/register", "dock=a&phrase=b", [2]string{"dock", "phrase"}, ""},
		"unnamed":   {"/in", "phrase=b", [2]string{"", "phrase"}, ""},
	} {
		r, err := message.New(http.MethodPost, "http://x"+c.path)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body, r.Login = []byte(c.body), c.fields
		got := ""
		if l, ok := kit.LoginOf(r.Clone()); ok {
			got = l.Name.Name + " " + l.Password.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The name of a file keeps its ending; other values have none.
func TestEndings(t *testing.T) {
	for name, want := range map[string]string{"photo.filename": ".png", "photo": ""} {
		p := message.Place{Component: message.Body, Format: message.Multipart, Name: name, Value: "vedette.png"}
		if got := kit.Ending(p); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := kit.Ending(message.Place{Component: message.Query, Format: message.Form, Name: "a.filename", Value: "b.png"}); got != "" {
		t.Errorf("a parameter ends with %q", got)
	}
}

// Numbers are objects, and names of objects with a number in base64; words are not, nor is base64 of a sentence.
func TestObjects(t *testing.T) {
	for value, want := range map[string]bool{"17": true, "ORD-17": true, "cG9saWN5OjgxMDI": true, "VXNlcjo3": true,
		"about":           false,
		"aGVsbG8gd29ybGQ": false} {
		if kit.IsObject(value) != want {
			t.Errorf("%s: %v", value, !want)
		}
	}
}

// A file that a server refuses by its path has no inputs; a program that refuses has, under whatever name.
func TestStatic(t *testing.T) {
	for _, c := range []struct {
		address string
		status  int
		kind    string
		want    bool
	}{
		{"/js/jquery.js?v=1", http.StatusOK, "text/javascript", true},
		{"/js/jquery.js?v=1", http.StatusForbidden, "text/html", true},
		{"/fonts/a.WOFF2?iefix", http.StatusNotFound, "text/html", true},
		{"/js/jquery.js?v=1", http.StatusOK, "text/html", false},
		{"/js/jquery.js?v=1", http.StatusInternalServerError, "text/html", false},
		{"/admin.php?v=1.js", http.StatusForbidden, "text/html", false},
		{"/js", http.StatusForbidden, "text/html", false},
		{"/files/report.pdf", http.StatusForbidden, "text/html", false},
	} {
		u, err := url.Parse("http://one.example" + c.address)
		if err != nil {
			t.Fatal(err)
		}
		got := kit.Static(&message.Response{Request: message.From(http.MethodGet, u), Status: c.status,
			Header: http.Header{"Content-Type": {c.kind}}})
		if got != c.want {
			t.Errorf("%s %d %s: static %v", c.address, c.status, c.kind, got)
		}
	}
}

// Words of a forgotten password are known in several languages; what is lost otherwise is no such word by itself.
func TestForgotten(t *testing.T) {
	invites := kit.ForgottenOr("lost|invit")
	for path, want := range map[string][2]bool{
		"/forgot-password":      {true, true},
		"/account/LostPassword": {true, true},
		"/passwort-vergessen":   {true, true},
		"/mot-de-passe-oublie":  {true, true},
		"/zapomniane-haslo":     {true, true},
		"/lost-and-found":       {false, true},
		"/invite":               {false, true},
		"/profile":              {false, false},
	} {
		if got := [2]bool{kit.Forgotten.MatchString(path), invites.MatchString(path)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
