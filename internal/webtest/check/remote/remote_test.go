package remote

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// site has a front page, and show, which a test gives.
func site(show func(w http.ResponseWriter, r *http.Request, v string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<html><h1>Welcome to this application</h1>\n<p>It has a page of its own</p>\n</html>")
		case "/show":
			show(w, r, r.FormValue("page"))
		default:
			http.Error(w, "not found", http.StatusNotFound)
		}
	})
}

// get fetches an address, as the weak applications do.
func get(address string) string {
	r, err := http.Get(address)
	if err != nil {
		return "<p>could not be read</p>"
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

// A field that is called an address in another language is tried as one, though it is empty, also on a site whose pages
// are one line with letters that are not of ASCII.
func TestFetchOfFieldsInOtherLanguages(t *testing.T) {
	const lines = "<html><h1>Welcome to this application</h1>\n<p>It has a page of its own</p>\n</html>"
	const line = `<html><h1>Willkommen überall</h1><form method="post" action="/lesen"><input name="q" placeholder="https://…"></form></html>`
	for name, c := range map[string]struct {
		field, front string
		want         int
	}{
		"German":     {"adresse", lines, 1},
		"Italian":    {"indirizzo_feed", lines, 1},
		"one line":   {"adresse", line, 1},
		"no address": {"vorname", lines, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			switch {
			case r.URL.Path == "/":
				fmt.Fprint(w, c.front)
			case r.Method != http.MethodPost:
				http.Error(w, "not found", http.StatusNotFound)
			default:
				fmt.Fprint(w, html.EscapeString(get(r.FormValue(c.field))))
			}
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodPost, "/read", c.field+"="))
		if len(found) != c.want || c.want > 0 && found[0].Class != "ssrf" {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}

func TestFetch(t *testing.T) {
	for name, c := range map[string]struct {
		show func(w http.ResponseWriter, r *http.Request, v string)
		want string
	}{
		"fetches":         {func(w http.ResponseWriter, _ *http.Request, v string) { fmt.Fprint(w, get(v)) }, "{a}"},
		"adds the scheme": {func(w http.ResponseWriter, _ *http.Request, v string) { fmt.Fprint(w, get("http://"+v)) }, "{n}"},
		"escapes":         {func(w http.ResponseWriter, _ *http.Request, v string) { fmt.Fprint(w, html.EscapeString(get(v))) }, "{a}"},
		"adds an ending": {func(w http.ResponseWriter, _ *http.Request, v string) {
			if v == "a.html" {
				fmt.Fprint(w, "<p>a page</p>")
				return
			}
			fmt.Fprint(w, get(v+".php"))
		}, "{a}?{v}"},
		"frames": {func(w http.ResponseWriter, _ *http.Request, v string) {
			fmt.Fprintf(w, `<iframe src="%s"></iframe>`, html.EscapeString(v))
		}, ""},
		"redirects": {func(w http.ResponseWriter, r *http.Request, v string) { http.Redirect(w, r, v, http.StatusFound) }, ""},
		"front page for all that is unknown": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			fmt.Fprint(w, "<html><h1>Welcome to this application</h1>\n<p>It has a page of its own</p>\n</html>")
		}, ""},
	} {
		lab := kittest.New(t, site(c.show))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/show?page=a.html", ""))
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: reports %s", name, kittest.Titles(found))
			}
			continue
		}
		if len(found) != 1 || found[0].Variant != c.want || found[0].Class != "file-inclusion" {
			t.Errorf("%s: found %s, want %s", name, kittest.Titles(found), c.want)
			continue
		}
		holds(t, lab, found[0])
	}
}

// Where visitors who are not logged in are led to a login, or to another page, that page is one which everybody sees.
func TestFetchOfPagesBehindALogin(t *testing.T) {
	for name, c := range map[string]struct {
		to, page string
		reads    bool
		want     int
	}{
		"a login":             {"/enter", "<form><p>Members come in by this door</p>\n<input name=token value='{n}'></form>", true, 1},
		"a page of greetings": {"/start/here", "<p>We are glad that you are here</p>\n<p>Ask for the key at the desk</p>", true, 1},
		"nothing is read":     {"/enter", "<form><p>Members come in by this door</p>\n<input name=token value='{n}'></form>", false, 0},
		"it leads in a ring":  {"/ring", "", true, 0},
	} {
		n := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			v := r.FormValue("page")
			_, err := r.Cookie("user")
			n++
			switch {
			case r.URL.Path == c.to && c.page != "":
				fmt.Fprint(w, strings.ReplaceAll(c.page, "{n}", fmt.Sprint(n)))
			case len(r.URL.Path) > 5:
				http.NotFound(w, r)
			case err != nil:
				http.Redirect(w, r, c.to, http.StatusFound)
			case r.URL.Path == "/show" && c.reads && strings.HasPrefix(v, "http://"):
				fmt.Fprint(w, "<h1>Show</h1>\n"+get(v))
			default:
				fmt.Fprint(w, "<h1>Show</h1>\n<p>There is no such page</p>")
			}
		}))
		lab.World.Pages = func() (all []*message.Request) {
			for _, path := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i"} {
				r, err := message.New(http.MethodGet, lab.URL+path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			return all
		}
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		target := lab.Target(t, http.MethodGet, "/show?page=news.txt", "")
		target.User = lab.World.Users[0]
		found := lab.Run(t, Checks()[0], target)
		if len(found) != c.want {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

func holds(t *testing.T, lab *kittest.Lab, f kit.Finding) {
	t.Helper()
	runner := proof.Runner{Send: lab.World.Client.Send}
	if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
		t.Errorf("the proof does not hold: %s, %v", out.Failed, err)
	}
}

var declared = regexp.MustCompile(`<!ENTITY (\w+) SYSTEM "([^"]*)">`)

// A document in a field of a form is tested, too; a page that shows it as a text is none, and neither is a text with marks.
func TestEntitiesInForms(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		reads bool
		want  int
	}{
		"weak":       {`<?xml version="1.0"?><feed><entry><title>One</title></entry></feed>`, true, 1},
		"one tag":    {`<title>One</title>`, true, 1},
		"shown":      {`<feed><title>One</title></feed>`, false, 0},
		"not a text": {`1 < 2 and 3 > 2`, true, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := r.FormValue("feed")
			if m := declared.FindStringSubmatch(v); m != nil && c.reads {
				content := ""
				if m[2] == "file:///etc/passwd" {
					content = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin"
				}
				v = strings.ReplaceAll(v, "&"+m[1]+";", content)
			}
			fmt.Fprint(w, html.EscapeString(v))
		}))
		target := lab.Target(t, http.MethodPost, "/import", url.Values{"feed": {c.value}, "name": {"news"}}.Encode())
		before := lab.Sent.Load()
		found := lab.Run(t, Checks()[1], target)
		if len(found) != c.want || c.value[0] != '<' && lab.Sent.Load() != before {
			t.Errorf("%s: found %s, want %d; %d requests", name, kittest.Titles(found), c.want, lab.Sent.Load()-before)
		}
		for _, f := range found {
			holds(t, lab, f)
		}
	}
}

// A host is written in another way where neither an effect nor an echo shows that the address counts: a list of forbidden
// hosts refuses the usual one. What refuses both, or shows none of the page, is silent.
func TestFetchPastAList(t *testing.T) {
	for name, c := range map[string]struct {
		refuses func(v string) bool
		want    string
	}{
		"names":      {func(v string) bool { return strings.Contains(v, "127.") || strings.Contains(v, "localhost") }, "{o}"},
		"all hosts":  {func(v string) bool { return !strings.HasPrefix(v, "http://feeds.lab.example/") }, ""},
		"its host":   {func(v string) bool { return !strings.Contains(v, "/feeds.lab.example") }, "{a}?{v}"},
		"its ending": {func(v string) bool { return !strings.HasSuffix(v, "/news.rss") }, "{a}?{v}"},
		"it begins":  {func(v string) bool { return !strings.HasPrefix(v, "http://feeds.lab.example") }, "{h}@{n}"},
	} {
		lab := kittest.New(t, site(func(w http.ResponseWriter, _ *http.Request, v string) {
			if u, err := url.Parse(v); err != nil || u.Scheme != "http" || c.refuses(v) {
				fmt.Fprint(w, "<p>This has no preview.</p>")
				return
			}
			fmt.Fprint(w, get(strings.Replace(v, "0x7f000001", "127.0.0.1", 1)))
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/show?page="+
			url.QueryEscape("http://feeds.lab.example/news.rss"), ""))
		got := ""
		for _, f := range found {
			got += f.Variant
			lab.Holds(t, f)
		}
		if got != c.want {
			t.Errorf("%s: found %s by %q, want %q", name, kittest.Titles(found), got, c.want)
		}
	}
}

func TestEntities(t *testing.T) {
	for name, c := range map[string]struct {
		weak bool
		want int
	}{"weak": {true, 1}, "safe": {false, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			body := string(text)
			if m := declared.FindStringSubmatch(body); m != nil {
				content := ""
				if m[2] == "file:///etc/passwd" {
					content = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin"
				}
				if !c.weak {
					http.Error(w, "no document type definitions", http.StatusBadRequest)
					return
				}
				body = strings.ReplaceAll(body, "&"+m[1]+";", content)
			}
			fmt.Fprint(w, body[strings.Index(body, "<name>"):])
		}))
		target := lab.Target(t, http.MethodPost, "/", `<?xml version="1.0"?><user><name>bob</name></user>`)
		found := lab.Run(t, xxe(), target)
		if len(found) != c.want {
			t.Fatalf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
		if len(found) == 1 {
			holds(t, lab, found[0])
		}
	}
}

// documents answers as a document database does.
func documents(name any) int {
	all := []string{"alice", "bob"}
	n := 0
	for _, one := range all {
		switch v := name.(type) {
		case string:
			if one == v {
				n++
			}
		case map[string]any:
			for op, arg := range v {
				text, _ := arg.(string)
				switch op {
				case "$ne":
					n += map[bool]int{true: 1}[one != text]
				case "$eq":
					n += map[bool]int{true: 1}[one == text]
				case "$gt":
					n += map[bool]int{true: 1}[one > text]
				case "$lt":
					n += map[bool]int{true: 1}[one < text]
				case "$regex":
					ok, _ := regexp.MatchString(text, one)
					n += map[bool]int{true: 1}[ok]
				default:
					return -1
				}
			}
		}
	}
	return n
}

func TestOperators(t *testing.T) {
	weak := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"found":%d}`, documents(in["user"]))
	})
	brackets := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		var name any = r.Form.Get("user")
		for key := range r.Form {
			if op, ok := strings.CutPrefix(key, "user["); ok {
				name = map[string]any{strings.TrimSuffix(op, "]"): r.Form.Get(key)}
			}
		}
		fmt.Fprintf(w, `{"found":%d}`, documents(name))
	})
	strict := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ User string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, "user must be a text", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"found":%d}`, documents(in.User))
	})
	pair := func(w http.ResponseWriter, name, word any) { // a login, which both must fit
		if documents(name) < 1 || documents(word) < 1 {
			http.Error(w, "wrong name or word", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "<p>Welcome back</p>")
	}
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		pair(w, in["user"], in["word"])
	})
	bothOfForm := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		values := map[string]any{"user": r.Form.Get("user"), "word": r.Form.Get("word")}
		for key := range r.Form {
			if name, op, ok := strings.Cut(key, "["); ok {
				values[name] = map[string]any{strings.TrimSuffix(op, "]"): r.Form.Get(key)}
			}
		}
		pair(w, values["user"], values["word"])
	})
	// It knows no patterns. A sound one refuses what begins so, and finds what it is asked for in another member.
	few := func(sound bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in map[string]any
			_ = json.NewDecoder(r.Body).Decode(&in)
			body, _ := json.Marshal(in)
			switch {
			case sound && strings.Contains(string(body), "$ne"), sound && strings.Contains(string(body), "$gt"):
				fmt.Fprint(w, "<p>This is not allowed</p>")
			case sound:
				http.Error(w, "wrong name", http.StatusUnauthorized)
			case strings.Contains(string(body), "$regex"):
				http.Error(w, "wrong name or word", http.StatusUnauthorized)
			default:
				pair(w, in["user"], in["word"])
			}
		})
	}
	for name, c := range map[string]struct {
		app                http.Handler
		method, path, body string
		want               int
	}{
		"json":                         {weak, "POST", "/login", `{"user":"zed"}`, 1},
		"query":                        {brackets, "GET", "/find?user=zed", "", 1},
		"both":                         {both, "POST", "/login", `{"user":"zed","word":"x"}`, 2},
		"form":                         {bothOfForm, "POST", "/login", "user=zed&word=x", 2},
		"few operators":                {few(false), "POST", "/login", `{"user":"zed","word":"x"}`, 2},
		"objects are refused but some": {few(true), "POST", "/login", `{"user":"zed"}`, 0},
		"strict":                       {strict, "POST", "/login", `{"user":"zed"}`, 0},
	} {
		lab := kittest.New(t, c.app)
		found := lab.Run(t, operators(), lab.Target(t, c.method, c.path, c.body))
		if len(found) != c.want {
			t.Fatalf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
		if len(found) == 1 {
			holds(t, lab, found[0])
		}
	}
}

// A preview shows only the title of what it has fetched, or the beginning of its source.
func TestFetchOfPreviews(t *testing.T) {
	title := regexp.MustCompile("<title>(.*?)</title>")
	front := "<!DOCTYPE html><html lang=en><head><title>Welcome &amp; more</title></head>\n<body><p>It has a text of its own</p></body></html>"
	for name, c := range map[string]struct {
		show func(v string) string
		want int
	}{
		"title": {func(v string) string {
			m := title.FindStringSubmatch(get(v))
			return "<h2>" + append(m, "", "nothing")[1] + "</h2>"
		}, 1},
		"beginning":         {func(v string) string { text, _ := json.Marshal(get(v)); return string(text[:min(len(text), 200)]) }, 1},
		"says its own":      {func(string) string { return "<h2>Welcome &amp; more</h2>" }, 0},
		"shows the address": {func(v string) string { return "<h2>" + html.EscapeString(v) + "</h2>" }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/":
				fmt.Fprint(w, front)
			case "/card":
				fmt.Fprint(w, c.show(r.FormValue("link")))
			default:
				http.NotFound(w, r)
			}
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/card?link=http://other.example/a", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// All pages of the application have one title, also the one that shows what it has fetched.
func TestFetchWithinALayout(t *testing.T) {
	layout := func(w io.Writer, text string) {
		fmt.Fprintf(w, "<html><title>The application</title>\n%s\n</html>", text)
	}
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			layout(w, "<h1>Welcome to this application</h1>\n<p>It has a page of its own</p>")
		case "/show":
			layout(w, get(r.FormValue("page")))
		default:
			http.Error(w, "not found", http.StatusNotFound)
		}
	}))
	found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/show?page=a.html", ""))
	if len(found) != 1 {
		t.Fatalf("found %s", kittest.Titles(found))
	}
	holds(t, lab, found[0])
}

// What an interface answers of a page is escaped as JSON, and a proof finds it again all the same.
func TestExcerptInJSON(t *testing.T) {
	for name, shows := range map[string]bool{"the beginning": true, "its length": false} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html><head><title>Links</title></head>\n<body><p class=\"start\"><a href=\"/\">Home</a></p>\n"+
					"<ul><li>One</li></ul>\n<p>The rest of it is not shown</p></body></html>")
				return
			}
			var in struct{ Feed struct{ Source string } }
			_ = json.NewDecoder(r.Body).Decode(&in)
			text := get(in.Feed.Source)
			out := map[string]any{"read": len(text)}
			if shows {
				out["text"] = text[:min(len(text), 90)]
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(out)
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodPost, "/api/import", `{"feed":{"source":"http://x.invalid/a"}}`))
		if len(found) > 0 != shows {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// The front page has two addresses, and a token that is another each time.
func TestPageOfTwoAddresses(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		m := regexp.MustCompile("<title>(.*?)</title>").FindStringSubmatch(get(r.FormValue("link")))
		switch {
		case r.URL.Path != "/card" && r.URL.Path != "/" && r.URL.Path != "/index.php":
			http.NotFound(w, r)
		case r.URL.Path != "/card":
			fmt.Fprintf(w, "<html><head><title>Links of all</title></head>\n<body>%s<input type=hidden name=token value=%s></body></html>",
				strings.Repeat("<p>A line of this page</p>\n", 10), kit.Word())
		case m != nil:
			fmt.Fprintf(w, "<p>%s</p>", m[1])
		default:
			fmt.Fprint(w, "<p>No title</p>")
		}
	}))
	pages := []*message.Request{lab.Target(t, http.MethodGet, "/index.php", "").Request}
	lab.World.Pages = func() []*message.Request { return pages }
	found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/card?link=http://x.invalid/", ""))
	if len(found) != 1 || found[0].Confidence != kit.Proved {
		t.Errorf("found %s", kittest.Titles(found))
	}
}
