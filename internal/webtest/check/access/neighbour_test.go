package access

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// people are the accounts of an application.
var people = map[string]string{"4": "mallory", "5": "alice", "6": "bob"}

func profile(name string) string {
	return fmt.Sprintf(`<html><nav>Log out</nav><table><tr><th>Name</th><td>%s</td></tr><tr><th>E-mail</th><td>%s@example.org</td></tr></table></html>`,
		strings.ToUpper(name), name)
}

// directory serves profiles by the value of a place, to those who are logged in; may says who may see whose.
func directory(read func(*http.Request) string, front string, may func(who, whose string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		k, err := r.Cookie("user")
		switch {
		case err != nil:
			http.Redirect(w, r, "/login", http.StatusFound)
		case r.URL.Path == "/":
			fmt.Fprint(w, front)
		case people[read(r)] == "":
			http.NotFound(w, r)
		case !may(k.Value, people[read(r)]):
			http.Error(w, "not yours", http.StatusForbidden)
		default:
			fmt.Fprint(w, profile(people[read(r)]))
		}
	})
}

// With one user alone, objects with other numbers are found where they show private data of others; not those that are
// refused, nor those that pages of the user lead to, nor those without private data.
func TestNeighbours(t *testing.T) {
	query := func(r *http.Request) string { return r.URL.Query().Get("id") }
	path := func(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }
	cookie := func(r *http.Request) string {
		if k, err := r.Cookie("uid"); err == nil {
			return k.Value
		}
		return ""
	}
	hidden := func(r *http.Request) string {
		for n := range people {
			if k, err := r.Cookie("uid"); err == nil && k.Value == digests[32](int(n[0]-'0')) {
				return n
			}
		}
		return ""
	}
	all, own := func(string, string) bool { return true }, func(who, whose string) bool { return who == whose }
	for name, c := range map[string]struct {
		app  http.Handler
		at   string
		uid  string
		want int
	}{
		"query": {directory(query, `<a href="/profile?id=5">me</a>`, all), "/profile?id=5", "", 1},
		"object": {directory(func(r *http.Request) string {
			var in struct{ Person json.Number }
			raw, err := base64.StdEncoding.DecodeString(query(r))
			if err != nil || json.Unmarshal(raw, &in) != nil {
				return ""
			}
			return in.Person.String()
		}, `<a href="/profile?id=`+b64(`{"person":5}`)+`">me</a>`, all), "/profile?id=" + b64(`{"person":5}`), "", 1},
		"path":   {directory(path, `<a href="/people/5">me</a>`, all), "/people/5", "", 1},
		"cookie": {directory(cookie, "hello", all), "/profile", "5", 1},
		"digest": {directory(hidden, "hello", all), "/profile", digests[32](5), 1},

		"own alone": {directory(query, `<a href="/profile?id=5">me</a>`, own), "/profile?id=5", "", 0},
		"a list": {directory(path, `<a href="/people/4">m</a><a href="/people/5">me</a><a href="/people/6">b</a>`, all),
			"/people/5", "", 0},
		"no secret": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("user"); err != nil {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			fmt.Fprintf(w, "<h1>Chapter %s</h1><p>Questions to help@example.org</p>", query(r))
		}), "/book?id=5", "", 0},
	} {
		lab := kittest.New(t, c.app)
		lab.World.Level = client.Safe
		alice := lab.As(t, "alice")
		page := lab.Target(t, http.MethodGet, c.at, "")
		front := lab.Target(t, http.MethodGet, "/", "")
		if c.uid != "" {
			alice.SetCookies(page.Request.URL, []*http.Cookie{{Name: "uid", Value: c.uid}})
		}
		lab.World.Users = []*client.User{alice}
		lab.World.Pages = func() []*message.Request { return []*message.Request{front.Request, page.Request} }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-neighbours"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %d found, want %d", name, len(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// Objects without private data are somebody else's where they name another owner at the place of the user's name; not
// where lists lead to objects of others, where the user has one alone (a profile), nor where they do not say whose they are.
func TestNeighboursThatNameTheirOwner(t *testing.T) {
	owners := map[int]string{3: "bob", 4: "alice", 5: "alice", 6: "bob"}
	encode := base64.RawURLEncoding.EncodeToString
	app := func(list string, write func(int) string, says func(owner string) string, own bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("user")
			if err != nil {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			if r.URL.Path == "/" {
				fmt.Fprint(w, "<nav>Hello alice</nav>", list)
				return
			}
			for n, owner := range owners {
				if r.URL.Path == "/letters/"+write(n) && (!own || owner == k.Value) {
					fmt.Fprintf(w, "<nav>Hello alice</nav><h1>Letter %d</h1><p>%s</p>", n, says(owner))
					return
				}
			}
			http.NotFound(w, r)
		})
	}
	links := func(write func(int) string, numbers ...int) (text string) {
		for _, n := range numbers {
			text += fmt.Sprintf(`<a href="/letters/%s">letter</a> `, write(n))
		}
		return text
	}
	code := func(n int) string { return encode([]byte(fmt.Sprintf("letter:%d", n))) }
	of := func(owner string) string { return "Written by " + owner + "." }
	table := func(owner string) string { // with a text of its own beside
		return fmt.Sprintf("<dl><dt>By</dt><dd>%s</dd><dt>Text</dt><dd>word%s</dd></dl>", owner, strings.Repeat("x", len(owner)))
	}
	nothing := func(string) string { return "Written in haste." }
	for name, c := range map[string]struct {
		app   http.Handler
		write func(int) string
		want  int
	}{
		"number":      {app(links(strconv.Itoa, 4, 5), strconv.Itoa, of, false), strconv.Itoa, 1},
		"encoded":     {app(links(code, 4, 5), code, of, false), code, 1},
		"table":       {app(links(strconv.Itoa, 4, 5), strconv.Itoa, table, false), strconv.Itoa, 1},
		"own alone":   {app(links(strconv.Itoa, 4, 5), strconv.Itoa, of, true), strconv.Itoa, 0},
		"all listed":  {app(links(strconv.Itoa, 3, 4, 5, 6), strconv.Itoa, of, false), strconv.Itoa, 0},
		"some listed": {app(links(strconv.Itoa, 4, 5, 6), strconv.Itoa, of, false), strconv.Itoa, 0},
		"one":         {app(links(strconv.Itoa, 4), strconv.Itoa, of, false), strconv.Itoa, 0},
		"unnamed":     {app(links(strconv.Itoa, 4, 5), strconv.Itoa, nothing, false), strconv.Itoa, 0},
	} {
		lab := kittest.New(t, c.app)
		lab.World.Level = client.Safe
		page, front := lab.Target(t, http.MethodGet, "/letters/"+c.write(4), ""), lab.Target(t, http.MethodGet, "/", "")
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request { return []*message.Request{front.Request, page.Request} }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-neighbours"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %d found, want %d", name, len(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// Values count as numbers do, with a word before them, and encoded.
func TestSeries(t *testing.T) {
	for value, want := range map[string]string{"17": "18", "INV-0042": "INV-0043", "bill-009.pdf": "bill-010.pdf", "v2.tar.gz": "", "a7.1": "", "a9": "a10", "b3JkZXItNw==": "b3JkZXItOA==", "b3JkZXItNw": "b3JkZXItOA",
		"757365723a35": "757365723a36", "MTI=": "MTM=", "about": "",
		b64(`{"id":41}`): b64(`{"id":42}`), b64(`{"of":"bills","no":"7"}`): b64(`{"of":"bills","no":"8"}`), b64(`{"a":1,"b":2}`): "",
		b64(`{"id":41`): "", "0x": ""} {
		got := ""
		if s := seriesOf(value); s != nil {
			got = s.write(s.number + 1)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
